"""What an English question says: its words, its type, and what is left without scaffolding."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from semantic.figures import figures
from semantic.numerals import spelt
from semantic.openings import GREETING, LEAD, MEANING, OPENING, PRICE, PROCESS, THANKS, WHETHER
from semantic.stems import base
from semantic.tokens import tokens
from semantic.turns import plain
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
_WISH: Final = re.compile(
    r"^how to i (?:want|need|wish|have|would like|would love|am trying|am looking) to "
)
"""Whoever says what they want and then asks how, asks how to do it."""
_SPANS: Final = ("period", "duration", "length")
_DETERMINERS: Final = frozenset(listed("a an the my your our his her their its"))
_IMPERSONAL: Final = ("is it ", "would it ", "is a ", "is an ")
_NEEDED: Final = frozenset(listed("required needed necessary mandatory compulsory"))
_OUGHT: Final = frozenset(("should", "shall"))
_MUST: Final = re.compile(
    r"((?:[\w ]{1,40}? )??)(?:(?:should|must|shall) (?:i|we|one|you|people|a person|someone)"
    r"|(?:do|does) (?:i|we|one|you) (?:need to|have to|need(?!$)))(?= )"
)
_HOURS: Final = "openinghours"
_AGENTS: Final = {
    "write": "author", "invent": "inventor", "found": "founder", "create": "creator",
    "direct": "director", "paint": "painter", "compose": "composer",
    "discover": "discoverer", "owns": "owner", "writes": "author", "design": "designer",
}  # fmt: skip
"""Who did it is asked by the deed or by its doer's name."""
_ONCE: Final = frozenset(_AGENTS.values()) - {"owner", "director"}
"""Whoever made it was so and is so still."""
_PAST: Final = frozenset(("did", "was", "were", "had"))
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
    past: bool
    """Whether it is of what was, and why is not asked."""
    persons: tuple[str, ...]
    """Of i, you, in what is asked, in the order of the first mention."""


def said(text: str) -> Said:
    """Read a lower-case text."""
    greeting = GREETING.match(text)
    text = THANKS.sub("", text[greeting.end() :] if greeting else text).replace(" - ", ", ")
    words = spelt(tokens(figures(text)))
    text = " ".join(words)
    fronts, asked = _clauses(text)
    asked = plain(_EXACTLY.sub(r"\1 ", _TO_ME.sub(r"\1", asked)))
    persons = _persons(asked.split() + fronts.split())
    question, modal, rest = _opened(asked)
    if not question and _TELL.match(text):
        question = "what"
    body = [*rest.split(), *fronts.split()]
    if question == "long" and body[-1:] in (["last"], ["take"]):
        del body[-1]
    if question == "what" and rest.endswith(_SPANS):
        question, body = "long", [word for word in body if word not in _SPANS]
    modal, body = _mood(question, modal, body)
    if modal and question == "whether" and asked.startswith(_IMPERSONAL):
        persons = persons or ("i",)  # what may or must be done, the one who asks does
    if _HOURS in body:
        question, body = "when", ["open" if word == _HOURS else word for word in body]
    words = [*asked.split(), *fronts.split()]
    body = _content(question, body)
    made = question == "who" and not _ONCE.isdisjoint(body[:1])
    past = question != "why" and not made and not _PAST.isdisjoint(words)
    return Said(words, question, modal, body, past, persons)


def _mood(question: str, modal: str, body: list[str]) -> tuple[str, list[str]]:
    """Its modals, and its body without those that are told by them."""
    if question == "whether" and not _NEEDED.isdisjoint(body):
        modal, body = "must", [word for word in body if word not in _NEEDED]
    if question in _GENERAL:
        return modal, body
    asserted = question in ("", "whether")
    if not asserted and (must := _MUST.match(" ".join(body))):
        modal, body = "must", [*must[1].split(), *" ".join(body)[must.end() :].split()]
    kept = _MODALS if asserted else _BINDING
    found = (
        word
        for before, word in pairwise(["", *body])
        if word in kept and before not in _DETERMINERS  # a will is a thing
    )
    if not asserted:
        found = ("must" if word in _OUGHT else word for word in found)
    return " ".join((modal, *found)).strip(), body


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
    if parts[place] == "how" and place:
        told = parts.pop(place - 1)
        place -= 1
        parts[place] = _WISH.sub("how to ", f"how to {told}")
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
        if price := PRICE.match(text):
            return "price", "", price[1]
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
        if words and words[-1] in ("me", "us"):
            del words[-1]
    if question == "how" and words:
        words = _deed(words)
    if question == "what" and len(words) > 1 and words[-1] in ("mean", "means"):
        del words[-1]
    if question == "who" and words:
        words[0] = _AGENTS.get(base(words[0]), words[0])
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
        return [base(first), *words[1:]]
    return words
