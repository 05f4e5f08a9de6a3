"""Whether two answers say the same, as far as their texts can tell."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias

from semantic.exchanged import exchanged
from semantic.numerals import COUNTS, arabic, spelt

Outcome: TypeAlias = Literal["right", "wrong", "unsure"]
"""The stored answer would have been right; or wrong; or somebody has to be asked."""

Word: TypeAlias = Literal["yes", "no", "unknown"]
"""A judge's, whether the stored answer answers the new question."""

SHORT: Final = 160
"""Width (a Han character counts twice) up to which an answer is one statement, in which each
number, negation and exchanged word matters. Two samples of a longer one differ in such details and
still say the same."""

_MARKS: Final = re.compile(r"[*_`#>|~]+|^\s*(?:[-+•]|\d{1,2}[.)、])\s+", re.MULTILINE)
"""Markdown's, and those of list items."""
_FENCE: Final = re.compile(r"```|~~~")
_TOKEN: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|%", re.UNICODE)
_HAN: Final = re.compile(r"([\u3400-\u9fff\uf900-\ufaff])")
_NUMBER: Final = re.compile(r"(?<![\w.])([$€£¥]?)(\d+(?:[.,:]\d+)*)\s*(%|°[cf]|[^\W\d_]{1,12})?")
_COUNT: Final = "|".join(COUNTS)
_ENGLISH_NUMBER: Final = re.compile(
    rf"\b(?!one(?![ -](?:hundred|thousand)))(?:{_COUNT})"
    rf"(?:[ -](?:and )?(?:{_COUNT}|hundred|thousand))*\b"
)
_NOT: Final = re.compile(
    r"\b(?:not|no|never|none|nor|neither|cannot|without)\b|n't\b"
    r"|不(?![过同仅但断久])|[没沒勿]|[無无](?!论)|未(?!来)|非(?!常)|(?<![特分区级类])别(?!的)"
)
_OPPOSITES: Final = tuple(
    (re.compile(one), re.compile(other))
    for one, other in (
        (
            r"\b(?:en|activ)abl|\bactivat|\b(?:turn|switch)(?:ed|ing)? on\b|\bon\b(?=[.,;]|$)",
            r"\bdisabl|\bdeactivat|\b(?:turn|switch)(?:ed|ing)? off\b|\boff\b(?=[.,;]|$)",
        ),
        (r"\breturn|\brefund", r"\bexchang|\breplac"),
        (r"\bopen(?:s|ed)?\b", r"\bclose[sd]?\b"),
        (r"\bincreas|\brais", r"\bdecreas|\breduc|\blower"),
        (r"\ballow|\bpermit", r"\bforbid|\bprohibit|\bban(?:s|ned)?\b"),
        (r"\bmaximum\b|\bat most\b|\bup to\b", r"\bminimum\b|\bat least\b"),
        (r"\bbuy", r"\bsell"),
        (r"\bencrypt", r"\bdecrypt"),
        (r"开启|打开|启用|开通", r"关闭|停用|禁用|关掉"),
        (r"退货|退款", r"换货|更换"),
        (r"增加|提高|上涨", r"减少|降低|下降|下跌"),
        (r"允许|可以", r"禁止|不得|不可以|不能"),
        (r"最多|至多|不超过", r"最少|至少|不低于"),
        (r"买入|购买", r"卖出|出售"),
    )
)
"""What a text says that has the one and not the other, no text says that has the other only."""
_CLOSE: Final = 0.7
"""Share of words in common (twice those over all) from which on a negation is the difference."""
_YES_NO: Final = re.compile(
    r"\W*(?:(yes|sure|correct|of course|certainly|可以|是的|对|能|有的|支持|会)"
    r"|(no\b|unfortunately|不|否|没有|无法|抱歉))"
)
_JOINING: Final = (
    "a an the is are was were be been do does can may might will would could should must you your "
    "we our us it its this that these those to of in on at for from by with up and or then so if "
    "when where which as also just only please sure here there have has get"
)
_LIGHT: Final = frozenset(
    (*_JOINING.split(), *"的了是在会将可以能请您你我们就也都把被要即和与及到至内里中为")
)
"""Words that come and go as a sentence is reworded."""


