"""Chat and text completions: chunks merged to a body, a body spread over chunks."""

from __future__ import annotations

from typing import Any, Final

import orjson

from proxy.core import sse
from proxy.core.render.delta import continued, merge, update

_CHAT_CHUNK: Final = "chat.completion.chunk"
_CHAT: Final = "chat.completion"
# What every chunk of a stream repeats; other fields of a body go with the last chunk.
_HEAD: Final = ("id", "object", "created", "model", "service_tier", "system_fingerprint")
_CONTINUED: Final = ("text", "logprobs")
_WORDS: Final = ("content", "refusal", "text")
# Thinking comes before speaking.
_FIRST: Final = ("reasoning_content", "reasoning", "reasoning_details")


def merged(chunks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The body that these chunks are pieces of, or None if they are not chunks.

    The chunks must not be used afterwards.
    """
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        if "choices" in chunk and not _add(choices, chunk["choices"]):
            return None
        if None in chunk.values():
            chunk = {k: v for k, v in chunk.items() if v is not None or k not in body}
        body.update(chunk)
    _tidy(body)
    if choices:
        body["choices"] = [_whole(choices[index]) for index in sorted(choices)]
    return body


def _tidy(body: dict[str, Any]) -> None:
    """Take off what only streams have."""
    body.pop("obfuscation", None)
    if body.get("object") == _CHAT_CHUNK:
        body["object"] = _CHAT
    if body.get("usage", body) is None:
        del body["usage"]


def _add(choices: dict[int, dict[str, Any]], pieces: Any) -> bool:
    """Add one chunk's choices; whether they were choices."""
    if not isinstance(pieces, list):
        return False
    for piece in pieces:
        if not isinstance(piece, dict) or type(index := piece.pop("index", 0)) is not int:
            return False
        choice = choices.setdefault(index, {"index": index})
        # These are continued from chunk to chunk, all else is restated.
        delta = piece.pop("delta", None)
        if isinstance(delta, dict):
            merge(choice.setdefault("delta", {}), delta)
        for key in _CONTINUED:
            if key in piece:
                choice[key] = continued(key, choice.get(key), piece.pop(key))
        update(choice, piece)
    return True


def _whole(choice: dict[str, Any]) -> dict[str, Any]:
    """A choice as a body has it: a message for the deltas, tool calls without index."""
    if "delta" not in choice:
        return choice
    message = choice.pop("delta")
    if isinstance(calls := message.get("tool_calls"), list):
        for call in calls:
            if isinstance(call, dict):
                call.pop("index", None)
    return {"index": choice.pop("index"), "message": message, **choice}


def expanded(body: dict[str, Any], *, usage: bool) -> bytes | None:
    """A body as the stream a provider would have sent, or None if it has no choices to stream."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    head = {key: body[key] for key in _HEAD if key in body}
    if head.get("object") == _CHAT:
        head["object"] = _CHAT_CHUNK
    rest = {k: v for k, v in body.items() if k not in head and k not in ("choices", "usage")}
    tokens = body.get("usage")
    with_usage = usage and tokens is not None
    chunks = []
    for choice in choices:
        pieces = _spread(choice) if isinstance(choice, dict) else None
        if pieces is None:
            return None
        chunks += [{**head, "choices": [piece]} for piece in pieces]
    chunks[-1] |= rest
    if with_usage:
        chunks = [chunk | {"usage": None} for chunk in chunks]
        chunks.append({**head, "choices": [], "usage": tokens})
    return b"".join(sse.frame(orjson.dumps(chunk)) for chunk in chunks) + sse.DONE


def _spread(choice: dict[str, Any]) -> list[dict[str, Any]] | None:
    """One choice as the choices of its chunks: the role, each field, the finish."""
    rest = dict(choice)
    index = rest.pop("index", 0)
    finish = rest.pop("finish_reason", None)
    logprobs = {"logprobs": rest.pop("logprobs")} if "logprobs" in rest else {}
    if isinstance(message := rest.pop("message", None), dict):
        contents: list[dict[str, Any]] = [{"delta": delta} for delta in _deltas(message)]
        end: dict[str, Any] = {"delta": {}}
    elif isinstance(text := rest.pop("text", None), str):
        contents = [{"text": text}]
        end = {"text": ""}
    else:
        return None
    quiet = dict.fromkeys(logprobs)
    pieces = [{"index": index, **one, **quiet, "finish_reason": None} for one in contents]
    pieces.append({"index": index, **end, **quiet, **rest, "finish_reason": finish})
    _bearer(pieces).update(logprobs)
    return pieces


def _bearer(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """The piece that carries the log probabilities: the one with the text, else the last.

    Not a message's first, in which SDKs count them twice.
    """
    return next((one for one in pieces if any(map(one.get("delta", one).get, _WORDS))), pieces[-1])


def _deltas(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as its deltas: the role with all empty fields, then field by field."""
    first = {key: value for key, value in message.items() if key == "role" or not value}
    later = sorted((key for key in message if key not in first), key=lambda key: key not in _FIRST)
    deltas = [first]
    for key in later:
        if key == "tool_calls" and isinstance(message[key], list):
            for i, call in enumerate(message[key]):
                deltas += [{key: [{"index": i, **piece}]} for piece in _call(call)]
        else:
            deltas.append({key: message[key]})
    return deltas


def _call(call: Any) -> list[dict[str, Any]]:
    """A tool call as a provider streams it: who is called, then with what."""
    if not isinstance(call, dict):
        return []
    known = {key: value for key, value in call.items() if key != "index"}
    function = known.get("function")
    if not isinstance(function, dict) or not isinstance(given := function.get("arguments"), str):
        return [known]
    opening = known | {"function": function | {"arguments": ""}}
    return [opening, {"function": {"arguments": given}}] if given else [opening]
