"""Server-sent events read as the standard says, and chat streams put together, for checks."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple


class Event(NamedTuple):
    name: str
    data: str


def parse(body: bytes) -> list[Event]:
    """The events of a body that a standard parser dispatches. Raises UnicodeDecodeError."""
    events = []
    for block in re.split(r"(?:\r\n|\r(?!\n)|\n){2}", body.decode())[:-1]:
        fields: dict[str, list[str]] = {}
        for line in re.split(r"\r\n|\r|\n", block):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        if "data" in fields:
            events.append(Event(fields.get("event", [""])[-1], "\n".join(fields["data"])))
    return events


def chunks(body: bytes) -> list[dict[str, Any]]:
    """The JSON payloads of a body's events, the end marker apart."""
    return [json.loads(event.data) for event in parse(body) if event.data != "[DONE]"]


def joined(body: bytes) -> dict[str, Any]:
    """A chat stream's only message: texts and lists concatenated, tool calls by their index."""
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks(body):
        for choice in chunk.get("choices", []):
            for name, value in choice["delta"].items():
                held = message.get(name)
                if name == "tool_calls":
                    for part in value:
                        _lay(calls.setdefault(part["index"], {}), part)
                elif held is None:
                    message[name] = value
                elif isinstance(value, str | list) and name != "role":
                    message[name] = held + value
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


def _lay(call: dict[str, Any], part: dict[str, Any]) -> None:
    for name, value in part.items():
        if name == "function":
            function = call.setdefault("function", {"arguments": ""})
            function["arguments"] += value.get("arguments", "")
            if "name" in value:
                function["name"] = value["name"]
        elif name != "index":
            call[name] = value


def text(body: bytes) -> str:
    """What a chat stream says."""
    return str(joined(body).get("content") or "")
