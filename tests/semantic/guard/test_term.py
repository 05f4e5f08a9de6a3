"""A protected term stands in both texts or in neither."""

from __future__ import annotations

import pytest

from semantic.guard import term
from semantic.settings import Terms
from tests.semantic.texts import both

TERMS = Terms(protected_terms=("Acme One", "SKU-7", "尊享卡"))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Reset the Acme One", "Reset the Acme"),
        ("Is SKU-7 in stock", "Is SKU-8 in stock"),
        ("尊享卡怎么办理", "银卡怎么办理"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(term.differ(*pair) for pair in both(asked, stored, TERMS))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Reset the Acme One", "How to reset the ACME ONE"),
        ("Reset the Acme Oneness", "Reset the Acme"),
        ("尊享卡怎么办理", "怎么办理尊享卡"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(term.differ(*pair) for pair in both(asked, stored, TERMS))
