"""The characters that multilingual-E5-small knows, read from the file of its weights."""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_HEAD: Final = struct.Struct("<4sI7ifi5iQ")
"""Magic, version, seven sizes, epsilon, a kind; then the tokenizer: number of pieces, four special
ones, bytes of all pieces together."""
_ROOM: Final = 4
"""Characters that the engine has room for, for each byte of a text; see `Vocabulary.fatal`."""


class Vocabulary(NamedTuple):
    """Of one file."""

    known: frozenset[str]
    """Characters with a token of their own, also after they were normalized. The others are one
    and the same to the model: two thirds of all Han letters, though rare ones."""
    fatal: frozenset[str]
    """Characters that are normalized to more of them than the engine has room for: it would write
    over memory that is not its own. (That is ﷺ, which becomes eighteen.)"""


def read(path: Path) -> Vocabulary:
    """Of a file whose digest is known; any other may fail in any way."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        *_, pieces, _, _, _, unknown, size = _HEAD.unpack_from(data)
        at = _HEAD.size
        ends = struct.unpack_from(f"<{pieces + 1}I", data, at)
        at += 4 * (pieces + 1) + 4 * pieces  # Behind the offsets are the scores.
        blob = data[at : at + size]
        at += size
        count, length = struct.unpack_from("<iI", data, at)
        normal = _normal(data[at + 8 : at + 8 + length], count)
    spans = (blob[ends[one] : ends[one + 1]] for one in range(pieces) if one != unknown)
    # A character has at most four bytes; most pieces are longer, and need not be decoded.
    short = {span.decode("utf-8", "ignore") for span in spans if len(span) <= 4}
    single = {piece for piece in short if len(piece) == 1} | {" "}
    known = (single - normal.keys()) | {one for one, to in normal.items() if single.issuperset(to)}
    fatal = {one for one, to in normal.items() if len(to) > _ROOM * len(one.encode())}
    # To the engine a text ends at a NUL.
    return Vocabulary(frozenset(known - fatal - {"\0"}), frozenset(fatal))


def _normal(data: bytes, count: int) -> dict[str, str]:
    """What characters are normalized to; to nothing, some of them."""
    found, at = {}, 0
    for _ in range(count):
        point, length = struct.unpack_from("<IB", data, at)
        to = struct.unpack_from(f"<{length}I", data, at + 5)
        # No text with a surrogate ever comes here.
        if not 0xD800 <= point <= 0xDFFF:
            found[chr(point)] = "".join(map(chr, to))
        at += 5 + 4 * length
    return found
