"""The canonical question: what is asked, without the ways of asking it."""

from __future__ import annotations

from typing import Final

from semantic.glossary import own
from semantic.reading import Reading

_SPOKEN_TO: Final = frozenset(("", "whether", "what", "who", "why", "when", "long"))
"""Types in which I and you are part of what is asked; how to do it, all ask alike."""
_TYPED: Final = frozenset(("", "what", "whether"))
"""Types that say too little to stand with a single word."""


def question(reading: Reading) -> bytes | None:
    """The same bytes for questions that ask the same; None: it says too little to tell."""
    body = reading.body
    if not body or (len(body) < 2 and len(body[0]) < 2):
        return None
    if len(body) < 2 and reading.question in _TYPED and reading.language != "zh":
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
