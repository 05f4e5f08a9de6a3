"""A stored question that may mean the same as one that is asked, and what is done with it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from proxy.core.entry import Key

Action: TypeAlias = Literal["serve", "verify", "judge", "promote", "none"]
"""Serve its answer; ask upstream and compare; serve it if the judge agrees; ask upstream, and the
judge behind it, for the next time; or nothing."""


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


class Verdict(msgspec.Struct, frozen=True):
    """Whether a stored answer was right for another question than its own."""

    kind: str
    wrong: bool
    similarity: float = 0.0
    group: str = ""
