"""What a tenant may ask for in a minute, what a request takes of it, and how that is told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from proxy.core.message import Headers

Kind: TypeAlias = Literal["requests", "tokens"]

_BYTES: Final = 4
"""Of a body for one token, about: it is so in English, Chinese and JSON alike."""
_RUN: Final = 4096
"""Bytes; a longer string without a blank is a picture or a file, not a text."""
_MEDIUM: Final = 1000
"""Tokens of one of those, about."""
_HAIR: Final = 1e-6
"""Of a millisecond; by less than that sums of fractions are off."""


class Quota(msgspec.Struct, frozen=True):
    """What may be asked for in any minute; 0: as much as one likes."""

    requests: int = 0
    tokens: int = 0


def estimate(body: bytes, longest: int) -> int:
    """The tokens of a question and its answer, before anybody counted them. `longest`: of the
    answer, as the request itself set it; 0: it did not, and nothing is assumed."""
    media = [one for one in body.split(b'"') if _is_medium(one)]
    return (len(body) - sum(map(len, media))) // _BYTES + _MEDIUM * len(media) + longest


def _is_medium(string: bytes) -> bool:
    return len(string) > _RUN and string.isascii() and b" " not in string


def told(kind: Kind, limit: int, left: float, wait: float) -> Headers:
    """The headers that OpenAI's clients read. `wait`: seconds until the whole limit is there."""
    return (
        (f"x-ratelimit-limit-{kind}", str(limit)),
        (f"x-ratelimit-remaining-{kind}", str(max(0, math.floor(left)))),
        (f"x-ratelimit-reset-{kind}", duration(wait)),
    )


def again(seconds: float) -> Headers:
    """When to ask again: in seconds for everyone, in milliseconds for the clients that read them.
    Rounded up, since who comes too early is refused again."""
    return (
        ("retry-after", str(max(1, math.ceil(seconds - _HAIR)))),
        ("retry-after-ms", str(max(1, math.ceil(seconds * 1000 - _HAIR)))),
    )


def duration(seconds: float) -> str:
    """A length of time as OpenAI writes it: `120ms`, `1s`, `6m0s`, `1h0m0s`."""
    milliseconds = math.ceil(seconds * 1000 - _HAIR)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    shown = f"{rest / 1000:g}s"
    if hours:
        return f"{hours}h{minutes}m{shown}"
    return f"{minutes}m{shown}" if minutes else shown
