"""The demo upstream's chat completions and completions, as JSON and as chunks."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from proxy.adapters.demo.answer import (
    Answer,
    Fields,
    Tool,
    Wish,
    answer,
    chosen,
    count_of,
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
    from collections.abc import Iterable, Iterator

_DONE: Final = b"data: [DONE]\n\n"


def chat(fields: Fields, kept: int = 0) -> Fields:
    """A `chat.completion`. `kept`: tokens of the prompt. Raises RefusedError."""
    answers = _answers(fields)
    choices = [
        {
            "index": i,
            "message": {"role": "assistant", "refusal": None, "annotations": [], **_message(said)},
            "logprobs": _logprobs(said.pieces) if fields.get("logprobs") else None,
            "finish_reason": _finish(said),
        }
        for i, said in enumerate(answers)
    ]
    usage = _usage(fields["messages"], answers, kept)
    return {**_head(fields, "chat.completion"), "choices": choices, "usage": usage}


def chat_events(fields: Fields, kept: int = 0) -> Iterator[bytes]:
    """The same as `chat.completion.chunk` events. Raises RefusedError before the first."""
    answers = _answers(fields)
    head = _head(fields, "chat.completion.chunk")
    choices = _interleaved(_deltas(i, said, fields) for i, said in enumerate(answers))
    return _stream(fields, head, choices, _usage(fields["messages"], answers, kept))


def completion(fields: Fields, kept: int = 0) -> Fields:
    """A `text_completion`. Raises RefusedError."""
    answers = _continuations(fields)
    choices = [
        {"text": said.text, "index": i, "logprobs": None, "finish_reason": _finish(said)}
        for i, said in enumerate(answers)
    ]
    usage = _usage(fields["prompt"], answers, kept)
    return {**_head(fields, "text_completion"), "choices": choices, "usage": usage}


def completion_events(fields: Fields, kept: int = 0) -> Iterator[bytes]:
    """The same as `text_completion` events. Raises RefusedError before the first."""
    answers = _continuations(fields)
    choices = _interleaved(_texts(i, said) for i, said in enumerate(answers))
    head = _head(fields, "text_completion")
    return _stream(fields, head, choices, _usage(fields["prompt"], answers, kept))


def _answers(fields: Fields) -> list[Answer]:
    messages = required(fields, "messages", list)
    form = fields.get("response_format") or {}
    schema = (form.get("json_schema") or {}).get("schema")
    if form.get("type") == "json_object":
        schema = {"type": "object", "properties": {"demo": {"type": "boolean"}}}
    limit = limit_of(fields, "max_completion_tokens", "max_tokens")
    wish = Wish(last_asked(messages), _tools(fields), schema, limit)
    return [answer(wish, digest(fields), i) for i in range(count_of(fields))]


def _tools(fields: Fields) -> tuple[Tool, ...]:
    offered = [tool.get("function") or {} for tool in fields.get("tools") or []]
    tools = [Tool(tool["name"], tool.get("parameters") or {}) for tool in offered if "name" in tool]
    choice = fields.get("tool_choice")
    name = (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None
    return chosen(tools, choice, name, parallel=fields.get("parallel_tool_calls") is not False)


def _continuations(fields: Fields) -> list[Answer]:
    """One answer for each prompt and choice; a prompt may be text or token ids."""
    prompt = required(fields, "prompt", (str, list))
    several = isinstance(prompt, list) and isinstance(prompt[0], str | list)
    limit = limit_of(fields, "max_tokens")
    count = count_of(fields)
    return [
        answer(Wish(one if isinstance(one, str) else "", limit=limit), digest(fields), i)
        for one in (prompt if several else [prompt])
        for i in range(count)
    ]


def _head(fields: Fields, kind: str) -> Fields:
    mark = digest(fields)
    prefix = "cmpl" if kind == "text_completion" else "chatcmpl"
    return {
        "id": f"{prefix}-demo-{mark}",
        "object": kind,
        "created": created(mark),
        "model": labelled(required(fields, "model", str)),
        "service_tier": "default",
        "system_fingerprint": "fp_demo",
    }


def _message(said: Answer) -> Fields:
    if not said.calls:
        return {"content": said.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in said.calls
    ]
    return {"content": None, "tool_calls": calls}


def _finish(said: Answer) -> str:
    if said.calls:
        return "tool_calls"
    return "length" if said.cut else "stop"


def _logprobs(said: tuple[str, ...]) -> Fields:
    tokens = [
        {"token": piece, "logprob": -0.25, "bytes": list(piece.encode()), "top_logprobs": []}
        for piece in said
    ]
    return {"content": tokens, "refusal": None}


def _usage(prompt: Any, answers: list[Answer], kept: int) -> Fields:
    asked, said = tokens(prompt), sum(one.tokens for one in answers)
    return {
        "prompt_tokens": asked,
        "completion_tokens": said,
        "total_tokens": asked + said,
        "prompt_tokens_details": {"cached_tokens": min(kept, asked - 1), "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _deltas(index: int, said: Answer, fields: Fields) -> Iterator[Fields]:
    def choice(delta: Fields, said: tuple[str, ...] = (), finish: str | None = None) -> Fields:
        logprobs = _logprobs(said) if said and fields.get("logprobs") else None
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}

    opening = None if said.calls else ""
    yield choice({"role": "assistant", "content": opening, "refusal": None})
    for piece in said.pieces:
        yield choice({"content": piece}, (piece,))
    for at, call in enumerate(said.calls):
        named = {"name": call.name, "arguments": ""}
        first = {"index": at, "id": call.id, "type": "function", "function": named}
        yield choice({"tool_calls": [first]})
        for piece in pieces(call.arguments):
            yield choice({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield choice({}, finish=_finish(said))


def _texts(index: int, said: Answer) -> Iterator[Fields]:
    for piece in said.pieces:
        yield {"text": piece, "index": index, "logprobs": None, "finish_reason": None}
    yield {"text": "", "index": index, "logprobs": None, "finish_reason": _finish(said)}


def _interleaved(streams: Iterable[Iterator[Fields]]) -> Iterator[Fields]:
    """Choices stream at the same time, as those of a real engine do."""
    for row in zip_longest(*streams):
        yield from (choice for choice in row if choice is not None)


def _stream(
    fields: Fields, head: Fields, choices: Iterator[Fields], usage: Fields
) -> Iterator[bytes]:
    asked = bool((fields.get("stream_options") or {}).get("include_usage"))
    silent: Fields = {"usage": None} if asked else {}
    for choice in choices:
        yield event({**head, "choices": [choice], **silent})
    if asked:
        yield event({**head, "choices": [], "usage": usage})
    yield _DONE
