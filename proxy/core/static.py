"""A configured text as the answer that a request wanted: the last step before an error."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import orjson

from proxy.core.delivery import retyped, wanted
from proxy.core.endpoint import Endpoint
from proxy.core.language import language
from proxy.core.render.transcript import parsed
from proxy.core.replay import replay
from proxy.core.text import asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.config import Static
    from proxy.core.message import Headers
    from proxy.core.request import Request

_LARGEST: Final = 1 << 23
"""Bytes; nothing is read of a larger body, as it would take too long where no time is left."""


def static(
    phrases: Sequence[Static], request: Request, body: bytes, *, name: str, now: float
) -> tuple[Headers, bytes] | None:
    """Headers and body that answer `request`, whose own body is `body`, by the first phrase for
    its model; `name` becomes part of the answer's id.

    None: there is no phrase, or words are no answer: to embeddings, or where a program that asked
    for JSON reads them and they are none.
    """
    phrase = next((one for one in phrases if fnmatchcase(request.model, one.model)), None)
    if phrase is None or request.endpoint is Endpoint.EMBEDDINGS:
        return None
    fields = (parsed(body) if len(body) <= _LARGEST else None) or {}
    chinese = language(asked(request.endpoint, fields)) == "zh"
    text = (phrase.text_zh if chinese else "") or phrase.text
    if _structured(fields) and parsed(text.encode()) is None:
        return None
    form, whole = wanted(request), orjson.dumps(_whole(request, text, name, int(now)))
    said = replay(request.endpoint, "json", form, whole, usage=request.wants_usage)
    return None if said is None else (retyped((), form), said)


def _structured(fields: dict[str, Any]) -> bool:
    """Whether a program reads the answer, and expects JSON."""
    formats = [
        fields.get("response_format"),
        fields.get("output_format"),
        *(told.get("format") for name in _FORMATS if isinstance(told := fields.get(name), dict)),
    ]
    kinds = [one.get("type") for one in formats if isinstance(one, dict)]
    return any(kind in ("json_object", "json_schema") for kind in kinds)


_FORMATS: Final = ("text", "output_config")


def _whole(request: Request, text: str, name: str, now: int) -> dict[str, Any]:
    """The answer as JSON; for embeddings an empty one."""
    head = {"model": request.model, "created": now}
    match request.endpoint:
        case Endpoint.CHAT:
            message = {"role": "assistant", "content": text, "refusal": None}
            kind = {"id": f"chatcmpl-{name}", "object": "chat.completion"}
            return {**kind, **head, "choices": [_choice(message=message)], "usage": _COUNTED}
        case Endpoint.COMPLETIONS:
            kind = {"id": f"cmpl-{name}", "object": "text_completion"}
            return {**kind, **head, "choices": [_choice(text=text)], "usage": _COUNTED}
        case Endpoint.RESPONSES:
            return _response(request.model, text, name, now)
        case Endpoint.MESSAGES:
            return _message(request.model, text, name)
        case Endpoint.EMBEDDINGS:
            return {}


_COUNTED: Final = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def _choice(**said: object) -> dict[str, Any]:
    return {"index": 0, **said, "logprobs": None, "finish_reason": "stop"}


def _response(model: str, text: str, name: str, now: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": f"msg_{name}", "type": "message", "status": "completed", "role": "assistant"}
    counted = {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": now,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [{**message, "content": [part]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": counted,
    }


def _message(model: str, text: str, name: str) -> dict[str, Any]:
    return {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
