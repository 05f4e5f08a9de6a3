"""Requests of many kinds, none of which was asked before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

_CHAT: Final = "/v1/chat/completions"
_WORDS: Final = "the order was shipped on Monday and the customer asks where it is now. "


def _request(path: str, body: dict[str, Any], *, key: str = "sk-1", more: str = "") -> bytes:
    data = orjson.dumps(body)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer {key}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def _asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def short(number: int) -> bytes:
    return _request(_CHAT, _asked(f"{number} {_WORDS * 5}"))


def stream(number: int) -> bytes:
    return _request(_CHAT, _asked(f"{number} {_WORDS * 5}", stream=True))


def both(number: int) -> bytes:
    """Each question twice as JSON, then twice as events: rendered anew, and by the fast lane."""
    block, at = divmod(number, 512)
    text = f"{block // 4} {at} {_WORDS * 5}"
    return _request(_CHAT, _asked(text, stream=block % 4 > 1))


def long(number: int) -> bytes:
    """A prompt of 100 kB."""
    return _request(_CHAT, _asked(f"{number} {_WORDS * 1400}"))


def tenants(number: int) -> bytes:
    return _request(_CHAT, _asked("Hello"), key=f"sk-{number:040}")


def models(number: int) -> bytes:
    return _request(_CHAT, _asked("Hello", model=f"model-{number}"))


def vast(number: int) -> bytes:
    """Names of models that are as long as prompts; every other one has failed."""
    fails = ("fail-429", "fail-500", "none", "fail-404")[number % 4]
    return _request(_CHAT, _asked("Hello", model=f"{fails} {number} {_WORDS * 1400}"))


def heads(number: int) -> bytes:
    more = "".join(f"x-trace-{number}-{at}: {number}{_WORDS}\r\n" for at in range(8))
    return _request(_CHAT, _asked("Hello"), more=f"OpenAI-Organization: o{number}\r\n{more}")


def largest(number: int) -> bytes:
    """Heads of 30 kB, half of it in a header that belongs to the key."""
    more = f"OpenAI-Organization: {number}{_WORDS * 200}\r\nx-other: {number}{_WORDS * 200}\r\n"
    return _request(_CHAT, _asked("Hello"), more=more)


def errors(number: int) -> bytes:
    status = (404, 429, 500)[number % 3]
    return _request(_CHAT, _asked(f"{number}", model=f"fail-{status}"))


def unserved(number: int) -> bytes:
    """Ever new models, of which the upstream knows none."""
    return _request(_CHAT, _asked("Hello", model=f"fail-{(404, 429, 500)[number % 3]}-{number}"))


def embeddings(number: int) -> bytes:
    body = {"model": "m", "input": [f"{number} {at} {_WORDS}" for at in range(8)]}
    return _request("/v1/embeddings", body)


def batches(number: int) -> bytes:
    """As many items as there may be for the request to be remembered."""
    body = {"model": "m", "input": [f"{number} {at}" for at in range(32)]}
    return _request("/v1/embeddings", body)


def messages(number: int) -> bytes:
    more = f"x-api-key: sk-ant-{number % 7}\r\nanthropic-version: 2023-06-01\r\n"
    return _request("/v1/messages", _asked(f"{number} {_WORDS}", max_tokens=64), more=more)


def responses(number: int) -> bytes:
    return _request("/v1/responses", {"model": "m", "input": f"{number} {_WORDS}", "store": False})


def turns(number: int) -> bytes:
    """Conversations of twelve turns, each turn with all that was said before."""
    talk, turn = divmod(number, 12)
    said = [{"role": "system", "content": f"You are a helpful clerk. {_WORDS * 30}"}]
    for at in range(turn + 1):
        said.append({"role": "user", "content": f"{talk} {at} {_WORDS * 8}"})
        said.append({"role": "assistant", "content": f"{_WORDS * 8} {talk}"})
    return _request(_CHAT, {"model": "m", "messages": said[:-1]})


def leaving(number: int) -> bytes:
    """Its client leaves: before the answer, in the midst of it, in the midst of the request."""
    kind = ("silent", "half", "none")[number % 3]
    made = _request(_CHAT, _asked(f"{number} {_WORDS * 5}", model=kind, stream=True))
    return made[:-100] if kind == "none" else made


def elsewhere(number: int) -> bytes:
    """Paths that are none of the cache's."""
    return _request(f"/v1/files/{number}", {"name": f"{number}"})


def words(number: int) -> bytes:
    """Questions that may be compared by their meaning, of words that nobody has."""
    made = ("".join(chr(97 + number // 26**at * at % 26) for at in range(1, 9)), f"{number:x}ing")
    return _request(_CHAT, _asked(f"How do I return a {made[0]} to the shop of {made[1]}?"))


class Kind(msgspec.Struct, frozen=True):
    """How requests are made and sent."""

    made: Callable[[int], bytes]
    once: bool = False
    """Whether each has a connection of its own."""
    leaves: bool = False
    """Whether its client goes away 20 ms after it has asked."""
    nodes: int = 1
    meaning: bool = False
    """Whether questions are compared, and it is the process that does so whose memory counts."""


KINDS: Final[dict[str, Kind]] = {
    made.__name__: Kind(made)
    for made in (
        *(short, stream, both, long, tenants, models, vast, heads, largest, errors, unserved),
        *(embeddings, batches, messages, responses, turns, elsewhere),
    )
} | {
    "connections": Kind(short, once=True),
    "leaving": Kind(leaving, once=True, leaves=True),
    "nodes": Kind(short, nodes=2),
    "nodes-turns": Kind(turns, nodes=2),
    "nodes-long": Kind(long, nodes=2),
    "meaning": Kind(words, meaning=True),
}
