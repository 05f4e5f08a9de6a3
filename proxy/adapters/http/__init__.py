"""Upstream nodes over HTTP: what goes there and comes back is not altered.

aiohttp's pool, connections and parser without its session: the URL, header maps, cookies and
payloads that a session makes for each call take longer than the call itself.
"""
