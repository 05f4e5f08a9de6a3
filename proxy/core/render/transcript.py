"""A whole stream understood: the JSON objects it carries and how it ended."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from proxy.core import sse


class Transcript(msgspec.Struct, frozen=True):
    """What the events of a stream said."""

    objects: list[dict[str, Any]]
    done: bool
    """Whether `[DONE]` came."""
    failed: bool
    """Whether one of the events is an error."""
    trailing: bool
    """Whether something came after `[DONE]`."""


def read(body: bytes) -> Transcript | None:
    """The transcript of a stream, or None if an event is not a JSON object."""
    return _read_plain(body) or _read_any(body)


def _read_plain(body: bytes) -> Transcript | None:
    """The same in a third of the time, for a stream as nearly all are: one line of data in each
    event, and a `[DONE]` at the end. None: it may be any other."""
    if not body.startswith(_START) or not body.endswith(_LAST) or b"\r" in body:
        return None
    pieces = body[len(_START) : -len(_LAST)].split(_BETWEEN)
    if {piece[:1] + piece[-1:] for piece in pieces} != {b"{}"}:
        return None
    if body.count(b"\n") != 2 * len(pieces) + 2:
        return None
    try:
        objects = orjson.loads(b"[%b]" % b",".join(pieces))
    except orjson.JSONDecodeError:
        return None
    # Broken pieces could only pass by making up for each other, which is nothing that happens.
    if len(objects) != len(pieces) or set(map(type, objects)) != {dict}:
        return None
    return Transcript(objects, True, any(map(_says_error, objects)), False)


_START: Final = b"data: "
_BETWEEN: Final = b"\n\ndata: "
_LAST: Final = _BETWEEN + b"[DONE]\n\n"


def _read_any(body: bytes) -> Transcript | None:
    objects: list[dict[str, Any]] = []
    done = failed = trailing = False
    for event in sse.split(body):
        payload = sse.data(event)
        if not payload:
            continue
        if done:
            trailing = True
        elif payload.startswith(b"[DONE]"):
            done = True
        else:
            found = parsed(payload)
            if found is None:
                return None
            failed = failed or _is_error(event, found)
            objects.append(found)
    return Transcript(objects, done, failed, trailing)


def parsed(text: bytes) -> dict[str, Any] | None:
    """The JSON object that a text is, or None."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _is_error(event: bytes, found: dict[str, Any]) -> bool:
    return _says_error(found) or (not event.startswith(b"data:") and sse.name(event) == "error")


def _says_error(found: dict[str, Any]) -> bool:
    return bool(found.get("error")) or found.get("type") in ("error", "response.failed")
