"""In which language a person asks: Chinese, or any other."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

Language: TypeAlias = Literal["zh", "en"]
"""`en` stands for all that is not Chinese."""

_LONGEST: Final = 4096
"""Characters that are looked at: half of them from the beginning, half from the end."""

# Who asks in one language may quote another, and code is in none.
_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{,200}`|https?://\S+|“[^”]{,200}”|‘[^’]{,200}’|「[^」]{,200}」"
    r"|『[^』]{,200}』|《[^》]{,200}》|\"[^\"\n]{,200}\"|(?<!\w)'[^'\n]{,200}'(?!\w)",
    re.DOTALL,
)
_CODE: Final = re.compile(r"^.*(?:[{}]|;\s*$|\w\(|[=!<>:+-]=|[-=]>|</).*$", re.MULTILINE)
_TASK: Final = re.compile(r"\s*([^::\n]{1,200})[::]")
"""What comes before a colon says what is to be done with what follows."""
_TELLING: Final = 2
"""Han letters or words that say something."""

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
# The names of things are English in many a Chinese question; these words are in none.
_COMMON: Final = (
    "a an and are as at by can could do does for from how in into is it me my of on or please "
    "should that the this to was what when where which who why with would you your"
)
_ENGLISH: Final = frozenset(_COMMON.split())
_WEIGHT: Final = 3
"""Words that one of these counts for."""
_JAPANESE: Final = 8
"""Han letters that a kana outweighs; in Chinese it stands only in names."""


class _Count(NamedTuple):
    han: int
    kana: int
    words: int


def language(text: str) -> Language:
    """The language of what is asked, in a text that may quote others."""
    shown = text if len(text) <= _LONGEST else text[: _LONGEST // 2] + text[-_LONGEST // 2 :]
    said = _CODE.sub("", _QUOTED.sub(" ", shown))
    task = _TASK.match(said)
    parts = map(_counted, (task[1] if task else "", said))
    telling = (part for part in parts if part.han + part.words >= _TELLING)
    count = next(telling, None) or _counted(shown)
    chinese = count.han >= count.words and count.han > count.kana * _JAPANESE
    return "zh" if chinese else "en"


def _counted(text: str) -> _Count:
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    words = _LETTERS.findall(_KANA.sub(" ", _HAN.sub(" ", text)).lower())
    return _Count(han, kana, sum(_WEIGHT if word in _ENGLISH else 1 for word in words))
