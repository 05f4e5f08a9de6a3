"""Meaning: which stored question asks the same as a new one, and how often that goes wrong."""
