"""Embeddings by item: a batch taken apart, the unknown items asked for, the answer put together."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
import orjson

Item: TypeAlias = str | list[int]
"""One text, or one text as tokens."""


class Piece(msgspec.Struct, frozen=True):
    """The answer for one item."""

    body: bytes
    """A whole embeddings response with this one vector: what an entry stores."""


class _Answer(msgspec.Struct):
    data: list[dict[str, msgspec.Raw]]


def inputs(fields: dict[str, Any]) -> tuple[list[Item], bool] | None:
    """The items of a request, and whether it has one without a list around it.

    None: not what this API knows; such a request cannot be taken apart.
    """
    given: Any = fields.get("input")
    if isinstance(given, str) or _is_tokens(given):
        return [given], True
    if not isinstance(given, list) or not given:
        return None
    return (given, False) if all(isinstance(x, str) or _is_tokens(x) for x in given) else None


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(token) is int for token in value)


def size(item: Item) -> int:
    """How large an item is beside others of its batch; for sharing out token counts."""
    return len(item) if isinstance(item, list) else len(item.encode("utf-8", "surrogatepass"))


def missing(keys: Sequence[Hashable], known: Collection[Hashable]) -> list[int]:
    """The places of the items to ask for: each distinct item that is not known, once."""
    seen = set(known)
    places = []
    for place, key in enumerate(keys):
        if key not in seen:
            seen.add(key)
            places.append(place)
    return places


def remainder(fields: dict[str, Any], places: Sequence[int]) -> bytes:
    """The body that asks for the items at these places, all else as in the request."""
    found = inputs(fields)
    items, single = found if found is not None else ([], False)
    wanted = {key: value for key, value in fields.items() if key != "cache"}
    wanted["input"] = items[0] if single else [items[place] for place in places]
    return orjson.dumps(wanted)


def pieces(body: bytes, sizes: Sequence[int]) -> list[Piece] | None:
    """An upstream's answer by item, in the order asked, or None if it is not complete.

    `sizes`: of the items asked for. Token counts are shared out by them, and add up again.
    """
    try:
        head = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        data = msgspec.json.decode(body, type=_Answer).data
        places = [msgspec.json.decode(one["index"], type=int) for one in data]
        usage = msgspec.json.decode(head["usage"]) if "usage" in head else None
    except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
        return None
    if sorted(places) != list(range(len(sizes))) or not all("embedding" in one for one in data):
        return None
    if len(data) == 1:
        return [Piece(body)]
    ordered = dict(zip(places, data, strict=True))
    shares = _shares(usage, sizes)
    return [Piece(_written(head, [ordered[i]], shares[i])) for i in range(len(sizes))]


def merged(parts: Sequence[Piece]) -> bytes | None:
    """One answer from the pieces, numbered in order; None if one of them cannot be read.

    What is said of the whole (model, unknown fields) is as in the first; token counts add up.
    """
    if len(parts) == 1:
        return parts[0].body
    vectors = []
    usages = []
    try:
        heads = [msgspec.json.decode(part.body, type=dict[str, msgspec.Raw]) for part in parts]
        for head in heads:
            vectors += msgspec.json.decode(head["data"], type=list[dict[str, msgspec.Raw]])
            usages.append(msgspec.json.decode(head["usage"]) if "usage" in head else None)
    except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
        return None
    if not parts or len(vectors) != len(parts):
        return None
    return _written(heads[0], vectors, _total(usages))


def _written(
    head: dict[str, msgspec.Raw], vectors: list[dict[str, msgspec.Raw]], usage: Any
) -> bytes:
    """A response with these vectors. Raw members keep each number as it was spelled."""
    numbered = [one | {"index": place} for place, one in enumerate(vectors)]
    whole: dict[str, Any] = head | {"data": numbered}
    if usage is not None:
        whole["usage"] = usage
    return msgspec.json.encode(whole)


def _shares(value: Any, sizes: Sequence[int]) -> list[Any]:
    """A usage split over the items: every whole number in it by size, so that the sum stays."""
    match value:
        case dict():
            split = {key: _shares(one, sizes) for key, one in value.items()}
            return [{key: parts[i] for key, parts in split.items()} for i in range(len(sizes))]
        case int() if not isinstance(value, bool):
            return _split(value, sizes)
        case float():
            return [value * one / (sum(sizes) or 1) for one in sizes]
        case _:
            return [value] * len(sizes)


def _split(count: int, sizes: Sequence[int]) -> list[int]:
    """A count split by size; what rounding leaves is settled along the way."""
    total = sum(sizes) or 1
    bounds = [0]
    for one in sizes:
        bounds.append(bounds[-1] + one)
    marks = [count * bound // total for bound in bounds[:-1]] + [count]
    return [after - before for before, after in pairwise(marks)]


def _total(values: list[Any]) -> Any:
    """Usages added up."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, dict) for value in present):
        keys = {key: None for value in present for key in value}
        return {key: _total([value.get(key) for value in present]) for key in keys}
    if present and all(isinstance(one, int | float) for one in present):
        return sum(present)
    return present[0] if present else None
