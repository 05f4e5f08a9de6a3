"""The last requests, of any outcome, so that an operator can look at the context of each.

They are kept as they came. Their chains are computed when somebody looks: a hit costs no more than
a reference.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core.context import hints
from proxy.core.layers import tree
from proxy.core.message import Arrival
from proxy.holders import holders
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.context import Hints
    from proxy.core.message import Headers
    from proxy.core.prefix import Prompt
    from proxy.core.request import Request
    from proxy.response import Report
    from proxy.router import Router

    Prompted = Callable[[bytes, Request, Hints], Prompt | None]

_ROOM: Final = 16 << 20
"""Bytes of requests."""


class Contexts:
    """Of one worker's requests; bounded in number and in bytes."""

    def __init__(self, router: Router, prompted: Prompted, most: int, room: int = _ROOM) -> None:
        """`prompted`: what of a body nodes may have computed before. `most`: requests."""
        self._router, self._prompted = router, prompted
        self._most, self._room = most, room
        self._noted: deque[tuple[Report, Arrival | bytes, int]] = deque()
        """With the bytes that each takes."""
        self._held = 0

    def note(self, report: Report, asked: Arrival | bytes) -> None:
        """A request came; by the fast lane, as all its bytes."""
        size = asked.size if isinstance(asked, Arrival) else len(asked)
        self._noted.append((report, asked, size))
        self._held += size
        while self._held > self._room or len(self._noted) > self._most:
            self._held -= self._noted.popleft()[2]

    async def shown(self, name: str) -> dict[str, object] | None:
        """The context hash tree of a request, by its id: ours, or the one that its client saw.
        None: it is not known (any more), or has no prompt."""
        found = self._router.diary.find(name)
        if found is not None:
            return self._told(name, found[1], found[0].model)
        for report, asked, _ in reversed(self._noted):
            if name in (report.request_id, report.shown_id) and report.request is not None:
                body, headers = _read(asked, report.arrived)
                told = body, report.request, hints(report.request_id, headers)
                prompt = await off_loop(len(body), self._prompted, *told)
                return prompt and self._told(name, prompt, report.request.model)
        return None

    async def decisions(self) -> list[dict[str, object]]:
        """Why the last calls went where they went, newest first; of each candidate also what it is
        to that prompt now."""
        shown = []
        for decision, prompt in self._router.diary.decisions():
            told = msgspec.to_builtins(decision)
            status = {one.node: one.status for one in holders(self._router, prompt, decision.model)}
            for one in told["considered"]:
                one["status"] = status[one["node"]]
            shown.append(told)
            await asyncio.sleep(0)  # requests come in between
        return shown

    def _told(self, name: str, prompt: Prompt, model: str) -> dict[str, object]:
        layers, held = tree(prompt), holders(self._router, prompt, model)
        return {
            "request": name,
            "layers": [
                {"name": one.name, "tokens": one.tokens, "sha256": one.digest.hex()}
                for one in layers
            ],
            "key": b"".join(one.digest for one in layers).hex(),
            "boundaries": [(one.digest.hex(), one.tokens) for one in prompt.chain],
            "held": {one.node: one.tokens for one in held},
            "nodes": msgspec.to_builtins(held),
        }

    def __repr__(self) -> str:
        return f"<Contexts of {len(self._noted)} requests, {self._held} bytes>"


def _read(asked: Arrival | bytes, length: int) -> tuple[bytes, Headers]:
    """Body and headers. `length`: of the body."""
    if isinstance(asked, Arrival):
        return asked.body, asked.headers
    start = len(asked) - length
    lines = asked[:start].decode("latin-1").split("\r\n")[1:-2]
    parts = [line.partition(":") for line in lines]
    return asked[start:], tuple((name, value.strip()) for name, _, value in parts)
