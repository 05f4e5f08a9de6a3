"""What is told and what is asked of it may not change places; clauses come in any order."""

from __future__ import annotations

import pytest

from semantic.guard import clause
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Can I drive if I drink tea", "Can I drink tea if I drive"),
        ("If I sneeze, do I cough", "If I cough, do I sneeze"),
        ("Should I stretch when I swim", "Should I swim when I stretch"),
        ("扫过墓还能赏花吗", "赏过花还能扫墓吗"),
        ("喝了酒还能开车吗", "开了车还能喝酒吗"),
        ("泡脚后多久能跑步", "跑步后多久能泡脚"),
        ("喝酒了还能开车吗", "开车了还能喝酒吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(clause.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("If I sneeze, do I cough", "Do I cough if I sneeze"),
        ("Can I drive if I drink tea", "Can I drive when drinking tea"),
        ("Do I cough", "Do I sneeze if I cough"),
        ("喝了酒还能开车吗", "喝过酒能开车吗"),
        ("扫过墓还能赏花吗", "扫墓后还能赏花吗"),
        ("售后怎么申请", "怎么申请售后"),
        ("口令忘了怎么办", "忘记口令了怎么办"),
        ("Can I drive if I drink tea", "喝了茶还能开车吗"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(clause.differ(*pair) for pair in both(asked, stored))
