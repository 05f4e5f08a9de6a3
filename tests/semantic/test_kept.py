"""What was learnt, in a file: whole, or not there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from semantic.entry_policy import MAX_ENTRIES
from semantic.kept import Kept
from semantic.protocol import Block, Found, Label, Lesson
from tests.semantic.company import Company, key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semantic.lessons import Lessons


def taught() -> Lessons:
    """Somebody called a hit wrong."""
    lessons = Company().lessons
    lessons.served("req_1", Found(scope=b"s" * 32, key=key("k")), "a question")
    lessons.blame("req_1")
    return lessons


def blocked(lessons: Lessons) -> bool:
    return lessons.blocked(b"s" * 32, "a question", b"", key("k"))


async def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "semantic"
    await Kept(str(path), taught()).save()
    after = Company().lessons
    Kept(str(path), after).load()

    assert blocked(after)
    assert [one.name for one in path.parent.iterdir()] == ["semantic"]


async def test_nothing_new_is_not_written_again(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path / "semantic"), taught())
    await kept.save()
    (tmp_path / "semantic").unlink()
    await kept.save()

    assert not (tmp_path / "semantic").exists()


@pytest.mark.parametrize("content", [b"", b"x" * 50, b"\x93\x01"])
def test_a_file_of_something_else_teaches_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "semantic"
    path.write_bytes(content)
    lessons = Company().lessons
    Kept(str(path), lessons).load()

    assert lessons.groups() == {}


async def test_where_nothing_can_be_written_it_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lessons = taught()
    await Kept(str(tmp_path / "file" / "semantic"), lessons).save()

    assert lessons.changed


async def test_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    kept = Kept("", taught())
    await kept.save()
    kept.load()

    assert os.listdir(tmp_path) == []


def many() -> Lessons:
    """Pairs that are blocked, and entries with a record, as many as are ever kept."""
    lessons = Company(policy="entry", min_similarity=0.0).lessons
    blocks = [Block(n.to_bytes(16, "big"), b"", key("k")) for n in range(100_000)]
    lessons.hear(Lesson((), tuple(blocks)))
    for n in range(MAX_ENTRIES):
        name = n.to_bytes(16, "big")
        label = Label(name, "m/en", "semantic", 0.95, name * 2, wrong=False, basis=lessons._basis)
        lessons.hear(Lesson((label,)))
    return lessons


async def test_much_is_saved_in_pieces_and_loaded_whole(tmp_path: Path) -> None:
    lessons = many()
    await Kept(str(tmp_path / "semantic"), lessons).save()
    after = Company(policy="entry", min_similarity=0.0).lessons
    Kept(str(tmp_path / "semantic"), after).load()

    assert b"".join(after.dump()) == b"".join(lessons.dump())
    assert len(list(lessons.dump())) > 120


async def test_between_two_pieces_others_have_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, noted = 0, []

    def pieces() -> Iterator[bytes]:
        for _ in range(10):
            noted.append(turns)
            yield b""

    lessons = taught()
    monkeypatch.setattr(lessons, "dump", pieces)
    saving = asyncio.create_task(Kept(str(tmp_path / "semantic"), lessons).save())
    while not saving.done():
        await asyncio.sleep(0)
        turns += 1

    assert len(set(noted)) == 10


async def test_what_is_learnt_while_it_is_saved_is_saved_the_next_time(tmp_path: Path) -> None:
    """The file is of one moment: a label counts in all of it, or nowhere."""
    lessons = many()
    before = b"".join(lessons.dump())
    lessons.changed = True
    kept = Kept(str(tmp_path / "semantic"), lessons)
    saving = asyncio.create_task(kept.save())
    for number in range(50):
        await asyncio.sleep(0)
        told = Label(b"%16d" % number, "m/en", "semantic", 0.95, bytes(32), wrong=True)
        known = Label(
            b"-%15d" % number, "m/en", "semantic", 0.95, bytes(15) + b"\1" + bytes(16), wrong=True
        )
        block = Block(b"%16d" % number, b"", key("k"))
        lessons.hear(Lesson((replace(told, basis=lessons._basis), known), (block,)))
    await saving

    assert (tmp_path / "semantic").read_bytes() == before
    assert lessons.changed
    await kept.save()
    assert (tmp_path / "semantic").read_bytes() == b"".join(lessons.dump()) != before


async def test_one_that_is_cancelled_leaves_the_old_file_and_is_made_good(tmp_path: Path) -> None:
    path, lessons = tmp_path / "semantic", many()
    path.write_bytes(b"old")
    kept = Kept(str(path), lessons)
    saving = asyncio.create_task(kept.save())
    for _ in range(20):
        await asyncio.sleep(0)
    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)

    assert path.read_bytes() == b"old"
    assert lessons.changed
    await kept.save()
    assert path.read_bytes() == b"".join(lessons.dump())


async def test_a_file_of_the_version_before_is_read(tmp_path: Path) -> None:
    """It was encoded at once, with shorter heads of arrays."""
    before, after = taught(), Company().lessons
    found = msgspec.msgpack.decode(b"".join(before.dump()))
    (tmp_path / "semantic").write_bytes(msgspec.msgpack.encode(found))
    Kept(str(tmp_path / "semantic"), after).load()

    assert blocked(after)
    assert after.groups() == before.groups()
