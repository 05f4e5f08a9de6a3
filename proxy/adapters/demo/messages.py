"""The demo upstream's /v1/messages, as JSON and as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from proxy.adapters.demo.answer import (
    Answer,
    Fields,
    Tool,
    Wish,
    answer,
    chosen,
    digest,
    event,
    labelled,
    last_asked,
    limit_of,
    pieces,
    required,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def message(fields: Fields, kept: int = 0) -> Fields:
    """A `message`. `kept`: tokens of the prompt. Raises RefusedError."""
    said = _answer(fields)
    usage = {**_usage(fields, kept), "output_tokens": said.tokens}
    return {**_head(fields), "content": _content(said), "usage": usage, **_stop(said)}


def message_events(fields: Fields, kept: int = 0) -> Iterator[bytes]:
    """The same as events. Raises RefusedError before the first."""
    return _events(fields, _answer(fields), kept)


def _events(fields: Fields, said: Answer, kept: int) -> Iterator[bytes]:
    open_ended = {"stop_reason": None, "stop_sequence": None}
    usage = {**_usage(fields, kept), "output_tokens": 1}
    start = {**_head(fields), "content": [], **open_ended, "usage": usage}
    yield _event("message_start", message=start)
    for index, block in enumerate(_content(said)):
        empty: Fields = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield _event("content_block_start", index=index, content_block={**block, **empty})
        if index == 0:
            yield _event("ping")
        for delta in _deltas(said, index):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta=_stop(said), usage={"output_tokens": said.tokens})
    yield _event("message_stop")


def _event(kind: str, **data: object) -> bytes:
    return event({"type": kind, **data}, kind)


def _deltas(said: Answer, index: int) -> Iterator[Fields]:
    if not said.calls:
        yield from ({"type": "text_delta", "text": piece} for piece in said.pieces)
        return
    for piece in ("", *pieces(said.calls[index].arguments)):
        yield {"type": "input_json_delta", "partial_json": piece}


def _answer(fields: Fields) -> Answer:
    messages = required(fields, "messages", list)
    required(fields, "model", str)
    required(fields, "max_tokens", int)
    choice = fields.get("tool_choice") or {}
    tools = [
        Tool(tool["name"], tool.get("input_schema") or {})
        for tool in fields.get("tools") or []
        if "name" in tool
    ]
    parallel = not choice.get("disable_parallel_tool_use")
    wanted = chosen(tools, choice.get("type"), choice.get("name"), parallel=parallel)
    form = (fields.get("output_config") or {}).get("format") or fields.get("output_format") or {}
    limit = limit_of(fields, "max_tokens")
    wish = Wish(last_asked(messages), wanted, form.get("schema"), limit)
    return answer(wish, digest(fields))


def _head(fields: Fields) -> Fields:
    return {
        "id": f"msg_demo_{digest(fields)}",
        "type": "message",
        "role": "assistant",
        "model": labelled(fields["model"]),
    }


def _content(said: Answer) -> list[Fields]:
    if not said.calls:
        return [{"type": "text", "text": said.text}]
    return [
        {
            "type": "tool_use",
            "id": call.id.replace("call_", "toolu_"),
            "name": call.name,
            "input": orjson.loads(call.arguments),
        }
        for call in said.calls
    ]


def _stop(said: Answer) -> Fields:
    reason = "tool_use" if said.calls else "max_tokens" if said.cut else "end_turn"
    return {"stop_reason": reason, "stop_sequence": None}


def _usage(fields: Fields, kept: int) -> Fields:
    asked = tokens([fields.get("system"), fields["messages"]])
    read = min(kept, asked - 1)
    return {
        "input_tokens": asked - read,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": read,
        "service_tier": "standard",
    }
