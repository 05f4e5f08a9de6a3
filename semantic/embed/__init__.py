"""Embedders: a text becomes a vector."""
