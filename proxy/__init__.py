"""Hotprefix: an OpenAI-compatible caching reverse proxy."""
