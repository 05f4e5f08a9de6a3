"""Text without what does not change the answer: the profiles `prose` and `fold`, and masks."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from proxy.config import Mask, Profile


class Normalizer(msgspec.Struct, frozen=True):
    """What is done to each text of a request's messages, and up to which size in all."""

    fold: bool
    masks: tuple[tuple[str, re.Pattern[str]], ...] = ()
    fillers: tuple[str, ...] = ()
    """Folded; longer ones first."""
    max_bytes: int = 16384

    def text(self, text: str) -> str:
        """Equal for texts that mean the same, as far as the profile goes."""
        for name, pattern in self.masks:
            text = pattern.sub(f"\0{name}\0", text)
        plain = _known(text) if len(text) <= _COMMON else prose(text)
        if plain is None:
            # A mark that prose cannot have: code never meets what a prose text was turned into.
            return "\0code\0" + text
        return _without_fillers(fold(plain), self.fillers) if self.fold else plain


def normalizer(
    profile: Profile, masks: tuple[Mask, ...], fillers: tuple[str, ...], max_bytes: int
) -> Normalizer | None:
    """None: no second key."""
    if profile == "none":
        return None
    folded = {fold(" ".join(word.split())) for word in fillers} - {""}
    return Normalizer(
        fold=profile == "fold",
        masks=tuple((mask.name, re.compile(mask.pattern)) for mask in masks),
        fillers=tuple(sorted(folded, key=lambda word: (-len(word), word))),
        max_bytes=max_bytes,
    )


def prose(text: str) -> str | None:
    """NFC, one blank for each run of blanks and line ends, none at the ends; None for code."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if _is_code(text):
        return None
    text = text.strip()
    if not _has_runs(text):
        return text
    return None if _has_quoted_run(text) else " ".join(text.split())


_COMMON: Final = 8192
"""Characters of a text up to which it is remembered: 256 such take 2 MB, seldom more."""
_known: Final = lru_cache(maxsize=256)(prose)
"""System prompts and former turns come again with every request of a conversation."""

_INDENTED: Final = re.compile(r"[\r\n][ \t\xa0]+[^ \t\xa0\r\n]")
_LINE_END: Final = re.compile(r"[{};][ \t]*(?:[\r\n]|$)")
_QUOTES: Final = re.compile(r"""["'`‘’“”„«»「」『』]""")
_LAST_QUOTE: Final = re.compile(rf".*{_QUOTES.pattern}", re.DOTALL)
_ASCII_BLANKS: Final = "\n\r\t\v\f\x1c\x1d\x1e\x1f"
_OTHER_BLANKS: Final = re.compile(r"[^\S ]")


def _is_code(text: str) -> bool:
    """Fences, indentation, or braces and semicolons at line ends."""
    if ("`" in text and "```" in text) or ("~" in text and "~~~" in text):
        return True
    if ("{" in text or "}" in text or ";" in text) and _LINE_END.search(text):
        return True
    return ("\n" in text or "\r" in text) and _INDENTED.search(text) is not None


def _has_runs(text: str) -> bool:
    # A loop over single characters is the quickest of all ways to look for them.
    for blank in _ASCII_BLANKS:
        if blank in text:
            return True
    return "  " in text or (not text.isascii() and _OTHER_BLANKS.search(text) is not None)


def _has_quoted_run(text: str) -> bool:
    """Whether blanks that would be folded stand between quotation marks, where they are content:
    anywhere after the first mark and before the last, since any two in a row may be a pair."""
    first = next((m.start() for m in _QUOTES.finditer(text) if _is_mark(text, m.start())), None)
    if first is None:
        return False
    end = len(text)
    while found := _LAST_QUOTE.match(text, first, end):
        end = found.end() - 1
        if _is_mark(text, end):
            return _has_runs(text[first:end])
    return False


def _is_mark(text: str, at: int) -> bool:
    """Whether it is no apostrophe."""
    within = text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
    return not (within and text[at] in "'‘’")


# Raised and lowered digits and fractions are numbers of their own: NFKC makes 5² into 52.
_APART: Final = re.compile("([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2150-\u215f\u2189]+)")
_BEFORE: Final = " !?¿¡,;:。、・"
_AFTER: Final = " .,;:?。、…・"


def fold(text: str) -> str:
    """NFKC, which also narrows full-width forms; case folded; no punctuation at the edges.

    What may be arithmetic stays: a point before a number, an exclamation mark after one.
    """
    if not text.isascii():
        pieces = _APART.split(text)
        pieces[::2] = [unicodedata.normalize("NFKC", piece) for piece in pieces[::2]]
        text = "".join(pieces)
    # Folding case can undo composition, and narrowing can make a run of blanks.
    return _bare(" ".join(unicodedata.normalize("NFC", text.casefold()).split()))


def _bare(text: str) -> str:
    text = text.lstrip(_BEFORE) or text
    bare = text.rstrip(_AFTER + "!")
    if not (bare[-2:].isalpha() and (len(bare) > 1 or bare >= "\u2e80")):
        bare = text.rstrip(_AFTER)
    return bare or text


def _without_fillers(text: str, fillers: tuple[str, ...]) -> str:
    """Take filler words off both edges, again and again, but never all there is."""
    found = True
    while found:
        found = False
        for word in fillers:
            for rest in (_after(text, word), _before(text, word)):
                if rest:
                    text, found = rest, True
                    break
    return text


def _after(text: str, word: str) -> str:
    rest = text[len(word) :] if text.startswith(word) else ""
    return _bare(rest) if rest and _ends_word(word[-1], rest[0]) else ""


def _before(text: str, word: str) -> str:
    rest = text[: -len(word)] if text.endswith(word) else ""
    return _bare(rest) if rest and _ends_word(rest[-1], word[0]) else ""


def _ends_word(left: str, right: str) -> bool:
    """Whether a word can end between two letters: scripts without blanks end words anywhere."""
    return not (left.isalnum() and right.isalnum() and left < "\u2e80" and right < "\u2e80")
