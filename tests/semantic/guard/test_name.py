"""Each side has a name of its own: refused."""

from __future__ import annotations

import pytest

from semantic.guard import name
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is there a branch of Lidl nearby", "Is there a branch of Aldi nearby"),
        ("Ask for Maria today", "Ask for Carla today"),
        ("怎么重启Redis", "怎么重启Kafka"),
        ("用Excel画图", "用Word画图"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(name.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is there a branch of Lidl nearby", "is there a branch of lidl nearby"),
        ("怎么用Redis", "REDIS怎么用"),
        ("Do you ship to the US", "Do you ship to America"),
        ("WHERE IS THE BANK", "Where is the bank"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(name.differ(*pair) for pair in both(asked, stored))
