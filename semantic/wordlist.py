"""Lists of words as this package writes them: an entry a line, what is indented goes on with it."""

from __future__ import annotations

import re
from collections.abc import Iterable


def entries(text: str) -> list[str]:
    """The entries of a list."""
    found: list[str] = []
    for line in text.strip().splitlines():
        if line[0].isspace():
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return found


def named(text: str) -> dict[str, list[str]]:
    """The entries of a list in which each has a name: `name = word, two words`."""
    return {
        name: [word.strip() for word in words.split(",")]
        for name, words in (entry.split(" = ") for entry in entries(text))
    }


def listed(text: str) -> list[str]:
    """Words with blanks between them, on any number of lines."""
    return text.split()


def longest_of(words: Iterable[str]) -> str:
    """The same as `any_of`, found sooner where there are many: by their first letters."""
    rests: dict[str, list[str]] = {}
    for word in set(words):
        rests.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{re.escape(first)}(?:{any_of(rest)})" for first, rest in rests.items())


def any_of(words: Iterable[str]) -> str:
    """A pattern for the longest of some words."""
    return "|".join(map(re.escape, sorted(set(words), key=lambda word: (-len(word), word))))
