"""Three times the content, and some, refuses."""

from __future__ import annotations

import pytest

from semantic.guard import length
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        (
            "Opening hours",
            "Opening hours of the swimming pool beside the old railway station in winter",
        ),
        ("退货", "退货运费由哪方承担以及多久能够收到退款到银行账户"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(length.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Opening hours", "Opening hours of the pool"),
        ("退货", "退货流程"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(length.differ(*pair) for pair in both(asked, stored))
