"""The last choices of nodes, for an operator who wants to know why."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from proxy.core.prefix import Prompt
    from proxy.core.route import Decision
    from proxy.wish import Pick


class Diary:
    """Those of one worker; bounded in number."""

    def __init__(self, most: int) -> None:
        self._noted: deque[tuple[Decision, Pick, Prompt]] = deque(maxlen=most)

    def note(self, decision: Decision, pick: Pick, prompt: Prompt) -> None:
        """Keep it, and drop the oldest."""
        self._noted.append((decision, pick, prompt))

    def decisions(self) -> list[tuple[Decision, Prompt]]:
        """Newest first. What each candidate cost is written out now: a call need not wait for
        that."""
        return [
            (msgspec.structs.replace(decision, considered=pick.considered), prompt)
            for decision, pick, prompt in reversed(self._noted)
        ]

    def find(self, request: str) -> tuple[Decision, Prompt] | None:
        """That of a request by its id: ours, or the one that the node gave its answer."""
        for decision, _, prompt in reversed(self._noted):
            if request in (decision.request, decision.answer):
                return decision, prompt
        return None

    def __repr__(self) -> str:
        return f"<Diary of {len(self._noted)}>"
