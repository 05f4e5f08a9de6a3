"""A worker's line to the semantic process: what never reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.meaning import Meaning
from proxy.ports import SemanticError
from semantic.protocol import Lesson

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("news", [b"", b"\x93", msgspec.msgpack.encode({"type": "tomorrow's"})])
async def test_a_lesson_of_another_version_is_passed_over(tmp_path: Path, news: bytes) -> None:
    """As a failure it would come again for ever, with all that is stored told anew each time."""
    line = Meaning(tmp_path / "nobody.sock")

    await line.hear(news)
    with pytest.raises(SemanticError):
        await line.hear(msgspec.msgpack.encode(Lesson()))
