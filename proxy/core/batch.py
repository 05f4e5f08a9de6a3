"""Embeddings batches as entries: one an item when stored, one for all when served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from proxy.core import canonical, embeddings
from proxy.core.embeddings import Piece
from proxy.core.entry import Entry, Usage
from proxy.core.keeping import lived

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.canonical import Fields
    from proxy.core.entry import Key
    from proxy.core.keeping import Keeping
    from proxy.core.request import Lookup


def members(body: bytes) -> Fields:
    """The members of a request that was understood before, read as they were then."""
    fields = canonical.decoded(body)
    return fields if isinstance(fields, dict) else {}


def apart(
    entry: Entry, keys: Sequence[Key], sizes: Sequence[int], lookup: Lookup, keeping: Keeping
) -> list[Entry] | None:
    """An admitted answer as an entry for each of the items asked for; None: it is not complete."""
    parts = embeddings.pieces(entry.body, sizes)
    if parts is None or entry.status != 200:
        return None
    return [
        msgspec.structs.replace(
            entry,
            key=key,
            body=part.body,
            usage=Usage(entry.usage.input * size // (sum(sizes) or 1)),
            **lived(lookup, key, entry.created, keeping)._asdict(),
        )
        for key, part, size in zip(keys, parts, sizes, strict=True)
    ]


def whole(entries: Sequence[Entry], lookup: Lookup) -> Entry | None:
    """One entry for all items: as old as the oldest, fresh until the first of them expires, and
    asked for with the last, so that a newer item makes another entry of it."""
    body = embeddings.merged([Piece(entry.body) for entry in entries])
    if body is None:
        return None
    created = min(entry.created for entry in entries)
    first = min(entries, key=_fresh_until)
    return msgspec.structs.replace(
        first,
        key=lookup.key,
        body=body,
        asked=max(entry.asked for entry in entries),
        created=created,
        ttl=_fresh_until(first) - created,
        epoch=min(entry.epoch for entry in entries),
        usage=Usage(sum(entry.usage.input for entry in entries)),
    )


def _fresh_until(entry: Entry) -> float:
    return entry.created + entry.ttl
