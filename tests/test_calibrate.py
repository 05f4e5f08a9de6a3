"""`hotprefix calibrate` with the real embedder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proxy.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRS = [
    {"a": "怎么退货", "b": "退货流程", "same_answer": True},
    {"a": "怎么退货", "b": "怎么换货", "same_answer": False},
    {"a": "how do I get a refund", "b": "refund process", "same_answer": True},
    {"a": "how do I get a refund", "b": "how do I avoid a refund", "same_answer": False},
]


def written(path: Path, lines: Sequence[object]) -> str:
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    return str(path)


def test_pairs_are_counted_as_the_tier_would_serve_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, image = written(tmp_path / "pairs.jsonl", PAIRS), tmp_path / "plot.png"

    assert main(["calibrate", path, "--plot", str(image)]) == 0

    lines = capsys.readouterr().out.splitlines()
    canonical = lines[1].split()
    assert canonical[:4] == ["canonical", "2", "100.0%", "0"]
    assert "4 pairs, 2 of them refused by a guard" in lines
    assert image.read_bytes().startswith(b"\x89PNG")


def test_without_the_extra_that_draws_it_is_named_before_anything_else(tmp_path: Path) -> None:
    """In a process of its own, in which matplotlib cannot be imported."""
    path = written(tmp_path / "pairs.jsonl", PAIRS)
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from proxy.__main__ import main\n"
        f"sys.exit(main(['calibrate', {path!r}, '--plot', 'never.png']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=15
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'hotprefix[plot]'" in done.stderr


def test_a_log_is_read_for_its_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = {"time": "t", "event": "semantic_label", "kind": "semantic", "group": "m/en"}
    lines = [
        {"time": "t", "event": "request", "status": 200},
        *({**label, "wrong": False, "similarity": 0.97} for _ in range(9)),
        {**label, "wrong": True, "similarity": 0.85},
        {**label, "wrong": True, "similarity": 0.99, "group": "n/en"},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (tmp_path / "log").write_text(text)

    assert main(["calibrate", str(tmp_path / "log"), "--group", "m/en"]) == 0

    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[1:-1]}
    assert rows["0.950"][1:4] == ["9", "100.0%", "0"]
    assert rows["0.800"][1:4] == ["10", "100.0%", "1"]


def test_a_log_may_hold_what_serve_said_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = '{"event":"semantic_label","kind":"canonical","wrong":false,"similarity":1.0}'
    lines = ['{"event":"worker_started","slot":0}', "base_url  http://127.0.0.1:8080/v1", label]
    spaced = [one.replace(":", ": ") for one in lines]
    for said in (lines, ["hotprefix is listening", *lines], spaced):
        (tmp_path / "log").write_text("\n".join(said))

        assert main(["calibrate", str(tmp_path / "log")]) == 0

        assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["canonical", "1"]


def test_a_bad_label_is_named_by_its_line_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text('{"event":"request"}\n{"event":"semantic_label","similarity":1}')

    assert main(["calibrate", str(tmp_path / "log")]) == 1

    assert "line 2: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "words", "code"),
    [
        ([{"a": "x"}], [], 1),
        (["text"], [], 1),
        ([], [], 1),
        (PAIRS, ["--embedder", "word2vec"], 2),
        (PAIRS, ["--embedder", "http:http://127.0.0.1:9/v1/embeddings?model=m"], 1),
        (PAIRS, ["--config", "nowhere.toml"], 2),
    ],
    ids=["fields", "no object", "empty", "embedder", "away", "config"],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: list[object],
    words: list[str],
    code: int,
) -> None:
    path = written(tmp_path / "pairs.jsonl", lines)

    assert main(["calibrate", path, *words]) == code

    assert capsys.readouterr().err.startswith("hotprefix: ")


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "nowhere.jsonl"]) == 1
    said = capsys.readouterr().err
    assert said == "hotprefix: nowhere.jsonl: No such file or directory\n"
