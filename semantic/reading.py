"""A question as its readers need it: what the guards compare, taken from the text once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from semantic import chinese, english
from semantic.glossary import ENGLISH, HAN, NOTHING, Facts, Glossary, glossary
from semantic.letters import compatible, simplified
from semantic.numerals import counted, numbers
from semantic.settings import Terms
from semantic.stems import folded, stem, topic
from semantic.tongue import Language, language
from semantic.wordlist import listed
from semantic.words import EMPTY, NEGATORS

_CODE: Final = re.compile(
    r"https?://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|`[^`\n]{1,80}`|「[^」\n]{1,80}」|『[^』\n]{1,80}』"
    r"|《[^》\n]{1,80}》"
    r"|(?<!\w)'[^'\n]{1,80}'(?!\w)"
    r"|(?:(?<![\w/])[A-Za-z]:)?(?<![\w/])[~.]{0,2}[\\/][\w.-]+(?:[\\/][\w.-]*)*"
    r"|(?<!\S)--?[a-zA-Z][\w-]*"
    r"|(?<![\w.])[\w-]+\.(?:py|js|ts|go|rs|java|cpp|c|h|txt|md|csv|json|ya?ml|toml|xml|html|css"
    r"|sh|sql|exe|zip|log|ini|cfg|conf|env)(?!\w)"
    r"|(?<![A-Za-z])(?:[A-Za-z]+\d*_\w+|(?!iP|iO|iM|mac|eB)[a-z]+[A-Z]\w*|[A-Z]{1,5}-?\d[\w-]*"
    r"|\w+\(\))",
    re.ASCII,
)
_NAME: Final = re.compile(r"(?<=[\w,;%)] )[A-Z][\w&+.]*\w|(?<=[\w,;%)] )[A-Z]\b")
LONGEST: Final = 2048
"""Characters that are looked at: a longer text is no question."""
_UPPER: Final = 0.6
"""Share of capitals from which on they say nothing."""
_PIVOTS: Final = frozenset(listed("to from than over vs versus into by between before after"))
_SIDES: Final = _PIVOTS | {"in"}
"""Words whose sides are not to be exchanged, as those of the pivots; of a place, all is said."""
_HAN_PIVOT: Final = re.compile("[到比转给对找告向跟让替成被从]|违约|欠|打|追|喜欢")
_STATES: Final = re.compile(r"\bU\.S\.(?:A\.)?|\bUS\b")
"""In lower case they would be a pronoun."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says, as far as two texts are compared by it."""

    text: str
    """Compatible forms folded (NFKC), in lower case, Chinese in simplified letters."""
    length: int
    """Characters, as they came."""
    language: Language
    tongue: str
    """Finer where it is neither English nor Chinese."""
    words: tuple[str, ...]
    """All, in order."""
    content: tuple[str, ...]
    """Those that carry a topic, words that ask the same folded."""
    body: tuple[str, ...]
    """What is asked, scaffolding left out; what stands before the question word comes last."""
    question: str
    modal: str
    past: bool
    denials: int
    """How often it says no."""
    persons: tuple[str, ...]
    """Of i and you, who is spoken of, in the order of the first mention."""
    numbers: tuple[str, ...]
    poles: frozenset[int]
    members: tuple[tuple[str, str], ...]
    """Class and member of each word that has one, in order."""
    names: tuple[str, ...]
    """Capitalised within English, Latin within Chinese; in lower case, in order."""
    codes: frozenset[str]
    """What has to be the same letter by letter, in lower case."""
    protected: frozenset[str]
    """Of the operator's terms."""
    pivots: tuple[tuple[str, str, str], ...]
    """A word that gives its sides their parts, with the word on either side."""
    turned: bool
    """Whether any word gives parts to its sides."""


def read(text: str, terms: Terms) -> Reading:
    """Read a text. Total: any string has a reading, be it of no more than its first letters."""
    own = glossary(terms)
    plain = compatible(text[:LONGEST])
    speech, tongue = language(plain)
    if speech == "zh":
        return _chinese(plain, len(text), tongue, own)
    return _english(plain, len(text), speech, tongue, own)


