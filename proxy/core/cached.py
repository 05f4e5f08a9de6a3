"""How much of a prompt a node says it had kept, by its own words about usage."""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any, Final

from proxy.core.coding import CodingError, decoder

_EDGE: Final = 4096
"""Bytes at an answer's beginning and end between which nothing is looked for."""
_DECODED: Final = 16 << 20
"""Bytes that a coded answer may grow to; of a larger one nobody knows what it says."""
_USAGE: Final = re.compile(r'"(?:usage|timings|usageMetadata)"\s*:\s*(?=\{)')
_DECODER: Final = JSONDecoder()


class Edges:
    """The first and the last bytes of an answer that arrives, without its codings: Anthropic tells
    first what others tell last."""

    __slots__ = ("_decoder", "_held")

    def __init__(self, coding: str = "") -> None:
        """`coding`: its `Content-Encoding`; of one that is not known nothing can be told."""
        self._decoder = decoder(coding, _DECODED) if coding else None
        self._held = b"" if self._decoder is not None or not coding else None

    def feed(self, chunk: bytes) -> None:
        """More of it is here."""
        if self._held is None:
            return
        try:
            held = self._held + (chunk if self._decoder is None else self._decoder.feed(chunk))
        except CodingError:
            self._held = None
        else:
            self._held = held if len(held) <= 2 * _EDGE else held[:_EDGE] + held[-_EDGE:]

    def counts(self) -> tuple[int, int] | None:
        """As `counts`, of all that came."""
        return None if self._held is None else counts(self._held)

    def __repr__(self) -> str:
        return f"<Edges {'unknown' if self._held is None else len(self._held)}>"


def counts(answer: bytes) -> tuple[int, int] | None:
    """How many tokens of the prompt were kept, and how many it has, by the last usage in an answer
    or in its edges; None: it does not say, which is not the same as nothing.

    Dialects: OpenAI (chat and Responses), vLLM, SGLang, llama.cpp, DeepSeek, Anthropic, Gemini.
    """
    text = answer.decode("utf-8", "ignore")
    for found in reversed(list(_USAGE.finditer(text))):
        try:
            usage, _ = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue  # cut off
        if (told := _counts(usage)) is not None:
            return told
    return None


def _counts(usage: dict[str, Any]) -> tuple[int, int] | None:
    for cached, total in (
        _of(usage, "prompt_tokens_details", "prompt_tokens"),
        _of(usage, "input_tokens_details", "input_tokens"),
        (_count(usage, "prompt_cache_hit_tokens"), _count(usage, "prompt_tokens")),
        (_count(usage, "cachedContentTokenCount"), _count(usage, "promptTokenCount")),
        _anthropic(usage),
        _llama(usage),
    ):
        if cached is not None and total:
            return min(cached, total), total
    return None


def _of(usage: dict[str, Any], details: str, total: str) -> tuple[int | None, int | None]:
    held = usage.get(details)
    cached = _count(held, "cached_tokens") if isinstance(held, dict) else None
    return cached, _count(usage, total)


def _anthropic(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """Its `input_tokens` are those that were neither read from the cache nor written to it."""
    read = _count(usage, "cache_read_input_tokens")
    if read is None:
        return None, None
    rest = (_count(usage, "input_tokens"), _count(usage, "cache_creation_input_tokens"))
    return read, read + sum(filter(None, rest))


def _llama(timings: dict[str, Any]) -> tuple[int | None, int | None]:
    kept, computed = _count(timings, "cache_n"), _count(timings, "prompt_n")
    return kept, None if kept is None or computed is None else kept + computed


def _count(held: dict[str, Any], name: str) -> int | None:
    value = held.get(name)
    return value if type(value) is int and value >= 0 else None
