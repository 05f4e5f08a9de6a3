"""Which texts an embedder can read, by the scripts of its languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_LATIN: Final = "A-Za-zªµº\u00c0-\u024f\u0250-\u02ff\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a"
_HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = "\u3031-\u3035\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
_SCRIPTS: Final = {
    "ar": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff",
    "ja": _HAN + _KANA,
    "ko": _HANGUL + _HAN,
    "ru": "\u0400-\u04ff",
    "th": "\u0e00-\u0e7f",
    "zh": _HAN,
}
"""By language; the others that embedders here name are written in Latin letters."""

_NOTHING: Final = re.compile(r"[\W_]*")
# A C library ends a text at its first NUL, and a surrogate alone has no UTF-8 form.
_BROKEN: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def readable(text: str, languages: frozenset[str] | None) -> bool:
    """Whether the text says something, and all its letters are those of one of the languages.

    Latin letters are everywhere, in names of things, and read by every embedder.
    """
    if _NOTHING.fullmatch(text) or _BROKEN.search(text):
        return False
    return languages is None or not _foreign(languages).search(text)


@lru_cache(maxsize=16)
def _foreign(languages: frozenset[str]) -> re.Pattern[str]:
    known = "".join(_SCRIPTS.get(language, "") for language in sorted(languages))
    return re.compile(rf"(?![{_LATIN}{known}])[^\W\d_]")
