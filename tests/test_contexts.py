"""An operator sees the context of the last requests, whichever way they came and went."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.contexts import Contexts
from proxy.core.message import Head
from proxy.core.prefix import prompt
from proxy.core.status import Status
from proxy.node import Node
from proxy.response import Report
from proxy.router import Router
from tests.asking import RULES, arrival, chat, lookup
from tests.fakes import FakeClock, FakeUpstream

if TYPE_CHECKING:
    from proxy.core.context import Hints
    from proxy.core.message import Arrival
    from proxy.core.prefix import Prompt
    from proxy.core.request import Request


def contexts(most: int = 100, room: int = 1 << 20) -> Contexts:
    router = Router([Node("a", FakeUpstream())], FakeClock(), lambda event: None)

    def prompted(body: bytes, request: Request, hints: Hints) -> Prompt | None:
        return prompt(body, request, RULES, hints)

    return Contexts(router, prompted, most, room)


def came(shown: Contexts, name: str, asked: Arrival, *, fast: bytes = b"") -> Report:
    """A request, understood; `fast`: as it came by the fast lane."""
    report = Report("POST", "chat", name, FakeClock(), lambda event: None)
    report.request, report.arrived = lookup(asked).request, len(asked.body)
    shown.note(report, fast or asked)
    return report


async def test_the_tree_is_that_of_the_request() -> None:
    """Whichever way it came."""
    shown, hint = contexts(), ("x-context-session", "s")
    asked = arrival(chat("hello"), hint)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Context-Session:  s\r\n\r\n"
    came(shown, "r1", asked)
    came(shown, "r2", asked, fast=head + asked.body)
    came(shown, "r3", arrival(chat("hello")))
    trees = [await shown.shown(name) for name in ("r1", "r2", "r3")]
    one, two, three = [tree for tree in trees if tree is not None]

    assert one["key"] == two["key"] != three["key"]
    assert one["boundaries"] == two["boundaries"] == three["boundaries"]
    assert (one["request"], one["held"]) == ("r1", {"a": 0})
    assert "hello" not in json.dumps(one)


async def test_it_is_found_by_the_id_that_the_client_saw() -> None:
    shown = contexts()
    report = came(shown, "r1", arrival(chat("hello")))
    report.respond(Head(200, (("x-request-id", "up_1"),)), b"", Status("MISS"))
    own = came(shown, "r2", arrival(chat("hello")))
    own.respond(Head(200, (("x-request-id", "stored"),)), b"", Status("HIT"))

    for name in ("r1", "up_1", "r2"):
        found = await shown.shown(name)
        assert found is not None
        assert found["request"] == name
    assert await shown.shown("stored") is None


@pytest.mark.parametrize("body", [b"{}", b"no json"])
async def test_what_has_no_prompt_has_no_context(body: bytes) -> None:
    shown, asked = contexts(), arrival(chat("hello"))
    report = came(shown, "r1", asked)
    shown.note(report, msgspec.structs.replace(asked, body=body))
    unread = Report("POST", "chat", "r2", FakeClock(), lambda event: None)
    shown.note(unread, asked)

    assert await shown.shown("r1") is None
    assert await shown.shown("r2") is None


async def test_the_last_ones_are_kept_as_far_as_there_is_room() -> None:
    asked = arrival(chat("hello"), ("x-long", "x" * 1000))
    size = asked.size
    few, small = contexts(most=2), contexts(room=2 * size + 1)
    none = contexts(most=0)
    for name in ("r1", "r2", "r3"):
        for shown in (few, small, none):
            came(shown, name, asked)

    for shown in (few, small):
        known = [await shown.shown(name) is not None for name in ("r1", "r2", "r3")]
        assert known == [False, True, True]
    assert repr(few) == f"<Contexts of 2 requests, {2 * size} bytes>"
    assert repr(none) == "<Contexts of 0 requests, 0 bytes>"


async def test_of_the_fast_lane_too_its_heads_take_room() -> None:
    asked = arrival(chat("hello"))
    data = b"POST / HTTP/1.1\r\nx-long: " + b"x" * 1000 + b"\r\n\r\n" + asked.body
    shown = contexts(room=2 * len(data))
    for name in ("r1", "r2", "r3"):
        came(shown, name, asked, fast=data)

    assert repr(shown) == f"<Contexts of 2 requests, {2 * len(data)} bytes>"
