"""Who does it and to whom it is done, told by the form of the verb: by whom, 被, what eats."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from semantic.matching import akin, unmatched
from semantic.reading import Reading
from semantic.wordlist import listed

_BE: Final = frozenset(listed("is are was were be been being am get gets got"))
_DO: Final = frozenset(("do", "does", "did"))
_SOMEONE: Final = frozenset(listed("i we you he she they someone somebody"))
_CLAUSES: Final = frozenset(listed("if when after once unless because"))
_PARTICIPLE: Final = ("ed", "en", "t", "d", "n", "k")
_ASKS: Final = frozenset(("what", "which", "who", "whom", "whose"))
_SHORT: Final = 3
"""Words of a question with nothing between its auxiliary and its verb."""
_HEAD: Final = 4
"""Words among which it is looked for: `what big birds do`."""
_BARE: Final = frozenset(listed("a an the my your our his her their its this that"))
_BEI: Final = re.compile("(?<![棉])被(?![子告套褥动])")
_TAKEN: Final = re.compile(
    r"(?:(?<![车门拖火扫刀一1])把(?![手握关柄戏])|(?<![即必行])将(?![要会来军])"
    r"|(?<![反针绝核比])对(?![方于])|(?<![方倾去])向|替(?!代))(\w\w)"
)
_TAKER: Final = re.compile(r"(?:(?<!棉)被(?![子套褥动])|遭到?|受到)(\w\w)")
"""Whom something is done to, and who does it, by the first two letters."""
_BEHIND: Final = re.compile(r"(?:(?!怎|如何|什么|为什么|还能|可以|会不会|要不要)[^\W了过])+")
"""Who does it and the deed, up to what is asked."""
_ACTS: Final = re.compile(
    r"(?=(别人|对方|他人|人家|[我你他她])([^\W的了过会能要想可就都也不没是在有]{2}))"
)
_OBJECT: Final = "我你他她它咱您人别谁"
"""Letters that begin what a deed is done to, where no noun is known."""
_HEADED: Final = re.compile(r"^(?:请问|到底)?(?:什么|谁|哪些)(?![时样地人])(?!.*[是有叫为])")
_TAILED: Final = re.compile(r"(?<![为是有叫])(?:什么|谁|哪些)[了呢啊呀?。]*$")


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of the same things, the one that acts in one is the one acted on in the other."""
    if asked.language == stored.language == "zh":
        return (
            _suffers(asked.text, stored.text)
            or _suffers(stored.text, asked.text)
            or _flipped(asked.text, stored.text)
            or _flipped(stored.text, asked.text)
            or _taken(asked.text, stored.text)
            or _taken(stored.text, asked.text)
            or (
                _sought(asked.text, stored.text) and sorted(asked.content) == sorted(stored.content)
            )
        )
    if asked.language != "en" or stored.language != "en":
        return False
    return (
        _undergoes(asked.words, stored.words)
        or _undergoes(stored.words, asked.words)
        or any(
            suffers(*pair)
            for suffers in (_done_to, _happens, _to_me)
            for pair in ((asked.words, stored.words), (stored.words, asked.words))
        )
        or _inverted(asked, stored)
    )


def _undergoes(passive: tuple[str, ...], active: tuple[str, ...]) -> bool:
    """Whether who does it in an English passive comes, in the active, after whom it is done to."""
    if "by" not in passive or "by" in active:
        return False
    place = passive.index("by")
    deed = passive[place - 1]
    if place + 1 >= len(passive) or _BE.isdisjoint(passive[:place]) or _place(deed, active) < 0:
        return False
    if deed in active and not _BE.isdisjoint(active):
        return False  # a passive, too
    agent = next((word for word in passive[place + 1 :] if word not in _BARE), "")
    patient = next((word for word in reversed(passive[: place - 1]) if word not in _BARE | _BE), "")
    by, to = _place(agent, active), _place(patient, active)
    return 0 <= to < by and (to == 0 or active[to - 1] not in _ASKS)


def _done_to(passive: tuple[str, ...], active: tuple[str, ...]) -> bool:
    """Whether someone, in two English questions, suffers in one the deed they do in the other."""
    deeds = [
        (words[0], words[2])
        for words in zip(passive, passive[1:], passive[2:], strict=False)
        if words[0] in _SOMEONE and words[1] in _BE and words[2].endswith(_PARTICIPLE)
    ]
    return bool(deeds) and any(
        (who, deed) not in deeds and any(who == one and akin(deed, done) for one, done in deeds)
        for who, deed in pairwise(active)
    )


