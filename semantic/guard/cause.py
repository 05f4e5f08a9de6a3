"""What brings something about, and what it brings about."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading

_BRINGS: Final = (
    r"(?:causes?|caused|leads? to|led to|results? in|resulted in|triggers?|triggered"
    r"|brings? about|brought about|gives? rise to|gave rise to|produces?|produced|sparks?|sparked"
    r"|influences?|influenced|affects?|affected|inspires?|inspired|provokes?|provoked)"
)
_COMES: Final = (
    r"(?:(?:results?|resulted|comes?|came|stems?|stemmed|arises?|arose|follows?|followed) "
    r"(?:from|out of))"
)
_WHAT: Final = (
    r"(?:what|which|who)(?: (?!does|do|did|will|can|could|would|is|was|are|were)\w+){0,2}"
)
_CAUSE: Final = re.compile(
    rf"^(?:{_WHAT} (?:{_BRINGS}|makes?|made)\b|why\b)"
    r"|\b(?:causes?|reasons?|origins?|triggers?|roots?) (?:of|for|behind)\b"
    rf"|^{_WHAT} (?:does|do|did) .+ (?:result|come|stem|arise|follow) from$"
    rf"|^{_WHAT} (?:is|was|are|were) .+ (?:caused|triggered|produced|provoked|influenced|inspired"
    r"|brought about|due) (?:by|to)$"
    r"|\b(?:is|was|are|were) the (?:cause|reason)\b"
)
_EFFECT: Final = re.compile(
    rf"^{_WHAT} (?:does|do|did|will|can|could|would|may|might) .+ (?:cause|lead to|result in"
    r"|trigger|bring about|give rise to|produce|spark|influence|affect|inspire|provoke)\b"
    r"|\b(?:effects?|consequences?|results?|outcomes?|impacts?|implications?|aftermath) of\b"
    rf"|^{_WHAT} {_COMES}\b"
    r"|^what (?:happens|happened) (?:because|due|as a result|after|following)\b"
)


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of two English questions, one asks for the cause of what the other asks for the
    effects of."""
    if not asked.language == stored.language == "en":
        return False
    one, other = _sought(asked), _sought(stored)
    return "" not in (one, other) and one != other


def _sought(reading: Reading) -> str:
    """What is asked for: cause, effect; empty: neither, or both."""
    text = " ".join(reading.words)
    cause, effect = _CAUSE.search(text) is not None, _EFFECT.search(text) is not None
    if cause == effect:
        return ""
    return "cause" if cause else "effect"
