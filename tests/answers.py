"""What the mock upstream answers: bodies and event streams in each dialect."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = dict[str, Any]

USAGE: Json = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
CREATED = 1_700_000_000


def dumps(value: object) -> bytes:
    """JSON as servers send it: compact, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def chat(
    text: str | None,
    *,
    finish: str = "stop",
    usage: Json | None = None,
    model: str = "m-small",
    **message: Any,
) -> Json:
    """A chat completion with one choice."""
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": finish}],
        "usage": USAGE if usage is None else usage,
    }


def chunk(
    delta: Json | None, *, finish: str | None = None, model: str = "m-small", **more: Any
) -> Json:
    """One chunk of a streamed chat completion; `delta` None: no choice at all."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "choices": [] if delta is None else [choice],
        **more,
    }


def event(data: object, name: str = "") -> bytes:
    """One server-sent event."""
    text = data.encode() if isinstance(data, str) else dumps(data)
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + text + b"\n\n"


def chat_events(
    texts: Iterable[str], *, usage: Json | None = None, finish: str = "stop", model: str = "m-small"
) -> list[bytes]:
    """A whole chat stream; `usage` None: not asked for."""
    asked: Json = {} if usage is None else {"usage": None}
    chunks = [chunk({"role": "assistant", "content": ""}, model=model, **asked)]
    chunks += [chunk({"content": text}, model=model, **asked) for text in texts]
    chunks.append(chunk({}, finish=finish, model=model, **asked))
    if usage is not None:
        chunks.append(chunk(None, model=model, usage=usage))
    return [*map(event, chunks), event("[DONE]")]


def deltas(
    parts: Iterable[Json], *, finish: str = "stop", usage: Json | None = None
) -> list[bytes]:
    """A whole chat stream of the given deltas; the first should bring the role."""
    chunks = [chunk(part) for part in parts] + [chunk({}, finish=finish)]
    if usage is not None:
        chunks.append(chunk(None, usage=usage))
    return [*map(event, chunks), event("[DONE]")]


def completion(text: str, *, finish: str | None = "stop", streamed: bool = False) -> Json:
    """An answer of the older completions operation, or one chunk of it."""
    body: Json = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": CREATED,
        "model": "m-small",
        "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": finish}],
    }
    return body if streamed else {**body, "usage": USAGE}


def completion_events(texts: Iterable[str], *, usage: bool = False) -> list[bytes]:
    chunks = [completion(text, finish=None, streamed=True) for text in texts]
    chunks.append(completion("", streamed=True))
    if usage:
        chunks.append({**completion("", streamed=True), "choices": [], "usage": USAGE})
    return [*map(event, chunks), event("[DONE]")]


def response(text: str, *, status: str = "completed", store: bool = False) -> Json:
    """An object of the Responses API."""
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }
    counts = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m-small",
        "output": [] if status != "completed" else [item],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "store": store,
        "usage": counts if status == "completed" else None,
    }


def response_events(texts: Sequence[str], *, store: bool = False) -> list[bytes]:
    """The events of a streamed response with one message."""
    whole = response("".join(texts), store=store)
    started = response("", status="in_progress", store=store)
    item = whole["output"][0]
    at = {"item_id": "msg_1", "output_index": 0}
    place = {**at, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": []}
    steps: list[tuple[str, Json]] = [
        ("response.created", {"response": started}),
        ("response.in_progress", {"response": started}),
        (
            "response.output_item.added",
            {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
        ),
        ("response.content_part.added", {**place, "part": empty}),
    ]
    steps += [
        ("response.output_text.delta", {**place, "delta": text, "logprobs": []}) for text in texts
    ]
    steps += [
        (
            "response.output_text.done",
            {**place, "text": item["content"][0]["text"], "logprobs": []},
        ),
        ("response.content_part.done", {**place, "part": item["content"][0]}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    return [
        event({"type": kind, "sequence_number": i, **fields}, kind)
        for i, (kind, fields) in enumerate(steps)
    ]


def message(text: str, *, content: list[Json] | None = None, stop: str = "end_turn") -> Json:
    """A message of Anthropic's API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-small",
        "content": [{"type": "text", "text": text}] if content is None else content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def message_events(texts: Iterable[str], *, tool: Json | None = None) -> list[bytes]:
    """The events of a streamed message: one text block, and a tool call if given."""
    started = {**message("", content=[]), "stop_reason": None}
    stop = "end_turn" if tool is None else "tool_use"
    steps: list[Json] = [{"type": "message_start", "message": started}]
    steps.append(_block(0, {"type": "text", "text": ""}))
    steps.append({"type": "ping"})
    steps += [_part(0, {"type": "text_delta", "text": text}) for text in texts]
    steps.append({"type": "content_block_stop", "index": 0})
    if tool is not None:
        steps.append(_block(1, {**tool, "type": "tool_use", "input": {}}))
        given = json.dumps(tool["input"])
        halves = given[: len(given) // 2], given[len(given) // 2 :]
        steps += [_part(1, {"type": "input_json_delta", "partial_json": half}) for half in halves]
        steps.append({"type": "content_block_stop", "index": 1})
    end = {"stop_reason": stop, "stop_sequence": None}
    steps.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}})
    steps.append({"type": "message_stop"})
    return [event(step, step["type"]) for step in steps]


def _block(index: int, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _part(index: int, delta: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def vector(item: object, dimensions: int = 4) -> list[float]:
    """The mock's embedding: a function of the item alone, exact in 32 bits."""
    digest = hashlib.blake2b(dumps(item), digest_size=2 * dimensions).digest()
    return [number / 65536 for number in struct.unpack(f"<{dimensions}H", digest)]


def embeddings(asked: Json, *, backwards: bool = False) -> Json:
    """The answer to an embeddings request; `backwards`: items in reverse, `index` telling."""
    given = asked["input"]
    single = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
    items = [given] if single else given
    data = [
        {"object": "embedding", "index": i, "embedding": _shown(vector(item, _size(asked)), asked)}
        for i, item in enumerate(items)
    ]
    return {
        "object": "list",
        "data": data[::-1] if backwards else data,
        "model": asked["model"],
        "usage": {"prompt_tokens": 3 * len(items), "total_tokens": 3 * len(items)},
    }


def _size(asked: Json) -> int:
    return int(asked.get("dimensions") or 4)


def _shown(numbers: list[float], asked: Json) -> list[float] | str:
    if asked.get("encoding_format") != "base64":
        return numbers
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def error(message: str, kind: str = "invalid_request_error", code: str | None = None) -> bytes:
    """An error body in OpenAI's shape."""
    return dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})
