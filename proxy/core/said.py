"""What a stored answer says, where it says one thing and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.core.endpoint import Endpoint
from proxy.core.render import transcript
from proxy.core.replay import merged

if TYPE_CHECKING:
    from proxy.core.entry import Entry, Form

LONGEST: Final = 1 << 20
"""Bytes of a body that is read for this; what is longer is no answer to a short question."""
_DONE: Final = ("stop", "end_turn", "stop_sequence")


def said(endpoint: Endpoint, form: Form, body: bytes) -> str | None:
    """The text of a whole answer that ended by itself; None where it calls tools, refuses, has
    several choices, or is no text."""
    if len(body) > LONGEST:
        return None
    try:
        if form == "json":
            answer = transcript.parsed(body)
        else:
            stream = transcript.read(body)
            answer = None if stream is None else merged(endpoint, stream.objects)
        return None if answer is None else _said(endpoint, answer)
    except RecursionError:
        return None


def spoken(entry: Entry) -> str | None:
    """The same of an entry."""
    return said(Endpoint(entry.endpoint), entry.form, entry.body) if entry.status == 200 else None


def _said(endpoint: Endpoint, answer: dict[str, Any]) -> str | None:
    match endpoint:
        case Endpoint.CHAT:
            return _choice(answer.get("choices"))
        case Endpoint.MESSAGES:
            ended = answer.get("stop_reason") in _DONE
            return _texts(answer.get("content"), "text") if ended else None
        case Endpoint.RESPONSES:
            return _output(answer) if answer.get("status") == "completed" else None
        case Endpoint.COMPLETIONS | Endpoint.EMBEDDINGS:
            return None


def _choice(choices: Any) -> str | None:
    match choices:
        case [{"finish_reason": str(finish), "message": {"content": str(text)} as message}]:
            acts = any(map(message.get, ("tool_calls", "function_call", "refusal", "audio")))
            return (text or None) if finish in _DONE and not acts else None
        case _:
            return None


def _output(answer: dict[str, Any]) -> str | None:
    output = answer.get("output")
    items = [one for one in output if isinstance(one, dict)] if isinstance(output, list) else []
    said = [one for one in items if one.get("type") != "reasoning"]
    if len(said) != 1 or said[0].get("type") != "message":
        return None
    return _texts(said[0].get("content"), "output_text")


def _texts(parts: Any, kind: str) -> str | None:
    """The texts of an answer that consists of such parts, thoughts aside."""
    if not isinstance(parts, list):
        return None
    texts = []
    for part in parts:
        match part:
            case {"type": "thinking" | "redacted_thinking"}:
                continue
            case {"type": str(found), "text": str(text)} if found == kind:
                texts.append(text)
            case _:
                return None
    return "".join(texts) or None
