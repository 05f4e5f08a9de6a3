"""What an English question says: its words, its type, and what is left without scaffolding."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from semantic.numerals import spelt
from semantic.openings import LEAD, OPENING, PROCESS, WHETHER
from semantic.wordlist import listed
from semantic.words import (
    ARTICLES,
    AUXILIARY,
    CLITICS,
    CONTRACTED,
    FILLERS,
    GETTING,
    GRANTED,
    IS_AFTER,
    LIGHT,
    MEASURES,
    NOUN_OF,
    PHRASES,
    SUBJECTS,
    SYNONYMS,
)

_TOKEN: Final = re.compile(r"[^\W\d_]+[+#]*|\d(?:[\d.,:/]*\d)?%?|'|,|[^\w\s.?!;:()\"-]|[.?!;:]")
_PHRASES: Final[dict[str, list[tuple[tuple[str, ...], str]]]] = {}
for _phrase, _single in PHRASES.items():
    _words = tuple(_phrase.split())
    _PHRASES.setdefault(_words[0], []).append((_words[1:], _single))
for _choices in _PHRASES.values():
    _choices.sort(key=lambda choice: -len(choice[0]))

_IRREGULAR: Final = {
    "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "wives": "wife", "knives": "knife", "lives": "life",
}  # fmt: skip
_NEGATED: Final = {"can": "can", "won": "will", "shan": "shall"}
"""What stands before the apostrophe of can't, won't and shan't."""


_GENERAL: Final = frozenset(("how", "todo", "price", "where"))
"""Types in which it makes no difference whether one can, must or will."""
_THANKS: Final = re.compile(
    r"[ ,.!?]*\b(?:many |lots of )?(?:thanks|thank you|cheers)"
    r"(?: (?:in advance|a lot|so much|very much|again|for your help))?[ .!]*$"
)
_BREAK: Final = re.compile(r" [,.;:?!]+(?: |$)")
_MODALS: Final = frozenset(listed("can could will would shall should may might must need"))
_BINDING: Final = _MODALS - {"will", "would"}
"""Those that change what is asked of a fact."""
_TELL: Final = re.compile(r"(?:.* )?(?:tell (?:me|us)|like to know|need to know) (?!about|to)")
"""Makes a question of what follows, though it be a noun."""
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
    """All of them, in order, with number words in digits."""
    question: str
    modal: str
    body: list[str]
    """Content in order; what stands before the question word comes last."""
    persons: tuple[str, ...]
    """Of i, you, in what is asked, in the order of the first mention."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A noun or verb without its s."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=16384)
def folded(word: str) -> str:
    """A word as one of those that ask the same."""
    plain = stem(word)
    return SYNONYMS.get(plain, plain)


def topic(word: str) -> str:
    """A word as its topic: a deed by its verb."""
    plain = folded(word)
    return NOUN_OF.get(plain, plain)


def said(text: str) -> Said:
    """Read a lower-case text."""
    if "thank" in text or "cheers" in text:
        text = _THANKS.sub("", text)
    words = spelt(_phrased(_expanded(_TOKEN.findall(text))))
    text = " ".join(words)
    fronts, asked = _clauses(text)
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
    return Said(words, question, modal, _content(question, body), persons)


def _persons(words: list[str]) -> tuple[str, ...]:
    """Of I and you, who is spoken of, in the order of the first mention."""
    said = ("i" if word in _FIRST else "you" for word in words if word in _FIRST or word in _YOU)
    return tuple(dict.fromkeys(said))


def _expanded(tokens: list[str]) -> list[str]:
    """Contractions in full, fillers left out."""
    words: list[str] = []
    skip = False
    for place, token in enumerate(tokens):
        if skip:
            skip = False
        elif token == "'" and words and place + 1 < len(tokens):
            clitic = CLITICS.get(tokens[place + 1])
            if clitic is None:
                continue
            skip = True
            last = words[-1]
            if clitic == "'s":
                if last in IS_AFTER:
                    words.append("is")
            elif clitic == "not":
                words[-1] = _NEGATED.get(last, last.removesuffix("n"))
                words.append("not")
            else:
                words.append(clitic)
        elif token in CONTRACTED:
            words.extend(CONTRACTED[token].split())
        elif token not in FILLERS and token != "'":
            words.append(token)
    return words


def _phrased(words: list[str]) -> list[str]:
    if _PHRASES.keys().isdisjoint(words):
        return words
    done: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        for rest, single in _PHRASES.get(word, ()):
            if tuple(words[place : place + len(rest)]) == rest:
                word, place = single, place + len(rest)
                break
        done.append(word)
    return done


def _clauses(text: str) -> tuple[str, str]:
    """What stands before the question, and the question."""
    text = re.sub(r"^[\W_]+|(?<=[\w%+#])[ .?!;:,]+$", "", text)
    lead = LEAD.match(text)
    text = text[lead.end() :] if lead else text
    if _BREAK.search(text) is None:
        return "", text
    parts = [part.strip() for part in _BREAK.split(text) if part.strip()]
    if not parts:
        return "", text
    for place, part in enumerate(parts):
        lead = LEAD.match(part)
        part = part[lead.end() :] if lead else part
        if OPENING.match(f"{part} "):
            return " ".join((*parts[place + 1 :], *parts[:place])), part
    return " ".join(parts[1:]), parts[0]


def _opened(text: str) -> tuple[str, str, str]:
    """The question's type, its modal, and the rest."""
    found = OPENING.match(f"{text} ")
    if found is None:
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
