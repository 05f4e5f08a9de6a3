"""How near a neighbour has to be before anything was measured, by profile and embedder."""

from __future__ import annotations

from typing import Final

from semantic.settings import Profile

_USE: Final = {
    "strict": {"en": 0.95, "zh": 0.96},
    "balanced": {"en": 0.92, "zh": 0.93},
    "relaxed": {"en": 0.88, "zh": 0.92},
}
_E5: Final = {
    "strict": {"en": 0.98, "zh": 0.988},
    "balanced": {"en": 0.97, "zh": 0.98},
    "relaxed": {"en": 0.965, "zh": 0.975},
}
_UNMEASURED: Final = {
    "strict": {"en": 0.95, "zh": 0.96},
    "balanced": {"en": 0.95, "zh": 0.96},
    "relaxed": {"en": 0.9, "zh": 0.94},
}
"""Of embedders that nobody has measured here."""
_TABLES: Final = {"use": _USE, "e5": _E5}
_FOREIGN: Final = 0.005
"""More than the highest of the measured languages: for those that no guard reads."""
_ALIKE: Final = {"use": 0.75, "e5": 0.95}
"""Questions of the same words: so much only tells that the words are meant the same way."""
_ALIKE_UNMEASURED: Final = 0.85


def threshold(profile: Profile, embedder: str, language: str) -> float:
    """The least cosine of a hit. `embedder`: as the setting names it; `language`: en, zh, other."""
    table = _TABLES.get(embedder, _UNMEASURED)[profile]
    return table.get(language, max(table.values()) + _FOREIGN)


def threshold_alike(profile: Profile, embedder: str, language: str) -> float:
    """The least cosine of a hit whose questions are `alike`."""
    if language not in _USE[profile]:
        return threshold(profile, embedder, language)
    return _ALIKE.get(embedder, _ALIKE_UNMEASURED)
