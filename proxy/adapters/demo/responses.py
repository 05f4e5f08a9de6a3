"""The demo upstream's /v1/responses, as JSON and as events."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from proxy.adapters.demo.answer import (
    Answer,
    Call,
    Fields,
    Tool,
    Wish,
    answer,
    chosen,
    created,
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


def response(fields: Fields, kept: int = 0) -> Fields:
    """A `response`. `kept`: tokens of the prompt. Raises RefusedError."""
    return _whole(fields, _answer(fields), kept)


def response_events(fields: Fields, kept: int = 0) -> Iterator[bytes]:
    """The same as numbered events. Raises RefusedError before the first."""
    return _numbered(_events(fields, _answer(fields), kept))


def _numbered(events: Iterator[Fields]) -> Iterator[bytes]:
    for number, data in zip(count(), events, strict=False):
        kind = data["type"]
        yield event({"type": kind, "sequence_number": number, **data}, kind)


def _events(fields: Fields, said: Answer, kept: int) -> Iterator[Fields]:
    whole = _whole(fields, said, kept)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        empty: Fields = {"arguments": ""} if said.calls else {"content": []}
        added = {**item, "status": "in_progress", **empty}
        at = {"output_index": index}
        yield {"type": "response.output_item.added", **at, "item": added}
        within = {"item_id": item["id"], **at}
        yield from (
            _call_events(said.calls[index], within) if said.calls else _text_events(said, within)
        )
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _text_events(said: Answer, within: Fields) -> Iterator[Fields]:
    within = {**within, "content_index": 0}
    yield {"type": "response.content_part.added", **within, "part": _part("")}
    for piece in said.pieces:
        yield {"type": "response.output_text.delta", **within, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **within, "text": said.text, "logprobs": []}
    yield {"type": "response.content_part.done", **within, "part": _part(said.text)}


def _call_events(call: Call, within: Fields) -> Iterator[Fields]:
    kind = "response.function_call_arguments"
    for piece in pieces(call.arguments):
        yield {"type": f"{kind}.delta", **within, "delta": piece}
    yield {"type": f"{kind}.done", **within, "name": call.name, "arguments": call.arguments}


def _answer(fields: Fields) -> Answer:
    asked = last_asked(required(fields, "input", (str, list)))
    required(fields, "model", str)
    form = (fields.get("text") or {}).get("format") or {}
    limit = limit_of(fields, "max_output_tokens")
    return answer(Wish(asked, _tools(fields), form.get("schema"), limit), digest(fields))


def _tools(fields: Fields) -> tuple[Tool, ...]:
    tools = [
        Tool(tool["name"], tool.get("parameters") or {})
        for tool in fields.get("tools") or []
        if tool.get("type") == "function" and "name" in tool
    ]
    choice = fields.get("tool_choice")
    name = choice.get("name") if isinstance(choice, dict) else None
    return chosen(tools, choice, name, parallel=fields.get("parallel_tool_calls") is not False)


def _part(text: str) -> Fields:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _output(said: Answer, mark: str) -> list[Fields]:
    if said.calls:
        return [
            {
                "type": "function_call",
                "id": f"fc_demo_{mark}_{i}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
            for i, call in enumerate(said.calls)
        ]
    status = "incomplete" if said.cut else "completed"
    head = {"type": "message", "id": f"msg_demo_{mark}", "role": "assistant", "status": status}
    return [{**head, "content": [_part(said.text)]}]


_ECHOED: Final[Fields] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What a response repeats of its request, with what it says where the request was silent."""


def _whole(fields: Fields, said: Answer, kept: int) -> Fields:
    mark = digest(fields)
    return {
        "id": f"resp_demo_{mark}",
        "object": "response",
        "created_at": created(mark),
        "status": "incomplete" if said.cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if said.cut else None,
        "model": labelled(fields["model"]),
        "output": _output(said, mark),
        **{name: fields.get(name, default) for name, default in _ECHOED.items()},
        "usage": _usage(fields, said, kept),
    }


def _usage(fields: Fields, said: Answer, kept: int) -> Fields:
    asked = tokens([fields.get("instructions"), fields["input"]])
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": min(kept, asked - 1)},
        "output_tokens": said.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said.tokens,
    }