def _happens(passive: tuple[str, ...], active: tuple[str, ...]) -> bool:
    """Whether a deed that someone has done, in a clause of one English question, only happens in
    the other: if I hit a car, and if my car was hit."""
    deeds = [
        deed
        for when, who, deed in zip(active, active[1:], active[2:], strict=False)
        if when in _CLAUSES and who in _SOMEONE
    ]
    return any(
        here in _BE and any(_same(deed, there) for deed in deeds)
        for here, there in pairwise(passive)
    )


def _to_me(done: tuple[str, ...], doing: tuple[str, ...]) -> bool:
    """Whether what someone does to me, in one English question, I do in the other."""
    suffered = {deed for deed, whom in pairwise(done) if whom in ("me", "us")}
    return any(
        who in ("i", "we")
        and any(_same(deed, one) for one in suffered)
        and (who, deed) not in pairwise(done)
        for who, deed in pairwise(doing)
    )


def _place(word: str, words: tuple[str, ...]) -> int:
    """Where it stands, in any form; -1: nowhere."""
    return next((place for place, other in enumerate(words) if _same(word, other)), -1)


def _same(one: str, other: str) -> bool:
    return one == other or akin(one, other)


def _inverted(asked: Reading, stored: Reading) -> bool:
    """Whether only one English question asks for the object (`what do sharks eat`), and the other
    has what acts there behind its verb (`what eats sharks`)."""
    if asked.words[:1] != stored.words[:1] or _ASKS.isdisjoint(asked.words[:1]):
        return False
    does, done = asked.words, stored.words
    if not _doing(does):
        does, done = done, does
    place = _doing(does)
    same = does[:place] == done[:place] and len(done) > place
    if not (place and same) or done[place] in _DO:
        return False
    if len(does) > _SHORT and akin(done[place], does[-1]):
        return True
    if place > 1 or any(unmatched(asked.content, stored.content)):
        return False
    return bool(asked.content) and not _same(asked.content[0], stored.content[0])


def _doing(words: tuple[str, ...]) -> int:
    """Where `do` stands behind the word that asks, or a noun of it; 0: nowhere."""
    return next((place for place, word in enumerate(words[:_HEAD]) if word in _DO), 0)


def _suffers(passive: str, active: str) -> bool:
    """Whether what suffers a Chinese deed in one acts in the other: 我被打了 and 我打了人."""
    found = _BEI.search(passive)
    if found is None or _BEI.search(active) is not None:
        return False
    who = re.search(r"[^\W的了怎么]{1,2}$", passive[: found.start()].removesuffix("都"))
    if _turned(passive[found.end() :], active):
        return True
    if who is None:
        return False
    by = re.match(r"(\w\w)(\w)", passive[found.end() :])
    if by and re.search(rf"{re.escape(who[0])}\w*{by[2]}\w*{re.escape(by[1])}", active):
        return True
    deeds = "".join(set(re.findall(r"[^\W了过着怎么办]", passive[found.end() : found.end() + 5])))
    if not deeds:
        return False
    acts = rf"{re.escape(who[0])}(?:[把将]|[^,。被]{{0,4}}?[{deeds}][了过着]?[{_OBJECT}])"
    return re.search(acts, active) is not None


def _flipped(one: str, other: str) -> bool:
    """Whether someone who acts in one Chinese text is acted on in the other: 别人屏蔽, 屏蔽别人."""
    for who, deed in _ACTS.findall(one):
        acted_on = re.compile(rf"{deed}[了过]?{who}")
        if acted_on.search(other) and not acted_on.search(one) and who + deed not in other:
            return True
    return False


def _taken(one: str, other: str) -> bool:
    """Whether what a deed is done to in one Chinese text does it in the other: 把邻居, 被邻居."""
    things = set(_TAKEN.findall(one))
    return bool(things) and not things.isdisjoint(
        set(_TAKER.findall(other)) - set(_TAKER.findall(one)) - set(_TAKEN.findall(other))
    )


def _turned(told: str, active: str) -> bool:
    """Whether what is said behind 被, who does it and then the deed, stands in the active with the
    deed first: whom it is done to."""
    said = _BEHIND.match(told)
    words = said[0] if said else ""
    return any(
        re.search(rf"{re.escape(words[place:])}[了过到]?{re.escape(words[:place])}", active)
        for place in range(1, len(words))
    )


def _sought(one: str, other: str) -> bool:
    """Whether one Chinese text asks who does it, and the other to whom it is done."""
    return any(
        _HEADED.search(first) is not None and _TAILED.search(second) is not None
        for first, second in ((one, other), (other, one))
    )
