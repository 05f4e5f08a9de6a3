"""What an engine tells of the blocks of its cache: batches of events, numbered from 0 in each life.

vLLM and SGLang name blocks by hashes of their tokens. Without a tokenizer those say nothing of our
boundaries, so that which prompt a block belongs to is left open. What is certain is taken: that
everything was cleared, that a life ended or may have, and how much there is room for.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

_EVENTS: Final = 1 << 16
"""Of one batch: more would hold up requests."""
END: Final = -1
"""The number that ends a replay."""
_NUMBER: Final = 8
"""Bytes of a batch's number, the highest first."""
_decode: Final = msgspec.msgpack.Decoder().decode
_FAULTS: Final = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)

Where: TypeAlias = tuple[str, int]
"""The medium, such as GPU, and the group of layers: blocks of one are counted apart."""


class Stored(NamedTuple):
    """Blocks are held there: they were computed, copied, or only used again."""

    where: Where
    blocks: tuple[int, ...]
    """Short forms of their hashes, good for this process."""
    size: int
    """Tokens of each."""


class Removed(NamedTuple):
    """Blocks were dropped, to make room."""

    where: Where
    blocks: tuple[int, ...]


class Cleared(NamedTuple):
    """Nothing is left."""


class Unknown(NamedTuple):
    """Something else, which may have changed what is held."""


Change: TypeAlias = Stored | Removed | Cleared | Unknown


class Batch(NamedTuple):
    """What changed in one step of the engine."""

    at: float
    """Seconds, by the engine's clock."""
    rank: int
    """Of several engines that share the requests of one address, which."""
    changes: tuple[Change, ...]


def number(frame: bytes) -> int | None:
    """A batch's number, or END; None: it is neither."""
    if len(frame) != _NUMBER:
        return None
    told = int.from_bytes(frame, "big", signed=True)
    return told if told >= END else None


def numbered(value: int) -> bytes:
    """The frame that asks for all from this number on."""
    return value.to_bytes(_NUMBER, "big")


def decoded(payload: bytes) -> Batch | None:
    """A batch as msgpack, of arrays (SGLang, vLLM) or of maps (newer vLLM); what is added behind
    or beside the known members is left alone. None: it is none."""
    try:
        told = _decode(payload)
        at, events, rank = _members(told, _BATCH)
        if not isinstance(at, int | float) or at != at:
            return None
        if not isinstance(events, list) or len(events) > _EVENTS:
            return None
        known = rank if type(rank) is int else 0
        return Batch(float(at), known, tuple(map(_change, events)))
    except _FAULTS:
        return None


_BATCH: Final = {"ts": 0, "events": 1, "data_parallel_rank": 2}
_STORED: Final = {"block_hashes": 1, "block_size": 4, "medium": 6, "group_idx": 9}
_REMOVED: Final = {"block_hashes": 1, "medium": 2, "group_idx": 3}
"""The members that are read, and their places where they come as an array."""


def _members(told: Any, places: dict[str, int]) -> list[Any]:
    """Raises: TypeError."""
    if isinstance(told, list):
        size = len(told)
        return [told[place] if place < size else None for place in places.values()]
    if isinstance(told, dict):
        return [told.get(name) for name in places]
    raise TypeError


def _change(event: Any) -> Change:
    """Of one that is not what it says it is, it is unknown what it changed."""
    kind: Any = None
    if isinstance(event, list):
        kind = event[0] if event else None
    elif isinstance(event, dict):
        kind = event.get("type")
    if kind == "BlockStored":
        hashes, size, medium, group = _members(event, _STORED)
        blocks = _short(hashes)
        if blocks is not None and type(size) is int and size > 0:
            return Stored(_where(medium, group), blocks, size)
    elif kind == "BlockRemoved":
        hashes, medium, group = _members(event, _REMOVED)
        if (blocks := _short(hashes)) is not None:
            return Removed(_where(medium, group), blocks)
    elif kind == "AllBlocksCleared":
        return Cleared()
    return Unknown()


def _short(hashes: Any) -> tuple[int, ...] | None:
    """Of integers or bytes, which may be 32 each; None: it is neither."""
    try:
        return tuple(map(hash, hashes)) if isinstance(hashes, list) else None
    except TypeError:
        return None


def _where(medium: Any, group: Any) -> Where:
    return medium if isinstance(medium, str) else "", group if type(group) is int else 0
