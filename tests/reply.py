"""What a script makes the mock upstream do for one request, and what it saw of the request."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tests import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Headers: TypeAlias = tuple[tuple[str, str], ...]

JSON_TYPE = ("Content-Type", "application/json")
EVENTS_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")


class Gate:
    """A point where the mock waits until the test opens it, from whatever thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._opened = asyncio.Event()
        self._reached = threading.Event()

    @property
    def reached(self) -> bool:
        return self._reached.is_set()

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._opened.set)

    async def passed(self) -> None:
        """Called by the mock only."""
        self._reached.set()
        await self._opened.wait()


Piece: TypeAlias = bytes | Gate | float
"""Bytes are written at once, a gate is waited for, a number is seconds of silence."""


@dataclass(frozen=True)
class Reply:
    """One answer, byte for byte."""

    pieces: Sequence[Piece] = ()
    status: int = 200
    reason: str = "OK"
    headers: Headers = (JSON_TYPE,)
    framing: Literal["length", "chunked", "close", "given"] = "length"
    """`given`: the headers hold what there is to say about the length, true or not."""
    ending: Literal["clean", "fin", "rst"] = "clean"
    """How it ends after the last piece; `fin` and `rst` leave a chunked body unfinished."""
    hold: Gate | float | None = None
    """What comes before the head."""
    silent: bool = False
    """Sends no head: only the pieces, if any, and the ending."""
    early: bool = False
    """Answers without reading the request's body, and closes."""

    def but(self, **changes: Any) -> Reply:
        return replace(self, **changes)


def body(value: object, *more: tuple[str, str], status: int = 200, **how: Any) -> Reply:
    """A JSON answer; `more` are headers after the content type."""
    data = value if isinstance(value, bytes) else answers.dumps(value)
    return Reply((data,), status=status, headers=(JSON_TYPE, *more), **how)


def events(pieces: Iterable[Piece], *more: tuple[str, str], **how: Any) -> Reply:
    """An event stream, each piece as its own chunk."""
    return Reply(tuple(pieces), headers=(EVENTS_TYPE, *more), framing="chunked", **how)


@dataclass
class Seen:
    """A request as it came over the socket; `body` grows while it arrives."""

    line: str
    headers: Headers
    peer: int
    """The port of the caller's end."""
    body: bytearray = field(default_factory=bytearray)
    whole: bool = False
    number: int = 0
    """The how manieth of its channel, from 1."""

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def all(self, name: str) -> list[str]:
        """Every value of a header, in order; any case."""
        return [value for spelled, value in self.headers if spelled.lower() == name.lower()]

    def get(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    def json(self) -> Any:
        return json.loads(self.body)


Script: TypeAlias = "Reply | Callable[[Seen], Reply]"


def numbered(seen: Seen) -> Reply:
    """The answer without a script: `#1`, `#2`, … in the shape the path asks for."""
    name = next((end for end in _SHAPES if seen.path.endswith(end)), None)
    if name is None or seen.method != "POST":
        told = {"object": "echo", "number": seen.number, "bytes": len(seen.body)}
        return body(told)
    try:
        asked = seen.json()
    except ValueError:
        return body(answers.error("not JSON"), status=400)
    return _SHAPES[name](asked, f"#{seen.number}")


def _chat(asked: answers.Json, text: str) -> Reply:
    model = str(asked.get("model", "m-small"))
    if not asked.get("stream"):
        return body(answers.chat(text, model=model))
    usage = answers.USAGE if _wants_usage(asked) else None
    return events(answers.chat_events([text[0], text[1:]], usage=usage, model=model))


def _completion(asked: answers.Json, text: str) -> Reply:
    if not asked.get("stream"):
        return body(answers.completion(text))
    return events(answers.completion_events([text[0], text[1:]], usage=_wants_usage(asked)))


def _wants_usage(asked: answers.Json) -> bool:
    return bool((asked.get("stream_options") or {}).get("include_usage"))


def _response(asked: answers.Json, text: str) -> Reply:
    store = asked.get("store") is not False
    if asked.get("stream"):
        return events(answers.response_events([text[0], text[1:]], store=store))
    return body(answers.response(text, store=store))


def _message(asked: answers.Json, text: str) -> Reply:
    if asked.get("stream"):
        return events(answers.message_events([text[0], text[1:]]))
    return body(answers.message(text))


def _embeddings(asked: answers.Json, text: str) -> Reply:
    return body(answers.embeddings(asked))


_SHAPES: dict[str, Callable[[answers.Json, str], Reply]] = {
    "/chat/completions": _chat,
    "/completions": _completion,
    "/responses": _response,
    "/v1/messages": _message,
    "/embeddings": _embeddings,
}
