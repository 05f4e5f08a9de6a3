"""The chain of a prompt: equal boundary, equal beginning; and links of chains known by heart."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import msgspec
from blake3 import blake3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Part: TypeAlias = tuple[bytes, bytes]
    """A role, and the bytes of what is said."""
    Link: TypeAlias = Callable[[bytes, bytes, int], "Boundary"]
    """As `linked`."""

DIGEST: Final = 16
"""Bytes; a collision costs a prefill, never an answer."""
MOST: Final = 1 << 40
"""Tokens; a fleet that says that more waits for a node does not speak the truth."""
_VERSION: Final = b"hotprefix-chain-1"
_PIECE: Final = 2048
"""Bytes; inside a long part there are boundaries at this times the powers of two."""
_LONG: Final = 8192
"""Bytes; a shorter part is hashed in one go, which is twice as fast."""
TOKEN: Final = 4
"""Bytes of a token, about; what nodes report is compared by its share of the prompt."""
_GOES_ON: Final = b"\xff"
"""In the place of a role's length: the part goes on, and no other begins."""
_KNOWN: Final = 1 << 15
"""Links, at some 400 bytes each."""


class Boundary(NamedTuple):
    """The prompt up to here."""

    digest: Annotated[bytes, msgspec.Meta(min_length=DIGEST, max_length=DIGEST)]
    tokens: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    """Of the prompt up to here, estimated."""


def rooted(told: Iterable[bytes]) -> bytes:
    """What a chain begins with: nothing of it is equal where one of these differs."""
    sized = [len(part).to_bytes(8, "big") + part for part in told]
    return blake3(b"".join((_VERSION, *sized))).digest(length=DIGEST)


def linked(opening: bytes, piece: bytes, size: int) -> Boundary:
    """The boundary at the end of `piece`, `size` bytes from the beginning of the prompt.

    `opening`: the boundary before it, and which role begins there, or that none does.
    """
    return Boundary(blake3(opening + piece).digest(length=DIGEST), (size + TOKEN - 1) // TOKEN)


def laid(
    root: bytes, parts: Iterable[Part], link: Link = linked
) -> tuple[list[Boundary], list[tuple[bytes, int]]]:
    """All boundaries of `parts`, shallowest first; of each part, its role and how many boundaries
    there are up to its end.

    A boundary's digest covers its parent's, whether a part begins there, and the bytes since.
    """
    links: list[Boundary] = []
    ends: list[tuple[bytes, int]] = []
    parent, size = root, 0
    for role, text in parts:
        opening, start, length = parent + len(role).to_bytes() + role, 0, len(text)
        for end in _cuts(length) if length > _LONG else ():
            made = link(opening, text[start:end], size + end)
            links.append(made)
            opening, start = made[0] + _GOES_ON, end
        if length:
            size += length
            made = link(opening, text[start:], size)
            links.append(made)
            parent = made[0]
        ends.append((role, len(links)))
    return links, ends


def _cuts(length: int) -> Iterator[int]:
    """Where a part of so many bytes has boundaries, besides its end."""
    at = _PIECE
    while at < length:
        yield at
        at *= 2


class Links:
    """Makes links as `linked` does, and remembers them: of a conversation's next turn only what it
    adds is hashed for good.

    What was said is not kept. A piece is known again by Python's keyed hash of 64 bits, a third of
    the work, after the very same boundary; that two pieces are taken for one another is as likely
    as a guess of that hash, within one tenant's own prompts, and costs a prefill.
    """

    def __init__(self, most: int = _KNOWN) -> None:
        """`most`: links; the ones used longest ago are forgotten first."""
        self._most = most
        self._made: OrderedDict[tuple[bytes, int], Boundary] = OrderedDict()

    def __call__(self, opening: bytes, piece: bytes, size: int) -> Boundary:
        """As `linked`. Threads may use it at once."""
        if len(piece) > _LONG:  # BLAKE3 is as fast, since it takes many blocks at once
            return linked(opening, piece, size)
        key = opening, hash(piece)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = linked(opening, piece, size)
            if len(self._made) > self._most:
                self._made.popitem(last=False)
        else:
            try:  # noqa: SIM105 - which takes as long as all the rest
                self._made.move_to_end(key)
            except KeyError:  # another thread has just forgotten it
                pass
        return made

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"<Links {len(self._made)} of {self._most}>"
