"""The Responses API: a response spread over its events, and taken from the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import orjson

from proxy.core import sse

Event: TypeAlias = tuple[str, dict[str, Any]]
"""The type and the other fields, without sequence number."""

_ENDS: Final = ("response.completed", "response.incomplete")
# Items whose one text is streamed, by type: its field, and the events' common name.
_TEXTS: Final = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "mcp_call": ("arguments", "mcp_call_arguments"),
}
# Parts of messages and reasoning, by type: the field of the text, and the events' common name.
_PARTS: Final = {
    "output_text": ("text", "output_text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("text", "reasoning_text"),
}


def merged(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The response that the last event holds whole, or None if the stream has no such end."""
    if not events or events[-1].get("type") not in _ENDS:
        return None
    response = events[-1].get("response")
    if not isinstance(response, dict):
        return None
    # Some servers leave the output to the events before.
    if not response.get("output"):
        done = [one for one in events if one.get("type") == "response.output_item.done"]
        response |= {"output": [one.get("item") for one in done]} if done else {}
    return response


def expanded(body: dict[str, Any]) -> bytes | None:
    """A response as the stream a provider would have sent, or None if it has no output."""
    output = body.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        return None
    events = []
    for number, (kind, fields) in enumerate(_events(body, output)):
        event = {"type": kind, "sequence_number": number, **fields}
        events.append(sse.frame(orjson.dumps(event), kind))
    return b"".join(events)


def _events(body: dict[str, Any], output: list[dict[str, Any]]) -> Iterator[Event]:
    begun = body | {"status": "in_progress", "output": []}
    for later in ("usage", "incomplete_details", "completed_at"):
        if later in body:
            begun[later] = None
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for place, item in enumerate(output):
        yield from _item(item, place)
    kind = "incomplete" if body.get("status") == "incomplete" else "completed"
    yield f"response.{kind}", {"response": body}


def _item(item: dict[str, Any], place: int) -> Iterator[Event]:
    """One item: added without what follows, its pieces, done."""
    where = {"item_id": item.get("id", ""), "output_index": place}
    begun = dict(item)
    if "status" in item:
        begun["status"] = "in_progress"
    pieces: list[Event] = []
    for field, spread in (("summary", _summary), ("content", _content)):
        if _parts(item.get(field)):
            begun[field] = []
            pieces += spread(item[field], where)
    field, event = _TEXTS.get(str(item.get("type")), ("", ""))
    if isinstance(text := item.get(field), str):
        begun[field] = ""
        named = {"name": item["name"]} if item["type"] == "function_call" and "name" in item else {}
        pieces.append((f"response.{event}.delta", {**where, "delta": text}))
        pieces.append((f"response.{event}.done", {**where, **named, field: text}))
    yield "response.output_item.added", {"output_index": place, "item": begun}
    yield from pieces
    yield "response.output_item.done", {"output_index": place, "item": item}


def _parts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _content(parts: list[dict[str, Any]], where: dict[str, Any]) -> Iterator[Event]:
    """The content parts of a message or of reasoning."""
    for number, part in enumerate(parts):
        place = where | {"content_index": number}
        field, event = _PARTS.get(str(part.get("type")), ("", ""))
        text = part.get(field)
        if not isinstance(text, str):
            yield "response.content_part.added", {**place, "part": part}
        else:
            yield "response.content_part.added", {**place, "part": _emptied(part, field)}
            extra = {"logprobs": part.get("logprobs") or []} if event == "output_text" else {}
            yield f"response.{event}.delta", {**place, "delta": text, **extra}
            for i, annotation in enumerate(part.get("annotations") or ()):
                noted = {"annotation_index": i, "annotation": annotation}
                yield "response.output_text.annotation.added", {**place, **noted}
            yield f"response.{event}.done", {**place, field: text, **extra}
        yield "response.content_part.done", {**place, "part": part}


def _emptied(part: dict[str, Any], field: str) -> dict[str, Any]:
    """A part before its text came."""
    later: dict[str, Any] = {
        key: [] for key in ("annotations", "logprobs") if isinstance(part.get(key), list)
    }
    return part | {field: ""} | later


def _summary(parts: list[dict[str, Any]], where: dict[str, Any]) -> Iterator[Event]:
    """The summaries of a reasoning item."""
    for number, part in enumerate(parts):
        place = where | {"summary_index": number}
        text = part.get("text")
        begun = part | {"text": ""} if isinstance(text, str) else part
        yield "response.reasoning_summary_part.added", {**place, "part": begun}
        if isinstance(text, str):
            yield "response.reasoning_summary_text.delta", {**place, "delta": text}
            yield "response.reasoning_summary_text.done", {**place, "text": text}
        yield "response.reasoning_summary_part.done", {**place, "part": part}
