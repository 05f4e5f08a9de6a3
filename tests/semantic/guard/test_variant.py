"""A name with one more behind it refuses; the maker's name before it does not."""

from __future__ import annotations

import pytest

from semantic.guard import variant
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I charge a Kindle 11 Kids", "How do I charge a Kindle 11"),
        ("Can I print from Galaxy Tab", "Can I print from Galaxy"),
        ("怎么重启荣耀90", "怎么重启荣耀90 GT"),
        ("Photoshop多少钱", "Photoshop Elements多少钱"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(variant.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I charge a Kindle 11", "How do I charge an Amazon Kindle 11"),
        ("Can I print from Galaxy Tab", "Can I print from galaxy tab"),
        ("Can I pay 100 USD in cash", "Can I pay 100 dollars in cash"),
        ("Photoshop多少钱", "Adobe Photoshop多少钱"),
        ("用Perl写脚本", "写Perl脚本用Vim"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(variant.differ(*pair) for pair in both(asked, stored))
