"""Another language refuses."""

from __future__ import annotations

import pytest

from semantic.guard import language
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I pay", "怎么付款"),
        ("How do I pay", "¿Cómo puedo pagar la cuenta?"),
        ("怎么付款", "支払い方法を教えてください"),
        ("Как оплатить", "How do I pay"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(language.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I pay", "What is the way to pay"),
        ("怎么用API", "如何使用API"),
        ("怎麼付款", "怎么付款"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(language.differ(*pair) for pair in both(asked, stored))