def compare(
    stored: str,
    answered: str,
    similarity: float | None,
    least: float,
    judged: Word | None = None,
) -> Outcome:
    """What two answers are to each other. `similarity`: of their vectors, `None`: not known;
    `least`: from which on it says that they are the same; `judged`: `None`: nobody was asked.

    Equal but for spelling is right. A contradiction that the texts show (other numbers, a no for a
    yes) is wrong, whatever else speaks for them. A judge's word comes before the similarity. What
    is then still unsure has to count as wrong where nobody is left to ask.
    """
    if not stored.strip() or not answered.strip():
        return "wrong"
    one, other = plain(stored), plain(answered)
    if one == other:
        return "right"
    if contradicts(one, other):
        return "wrong"
    if judged in ("yes", "no"):
        return "right" if judged == "yes" else "wrong"
    # Code that differs may do the same or not: its vector tells what it is about at most.
    if similarity is None or similarity < least or _FENCE.search(stored + answered):
        return "unsure"
    return "unsure" if _doubtful(one, other) else "right"


def plain(text: str) -> str:
    """The text without what formats it: width, case, white space, markdown, closing marks."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return " ".join(_MARKS.sub(" ", text).split()).strip(" .。!?")


def contradicts(one: str, other: str) -> bool:
    """Whether two plain texts cannot both be right."""
    if _leads(one, other) or _measures(one, other) or _opposed(one, other):
        return True
    if max(_width(one), _width(other)) > SHORT:
        return False
    numbers = [Counter(amount for amount, _ in _amounts(text)) for text in (one, other)]
    if numbers[0] != numbers[1] and all(numbers):
        return True
    return _negated(one) != _negated(other) and _matched(one, other).ratio() >= _CLOSE


def _doubtful(one: str, other: str) -> bool:
    """Whether two plain texts differ in what could turn round or replace what they say."""
    if exchanged(_heavy(one), _heavy(other)):
        return True
    if max(_width(one), _width(other)) > SHORT:
        return False
    if _negated(one) != _negated(other):
        return True
    changes = [change[0] for change in _matched(one, other).get_opcodes()]
    # One thing for another where the rest is the same: a name for a name.
    return sorted(changes) in (["equal", "replace"], ["equal", "equal", "replace"])


def _negated(text: str) -> bool:
    return _NOT.search(text) is not None


def _opposed(one: str, other: str) -> bool:
    for pair in _OPPOSITES:
        first, second = ([bool(word.search(text)) for word in pair] for text in (one, other))
        if (first, second) in (([True, False], [False, True]), ([False, True], [True, False])):
            return True
    return False


def _matched(one: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, _heavy(one), _heavy(other), autojunk=False)


def _leads(one: str, other: str) -> bool:
    """Whether one begins with a yes and the other with a no."""
    first, second = _YES_NO.match(one), _YES_NO.match(other)
    return first is not None and second is not None and bool(first[1]) != bool(second[1])


def _measures(one: str, other: str) -> bool:
    """Whether both give amounts of one unit, and no two of them are equal: 30 days, 14 days."""
    units: list[dict[str, set[str]]] = [{}, {}]
    for found, text in zip(units, (one, other), strict=True):
        for amount, unit in _amounts(text):
            found.setdefault(unit, set()).add(amount)
    return any(
        unit and not units[0][unit] & units[1][unit] for unit in units[0].keys() & units[1].keys()
    )


def _amounts(text: str) -> list[tuple[str, str]]:
    """The numbers of a plain text with what is counted, as far as that follows at once."""
    text = re.sub(r"(?<=\d)\s*[-–—~至到]\s*(?=\d)", " to ", text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", _digits(text))
    # A Han character is a letter too: one of them is the unit, and none of them is in front.
    text = re.sub(r"(?<=[\u3400-\u9fff])(?=\d)", " ", text)
    return [(found[2], found[1] or _unit(found[3] or "")) for found in _NUMBER.finditer(text)]


def _digits(text: str) -> str:
    """The text with numbers that are words in digits; `one` alone is a pronoun as well."""
    return _ENGLISH_NUMBER.sub(_spelt, arabic(text))


def _spelt(found: re.Match[str]) -> str:
    words = found[0].replace("-", " ").split()
    return " ".join(spelt([word for word in words if word != "and"]))


def _unit(word: str) -> str:
    """The unit that a word begins with; empty where it only joins."""
    if _HAN.match(word):
        return word[:1]
    return "" if word in _LIGHT else _singular(word)


def _heavy(text: str) -> list[str]:
    """The words, and Han characters, that carry meaning."""
    words = _TOKEN.findall(_HAN.sub(r" \1 ", _digits(text)))
    return [_singular(word) for word in words if word not in _LIGHT]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _width(text: str) -> int:
    return len(text) + len(_HAN.findall(text))
