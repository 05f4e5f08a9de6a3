"""The words of an English text: contractions in full, set phrases as one word, no fillers."""

from __future__ import annotations

import re
from typing import Final

from semantic.words import CLITICS, CONTRACTED, FILLERS, IS_AFTER, PHRASES

_TOKEN: Final = re.compile(r"[^\W\d_]+[+#]*|\d(?:[\d.,:/]*\d)?%?|'|,|[^\w\s.?!;:()\"-]|[.?!;:]")
_PHRASES: Final[dict[str, list[tuple[tuple[str, ...], str]]]] = {}
for _phrase, _single in PHRASES.items():
    _words = tuple(_phrase.split())
    _PHRASES.setdefault(_words[0], []).append((_words[1:], _single))
for _choices in _PHRASES.values():
    _choices.sort(key=lambda choice: -len(choice[0]))
_NEGATED: Final = {"can": "can", "won": "will", "shan": "shall"}
"""What stands before the apostrophe of can't, won't and shan't."""


def tokens(text: str) -> list[str]:
    """Words, numbers and marks of a lower-case text, in order."""
    return _phrased(_expanded(_TOKEN.findall(text)))


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
