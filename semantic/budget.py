"""The error budget: hits of a group are served from where the evidence of its own labels allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semantic.evidence import STEPS, step, threshold
from semantic.ledger import Ledger
from semantic.policy import Verdict
from semantic.track import Track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semantic.protocol import Kind, Label
    from semantic.settings import Settings


class Budget:
    """A policy with one threshold for each group and kind.

    Canonical questions, and neighbours from the operator's own `min_similarity` on, are served
    until labels show an error above the budget; other neighbours only once labels show an error
    below it.
    """

    def __init__(self, settings: Settings, basis: bytes = b"") -> None:
        self._settings = settings
        self._ledger = Ledger(
            self._made,
            (settings.policy, settings.max_error_rate, settings.min_similarity),
            shadow=settings.mode == "shadow",
            basis=basis,
        )

    def verdict(
        self, group: str, kind: Kind, similarity: float, draw: float, key: bytes
    ) -> Verdict:
        """What becomes of a would-be hit; `draw`: a number by chance, from 0 up to but not 1."""
        track = self._ledger.track(group, kind)
        edge = self._edge(kind, track)
        number = self._number(kind, similarity)
        if self._settings.mode == "shadow" and max(number, step(similarity)) >= 0:
            return Verdict("verify", "shadow", edge)
        if number < track.floor:
            return Verdict("none", "below_threshold", edge)
        if number < track.opened:
            return Verdict("verify", "budget", edge)
        if draw < self._settings.sample_rate:
            return Verdict("verify", "sampled", edge)
        return Verdict("serve", "", edge)

    def learn(self, label: Label) -> None:
        """One that comes twice counts once."""
        number = self._number(label.kind, label.similarity)
        if self._ledger.counted(label.name) or number < self._floor(label.kind):
            return
        self._ledger.kept(label.group, label.kind).learn(number, wrong=label.wrong)

    def forget(self, keys: Sequence[bytes]) -> None:
        """Nothing here is of one answer alone."""

    def state(self) -> dict[str, dict[str, float]]:
        """See `Policy`."""
        return self._ledger.state()

    def dump(self) -> tuple[bytes]:
        """All that was learnt."""
        return (self._ledger.dump(),)

    def restore(self, data: bytes) -> None:
        """Take over what was dumped; what means nothing here leaves nothing."""
        self._ledger.restore(data)

    def _made(self, kind: Kind) -> Track:
        trusted = kind == "canonical" or self._settings.min_similarity > 0.0
        return Track(self._settings.max_error_rate, self._floor(kind), trusted=trusted)

    def _floor(self, kind: Kind) -> int:
        if kind == "canonical":
            return STEPS - 1
        return max(0, step(self._settings.min_similarity))

    def _number(self, kind: Kind, similarity: float) -> int:
        """The step of a would-be hit; negative where it is none."""
        if kind == "canonical":
            return STEPS - 1
        least = self._settings.min_similarity
        if least > 0.0:
            # The operator may go below the lowest step.
            return max(0, step(similarity)) if similarity >= least else -1
        return step(similarity)

    def _edge(self, kind: Kind, track: Track) -> float:
        if kind == "semantic" and track.opened == track.floor:
            return self._settings.min_similarity or threshold(track.floor)
        return threshold(track.opened)
