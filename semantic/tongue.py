"""In which language a question is: by script, and among Latin letters by the commonest words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, TypeAlias

from semantic.wordlist import listed

Language: TypeAlias = Literal["en", "zh", "other"]

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_OTHER: Final = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0531-\u058f\u0590-\u06ff\u0700-\u1fff\u3041-\u30ff\uac00-\ud7af\uff66-\uff9f]"
)
_FOREIGN: Final = {
    word: tongue
    for tongue, words in {
        "es": "el los las una por para qué cómo cuál dónde cuándo puedo está hola gracias mi",
        "fr": "le les une des est pour comment quel quelle où quand puis bonjour merci mon vous je",
        "de": "der die das ein eine ist wie kann ich mein wo wann warum bitte für nicht und",
        "pt": "os uma para como qual onde quando posso está não meu olá obrigado você",
        "it": "il gli una per come quale dove quando posso è ciao grazie mio che",
        "nl": "het een van hoe kan ik mijn waar wanneer waarom niet voor",
    }.items()
    for word in words.split()
}
"""Words that tell a language in Latin letters from English, most often alone to do so."""
_SEVERAL: Final = 2
"""Foreign words that make a text one of another language."""
_ENGLISH: Final = frozenset(listed("the how do i is what to of for can my in and you are does it"))
"""Words that none of them would say."""


def language(text: str) -> tuple[Language, str]:
    """The language, and finer, the tongue."""
    han = len(_HAN.findall(text))
    latin = _LATIN.findall(text)
    other = _OTHER.findall(text)
    if other and 8 * len(other) > han and len(other) > len(latin):
        return "other", unicodedata.name(other[0], "?").split()[0].lower()
    if han and (han >= len(latin) or _ENGLISH.isdisjoint(map(str.lower, latin))):
        return "zh", "zh"  # `JSON转YAML`: names are not in English
    found = [_FOREIGN[word] for word in map(str.lower, latin) if word in _FOREIGN]
    if len(found) >= _SEVERAL:
        best = max(sorted(set(found)), key=found.count)
        if found.count(best) >= _SEVERAL and not any(w in _ENGLISH for w in map(str.lower, latin)):
            return "other", best
    return "en", "en"
