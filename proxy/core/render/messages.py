"""Anthropic messages: events merged to a message, a message spread over events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import orjson

from proxy.core import sse

# What is known only at the end, and so comes with the delta of the message.
_LATE: Final = ("stop_reason", "stop_sequence", "stop_details", "container")


def merged(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The message that these events are pieces of, or None if they do not make one.

    The events must not be used afterwards.
    """
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        index = event.get("index")
        match event:
            case {"type": "message_start", "message": dict(begun)}:
                message = begun
            case {"type": "content_block_start", "content_block": dict(block)}:
                blocks[_place(index)] = block
            case {"type": "content_block_delta", "delta": dict(delta)}:
                block = blocks.setdefault(_place(index), {})
                if isinstance(piece := delta.get("partial_json"), str):
                    inputs[_place(index)] = inputs.get(_place(index), "") + piece
                else:
                    _continue(block, delta)
            case {"type": "message_delta"}:
                _end(message, event)
            case _:  # pings, ends of blocks, and kinds that have yet to be invented
                pass
    return _whole(message, blocks, inputs)


def _place(index: Any) -> int:
    return index if isinstance(index, int) else 0


def _continue(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to its block: texts go on, a citation is one more, a signature is whole."""
    for key, value in delta.items():
        old = block.get(key)
        if key == "citation":
            cited = block.get("citations")
            block["citations"] = [*(cited if isinstance(cited, list) else []), value]
        elif isinstance(old, str) and isinstance(value, str) and key not in ("type", "signature"):
            block[key] = old + value
        elif key != "type":
            block[key] = value


def _end(message: dict[str, Any], event: dict[str, Any]) -> None:
    """Add what the end of a message tells; token counts are totals and replace the first ones."""
    for key, value in event.items():
        if key in ("delta", "usage") and isinstance(value, dict):
            old = message if key == "delta" else message.get(key)
            news = value if key == "delta" else {k: v for k, v in value.items() if v is not None}
            new = (old | news) if isinstance(old, dict) else news
            message.update(new if key == "delta" else {key: new})
        elif key != "type":
            message[key] = value


def _whole(
    message: dict[str, Any], blocks: dict[int, dict[str, Any]], inputs: dict[int, str]
) -> dict[str, Any] | None:
    """The message with its blocks in order, tool inputs parsed."""
    if not message:
        return None
    for index, text in inputs.items():
        if not text:
            continue
        try:
            # Its long integers stay exact, and so have no other form: orjson makes floats of them.
            blocks[index]["input"] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return None
    if blocks:
        message["content"] = [blocks[index] for index in sorted(blocks)]
    return message


def expanded(body: dict[str, Any]) -> bytes | None:
    """A message as the stream a provider would have sent, or None if it has no content."""
    content = body.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return None
    events = [sse.frame(orjson.dumps(event), event["type"]) for event in _events(body, content)]
    return b"".join(events)


def _events(body: dict[str, Any], content: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    late = {key: body[key] for key in _LATE if key in body}
    begun = body | {"content": []} | dict.fromkeys(late)
    ending: dict[str, Any] = {"type": "message_delta", "delta": late}
    if isinstance(usage := body.get("usage"), dict):
        ending["usage"] = usage
        if "output_tokens" in usage:
            begun["usage"] = usage | {"output_tokens": 0}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(content):
        opening, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield ending
    yield {"type": "message_stop"}


def _opened(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and the deltas that complete it. Unknown kinds begin complete."""
    match block:
        case {"type": "text", "text": str(text)}:
            citations = block.get("citations") or []
            deltas = [{"type": "text_delta", "text": text}]
            deltas += [{"type": "citations_delta", "citation": one} for one in citations]
            return block | {"text": ""} | ({"citations": []} if citations else {}), deltas
        case {"type": "tool_use" | "server_tool_use", "input": dict(given)}:
            text = orjson.dumps(given).decode() if given else ""
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": text}]
        case {"type": "thinking", "thinking": str(text)}:
            deltas = [{"type": "thinking_delta", "thinking": text}]
            begun = block | {"thinking": ""}
            if isinstance(signature := block.get("signature"), str):
                deltas.append({"type": "signature_delta", "signature": signature})
                begun["signature"] = ""
            return begun, deltas
        case _:
            return block, []
