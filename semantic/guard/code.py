"""What has to be the same letter by letter: identifiers, addresses, paths, quoted text."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one has such a piece that is nowhere in the other."""
    if asked.codes == stored.codes:
        return False
    return _missing(asked.codes, stored.text) or _missing(stored.codes, asked.text)


def _missing(codes: frozenset[str], text: str) -> bool:
    return any(code not in text for code in codes)
