"""What is made again and again is made once, where it takes little room."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.http.head import head
from proxy.core.client import sender
from proxy.core.endpoint import disguised, recognise
from proxy.core.message import Call
from proxy.core.receive import raw_key
from proxy.core.recent import LONGEST, length, recent
from tests.asking import RULES, arrival

if TYPE_CHECKING:
    from collections.abc import Callable


class Desk:
    """Tells what it was asked to make."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.get = recent(2, lambda text, _: len(text))(self._make)

    def _make(self, text: str, more: int) -> str:
        self.made.append(text)
        return f"{text}{more}"


def test_the_last_ones_are_known() -> None:
    desk = Desk()
    for text in ("a", "b", "a", "c", "b"):
        assert desk.get(text, 1) == f"{text}1"

    assert desk.made == ["a", "b", "c", "b"]


@pytest.mark.parametrize(("size", "times"), [(LONGEST, 1), (LONGEST + 1, 2)])
def test_what_is_long_is_made_anew(size: int, times: int) -> None:
    desk = Desk()
    for _ in range(2):
        assert desk.get("x" * size, 1) == "x" * size + "1"

    assert len(desk.made) == times


def test_the_length_of_headers() -> None:
    assert length((("ab", "c"), ("", "defg"))) == 7
    assert length(()) == 0


def _sent(name: str) -> None:
    call = Call("POST", "/v1/chat/completions", "", (("x-long", name),), b"")
    head(call, call.path, (("authorization", "Bearer k"),))


def _raw(name: str) -> None:
    raw_key(arrival(b"", path=f"/{name}"), RULES)
    raw_key(arrival(b"", query=name), RULES)
    raw_key(arrival(b"", ("x-long", name)), RULES)


def _path(name: str) -> None:
    recognise("POST", f"/{name}")
    disguised("POST", f"/{name}")


def _sender(name: str) -> None:
    sender((("x-long", name),), RULES)


@pytest.mark.parametrize("made", [_sent, _raw, _path, _sender])
def test_of_long_heads_nothing_is_held(made: Callable[[str], None]) -> None:
    """Of two hundred, 50 kB each."""
    tracemalloc.start()
    try:
        for number in range(200):
            made(f"{number:050000}")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 2_000_000
