"""The chain of a prompt: equal boundary, equal beginning."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import msgspec
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Part: TypeAlias = tuple[bytes, bytes]
    """A role, and the bytes of what is said."""

DIGEST: Final = 16
"""Bytes; a collision costs a prefill, never an answer."""
MOST: Final = 1 << 40
"""Tokens; a fleet that says that more waits for a node does not speak the truth."""
_VERSION: Final = b"hotprefix-chain-3"
_KEY: Final = 16
"""Bytes of the key that pieces are tagged with."""
_NONCE: Final = bytes(12)
"""Always the same, so that equal pieces have equal tags. That tells whoever sees several tags the
key, so none is ever shown: BLAKE3 is between a tag and a digest."""
_PIECE: Final = 2048
"""Bytes; inside a long part there are boundaries at this times the powers of two."""
_LONG: Final = 8192
"""Bytes; a shorter part has one boundary, its end."""
TOKEN: Final = 4
"""Bytes of a token, about; what nodes report is compared by its share of the prompt."""
_SHORT: Final = 512
"""Bytes; a shorter piece is hashed itself, which takes no longer than its tag does."""
_SAID: Final = b"\xfe"
"""Before such a piece: where the role ends, which is UTF-8."""
_GOES_ON: Final = b"\xff"
"""In the place of a role: the part goes on, and no other begins."""


Digest: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=DIGEST, max_length=DIGEST)]


class Boundary(NamedTuple):
    """The prompt up to here."""

    digest: Digest
    tokens: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    """Of the prompt up to here, estimated."""


_made: Final = tuple.__new__
"""What a boundary's own constructor calls, and half of its time."""


_packed: Final = msgspec.msgpack.Encoder().encode


class Laid(NamedTuple):
    """A prompt's parts and its chain."""

    parts: Sequence[Part]
    links: list[Boundary]
    """All boundaries, shallowest first."""
    ends: list[tuple[bytes, int]]
    """Of each part its role, and how many boundaries there are up to its end."""


NOTHING: Final = Laid((), [], [])


def rooted(told: Sequence[bytes]) -> bytes:
    """What a chain begins with: nothing of it is equal where one of these differs. A secret if one
    of these is."""
    return blake3(_VERSION + _packed(told)).digest(DIGEST + _KEY)


def laid(root: bytes, parts: Sequence[Part], before: Laid = NOTHING) -> Laid:
    """The chain of `parts`. `before`: one of the same root; what both begin with is as it was
    there, and is compared only.

    A boundary's digest is the BLAKE3 of its parent's, of the role that begins there, and of a tag
    of the bytes since. The tag is GMAC's: of pieces of some kilobytes BLAKE3 hashes 1.4 GB/s, and
    this 6. Of two that differ it is the same with a probability of 2^-100; whoever knows the root's
    key can write such two, and spoils the routing of prompts of that root.
    """
    same = _common(parts, before.parts)
    ends = before.ends[:same]
    links = before.links[: ends[-1][1] if ends else 0]
    parent = links[-1].digest if links else root[:DIGEST]
    size = sum([len(text) for _, text in parts[:same]])
    tag, add = _tagging(root[DIGEST:]), links.append
    for role, text in parts[same:]:
        opening = role
        for piece in (text,) if len(text) < _LONG else _pieces(text):
            length = len(piece)
            told = tag(_NONCE, b"", piece) if length > _SHORT else _SAID + piece
            parent = blake3(parent + opening + told).digest(DIGEST)
            size += length
            add(_made(Boundary, (parent, (size + TOKEN - 1) // TOKEN)))
            opening = _GOES_ON
        ends.append((role, len(links)))
    return Laid(parts, links, ends)


@lru_cache(maxsize=256)
def _tagging(key: bytes) -> Callable[[bytes, bytes, bytes | memoryview], bytes]:
    """Kept, since a key takes longer to be laid out than a piece to be tagged."""
    return AESGCM(key).encrypt


def _common(one: Sequence[Part], other: Sequence[Part]) -> int:
    """How many parts both begin with."""
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return at
    return min(len(one), len(other))


def _pieces(text: bytes) -> Iterator[memoryview]:
    """Of a long part, up to each of its boundaries."""
    left, start, end = memoryview(text), 0, _PIECE
    while end < len(text):
        yield left[start:end]
        start, end = end, 2 * end
    yield left[start:]