def _english(text: str, length: int, speech: Language, tongue: str, own: Glossary) -> Reading:
    if not text.isupper():
        text = _STATES.sub("USA", text)
    lower = text.lower()
    said = english.said(own.rewritten(lower))
    words = said.words
    poles, members = _facts(words, ENGLISH, own, lower)
    return Reading(
        text=lower,
        length=length,
        language=speech,
        tongue=tongue,
        words=tuple(words),
        content=_content(said.body),
        body=tuple(folded(word) for word in said.body if word not in _MARKS),
        question=said.question,
        modal=said.modal,
        past=said.past,
        denials=_denials(words),
        persons=said.persons,
        numbers=numbers(" ".join(words)),
        poles=poles,
        members=members,
        names=_names(text),
        codes=_codes(text),
        protected=_protected(own, lower),
        pivots=_pivots(words),
        turned=not _PIVOTS.isdisjoint(words),
    )


_ENDING: Final = frozenset(("stop", "quit"))
_MARKS: Final = frozenset(",.?!;:")


def _chinese(text: str, length: int, tongue: str, own: Glossary) -> Reading:
    lower = simplified(text.lower())
    said = chinese.said(own.rewritten(lower))
    poles, members = _facts(said.units, HAN, own, lower)
    latin = [unit for unit in said.units if unit[0].isascii() and unit[0].isalpha()]
    more_poles, more_members = _facts(latin, ENGLISH, own, "")
    return Reading(
        text=lower,
        length=length,
        language="zh",
        tongue=tongue,
        words=tuple(said.units),
        content=tuple(said.body),
        body=tuple(said.body),
        question=said.question,
        modal=said.modal,
        past=False,
        denials=said.denials,
        persons=said.persons,
        numbers=numbers(counted(lower)),
        poles=poles | more_poles,
        members=(*members, *more_members),
        names=tuple(unit for unit in latin if chinese.FOLD.get(unit, unit).isascii()),
        codes=_codes(text),
        protected=_protected(own, lower),
        pivots=(),
        turned=len(said.persons) > 1 or _HAN_PIVOT.search(lower) is not None,
    )


def _denials(words: list[str]) -> int:
    """Words that say no; `stop` does only of what is being done."""
    return sum(
        word in NEGATORS
        or (
            word in _ENDING
            and words[place + 1 : place + 2] != []
            and words[place + 1].endswith("ing")
        )
        for place, word in enumerate(words)
    )


def _content(body: list[str]) -> tuple[str, ...]:
    return tuple(topic(word) for word in body if word not in EMPTY and word not in _MARKS)


def _pivots(words: list[str]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (word, stem(words[place - 1]), stem(_after(words, place)))
        for place, word in enumerate(words)
        if word in _SIDES and 0 < place < len(words) - 1
    )


def _facts(
    words: list[str], known: dict[str, Facts], own: Glossary, text: str
) -> tuple[frozenset[int], tuple[tuple[str, str], ...]]:
    """What words say by themselves, and what an operator's terms say."""
    found = [known.get(word) or known.get(stem(word), NOTHING) for word in words]
    if own.terms is not None and text:
        found += [own.facts[term] for term in own.terms.findall(text)]
    return (
        frozenset(pole for facts in found for pole in facts.poles),
        tuple(member for facts in found for member in facts.members),
    )


def _names(text: str) -> tuple[str, ...]:
    found = _NAME.findall(text)
    if not found or sum(map(str.isupper, text)) > _UPPER * len(text.replace(" ", "")):
        return ()
    return tuple(name.lower() for name in found if name not in ("I", "I'm"))


def _codes(text: str) -> frozenset[str]:
    return frozenset(code.strip("\"“”'`「」『』《》.,").lower() for code in _CODE.findall(text))


def _protected(own: Glossary, lower: str) -> frozenset[str]:
    return frozenset(own.protected.findall(lower)) if own.protected is not None else frozenset()


def _after(words: list[str], place: int) -> str:
    """The word after a pivot, an article skipped."""
    following = words[place + 1]
    if following in ("a", "an", "the") and place + 2 < len(words):
        return words[place + 2]
    return following
