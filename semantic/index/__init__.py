"""Vector indexes: the keys whose vectors are nearest."""
