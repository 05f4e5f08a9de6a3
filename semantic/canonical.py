"""The canonical question: what is asked, without the ways of asking it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from semantic.glossary import own
from semantic.reading import Reading
from semantic.stems import folded

_SPOKEN_TO: Final = frozenset(("", "whether", "what", "who", "why", "when", "long"))
"""Types in which I and you are part of what is asked; how to do it, all ask alike."""
_TYPED: Final = frozenset(("", "what", "whether"))
"""Types that say too little to stand with a single word."""
_MEANS: Final = frozenset(
    ("is", "are", "does", "define", "definition", "meaning", "mean", "explain", "describe")
)
_KNOWN: Final = frozenset(
    ("the", "my", "your", "our", "his", "her", "their", "its", "it", "this", "that", "you", "i")
)


def question(reading: Reading) -> bytes | None:
    """The same bytes for questions that ask the same; None: it says too little to tell."""
    body = reading.body
    if not body or (len(body) < 2 and len(body[0]) < 2):
        return None
    bare = len(body) < 2 and reading.question in _TYPED and reading.language != "zh"
    if bare and not (reading.question == "what" and defines(reading)):
        return None
    asked = reading.question in _SPOKEN_TO and reading.modal != "there"
    persons = sorted(reading.persons) if asked else ()
    parts = (
        reading.tongue,
        reading.question,
        reading.modal,
        "past" if reading.past else "",
        str(reading.denials),
        " ".join(persons),
        " ".join(reading.numbers),
        " ".join(sorted(reading.codes)),
        " ".join(sorted(reading.protected)),
        " ".join(body),
        # Whatever is taken for the same by itself: an operator knows better.
        *own(reading.poles, reading.members),
    )
    return "\n".join(parts).encode("utf-8", "surrogatepass")


def defines(reading: Reading) -> bool:
    """Whether it asks what a word means; of what is known already (`the`), more is asked."""
    word = reading.body[0] if reading.body else ""
    return (
        not _MEANS.isdisjoint(reading.words)
        and word.isalpha()
        and word not in _KNOWN
        and not any(
            before in _KNOWN and folded(after) == word for before, after in pairwise(reading.words)
        )
    )
