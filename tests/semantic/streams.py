"""Traffic for an error budget: would-be hits drawn from pairs with known labels, and what a policy
makes of them."""

from __future__ import annotations

import json
import random
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from semantic.budget import Budget
from semantic.entry_policy import EntryPolicy
from semantic.protocol import Label
from semantic.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semantic.policy import Policy

DATA: Final = Path(__file__).parent / "data"
SETS: Final = ("fow_pairs", "zh_contrast", "banking77_2000", "en_contrast")


class Hit(NamedTuple):
    """A would-be hit."""

    similarity: float
    wrong: bool
    entry: int
    """Which stored answer it is on."""


class Run(NamedTuple):
    """What became of a stream."""

    hits: int
    served: int
    wrong: int
    """Of those served."""

    def kept(self, budget: float) -> bool:
        """Whether the error among what was served is within the budget."""
        return self.wrong <= budget * self.served


def pairs(name: str) -> list[Hit]:
    """The would-be hits of a set, from a similarity of 0.8 on; the cosines were computed with the
    bundled embedder by `tests.bench.semantic_budget --write`."""
    sets = json.loads((DATA / "cosines.json").read_text(encoding="utf-8"))
    return [Hit(similarity, bool(wrong), entry) for similarity, wrong, entry in sets[name]]


def stream(hits: Sequence[Hit], base: float, length: int, seed: int) -> Iterator[Hit]:
    """Draw with replacement, so that a share `base` of all is wrong."""
    chance = random.Random(f"stream {seed}")
    wrong = [hit for hit in hits if hit.wrong]
    right = [hit for hit in hits if not hit.wrong]
    for _ in range(length):
        yield chance.choice(wrong if chance.uniform(0.0, 1.0) < base else right)


def policy(name: str, budget: float, *, min_similarity: float = 0.0) -> Policy:
    """A new one, that serves."""
    settings = Settings(mode="on", max_error_rate=budget, min_similarity=min_similarity)
    return EntryPolicy(settings) if name == "entry" else Budget(settings)


def run(deciding: Policy, hits: Iterator[Hit], seed: int, names: Iterator[int]) -> Run:
    """Serve what the policy serves, and tell it what was verified."""
    chance = random.Random(f"draw {seed}")
    length = served = wrong = 0
    for hit in hits:
        length += 1
        key = hit.entry.to_bytes(32, "big")
        draw = chance.uniform(0.0, 1.0)
        action = deciding.verdict("model en", "semantic", hit.similarity, draw, key).action
        if action == "serve":
            served += 1
            wrong += hit.wrong
        elif action == "verify":
            deciding.learn(label(next(names), hit.similarity, wrong=hit.wrong, key=key))
    return Run(length, served, wrong)


def simulated(name: str, hits: Sequence[Hit], budget: float, base: float, seed: int) -> Run:
    """One run of 5,000 would-be hits on a new policy."""
    return run(policy(name, budget), stream(hits, base, 5000, seed), seed, count())


def label(
    number: int,
    similarity: float,
    *,
    wrong: bool,
    group: str = "model en",
    key: bytes = bytes(32),
) -> Label:
    """A label of a nearest neighbour, with the number for its name."""
    return Label(number.to_bytes(16, "big"), group, "semantic", similarity, key, wrong)


def dumped(policy: Policy) -> bytes:
    """All that it has learnt, as it is kept."""
    return b"".join(policy.dump())
