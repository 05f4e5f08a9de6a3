"""Conversations with real engines: texts that nobody has asked yet, and calls."""

from __future__ import annotations

import http.client
import json
import random
import time
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = """
    alpha beta gamma delta system router cache prefix token engine server client request answer
    long shared document policy table rule
"""

Message = dict[str, str]


class Said(NamedTuple):
    """An answer; times are seconds, tokens by the engine's own count."""

    first: float
    """Until the first of its content."""
    tokens: int
    """Of the prompt."""
    cached: int
    """Tokens of the prompt that the engine had kept."""
    headers: Mapping[str, str]


def text(chance: random.Random, words: int) -> str:
    """So many words, in an order that is new each time."""
    return " ".join(chance.choices(_WORDS.split(), k=words))


def opening(chance: random.Random, words: int) -> list[Message]:
    """A conversation that begins with so many words of instructions."""
    return [{"role": "system", "content": text(chance, words)}]


def question(chance: random.Random, number: int) -> Message:
    """A user's turn."""
    return {"role": "user", "content": f"Question {number}: {text(chance, 12)}"}


def asked(base: str, model: str, messages: list[Message], answer: int = 8) -> Said:
    """Ask for a stream of `answer` tokens at `base`, which ends in /v1, and read it to its end.

    Raises: OSError; RuntimeError, if it was no whole answer.
    """
    url = urlsplit(base)
    body = {"model": model, "messages": messages, "max_tokens": answer, "temperature": 0}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    headers = {"content-type": "application/json", "x-cache": "off"}
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=300)
    began, first, usage = time.perf_counter(), 0.0, None
    try:
        connection.request("POST", f"{url.path}/chat/completions", json.dumps(body), headers)
        response = connection.getresponse()
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            choices = event.get("choices")
            if not first and choices and choices[0]["delta"].get("content"):
                first = time.perf_counter() - began
            usage = event.get("usage") or usage
    finally:
        connection.close()
    if response.status != 200 or not usage:
        raise RuntimeError(f"{base} answered {response.status}, usage {usage}")
    # A model may say nothing at all: then its last word is its first.
    first = first or time.perf_counter() - began
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Said(first, usage["prompt_tokens"], cached, dict(response.headers))
