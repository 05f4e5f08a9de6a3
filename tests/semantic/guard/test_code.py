"""Identifiers, addresses, paths and quoted text are the same letter by letter."""

from __future__ import annotations

import pytest

from semantic.guard import code
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Open /etc/hosts", "Open /etc/passwd"),
        ("Fix ERR_SSL_42", "Fix ERR_SSL_43"),
        ('What does "hola" mean', 'What does "adios" mean'),
        ("Mail a.b@example.org", "Mail c.d@example.org"),
        ("See https://example.org/a", "See https://example.org/b"),
        ("Run it with --force", "Run it with --quiet"),
        ("Call getUser now", "Call setUser now"),
        ("“画龙”是什么意思", "“点睛”是什么意思"),
        ("《三体》讲什么", "《流浪地球》讲什么"),
        ("打开config.yaml", "打开setup.py"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(code.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ('What does "hola" mean', "What does hola mean"),
        ("Open /etc/hosts", "Please open /etc/hosts"),
        ("《三体》讲什么", "三体讲什么"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(code.differ(*pair) for pair in both(asked, stored))
