"""A body is held until it is whole, within a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.holding import held
from tests.fakes import Answer, FakeResponse

if TYPE_CHECKING:
    from proxy.ports import Body


def body(*pieces: bytes) -> FakeResponse:
    return FakeResponse(Answer(pieces), "node", lambda: None)


async def rest(body: bytes | Body) -> list[bytes]:
    assert not isinstance(body, bytes)
    return [chunk async for chunk in body]


async def test_a_body_within_the_limit_is_held_until_it_is_whole() -> None:
    assert await held(body(b"12", b"34"), 4) == b"1234"


async def test_a_larger_one_goes_on_as_it_arrives() -> None:
    """However large an answer is, no more than the limit and a chunk of it is in memory."""
    assert await rest(await held(body(b"12", b"34", b"56"), 3)) == [b"1234", b"56"]


async def test_blanks_that_keep_a_connection_alive_go_on_at_once() -> None:
    assert await rest(await held(body(b" ", b"{}"), 9, blank=True)) == [b" ", b"{}"]
    assert await held(body(b" ", b"{}"), 9) == b" {}"


async def test_blanks_inside_a_body_are_of_the_body() -> None:
    """Between two tokens, and cut from both of them."""
    assert await held(body(b'{"a":', b" ", b"1}"), 9, blank=True) == b'{"a": 1}'
