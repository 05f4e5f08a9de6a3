"""Turns of an English question that ask the same, each to the plainest of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from semantic.rewriting import rewritten, rules
from semantic.stems import base
from semantic.wordlist import listed

if TYPE_CHECKING:
    from semantic.rewriting import Turned

_PIED: Final = re.compile(
    r"^(?:(?:for|in|after|within) (?=how (?:long|many (?:days|hours|weeks|minutes))\b)"
    r"|(?P<word>in|at|on|from|to|with|by|of|about|under|into|for) "
    r"(?=(?:what|which|whom|whose)\b(?! (?:time|date|day|place|location|reason))"
    r"|how (?:many|much|old|far|big|high)\b))"
)
"""A preposition that came to the front with the word that asks; it may as well stay behind."""
_TEXTS: Final = "|".join(
    listed(
        "recipe template example examples sample list summary overview outline tip tips "
        "idea ideas itinerary suggestions recommendations checklist"
    )
)
_MAKES: Final = "|".join(
    listed(
        "made produced built created cooked baked brewed prepared written drawn pronounced spelled "
        "spelt calculated computed measured solved"
    )
)
"""Deeds of which how it is done and how one does it are one."""
_WRITTEN: Final = "|".join(
    listed(
        "poem essay story letter email song haiku limerick sonnet speech joke paragraph article "
        "tweet review caption slogan script function program query"
    )
)
_AUXILIARY: Final = "can|could|should|must|may|might|will|would|do|did|am|are|is|was|were|have|has"
_SPEAKERS: Final = r"(?:i|we|you|they|he|she|it|someone|people)\b"
"""Who is not what a deed is done to."""
_TURNS: Final[tuple[tuple[str, Turned], ...]] = (
    # asked within another clause: what comes before its subject there, comes behind it here
    (
        rf"^(how|where|when|why|what|which|who)( \w+)?? (i|we|you|they|it) ({_AUXILIARY}) (?=\w)",
        r"\1\2 \4 \3 ",
    ),
    (
        rf"^(?:if|whether) (i|we|you|they|it|there|(?:the|my|your|a|an) (?:\w+ ){{0,2}}?\w+) "
        rf"({_AUXILIARY}) (?=\w)",
        r"\2 \1 ",
    ),
    (r"^(.+) is (what|when|where|who)$", r"\2 is \1"),
    (
        r"^(?:am|are|is) ((?:\w+ ){1,4}?)(?:allowed|able|permitted|entitled)(?: to)? (?=\w)",
        r"can \1",
    ),
    (r"^for what reason ", "why "),
    (r"^why is it that ", "why "),
    (
        r"^is it (?:(?:possible|allowed|permitted|fine|alright) )?for (?!me |us )"
        r"((?:\w+ ){1,3}?)to (?=\w)",
        r"can \1",
    ),
    (r"^do you (?=need (?:to|an?) |have to )", "do i "),
    (r"^((?!how\b)\w+(?: \w+){0,3}) how to (\w+)$", r"how to \2 \1"),
    (r"^(explain|describe|define|write) (.+) (?:to|for) (?:me|us)$", r"\1 \2"),
    (
        r"^how (?:does|do|can|could|should|would|might) (?:1|someone|somebody|a person) "
        r"(?!person|man|woman|day|single|more|thing)",
        "how do i ",
    ),
    (r"^(?:tell |give |show )(?:(?:me|us) )?the (?=(?:\w+ ){1,3}of )", "what is the "),
    (
        rf"^(?:(?:give|send)(?: me)?|i (?:need|want|would like)|compose|create|draft|generate|make"
        rf"|produce) (?=(?:an?|some) (?:\w+ ){{0,3}}(?:{_WRITTEN})\b)",
        "write ",
    ),
    (
        r"^how many (.+?) (?:(?:does|do) (.+) have|has (.+) got"
        r"|(?:(?:are|is)(?: there)? (?:in|on|at)|make(?: up)?) (.+))$",
        lambda found: f"how many {found[1]} in {found[2] or found[3] or found[4]}",
    ),
    (
        r"^(?:what is )?(?:the )?(?:total )?number of (?!the |my |your )(.+?) (?:in|on|at|of) "
        r"(.+)$",
        r"how many \1 in \2",
    ),
    (
        r"^(?:is|are) (\w+ing) (.+) (?:allowed|permitted|possible)$",
        lambda found: f"can i {base(found[1])} {found[2]}",
    ),
    (r"^what (is|are) (a|the) (best|good|nice) (places?) (?=to|for)", r"where \1 \2 \3 \4 "),
    (r"\bto not (?=\w)", "not to "),
    (r"\byou (?:guys|folks|all)\b", "you"),
    (r"^(?:list|name)(?: all)?(?: of)? the (?!following)", "what are the "),
    (r"^(what|which) are some(?: of the)? ", r"\1 are "),
    (
        r"^(?:(?:give|show|send|get|find)(?: me)?|i (?:need|want|would like|am looking for)"
        r"|(?:can|could|may) i (?:have|get)|do you have) "
        rf"(?=(?:an?|some|the|any) (?:\w+ ){{0,2}}(?:{_TEXTS})\b)",
        "",
    ),
    (rf"^(?:some|any|a few) (?=(?:\w+ )?(?:{_TEXTS})\b)", ""),
    (
        r"^((?:what|which)\b.*?) (?:is|are) (?:required|needed|necessary)"
        r"(?= (?:to|for|in|when)\b|$)",
        r"\1 do i need",
    ),
    (
        r"^how (?:do|does|is|are) (.+?) (?:differ|different) (?:from|to|than) (.+)$",
        r"what is the difference between \1 and \2",
    ),
    (
        r"^how (?:do|does|are) (.+ and .+?) (?:differ|different)"
        r"(?: from (?:each other|one another))?$",
        r"what is the difference between \1",
    ),
    (
        r"^what (?:is|are) (.+) (?:short for|an abbreviation (?:of|for))$",
        r"what does \1 stand for",
    ),
    (r"^how do they (?=(?:make|build|produce|create|brew|prepare|calculate|measure)\b)", "how to "),
    (
        rf"^how (?:is|are) (?!.*\b(?:my|your|our)\b)(.+) ({_MAKES})$",
        lambda found: f"how to {base(found[2])} {found[1]}",
    ),
    (
        rf"^how (?:should|can|could) (?!{_SPEAKERS})((?:\w+ ){{1,4}}?)be (?!able\b)(\w+ed)"
        r"((?: (?!by\b)\w+)*)$",
        lambda found: f"how to {base(found[2])} {found[1].rstrip()}{found[3]}",
    ),
    (
        rf"^how often (?:(?:does|do) (?!{_SPEAKERS})(.+) need (\w+ing)|(?:should|must) "
        rf"(?!{_SPEAKERS})(.+) be (\w+ed))$",
        lambda found: f"how often should i {base(found[2] or found[4])} {found[1] or found[3]}",
    ),
    (r"^(?:who|whom) (?:is|was|were|are) (.+) (\w+(?:ed|en|wn)) by$", r"who \2 \1"),
    (r"^where (is|are|was|were) (.+) (?:located|situated)$", r"where \1 \2"),
    (r"^what is the location of (?=\w)", "where is "),
    (r"^how expensive (?=is|are)", "how much "),
)
_RULES: Final = rules(_TURNS)
_BETWEEN: Final = re.compile(
    r"\b((?:difference|differences|distance|similarities|relationship) between) "
    r"(\w+(?: \w+){0,3}?) and (\w+(?: \w+){0,3})$"
)
"""What is between two things is so whichever is named first."""


def plain(asked: str) -> str:
    """A question in lower case, its words with single blanks between, in its plainest turn."""
    if pied := _PIED.match(asked):
        asked = f"{asked[pied.end() :]} {pied['word'] or ''}".rstrip()
    return _BETWEEN.sub(_sorted, rewritten(asked, _RULES))


def _sorted(found: re.Match[str]) -> str:
    first, second = sorted(
        (found[2], found[3]), key=lambda thing: re.sub(r"^(?:an?|the|my) ", "", thing)
    )
    return f"{found[1]} {first} and {second}"
