"""A stored question that may mean the same as one that is asked, and what is done with it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, Literal, TypeAlias

import msgspec

from proxy.core.entry import Key

Action: TypeAlias = Literal["serve", "verify", "judge", "promote", "none"]
"""Serve its answer; ask upstream and compare; serve it if the judge agrees; ask upstream, and the
judge behind it, for the next time; or nothing."""

Why: TypeAlias = Literal["purged", "dead", "evicted"]
"""Why a question is to be forgotten: its answer was purged, met to be gone, or is in no tier."""

_LONGEST: Final = 256
"""Letters of a model's name that are kept as they are: clients choose it."""
_CLOSED: Final = (
    "No hit of this kind is served for this model and language now: each would-be hit is answered "
    "upstream and compared. They are served again once enough of them were right; see "
    "hotprefix_semantic_closed."
)
_OPEN: Final = (
    "Other hits of this kind are served as before, from where the error budget allows it."
)


class Near(msgspec.Struct, frozen=True):
    """What was found for a question."""

    action: Action = "none"
    key: Key = Key(b"")
    """Of the stored answer; empty: there is none."""
    scope: Key = Key(b"")
    kind: Literal["canonical", "semantic"] = "semantic"
    similarity: float = 0.0
    """Cosine of the two questions; 0: there was no candidate."""
    threshold: float = 0.0
    reason: str = ""
    """Why the answer is not served; one word of a closed set, after a colon a second one."""
    group: str = ""
    """Of scopes whose errors are counted together."""
    tag: str = ""
    """Of the embedder that made `vector`; empty: it made none."""
    vector: bytes = b""
    """Of the question that was asked."""
    form: bytes = b""
    """What is the same for questions that ask the same in other words, of that one."""
    mark: int = 0
    """How much the semantic process had learnt by then: what it learns later may be there again."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether a stored answer was right for another question than its own."""

    kind: str
    wrong: bool
    similarity: float = 0.0
    group: str = ""


class Blamed(msgspec.Struct, frozen=True):
    """What follows from calling a hit wrong."""

    verdict: Verdict
    keys: tuple[Key, ...] = ()
    """Of the answers that have to go."""
    closed: bool = False
    """Whether hits of its kind and group are not served now, however near."""

    def told(self) -> dict[str, object]:
        """The same for an operator."""
        return {
            "forgotten": True,
            "kind": self.verdict.kind,
            "group": self.verdict.group,
            "closed": self.closed,
            "note": _CLOSED if self.closed else _OPEN,
        }


def group(model: str) -> str:
    """The name under which the errors of a model are counted: its own, but never long. Different
    models have different ones: what is cut is longer than any that is not, by its digest."""
    if len(model) <= _LONGEST:
        return model
    digest = blake2b(model.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{model[:_LONGEST]}…{digest}"
