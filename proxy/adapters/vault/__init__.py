"""Keys: what wraps data keys, and the data keys that seal what the tiers keep."""
