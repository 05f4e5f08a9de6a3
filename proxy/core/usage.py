"""Token usage in an answer: hidden from a stream that did not ask for it, read, or set to zero."""

from __future__ import annotations

import re
from typing import Any, Final

from proxy.core import sse
from proxy.core.endpoint import Endpoint
from proxy.core.render.transcript import parsed

_FIELD: Final = b'"usage"'
# A null usage and after it only flat members up to the brace that closes the chunk: then it is a
# member of the chunk itself, and nothing has to be parsed. All that OpenAI sends looks like this.
_NULL: Final = re.compile(
    rb'("usage":\s?null)(?:,\s?"[^"\\{}]*":\s?(?:"[^"\\]*"|[\w.+-]+))*\}\r?\n\r?\n'
)
_MEMBER: Final = re.compile(rb'"usage"\s*:\s*null(\s*,\s*)?')
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_INSIDE: Final = {
    Endpoint.CHAT: "x_groq",
    Endpoint.RESPONSES: "response",
    Endpoint.MESSAGES: "message",
}
"""The member of a body or event that may have a usage of its own."""


def hidden(event: bytes) -> bytes:
    """A chunk as a client sees it that did not ask for usage; empty: not at all.

    The chunk that only brings the usage is gone, a null usage is cut out of the others; a usage
    beside choices stays, as do errors and everything that is no chunk.
    """
    place = event.find(_FIELD)
    if place < 0:
        return event
    null = _NULL.fullmatch(event, place)
    head = event[:place].rstrip(b" ")
    if null is not None and head.endswith(b","):
        return head[:-1] + event[null.end(1) :]
    chunk = parsed(sse.data(event) or b"") or {}
    if chunk.get("usage") is not None and chunk.get("choices") == []:
        return b""
    if chunk.get("usage", chunk) is None:
        return _without_null(event)
    return event


def hidden_all(body: bytes) -> bytes:
    """The same for a whole stream."""
    if _FIELD not in body:
        return body
    return b"".join([hidden(event) for event in sse.split(body)])


def _without_null(event: bytes) -> bytes:
    """Cut out the member of the outermost object, by depth: objects inside may have one too."""
    start = event.find(sse.data(event) or b"{")
    depth = 0
    for token in _TOKEN.finditer(event, start) if start >= 0 else ():
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and (cut := _MEMBER.match(event, token.start())):
            head, tail = event[: cut.start()], event[cut.end() :]
            return head + tail if cut[1] else head.rstrip().removesuffix(b",") + tail
    return event


def zeroed(endpoint: Endpoint, body: dict[str, Any]) -> bool:
    """Set every count of every usage of a body or event to zero, in place; whether it has one."""
    places = (body, body.get(_INSIDE.get(endpoint, "")))
    holders = [
        one for one in places if isinstance(one, dict) and isinstance(one.get("usage"), dict)
    ]
    for holder in holders:
        holder["usage"] = _zero(holder["usage"])
    return bool(holders)


def _zero(value: Any) -> Any:
    match value:
        case dict():
            return {key: _zero(one) for key, one in value.items()}
        case list():
            return [_zero(one) for one in value]
        case int() | float() if not isinstance(value, bool):
            return 0
        case _:
            return value
