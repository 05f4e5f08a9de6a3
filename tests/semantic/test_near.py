"""Near synonyms are in one set; opposites and neighbours are not."""

from __future__ import annotations

import pytest

from semantic.guard.verdict import refusal
from semantic.near import near
from semantic.settings import Settings
from semantic.stems import topic
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("one", "other"), [("raise", "increase"), ("signs", "symptoms"), ("维修", "修理")]
)
def test_near(one: str, other: str) -> None:
    assert near(topic(one), topic(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("raise", "reduce"), ("sign", "cause"), ("fee", "salary"), ("修理", "办理"), ("x", "y")],
)
def test_not_near(one: str, other: str) -> None:
    assert not near(topic(one), topic(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I increase the font size", "How do I boost the font size"),
        ("How do I delete a label in Gmail", "How do I get rid of a label in Gmail"),
        ("电饭煲维修要找谁", "电饭煲修理要找谁"),
    ],
)
def test_no_guard_minds_them(one: str, other: str) -> None:
    assert {refusal(*pair, Settings()) for pair in both(one, other)} == {""}
