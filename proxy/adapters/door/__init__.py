"""The public port: HTTP in and out through aiohttp, without its inventions."""
