"""What is sent and answered in the measurements: requests as an SDK writes them, fixed answers."""

from __future__ import annotations

from typing import Final

import msgspec
import orjson

PATH: Final = "/v1/chat/completions"

_HEAD: Final = (
    f"POST {PATH} HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\n"
    "Accept: application/json\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Connection: keep-alive\r\n"
    "User-Agent: bench/1\r\n"
    "Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n"
    "Content-Type: application/json\r\n"
)

_WORDS: Final = (
    "the order was shipped on Monday and the customer asks where it is now; "
    'the tool said {"status": "in transit"} — naïve, but true.\n'
)


class Request(msgspec.Struct, frozen=True):
    """A request's bytes; between `before` and `after` goes a number that makes it unlike others."""

    before: bytes
    after: bytes = b""
    unique: bool = False


def short(*, controls: str = "") -> Request:
    """A question of a few sentences, the same each time."""
    return Request(_request(_body(400), controls))


def stream(*, unique: bool = False) -> Request:
    """The same question, answered as events."""
    return (
        _numbered(_body(400, stream=True)) if unique else Request(_request(_body(400, stream=True)))
    )


def long() -> Request:
    """An agent's transcript of 100 kB, the same each time."""
    return Request(_request(_body(100_000)))


def unseen() -> Request:
    """A question of a few sentences that nobody has asked before."""
    return _numbered(_body(400))


_NUMBER: Final = "000000000000"


def _numbered(body: bytes) -> Request:
    before, _, after = _request(body).partition(_NUMBER.encode())
    return Request(before, after, unique=True)


def _request(body: bytes, controls: str = "") -> bytes:
    return f"{_HEAD}{controls}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _body(size: int, *, stream: bool = False) -> bytes:
    turns = [{"role": "system", "content": f"You are a helpful clerk. Case {_NUMBER}."}]
    while sum(len(turn["content"]) for turn in turns) < size:
        role = "assistant" if len(turns) % 2 == 0 else "user"
        turns.append({"role": role, "content": _WORDS * (20 if size > 10_000 else 2)})
    turns.append({"role": "user", "content": "Where is my order?"})
    body: dict[str, object] = {"model": "bench-1", "messages": turns, "temperature": 0.2}
    return orjson.dumps(body | {"stream": True} if stream else body)


ANSWER: Final = orjson.dumps(
    {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "bench-1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": (_WORDS * 10)[:1200], "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 250, "total_tokens": 350},
        "system_fingerprint": "fp_bench",
    }
)
"""A JSON answer of 1.5 kB."""


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "bench-1",
        "system_fingerprint": "fp_bench",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


EVENTS: Final = (
    _event({"role": "assistant", "content": ""})
    + b"".join(_event({"content": f" word{number}"}) for number in range(98))
    + _event({}, "stop")
    + b"data: [DONE]\n\n"
)
"""A stream of 23 kB in 101 events."""
