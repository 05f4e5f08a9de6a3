"""A policy: whether a stored answer may be served for a question that seems to mean the same."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semantic.protocol import Action, Kind, Label
    from semantic.settings import Settings

_DIGEST: Final = 8


def basis(settings: Settings, tag: str) -> bytes:
    """What a similarity says, and of which neighbours: 8 bytes. `tag`: the embedder's. Another
    embedder's cosines are other numbers, and other guards let other neighbours pass: evidence of
    the one says nothing of the other."""
    parts = msgspec.msgpack.encode((tag, settings.profile, settings.cross_language))
    return blake2b(parts, digest_size=_DIGEST).digest()


class Verdict(NamedTuple):
    """What becomes of a would-be hit."""

    action: Action
    reason: str
    """Why it is not served: below_threshold, budget, sampled, shadow; empty where it is."""
    threshold: float
    """The similarity from which on hits of its group are served; above 1: none are."""


class Policy(Protocol):
    """What decides on would-be hits, and learns from those that were verified."""

    def verdict(
        self, group: str, kind: Kind, similarity: float, draw: float, key: bytes
    ) -> Verdict:
        """`draw`: a number by chance, from 0 up to but not 1; `key`: of the stored answer."""
        ...

    def learn(self, label: Label) -> None:
        """One that comes twice counts once. A label has to come of every would-be hit that was
        verified, whether right or wrong: a judge that only reports what it finds right, to have
        it served the next time, would make every threshold fall."""
        ...

    def forget(self, keys: Sequence[bytes]) -> None:
        """Nothing of these stored answers themselves is to be known any more."""
        ...

    def state(self) -> dict[str, dict[str, float]]:
        """For each group, figures for each kind: threshold, labels, errors, bound, and whether none
        is served: closed, as wrong labels weigh more than the right ones do, or unopened, as none
        was wrong, but too few were compared."""
        ...

    def dump(self) -> Iterable[bytes]:
        """All that was learnt by now, in pieces that are made when they are asked for."""
        ...

    def restore(self, data: bytes) -> None:
        """Take over what was dumped; what cannot be read, or was learnt under other terms or on
        another basis that it does not hold for, counts as nothing."""
        ...
