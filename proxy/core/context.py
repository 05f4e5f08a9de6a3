"""What a request says of the context it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from proxy.core.message import Headers

PROJECT: Final = "x-context-project"
SESSION: Final = "x-context-session"
NAMES: Final = frozenset((PROJECT, SESSION))
"""Headers by which a client may name what its prompt belongs to; never sent on."""
_LONGEST: Final = 256
"""Characters of them that count."""


class Hints(NamedTuple):
    """What a request says of itself."""

    request: str = ""
    """The id by which answers and logs know it."""
    project: str = ""
    session: str = ""


def hints(request: str, headers: Headers) -> Hints:
    """Of a request with that id and these headers; of a repeated one the first counts."""
    told: dict[str, str] = {}
    for spelled, value in headers:
        if (name := spelled.lower()) in NAMES:
            told.setdefault(name, value[:_LONGEST])
    return Hints(request, told.get(PROJECT, ""), told.get(SESSION, ""))
