"""Measurements: how fast the gateway is, beside bare servers of the same kind."""
