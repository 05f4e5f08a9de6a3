"""Admission: whether an upstream's answer is complete and right enough to be stored."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec
import orjson

from proxy.core.endpoint import Endpoint
from proxy.core.entry import Form, Usage
from proxy.core.render import transcript
from proxy.core.replay import merged

Reason: TypeAlias = Literal[
    "status", "malformed", "error", "empty", "incomplete", "finish", "length", "arguments", "cut"
]
"""Why an answer is not stored.

status: not 200. malformed: not the JSON it should be. error: it carries one. empty: nothing in it.
incomplete: choices or vectors are missing. finish: filtered, unfinished or ended by a fault.
length: cut by a limit that the request did not set. arguments: a tool call that cannot be parsed.
cut: a stream without its end marker, or with something after it.
"""


class Admitted(msgspec.Struct, frozen=True):
    """It may be stored."""

    usage: Usage
    model: str
    """As the answer names it."""


class Refused(msgspec.Struct, frozen=True):
    """It may not."""

    reason: Reason


_STOPPED: Final = {"stop", "end_turn", "stop_sequence"}
_WHOLE: Final = frozenset({"tool_calls", "function_call", "tool_use", *_STOPPED})
_LIMITED: Final = frozenset({"length", "max_tokens"})
# Anthropic counts what its prompt cache took aside from the input.
_CACHED: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
_INPUT: Final = ("prompt_tokens", "input_tokens", *_CACHED)
_OUTPUT: Final = ("completion_tokens", "output_tokens")
_NEGATIVE: Final = frozenset({400, 404, 413, 422})
_SAID: Final = ("content", "tool_calls", "function_call", "refusal", "audio")
_THOUGHT: Final = ("reasoning_content", "reasoning")


def admit(
    endpoint: Endpoint, status: int, form: Form, body: bytes, *, limited: bool
) -> Admitted | Refused:
    """Judge a whole decoded answer. `limited`: the request itself set a token limit."""
    if status != 200:
        return Refused("status")
    try:
        found = transcript.parsed(body) if form == "json" else _from_stream(endpoint, body)
        answer = found or Refused("malformed")
        if isinstance(answer, Refused):
            return answer
        reason = "error" if answer.get("error") else _fault(endpoint, answer, limited)
    except RecursionError:
        return Refused("malformed")
    if reason is not None:
        return Refused(reason)
    model = answer.get("model")
    return Admitted(_usage(answer), model if isinstance(model, str) else "")


def negative(status: int, body: bytes) -> bool:
    """Whether this is a client's error that the same request would meet again."""
    if status not in _NEGATIVE:
        return False
    match transcript.parsed(body):
        case {"error": {"message": str()}}:
            return True
        case _:
            return False


def _from_stream(endpoint: Endpoint, body: bytes) -> dict[str, Any] | Refused | None:
    """What a stream amounts to, if it ran to its end."""
    stream = transcript.read(body)
    if stream is None:
        return None
    if stream.failed:
        return Refused("error")
    if not _ended(endpoint, stream):
        return Refused("cut")
    return merged(endpoint, stream.objects)


def _ended(endpoint: Endpoint, stream: transcript.Transcript) -> bool:
    if stream.trailing:
        return False
    last = stream.objects[-1].get("type") if stream.objects else None
    match endpoint:
        case Endpoint.RESPONSES:
            return last in ("response.completed", "response.incomplete")
        case Endpoint.MESSAGES:
            return last == "message_stop"
        case Endpoint.CHAT | Endpoint.COMPLETIONS | Endpoint.EMBEDDINGS:
            return stream.done


def _fault(endpoint: Endpoint, answer: dict[str, Any], limited: bool) -> Reason | None:
    match endpoint:
        case Endpoint.CHAT | Endpoint.COMPLETIONS:
            return _choices_fault(answer.get("choices"), limited)
        case Endpoint.EMBEDDINGS:
            return _vectors_fault(answer.get("data"))
        case Endpoint.RESPONSES:
            return _response_fault(answer, limited)
        case Endpoint.MESSAGES:
            return _message_fault(answer, limited)


