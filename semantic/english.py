"""What an English question says: its words, its type, and what is left without scaffolding."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from semantic.numerals import spelt
from semantic.openings import GREETING, LEAD, MEANING, OPENING, PROCESS, THANKS, WHETHER
from semantic.tokens import tokens
from semantic.wordlist import listed
from semantic.words import ARTICLES, AUXILIARY, GETTING, GRANTED, LIGHT, MEASURES, NOUN_OF, SUBJECTS

_GENERAL: Final = frozenset(("how", "todo", "price", "where"))
"""Types in which it makes no difference whether one can, must or will."""
_BREAK: Final = re.compile(r" [,.;:?!]+(?: |$)")
_MODALS: Final = frozenset(listed("can could will would shall should may might must need"))
_BINDING: Final = _MODALS - {"will", "would"}
"""Those that change what is asked of a fact."""
_TELL: Final = re.compile(r"(?:.* )?(?:tell (?:me|us)|like to know|need to know) (?!about|to)")
"""Makes a question of what follows, though it be a noun."""
_TO_ME: Final = re.compile(
    r"^(write|draft|compose|give|show|make|create|generate|suggest|recommend|list) (?:me|us)"
    r"(?= (?:a|an|the|some|\d+) )"
)
"""What is written, is written for the one who asks."""
_WHEN: Final = re.compile(rf"(?:when|where) (?!(?:{'|'.join(sorted(AUXILIARY))})\b)(?=\w+ \w)")
"""Of a clause that says when, it asks nothing: no auxiliary comes before who does it."""
_EXACTLY: Final = re.compile(r"^(how|what|where|when|why|who) (?:exactly|actually|precisely) ")
_SPANS: Final = ("period", "duration", "length")
_NEEDED: Final = frozenset(listed("required needed necessary mandatory compulsory"))
_HOURS: Final = "openinghours"
_AGENTS: Final = {
    "wrote": "author", "invented": "inventor", "founded": "founder", "created": "creator",
    "directed": "director", "painted": "painter", "composed": "composer",
    "discovered": "discoverer", "owns": "owner", "writes": "author", "designed": "designer",
}  # fmt: skip
"""Who did it is asked by the deed or by its doer's name."""
_FIRST: Final = frozenset(listed("i me my mine we us our"))
_YOU: Final = frozenset(listed("you your yours"))
_SECOND: Final = {"your": "you", "yours": "you"}
_INNER: Final = AUXILIARY - {"have", "has", "had", "do", "does", "did"} - _MODALS
"""Auxiliaries within a body; `have` and `do` may be what is done."""


class Said(NamedTuple):
    """What was found in an English text."""

    words: list[str]
    """All that is no courtesy, number words in digits; what comes before the question last."""
    question: str
    modal: str
    body: list[str]
    """Content in order; what stands before the question word comes last."""
    persons: tuple[str, ...]
    """Of i, you, in what is asked, in the order of the first mention."""


def said(text: str) -> Said:
    """Read a lower-case text."""
    greeting = GREETING.match(text)
    text = THANKS.sub("", text[greeting.end() :] if greeting else text).replace(" - ", ", ")
    words = spelt(tokens(text))
    text = " ".join(words)
    fronts, asked = _clauses(text)
    asked = _EXACTLY.sub(r"\1 ", _TO_ME.sub(r"\1", asked))
    persons = _persons(asked.split() + fronts.split())
    question, modal, rest = _opened(asked)
    if not question and _TELL.match(text):
        question = "what"
    body = [*rest.split(), *fronts.split()]
    if question == "what" and rest.endswith(_SPANS):
        question, body = "long", [word for word in body if word not in _SPANS]
    if question == "whether" and not _NEEDED.isdisjoint(body):
        modal, body = "must", [word for word in body if word not in _NEEDED]
    if question not in _GENERAL:
        kept = _MODALS if question in ("", "whether") else _BINDING
        modal = " ".join((modal, *(word for word in body if word in kept))).strip()
    if modal and asked.startswith("is it "):
        persons = persons or ("i",)  # what is possible, is possible for the one who asks
    if _HOURS in body:
        question, body = "when", ["open" if word == _HOURS else word for word in body]
    words = [*asked.split(), *fronts.split()]
    return Said(words, question, modal, _content(question, body), persons)


def _persons(words: list[str]) -> tuple[str, ...]:
    """Of I and you, who is spoken of, in the order of the first mention."""
    said = ("i" if word in _FIRST else "you" for word in words if word in _FIRST or word in _YOU)
    return tuple(dict.fromkeys(said))


def _clauses(text: str) -> tuple[str, str]:
    """What stands before the question, and the question."""
    text = re.sub(r"^[\W_]+|(?<=[\w%+#])[ .?!;:,]+$", "", text)
    text = _unled(text)
    if _BREAK.search(text) is None:
        return "", text
    parts = [part.strip() for part in _BREAK.split(text) if part.strip()]
    if not parts:
        return "", text
    parts = [_unled(part) for part in parts]
    asks = [place for place, part in enumerate(parts) if OPENING.match(f"{part} ")]
    if not asks:
        return " ".join(parts[1:]), parts[0]
    place = next((place for place in asks if not _WHEN.match(parts[place])), asks[0])
    return " ".join((*parts[place + 1 :], *parts[:place])), parts[place]


def _unled(text: str) -> str:
    """A clause without what is said to the listener."""
    lead = LEAD.match(text)
    return text[lead.end() :] if lead else text


def _opened(text: str) -> tuple[str, str, str]:
    """The question's type, its modal, and the rest."""
    found = OPENING.match(f"{text} ")
    if found is None:
        if meaning := MEANING.match(text):
            return "what", "", meaning[1]
        process = PROCESS.match(text)
        return ("how", "", process[1]) if process else ("", "", text)
    kind = found.lastgroup or ""
    rest = text[found.end() :]
    if kind == "measure":
        return MEASURES[found[0].split()[1]], "", rest
    if kind == "quantity":
        return found[0].split()[3], "", rest
    return ("whether", kind, rest) if kind in WHETHER else (kind, "", rest)


def _content(question: str, body: list[str]) -> list[str]:
    """The body without what only holds a sentence together."""
    words = [word for word in body if word not in ARTICLES]
    if "been" in words:
        words = [word for word in words if word not in ("been", "has", "have", "had")]
    while words and words[0] in AUXILIARY:
        del words[0]
    if words and words[0] in SUBJECTS:
        del words[0]
    if words and words[0] == "to":
        del words[0]
    if question == "price":
        words = [word for word in words if word not in ("cost", "costs")]
        if words and words[0] in ("for", "on"):
            del words[0]
    if question == "how" and words:
        words = _deed(words)
    if question == "what" and len(words) > 1 and words[-1] in ("mean", "means"):
        del words[-1]
    if question == "who" and words:
        words[0] = _AGENTS.get(words[0], words[0])
    return [_SECOND.get(word, word) for word in words if word not in _INNER]


def _deed(words: list[str]) -> list[str]:
    """A body that begins with a deed: `get refund` as `refund`, `cancelling x` as `cancel x`."""
    first = words[0]
    if len(words) > 1 and (
        (first in LIGHT and words[1] in NOUN_OF) or (first in GETTING and words[1] in GRANTED)
    ):
        words = words[1:]
    if len(words) == 1 or words[1] in ("for", "on"):
        return [NOUN_OF.get(words[0], words[0]), *words[1:]]
    if first.endswith("ing") and len(first) > 5:
        base = first[:-3]
        if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls":
            base = base[:-1]
        return [base, *words[1:]]
    return words
