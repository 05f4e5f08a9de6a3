"""Figures that say one thing are written in one way; others stay."""

from __future__ import annotations

import pytest

from semantic.figures import figures


@pytest.mark.parametrize(
    ("text", "one_way"),
    [
        ("open at 3 pm", "open at 15:00"),
        ("open at 3:30pm.", "open at 15:30"),
        ("open at 12 pm", "open at 12 pm"),
        ("open at 9 am", "open at 9 am"),
        ("20 percent of 150", "20% of 150"),
        ("20 per cent of 150", "20% of 150"),
        ("a fee under $1,000", "a fee under 1000 dollars"),
        ("$5 million", "$5 million"),
        ("$25 million", "$25 million"),
        ("$1.5 million", "$1.5 million"),
        ("$5k", "$5k"),
        ("$25m", "$25m"),
        ("$1.50.", "1.50 dollars."),
        ("1,000,000 ants", "1000000 ants"),
        ("1,2,3", "1,2,3"),
        ("on january 1st", "on 1 january"),
        ("on the 1st of may", "on the 1 may"),
        ("the 21st century", "the 21 century"),
        ("may 50% attend", "may 50% attend"),
        ("", ""),
    ],
)
def test_figures(text: str, one_way: str) -> None:
    assert figures(text) == one_way