def _finish_fault(finish: Any, limited: bool) -> Reason | None:
    if not isinstance(finish, str):
        return "finish"
    if finish in _LIMITED:
        return None if limited else "length"
    return None if finish in _WHOLE else "finish"


def _choices_fault(choices: Any, limited: bool) -> Reason | None:
    if not isinstance(choices, list) or not choices:
        return "empty"
    if not all(isinstance(choice, dict) for choice in choices):
        return "malformed"
    if not _numbered([choice.get("index", place) for place, choice in enumerate(choices)]):
        return "incomplete"
    for choice in choices:
        if choice.get("error"):
            return "error"
        if reason := _finish_fault(choice.get("finish_reason"), limited) or _said_fault(choice):
            return reason
    return None


def _said_fault(choice: dict[str, Any]) -> Reason | None:
    """Whether a choice says something, and can be acted upon."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return None if choice.get("text") else "empty"
    if not any(message.get(field) for field in _SAID + _THOUGHT):
        return "empty"
    calls = message.get("tool_calls") or []
    legacy = message.get("function_call")
    if not isinstance(calls, list) or not all(map(_callable, calls)):
        return "arguments"
    return "arguments" if legacy and not _callable({"function": legacy}) else None


def _callable(call: Any) -> bool:
    match call:
        case {"function": {"name": str(name), "arguments": arguments}}:
            return bool(name) and _parses(arguments)
        case {"function": _}:
            return False
        case _:
            return isinstance(call, dict)


def _parses(arguments: Any) -> bool:
    """Some servers send the arguments as an object; that needs no parsing."""
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True


def _vectors_fault(vectors: Any) -> Reason | None:
    if not isinstance(vectors, list) or not vectors:
        return "empty"
    if not all(isinstance(one, dict) and one.get("embedding") for one in vectors):
        return "empty"
    return None if _numbered([one.get("index") for one in vectors]) else "incomplete"


def _numbered(places: list[Any]) -> bool:
    """Whether the places are 0 to n-1, each once, in any order."""
    return {place for place in places if type(place) is int} == set(range(len(places)))


def _response_fault(answer: dict[str, Any], limited: bool) -> Reason | None:
    match answer:
        case {"status": "completed"}:
            pass
        case {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}:
            if not limited:
                return "length"
        case _:
            return "finish"
    output = answer.get("output")
    if not isinstance(output, list) or not any(map(_item_says, output)):
        return "empty"
    items = [one for one in output if isinstance(one, dict)]
    calls = [{"function": one} for one in items if one.get("type") == "function_call"]
    return None if all(map(_callable, calls)) else "arguments"


def _item_says(item: Any) -> bool:
    match item:
        case {"type": "message", "content": content}:
            return isinstance(content, list) and any(map(_part_says, content))
        case {"type": "reasoning"}:
            return any(item.get(f) for f in ("summary", "content", "encrypted_content"))
        case _:
            return isinstance(item, dict)


def _part_says(part: Any) -> bool:
    """Whether a part or block has something in it; kinds without text always have."""
    match part:
        case {"text": said} | {"refusal": said} | {"thinking": said}:
            return bool(said)
        case _:
            return isinstance(part, dict)


def _message_fault(answer: dict[str, Any], limited: bool) -> Reason | None:
    if reason := _finish_fault(answer.get("stop_reason"), limited):
        return reason
    content = answer.get("content")
    if not isinstance(content, list) or not any(map(_part_says, content)):
        return "empty"
    uses = [one for one in content if isinstance(one, dict) and one.get("type") == "tool_use"]
    sound = all(one.get("name") and isinstance(one.get("input"), dict) for one in uses)
    return None if sound else "arguments"


def _usage(answer: dict[str, Any]) -> Usage:
    found = answer.get("usage")
    if not isinstance(found, dict):
        return Usage()
    return Usage(*(sum(map(_count, map(found.get, names))) for names in (_INPUT, _OUTPUT)))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
