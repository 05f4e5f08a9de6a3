"""The door to a stored answer: in the form this request asked for, from the form it came in."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import orjson

from proxy.core import sse
from proxy.core import usage as tokens
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Form
from proxy.core.render import chat, messages, responses, transcript

_ASKED: Final = (Endpoint.CHAT, Endpoint.COMPLETIONS)
"""Where a stream has usage only if the request asked for it."""

_VAST: Final = re.compile(rb"(?<![\d.])\d{19}(?:\d+|(?<=-\d{19}))(?![\d.eE])")
"""An integer that may not fit into 64 bits, which the JSON library here makes a float of."""


def replay(
    endpoint: Endpoint, stored: Form, wanted: Form, body: bytes, *, usage: bool
) -> bytes | None:
    """A whole stored body in the form wanted; the same bytes where nothing has to change.

    `usage`: whether a stream shall carry it. None: this answer has no such form.
    """
    if stored == wanted:
        hide = wanted == "events" and not usage and endpoint in _ASKED
        return tokens.hidden_all(body) if hide else body
    if _VAST.search(body):
        return None
    try:
        return _events(endpoint, body, usage) if wanted == "events" else _json(endpoint, body)
    # Nested deeper than can be written. What cannot be rendered is asked for again.
    except (orjson.JSONEncodeError, RecursionError):
        return None


_LONGEST: Final = 1 << 25
"""Bytes of one event; in a longer one nothing is hidden, since it is not held until it is whole."""
_COMMON: Final = 1 << 13
"""Bytes of a piece of a stream up to which a crowd that reads it shares the work."""
_seen: Final = lru_cache(maxsize=64)(tokens.hidden_all)


class UsageFilter:
    """Hides usage from a stream that is arriving, as `replay` does from a whole one."""

    def __init__(self) -> None:
        self._splitter = sse.Splitter()

    def feed(self, data: bytes) -> bytes:
        """What the client may see of the events that these bytes complete."""
        if not self._splitter.held and len(data) <= _COMMON and _is_whole(data):
            return _seen(data)
        seen = [tokens.hidden(event) for event in self._splitter.feed(data)]
        if self._splitter.held > _LONGEST:
            seen.append(self._splitter.release())
        return b"".join(seen)

    def finish(self) -> bytes:
        """What is left after the last complete event."""
        return tokens.hidden(self._splitter.pending)


def _is_whole(data: bytes) -> bool:
    """Whether surely no event goes on after these bytes. Of more line ends than two the last may
    be the first half of another blank line."""
    return data.endswith(b"\n\n") and data[-3:-2] not in (b"\n", b"\r")


def merged(endpoint: Endpoint, objects: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The body that a stream's objects are pieces of, or None; the objects are used up."""
    match endpoint:
        case Endpoint.CHAT | Endpoint.COMPLETIONS:
            return chat.merged(objects)
        case Endpoint.RESPONSES:
            return responses.merged(objects)
        case Endpoint.MESSAGES:
            return messages.merged(objects)
        case Endpoint.EMBEDDINGS:
            return None


def _json(endpoint: Endpoint, body: bytes) -> bytes | None:
    stream = transcript.read(body)
    if stream is None or stream.failed or not stream.objects:
        return None
    whole = merged(endpoint, stream.objects)
    return None if whole is None else orjson.dumps(whole)


def _events(endpoint: Endpoint, body: bytes, usage: bool) -> bytes | None:
    whole = transcript.parsed(body)
    if whole is None or whole.get("error"):
        return None
    match endpoint:
        case Endpoint.CHAT | Endpoint.COMPLETIONS:
            return chat.expanded(whole, usage=usage)
        case Endpoint.RESPONSES:
            return responses.expanded(whole)
        case Endpoint.MESSAGES:
            return messages.expanded(whole)
        case Endpoint.EMBEDDINGS:
            return None


def zeroed(endpoint: Endpoint, form: Form, body: bytes) -> bytes:
    """An answer whose usage says that it cost nothing; all else stays as it is."""
    if b'"usage"' not in body or _VAST.search(body):
        return body
    try:
        if form == "json":
            return _zeroed(endpoint, body)
        return b"".join([_event_zeroed(endpoint, event) for event in sse.split(body)])
    except (orjson.JSONEncodeError, RecursionError):
        return body


def _event_zeroed(endpoint: Endpoint, event: bytes) -> bytes:
    payload = sse.data(event) if b'"usage"' in event else None
    if payload is None:
        return event
    free = _zeroed(endpoint, payload)
    return event if free is payload else sse.rewritten(event, free)


def _zeroed(endpoint: Endpoint, text: bytes) -> bytes:
    """The text of a JSON object with its usage at zero; the same bytes if it has none."""
    found = transcript.parsed(text)
    return orjson.dumps(found) if found is not None and tokens.zeroed(endpoint, found) else text


def failure(endpoint: Endpoint, message: str, code: str) -> bytes:
    """The event that ends a broken stream, in the API's own shape; for an event's beginning."""
    error = {"message": message, "type": "server_error", "param": None, "code": code}
    match endpoint:
        case Endpoint.MESSAGES:
            said: dict[str, Any] = {"type": "api_error", "message": message}
            return sse.frame(orjson.dumps({"type": "error", "error": said}), "error")
        case Endpoint.RESPONSES:
            # SDKs raise at an `error` member, and know the flat fields as the event's.
            flat = {"code": code, "message": message, "param": None, "sequence_number": 0}
            return sse.frame(orjson.dumps({"type": "error", **flat, "error": error}), "error")
        case Endpoint.CHAT | Endpoint.COMPLETIONS | Endpoint.EMBEDDINGS:
            return sse.frame(orjson.dumps({"error": error}))
