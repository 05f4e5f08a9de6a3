"""What was learnt, in a file: whole, or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semantic.kept import Kept
from semantic.protocol import Found
from tests.semantic.company import Company, key

if TYPE_CHECKING:
    from semantic.lessons import Lessons


def taught() -> Lessons:
    """Somebody called a hit wrong."""
    lessons = Company().lessons
    lessons.served("req_1", Found(scope=b"s" * 32, key=key("k")), "a question")
    lessons.blame("req_1")
    return lessons


def blocked(lessons: Lessons) -> bool:
    return lessons.blocked(b"s" * 32, "a question", b"", key("k"))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "semantic"
    Kept(str(path), taught()).save()
    after = Company().lessons
    Kept(str(path), after).load()

    assert blocked(after)
    assert [one.name for one in path.parent.iterdir()] == ["semantic"]


def test_nothing_new_is_not_written_again(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path / "semantic"), taught())
    kept.save()
    (tmp_path / "semantic").unlink()
    kept.save()

    assert not (tmp_path / "semantic").exists()


@pytest.mark.parametrize("content", [b"", b"x" * 50, b"\x93\x01"])
def test_a_file_of_something_else_teaches_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "semantic"
    path.write_bytes(content)
    lessons = Company().lessons
    Kept(str(path), lessons).load()

    assert lessons.groups() == {}


def test_where_nothing_can_be_written_it_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lessons = taught()
    Kept(str(tmp_path / "file" / "semantic"), lessons).save()

    assert lessons.changed


def test_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    kept = Kept("", taught())
    kept.save()
    kept.load()

    assert list(tmp_path.iterdir()) == []
