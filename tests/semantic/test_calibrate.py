"""The table of a labelled file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from semantic.calibrate import THRESHOLDS, LineError, Table, calibrate, plot

if TYPE_CHECKING:
    from pathlib import Path

    from semantic.protocol import Kind


def score(a: str, b: str) -> tuple[Kind, float, str]:
    """What the texts of these tests say of themselves: `near 0.95`, `refused`, `canonical`."""
    if a == "canonical":
        return "canonical", 1.0, ""
    if a == "refused":
        return "semantic", 0.99, "numbers"
    return "semantic", float(a), ""


def lines(*rows: tuple[str, bool, int]) -> list[str]:
    """Pairs: the first text, whether they share an answer, how often."""
    return [
        json.dumps({"a": a, "b": "other", "same_answer": same})
        for a, same, times in rows
        for _ in range(times)
    ]


def table(found: list[str], budget: float = 0.05, **more: Any) -> Table:
    """The table of these lines."""
    return calibrate(found, score=score, budget=budget, **more)


def test_each_threshold_has_what_it_would_have_served() -> None:
    found = table(lines(("0.95", True, 6), ("0.9", True, 2), ("0.9", False, 1), ("0.5", True, 1)))
    by = {row.threshold: row for row in found.rows}

    assert tuple(by) == THRESHOLDS
    assert by[0.95][1:5] == (6, 6 / 9, 0, 0.0)
    assert by[0.9][1:5] == (9, 8 / 9, 1, 1 / 9)
    assert by[0.9].hit_rate == 0.9
    assert by[0.9].bound == pytest.approx(0.4291, abs=1e-4)
    assert by[0.96][1:5] == (0, 0.0, 0, 0.0)


def test_canonical_questions_stand_apart_and_refused_ones_are_no_hits() -> None:
    found = table(lines(("canonical", True, 3), ("refused", False, 4), ("0.9", True, 1)))

    assert found.canonical.hits == 3
    assert found.refused == 4
    assert max(row.hits for row in found.rows) == 1


def test_the_recommendation_is_the_least_that_is_shown_to_keep_the_budget() -> None:
    rows = lines(("0.95", True, 400), ("0.9", True, 20), ("0.9", False, 60))

    assert table(rows).recommended == 0.95
    assert table(rows, budget=0.3).recommended == 0.9


def test_without_enough_evidence_nothing_is_recommended() -> None:
    found = table(lines(("0.95", True, 50)))

    assert found.recommended is None
    assert "no threshold is shown" in found.text()


@pytest.mark.parametrize(
    "line",
    [
        {"question1": "0.9", "question2": "x", "is_duplicate": 1},
        {"q1": "0.9", "q2": "x", "label": "1"},
        {"sentence1": "0.9", "sentence2": "x", "label": True},
        {"text_a": "0.9", "text_b": "x", "same": "true"},
        {"similarity": 0.9, "wrong": False},
        {"similarity": 0.9, "wrong": 0, "kind": "semantic", "group": "gpt en"},
    ],
)
def test_other_spellings_are_read(line: dict[str, object]) -> None:
    found = table([json.dumps(line), "", "  \n"])

    assert found.pairs == 1
    assert found.rows[10][1:5] == (1, 1.0, 0, 0.0)


def test_samples_of_one_group_can_be_taken_alone() -> None:
    found = [
        json.dumps({"similarity": 0.9, "wrong": group == "zh", "kind": "semantic", "group": group})
        for group in ("en", "zh", "en")
    ]

    assert table(found).pairs == 3
    assert table(found, group="en").pairs == 2
    assert table(found, group="en").rows[0].errors == 0


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[1]",
        "{}",
        '{"a": "0.9", "b": "x"}',
        '{"a": 1, "b": "x", "same_answer": true}',
        '{"a": "0.9", "b": "x", "same_answer": "perhaps"}',
        '{"similarity": 0.9}',
        '{"similarity": "near", "wrong": true}',
        '{"similarity": true, "wrong": true}',
        '{"similarity": 0.9, "wrong": true, "kind": "exact"}',
        "\ud800",
    ],
)
def test_any_other_line_is_named_by_its_number(line: str) -> None:
    with pytest.raises(LineError, match=r"^line 2: "):
        table([*lines(("0.9", True, 1)), line])


def test_the_text_is_a_table() -> None:
    text = table(lines(("0.95", True, 400), ("0.8", False, 3), ("canonical", True, 1))).text()
    rows = text.splitlines()

    assert rows[0].split() == [
        "threshold",
        "hits",
        "served",
        "errors",
        "error",
        "bound",
        "hit",
        "rate",
    ]
    assert rows[1].split() == ["canonical", "1", "0.2%", "0", "0.00%", "95.00%", "0.2%"]
    assert rows[2].split() == ["0.800", "403", "99.8%", "3", "0.74%", "1.91%", "99.8%"]
    assert rows[-1] == "min_similarity = 0.8 keeps 5.00%"
    assert len({len(row) for row in rows[: len(THRESHOLDS) + 2]}) == 1


def test_an_empty_file_has_an_empty_table() -> None:
    assert table([]).pairs == 0
    assert table([]).recommended is None


def test_it_is_drawn(tmp_path: Path) -> None:
    plot(table(lines(("0.95", True, 400), ("0.85", False, 9))), tmp_path / "table.png")

    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
