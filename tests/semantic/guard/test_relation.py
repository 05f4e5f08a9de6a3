"""One thing in two relations that exclude each other refuses; a synonym of a relation does not."""

from __future__ import annotations

import pytest

from semantic.guard import relation
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I get to the airport", "How do I get from the airport"),
        ("Write a card to my aunt", "Write a card from my aunt"),
        ("Load rows into Parquet", "Load rows from Parquet"),
        ("May I call before the hearing", "May I call during the hearing"),
        ("Can I swim while it rains", "Can I swim after it rains"),
        ("Wait until midnight", "Wait since midnight"),
        ("May I go before class ends", "May I go when class ends"),
        ("Give reasons for zoos", "Give reasons against zoos"),
        ("Jobs under 30 hours", "Jobs over 30 hours"),
        ("Join as a coach", "Join with a coach"),
        ("A song for my nephew", "A song about my nephew"),
        ("Pay on arrival", "Pay before arrival"),
        ("To whom do I send it", "From whom do I send it"),
        ("Which gate do I go to", "From which gate do I go"),
        ("元旦发货吗", "元旦前发货吗"),
        ("从仓库发货", "发货到仓库"),
        ("怎么向Oracle写数据", "怎么从Oracle写数据"),
        ("体检前能喝水吗", "体检后能喝水吗"),
        ("体检之前能喝水吗", "体检期间能喝水吗"),
        ("开会时要录音吗", "开会后要录音吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(relation.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I get to the airport", "Way to the airport from here"),
        ("Write a card to my aunt", "Write a card for my aunt"),
        ("Trains from Lyon to Nice", "Trains to Nice from Lyon"),
        ("How is gin different from vodka", "How is gin different to vodka"),
        ("Wait until midnight", "Wait till midnight"),
        ("When does class end", "Class ends when"),
        ("A song about snow", "A song on snow"),
        ("Pay in March", "Pay within March"),
        ("To which gate do I go", "Which gate do I go to"),
        ("毕业后怎么落户", "毕业怎么落户"),
        ("从仓库发货", "仓库怎么发货"),
        ("体检前能喝水吗", "体检之前能喝水吗"),
        ("开会时间怎么改", "开会后怎么改时间"),
        ("公司后台在哪", "公司前台在哪"),
        ("收到公司的发票", "从公司拿发票"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(relation.differ(*pair) for pair in both(asked, stored))
