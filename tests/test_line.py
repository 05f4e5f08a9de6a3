"""A worker's line to the semantic process: what never reaches it, and what does in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.meaning import Meaning
from proxy.core.entry import Question
from proxy.ports import SemanticAbsentError
from semantic.protocol import Done, Found, Learn, Lesson, Nearest
from semantic.server import Server
from tests.asking import arrival, chat, configured, lookup
from tests.stored import entry, key

if TYPE_CHECKING:
    from pathlib import Path

    from semantic.protocol import Message

COMPARING = configured("[semantic]\nmode = 'on'")


@pytest.mark.parametrize("news", [b"", b"\x93", msgspec.msgpack.encode({"type": "tomorrow's"})])
async def test_a_lesson_of_another_version_is_passed_over(tmp_path: Path, news: bytes) -> None:
    """As a failure it would come again for ever, with all that is stored told anew each time."""
    line = Meaning(tmp_path / "nobody.sock")

    await line.hear(news)
    with pytest.raises(SemanticAbsentError):
        await line.hear(msgspec.msgpack.encode(Lesson()))


async def test_large_vectors_are_told_in_as_many_messages_as_it_takes(tmp_path: Path) -> None:
    """2000 questions at once are 20 MB with a large embedder, and a message holds 16."""
    parts: list[int] = []

    async def answer(message: Message) -> Message:
        assert isinstance(message, Learn)
        parts.append(len(message.records))
        return Done()

    server = Server(tmp_path / "s.sock", answer)
    await server.start()
    line = Meaning(tmp_path / "s.sock")
    asked = Question(key("scope"), "问" * 400, "large", b"v" * 8192)
    await line.learn([entry(number, question=asked) for number in range(2000)])
    await line.aclose()
    await server.aclose()

    assert sum(parts) == 2000
    assert len(parts) == 2


async def test_a_models_name_is_never_long_there(tmp_path: Path) -> None:
    """A thousand groups of errors are told in one message, and clients choose the names."""
    asked: list[str] = []

    async def answer(message: Message) -> Message:
        assert isinstance(message, Nearest)
        asked.append(message.group)
        return Found()

    server = Server(tmp_path / "s.sock", answer)
    await server.start()
    line = Meaning(tmp_path / "s.sock")
    for end in "ab":
        sought = lookup(arrival(chat("hello", model="m" * 100_000 + end)), COMPARING)
        await line.nearest(sought, 0)
    await line.aclose()
    await server.aclose()

    assert max(map(len, asked)) < 300
    assert len(set(asked)) == 2
