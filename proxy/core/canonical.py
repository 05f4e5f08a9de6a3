"""The canonical body: equal bytes for equal questions, different bytes for all others."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
import orjson

Fields: TypeAlias = dict[str, Any]
"""The members of a JSON object, numbers exact."""

INERT: Final = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "safety_identifier",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
        "service_tier",
    }
)
"""Top-level members that cannot change the answer, but for what `streamed` finds. The same names
deeper down are content."""

ECHOED: Final = INERT - {"stream", "stream_options", "service_tier"}
"""Those of them that a Responses answer repeats, so that there another's value would be wrong."""


def streamed(options: object) -> Fields:
    """What `stream_options` ask of every event: padding, counts so far, what is yet to be invented.

    An answer is replayed event by event, so these are of the answer. Usage at the end is not: it
    is asked for always and hidden from who did not ask.
    """
    given = options if isinstance(options, dict) else {}
    return {name: value for name, value in given.items() if name != "include_usage"}


class Opaque(msgspec.Struct, frozen=True):
    """Content that stands in a canonical body by its digest, written as no JSON value can be."""

    kind: str
    digest: bytes


def decoded(body: bytes) -> object:
    """The JSON value, with integers of any length exact and `1.0` as the integer 1.

    Duplicate names: the last one counts, as it does for every upstream.
    Raises: ValueError for what is not JSON, or has a number or nesting beyond bounds.
    """
    try:
        return _DECODER.decode(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _number(literal: str) -> int | float:
    value = float(literal)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"a number beyond the range of a double: {literal:.40}")
    return int(value) if value.is_integer() else value


# Of the JSON parsers here the one that keeps long integers: orjson reads them as floats, and two
# different ones would be one key.
_DECODER: Final = msgspec.json.Decoder(float_hook=_number)


def encoded(value: object) -> bytes:
    """Canonical bytes of a decoded value: names sorted at every depth, no insignificant blanks.

    Raises: ValueError where it is nested too deeply.
    """
    try:
        return orjson.dumps(value, default=_opaque, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        pass  # an integer beyond 64 bits, or nesting beyond orjson's 254 levels
    try:
        return orjson.dumps(_long_written(value), default=_opaque, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise ValueError("nested too deeply") from error


def _opaque(value: object) -> orjson.Fragment:
    if not isinstance(value, Opaque):
        raise TypeError(f"not a part of a canonical body: {type(value).__name__}")
    kind = orjson.dumps(value.kind)
    return orjson.Fragment(b"<" + kind + b":" + value.digest.hex().encode() + b">")


def _long_written(value: object) -> object:
    if isinstance(value, dict):
        return {name: _long_written(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_long_written(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return orjson.Fragment(str(value))
    return value
