"""Folders that the settings name and nothing can be kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proxy.adapters.folders import unusable
from proxy.config import parse

if TYPE_CHECKING:
    from pathlib import Path


def told(text: str, **environ: str) -> list[str]:
    return list(unusable(parse(text), environ))


@pytest.mark.parametrize("below", ["", "/a", "/a/b"])
def test_below_a_regular_file_there_is_no_folder(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.touch()
    disk = f"[cache.disk]\npath = '{file}{below}'\n"
    objects = f"[cache.objects]\nurl = 'file://{file}{below}'\n"

    assert told(disk + objects) == [
        f"cannot write {file}{below}: {file} is no folder - at `cache.disk.path`",
        f"cannot write {file}{below}: {file} is no folder - at `cache.objects.url`",
    ]


def test_a_folder_that_nobody_chose_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    (line,) = told("", XDG_CACHE_HOME=f"{tmp_path}/file")

    assert line.startswith(f"cannot write {tmp_path}/file/hotprefix: ")


def test_one_that_can_be_made_is_well_and_not_made(tmp_path: Path) -> None:
    disk = f"[cache.disk]\npath = '{tmp_path}/a/b'\n"

    assert told(f"{disk}[cache.objects]\nurl = 'file://{tmp_path}/c%20d'") == []
    assert list(tmp_path.iterdir()) == []


def test_one_that_may_not_be_written_is_told_with_what_is_closed(tmp_path: Path) -> None:
    config = parse(f"[cache.disk]\npath = '{tmp_path}/a/b'")

    (line,) = unusable(config, {}, lambda path, mode: path != tmp_path)

    expected = f"Permission denied ({tmp_path})"
    assert line == f"cannot write {tmp_path}/a/b: {expected} - at `cache.disk.path`"


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_a_models_folder_that_is_not_there_is_told_where_it_is_wanted(
    tmp_path: Path, mode: str
) -> None:
    def said(name: str) -> list[str]:
        table = f"[semantic]\nmode = '{mode}'\nembedder = 'sentence-transformers:{name}'\n"
        return told(f"{table}[cache.disk]\npath = 'off'")

    missing = f"cannot read {tmp_path}/none: it is no folder - at `semantic.embedder`"
    assert said(f"{tmp_path}/none") == ([] if mode == "off" else [missing])
    assert said(str(tmp_path)) == []
    assert said("all-MiniLM-L6-v2") == []


def test_where_there_is_no_disk_tier_none_is_missed() -> None:
    assert told("[cache.disk]\npath = 'off'", XDG_CACHE_HOME="/dev/null") == []
