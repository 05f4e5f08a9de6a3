"""A whole stream understood: the JSON objects it carries and how it ended."""

from __future__ import annotations

from typing import Any

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
    if found.get("error") or found.get("type") in ("error", "response.failed"):
        return True
    return not event.startswith(b"data:") and sse.name(event) == "error"
