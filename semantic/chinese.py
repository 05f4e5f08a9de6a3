"""What a Chinese question says: its units, its type, and what is left without scaffolding."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from semantic.glossary import HAN
from semantic.han import (
    ASIDES,
    IDLE,
    MODALS,
    NEGATED,
    NOT_NEGATED,
    QUESTIONS,
    WHOLE,
    WHOLE_UNLESS,
)
from semantic.han_openings import LEAD, TAIL
from semantic.han_synonyms import FOLDS
from semantic.han_turns import plain
from semantic.near import HAN_WORDS
from semantic.numerals import counted
from semantic.wordlist import any_of, entries, listed, longest_of

_CAN: Final = re.compile("能|可")
_CAN_IT: Final = re.compile("[吗么]?[??。!!]*$")
_ASIDE: Final = re.compile(
    f"{any_of(ASIDES)}|(?:一般|差不多)(?:来说|情况下)?,?(?=多[久少长]|几|要|需|怎|如何|什么|在哪|是多)"
    "|(?<=介绍|解释)下|(?<=[看查问说讲])下(?!载|单)"
)
_KIND: Final = {word: kind for kind, words in QUESTIONS.items() for word in words}
_QUESTION: Final = re.compile(
    # What comes after 办 is what is to be got done, not a trouble to be met.
    "|".join(
        f"{form}(?![^,。?!;呢啊呀吧了才])" if form.endswith("怎么办") else form
        for form in any_of(_KIND).split("|")
    )
)
_WHAT: Final = re.compile(any_of(word for word, kind in _KIND.items() if kind == "what"))
_RANK: Final = {
    kind: rank
    for rank, kind in enumerate(
        listed(
            "why fix state how price often long when height length size weight distance who "
            "where age count "
            "which what"
        )
    )
}
_MODAL_OF: Final = {word: kind for kind, words in MODALS.items() for word in words}
_ABLE: Final = listed("""
功能 智能 性能 能量 可能 技能 节能 能源 能力 才能 电能 热能 核能 风能 太阳能 动能 势能 潜能 职能
体能 机能 产能 全能 必须品
""")
_MODAL: Final = re.compile(f"(?:{any_of(_ABLE)})|({any_of(_MODAL_OF)})")
_EITHER: Final = re.compile(r"(.{1,2})[不没]\1|[是能可]否|有无|有木有")
_HAVE: Final = re.compile("(?<![没所拥含具享])有(?!关|名|趣|效|机|害|限|用|毒)")
_BEST: Final = re.compile("(?:比较|最|更|才|为)好$")
"""How it is done, and how it is done best."""
_WANTED: Final = re.compile("(?<![需主重想不只])要(?![求点不么是紧素塞闻])")
"""Asked whether, what 要 says is that it has to be."""
_LOCAL: Final = re.compile("(?<=[a-z0-9+#])(?:里面|上面|[上里中内下])$")
"""Within a program, said without 在."""
_PERSONS: Final = ("我", "我们", "你", "您", "你们")
"""Where both are spoken of, who does it to whom matters."""
_WHO: Final = {"我": "i", "咱": "i", "你": "you", "您": "you"}
_PERSON: Final = re.compile("[我咱你您]")
_FORMALITY: Final = re.compile("(?:办理|办)(.{2,12}?)(?:的?手续)")
_TAKEN: Final = re.compile(
    "(?:^|(?<=怎么|怎样|如何|可以)|(?<=[能会请想要否,。])|(?<=[a-z0-9 ]))将(?![要会来军])"
    "|将(?=[^,。]{1,12}[成为到给至入出掉])(?![要会来军])"
)
"""将 that says what is taken, not what is yet to come."""
_AUTHOR: Final = re.compile("(?:是谁|由谁|谁)(?:写|创作)[了的]?")
_BY: Final = re.compile("(?:使用|用)(?=.*(?:付款|支付|付|卡|券|宝|花呗|微信|现金|币|积分))")
"""Whether one can pay by it is asked with it or without."""
_PLACE: Final = re.compile(r"在(.{1,12}?)(?:里面|上面|中|上|里|内|下)(?=.{2})")
_NOT_NEGATED: Final = re.compile(rf"{any_of(NOT_NEGATED)}|没收(?![到件货款])|(.{{1,2}})不\1|有没有")
_NEGATED: Final = re.compile(rf"{any_of(NEGATED)}|忘[记了]?(?=[带拿交填写买缴还关锁付吃打签])")
"""What was forgotten to be done was not done."""

FOLD: Final = {
    word: entry.split()[0] for entry in entries(FOLDS) for word in entry.split()
} | dict.fromkeys(IDLE, "")
_KNOWN: Final = {*FOLD, *WHOLE, *HAN, *HAN_WORDS}
_UNIT: Final = re.compile(
    rf"[a-z][a-z.+#'-]*[a-z+#]|[a-z]|\d[\d.:%-]*|{WHOLE_UNLESS}|{longest_of(_KNOWN)}|[^\W_]"
    rf"|[^\w\s,。!?、,.!?;:;:()()\"'“”‘’《》「」【】~·…-]"
)


class Said(NamedTuple):
    """What was found in a Chinese text."""

    units: list[str]
    """Words that are known, Latin words, numbers and single letters, in order."""
    question: str
    modal: str
    body: list[str]
    """Content in order; what stands before the question word comes last."""
    denials: int
    """How often it says no."""
    persons: tuple[str, ...]
    """Of i, you, in the order of the first mention."""


def said(text: str) -> Said:
    """Read a lower-case text in simplified letters."""
    text = counted(text)
    asked = _AUTHOR.sub("作者是谁", _FORMALITY.sub(r"\1", _ASIDE.sub("", _shorn(text))))
    persons = tuple(dict.fromkeys(_WHO[who] for who in _PERSON.findall(asked)))
    asked_whether = _EITHER.search(asked) is not None
    asked = plain(asked)
    denials = len(_NEGATED.findall(_NOT_NEGATED.sub("", asked)))
    whether = asked.endswith("吗") or "吗" in asked[-3:]
    asked = asked.removesuffix("吗")
    question, before, after = _opened(_TAKEN.sub("把", asked))
    before = _LOCAL.sub("", before)
    if not question and (whether or asked_whether):
        question = "whether"
    modal, before, after = _modal(before, after)
    if question == "whether" and not modal and _WANTED.search(before + after):
        modal = "must"
    if question == "whether" and not modal and _HAVE.search(before + after):
        modal = "have"
    if question == "whether" and modal == "can":
        after, before = _BY.sub("", after), _BY.sub("", before)
    if question not in ("", "whether", "what", "why"):
        modal, after = "", _BEST.sub("", after)
    place = _PLACE.match(after)
    if place:
        before, after = before + place[1], after[place.end() :]
    units = [*_UNIT.findall(after), *_UNIT.findall(before)]
    body = _folded(units, kept=_PERSONS if len(persons) > 1 else ())
    return Said(_UNIT.findall(text), question, modal, body, denials, persons)


def _shorn(text: str) -> str:
    lead = LEAD.match(text)
    if lead and lead.end() < len(text):
        text = text[lead.end() :]
        if _CAN.search(lead[0]):
            text = _CAN_IT.sub("", text)
    tail = TAIL.search(text)
    return text[: tail.start()] if tail else text


def _opened(text: str) -> tuple[str, str, str]:
    """The question's type, what stands before its word, and what after."""
    best = None
    for found in _QUESTION.finditer(text):
        if best is None or _RANK[_KIND[found[0]]] < _RANK[_KIND[best[0]]]:
            best = found
    if best is None:
        return "", "", text
    kind = _KIND[best[0]]
    before, after = text[: best.start()], text[best.end() :]
    if best[0].endswith("做法"):
        after = f"做{after}"
    if kind == "how" and not after and best[0] in ("如何", "怎样"):
        kind = "state"
    if kind not in ("which", "what"):
        return kind, before, after
    return "what", _WHAT.sub("", before), _WHAT.sub("", after)


def _modal(before: str, after: str) -> tuple[str, str, str]:
    for part in (before, after):
        found = next((found for found in _MODAL.finditer(part) if found[1]), None)
        if found:
            rest = part[: found.start()] + part[found.end() :]
            kind = _MODAL_OF[found[0]]
            kind = {"support": "can", "is": ""}.get(kind, kind)
            return (kind, rest, after) if part is before else (kind, before, rest)
    return "", before, after


def _folded(units: list[str], kept: tuple[str, ...]) -> list[str]:
    """Units as those that ask the same, without the idle ones that need not be kept."""
    folded = (unit if unit in kept else FOLD.get(unit, unit) for unit in units)
    return [unit for unit in folded if unit]
