"""What an embedder shows of itself when it is tried on a few texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from semantic.vector import Vectors

    Embed: TypeAlias = "Callable[[Sequence[str]], Awaitable[Vectors]]"

_TEXTS: Final = (
    "how do I get a refund",
    "the weather in the mountains",
    "translate this sentence into French",
    "which planet has the most moons, and how far from the sun is it on an average day",
)
_CHINESE: Final = (
    "如何开启自动续费",
    "如何关闭自动续费",
    "怎么退货",
    "怎么换货",
    "我想取消订单",
    "我想确认订单",
)
"""Pairs that differ in a letter or two. An English vocabulary has a few Han letters (天, 大, 京),
and none by which these differ."""
_SAME: Final = 0.9995
"""Cosine from which on two vectors are one. Rounding gives 0.999999; batches that change vectors
gave 0.87 and 0.97."""
_CUT: Final = 0.99999
"""Cosine from which on the end of a text made no difference; it made 0.9994 or less with three
models, at the greatest length."""
_LENGTHS: Final = (400, 200, 100)
"""Characters. Longer texts are not compared at all."""


async def lives(embed: Embed) -> None:
    """Raises EmbedderError where different texts have the same vector."""
    if _alike(await embed(_TEXTS)):
        raise EmbedderError("gives different texts the same vector")


async def reads_chinese(embed: Embed) -> bool:
    """Whether each of several different Chinese texts has a vector of its own."""
    return not _alike(await embed(_CHINESE))


async def keeps_in_batches(embed: Embed) -> bool:
    """Whether texts have the same vector alone as among others."""
    together = await embed(_TEXTS)
    alone = [await embed([text]) for text in _TEXTS]
    cosines = np.einsum("ij,ij->i", together, np.concatenate(alone))
    return bool(np.all(cosines > _SAME))


async def longest(embed: Embed) -> int:
    """Characters that are surely embedded whole; 0: not even a short text is.

    The end of a text that is cut makes no difference. Han letters, for no tokenizer takes more
    tokens for a Latin letter than for one of them. Raises: EmbedderError.
    """
    for length in _LENGTHS:
        filler = "".join(_CHINESE) * (length // 30 + 1)
        ends = [filler[: length - 5] + end for end in (" blue", " four")]
        try:
            first, second = await embed(ends)
        except EmbedderError:
            if length == _LENGTHS[-1]:
                raise
            continue  # Some servers refuse what is too long.
        if float(first @ second) < _CUT:
            return length
    return 0


def _alike(rows: Vectors) -> bool:
    """Whether any two rows are the same."""
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, 0.0)
    return bool(np.any(cosines > _SAME))
