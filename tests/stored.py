"""Entries to store in tests."""

from __future__ import annotations

import msgspec
from blake3 import blake3

from proxy.core.entry import Alias, Entry, Key, Tenant

NOW = 1_800_000_000.0
TENANT = Tenant(b"t" * 16)


def key(name: object) -> Key:
    """A key that looks like a real one."""
    return Key(blake3(str(name).encode()).digest())


def entry(name: object, now: float = NOW, **changes: object) -> Entry:
    """An answer asked for and complete at `now`, fresh for a minute."""
    plain = Entry(
        key=key(name),
        tenant=TENANT,
        endpoint="chat/completions",
        status=200,
        headers=(("content-type", "application/json"),),
        form="json",
        body=b'{"choices": [{"message": {"content": "hello"}}]}',
        asked=now,
        created=now,
        ttl=60.0,
    )
    return msgspec.structs.replace(plain, **changes)


def alias(name: object, target: object, now: float = NOW) -> Alias:
    """A normalized key that points to an entry for a minute."""
    return Alias(key(name), TENANT, key(target), asked=now, expires=now + 60.0)
