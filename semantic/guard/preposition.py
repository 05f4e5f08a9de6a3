"""The same words but for the preposition before a thing: by him, about him, with him."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Final

from semantic.glossary import ENGLISH, NOTHING
from semantic.matching import unmatched
from semantic.reading import Reading
from semantic.stems import base, stem
from semantic.wordlist import entries, listed

_KIN: Final = """
at on in within during throughout
during while when
in into inside
on onto upon
to into towards
of for
of in
of at
of about
about on regarding concerning
from since
from off out
after since
until till before
before by
over above
over across
across through
through via by
under below beneath
between among
"""
"""Of any two in a line, one may stand for the other whatever it is about."""
_SAME: Final = frozenset(
    frozenset(pair) for line in entries(_KIN) for pair in combinations(listed(line), 2)
)
_ALONE: Final = listed("against and around as behind beyond but or outside per than with without")
_WORDS: Final = frozenset().union(_ALONE, *_SAME)
_GOVERNED: Final = """
refund refundable fee price cost charge discount tax rate penalty hour open close time weather
    forecast rule law requirement limit ticket deal offer insurance = for on in at of
connect link pair sync synchronize compare speak talk chat integrate match merge combine similar
    = to with and
add insert attach append apply change convert translate save upload copy send = to in into on at
buy order get purchase download remove delete rent hire borrow collect extract withdraw copy
    read cut filter erase book import install eliminate getridof clean wash wipe
    = from in at on of off out
pay send book travel go contact fill cover replace start begin end come = by with via in on over
cook bake fry make write build create program code implement = with in on
make build produce consist = of from
card letter gift present song email message note poem speech toast invitation bus train flight
    ferry ticket open important useful = for to
help assist = with in for
protect hide = from against
divide split = into in by between
distance far = between from and
distance far = and to
"""
"""What the first word behind some words stands for, as the others stand for it."""
_VERBS: Final = [
    (frozenset(listed(verbs)), listed(words)[0], frozenset(listed(words)))
    for verbs, words in (line.split(" = ") for line in entries(_GOVERNED))
]
_MEANS: Final = frozenset(
    listed(
        "phone telephone email mail post letter fax text sms app website internet web card cash "
        "cheque check transfer bus train car plane bike boat ferry taxi tram foot air sea hand"
    )
)
_BY: Final = frozenset(listed("by with via through over on in"))
"""Each of which names means: by phone, over the phone."""
_WHEN: Final = frozenset(("weekday", "month", "season", "daytime", "day", "holiday", "span"))
_FOR_WHEN: Final = frozenset(listed("for on in at of"))
_BARE: Final = frozenset(
    listed("a an the my your our his her their its this that these those some all each every any")
)
_DECISIVE: Final = frozenset(
    listed("by with from off under over against through after before as about")
)
"""Without one of these, a thing is what the deed is done to: pay by invoice, pay an invoice."""
_COMPARING: Final = frozenset(listed("difference better best compare versus vs between prefer"))
"""Words beside which `a or b` is no other question than `a and b`."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether two English questions of the same content have a thing behind prepositions that
    never stand for each other, or behind one in one of them only."""
    if not asked.language == stored.language == "en":
        return False
    mine, theirs = _used(asked.words), _used(stored.words)
    if mine == theirs or not _WORDS.issuperset(chain(*unmatched(asked.content, stored.content))):
        return False
    one, other = _things(asked.words), _things(stored.words)
    kin = _kin(asked.words, stored.words)
    if any(_apart(at[1], one[at], other[at], kin) for at in one.keys() & other.keys()):
        return True
    return _bare(asked.words, stored.words) or _bare(stored.words, asked.words)


def _used(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word in _WORDS]


def _things(words: tuple[str, ...]) -> dict[tuple[str, str], set[str]]:
    """Things, each with the word that it is said of, and what stands between them; what is asked
    for, behind no word, has no name."""
    found: dict[tuple[str, str], set[str]] = {}
    for place, word in enumerate(words):
        if word not in _WORDS or (word == "out" and words[place + 1 : place + 2] == ("of",)):
            continue
        out = word == "of" and place > 0 and words[place - 1] == "out"
        before = words[: place - out][::-1]
        of = next((word for word in before if word not in _BARE), "")
        thing = next((thing for thing in words[place + 1 :] if thing not in _BARE), "")
        if thing not in _WORDS:
            found.setdefault((base(stem(of)), stem(thing)), set()).add("out" if out else word)
    return found


def _kin(asked: tuple[str, ...], stored: tuple[str, ...]) -> set[frozenset[str]]:
    """What stands for each other behind words of one kind, of which both have one: whether those
    ask the same, other guards see."""
    here, there = ({base(stem(word)) for word in words} for words in (asked, stored))
    found = {
        frozenset((first, word))
        for verbs, first, words in _VERBS
        if not (verbs.isdisjoint(here) or verbs.isdisjoint(there))
        for word in words
    }
    return found if _COMPARING.isdisjoint(here & there) else found | {frozenset(("and", "or"))}


def _apart(thing: str, one: set[str], other: set[str], kin: set[frozenset[str]]) -> bool:
    """Whether nothing before a thing here stands for anything before it there."""
    if not one.isdisjoint(other):
        return False
    alike = _alike(thing)
    return not any(
        frozenset((here, there)) in _SAME
        or frozenset((here, there)) in kin
        or {here, there} <= alike
        for here in one
        for there in other
    )


def _alike(thing: str) -> frozenset[str]:
    """What stands for each other before means, and before a time."""
    if thing in _MEANS:
        return _BY
    timed = any(kind in _WHEN for kind, _ in ENGLISH.get(thing, NOTHING).members)
    return _FOR_WHEN if timed or thing[:1].isdigit() else frozenset()


def _bare(long: tuple[str, ...], short: tuple[str, ...]) -> bool:
    """Whether one is the other with a decisive preposition more, but for articles."""
    more, less = ([word for word in words if word not in _BARE] for words in (long, short))
    return len(more) == len(less) + 1 and any(
        word in _DECISIVE and more[:place] + more[place + 1 :] == less
        for place, word in enumerate(more[:-1])
    )
