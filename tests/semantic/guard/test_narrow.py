"""Someone or some place in one question only makes it a narrower one."""

from __future__ import annotations

import pytest

from semantic.guard import narrow
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Who may vote", "Who may vote in Canada"),
        ("Can I travel free", "Can my daughter travel free"),
        ("How do I install it", "How do I install it on Ubuntu"),
        ("怎么办签证", "怎么办日本签证"),
        ("可以免费乘车吗", "老人可以免费乘车吗"),
        ("怎么截屏", "安卓怎么截屏"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(narrow.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Who may vote in Canada", "In Canada, who may vote"),
        ("怎么办日本签证", "日本签证怎么办"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(narrow.differ(*pair) for pair in both(asked, stored))
