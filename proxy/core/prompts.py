"""The prompts of a completion: each is computed, and kept, by itself.

A request may have one text, many, one list of tokens, or many of these. An engine takes what it was
sent together apart: that one followed another in a request is no prefix of anything.
"""

from __future__ import annotations

from typing import Any

from proxy.core import canonical


def longest(prompt: Any) -> tuple[Any, int]:
    """The one of which most can be kept, and the bytes of all others."""
    if not isinstance(prompt, list) or not prompt or isinstance(prompt[0], int):
        return prompt, 0
    sizes = [_size(one) for one in prompt]
    most = max(sizes)
    return prompt[sizes.index(most)], sum(sizes) - most


def _size(prompt: Any) -> int:
    if isinstance(prompt, str):
        return len(prompt.encode("utf-8", "surrogatepass"))
    return len(canonical.encoded(prompt))
