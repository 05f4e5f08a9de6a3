"""Leave and duty, past and future exclude each other; two words for one of them do not."""

from __future__ import annotations

import pytest

from semantic.guard import mood
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Will I get a refund", "Can I get a refund"),
        ("Should cats eat tuna", "Do cats eat tuna"),
        ("Can I park here overnight", "Must I park here overnight"),
        ("Am I allowed to attend the hearing", "Do I have to attend the hearing"),
        ("May tenants paint the walls", "Should tenants paint the walls"),
        ("Who is the king of Spain", "Who was the king of Spain"),
        ("Where do whales breed", "Where did whales breed"),
        ("Will the museum close", "Did the museum close"),
        ("Which law has the court changed", "Which law will the court change"),
        ("外卖员可以走正门吗", "外卖员必须走正门吗"),
        ("我能退出项目吗", "我应该退出项目吗"),
        ("票价会降吗", "票价降了吗"),
        ("公司将裁员吗", "公司已经裁员吗"),
        ("董事会将选出谁", "董事会选出了谁"),
        ("母猫要生了怎么看", "母猫生完了怎么看"),
        ("轮胎快爆了怎么办", "轮胎爆了怎么办"),
        ("谁能参加体检", "谁要参加体检"),
        ("谁可以签字", "谁必须签字"),
        ("一天能吃几个鸡蛋", "一天要吃几个鸡蛋"),
        ("年假能休几天", "年假要休几天"),
        ("几点能退房", "几点要退房"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(mood.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Should I tip the waiter", "Do I tip the waiter"),
        ("Can tea stain teeth", "Does tea stain teeth"),
        ("Can I park here overnight", "Am I allowed to park here overnight"),
        ("Who wrote Dracula", "Who was Dracula written by"),
        ("Should I bring a towel", "Do I need to bring a towel"),
        ("My train was late, how do I claim", "My train is late, how do I claim"),
        ("Why is my parcel late", "Why was my parcel late"),
        ("可以带宠物吗", "能不能带宠物"),
        ("手机丢了怎么办", "手机丢失怎么办"),
        ("参加学会要多少钱", "参加了学会要多少钱"),
        ("轮胎快爆了怎么办", "轮胎要爆了怎么办"),
        ("玉米煮几分钟能熟", "玉米要煮几分钟才熟"),
        ("包裹多久能到", "包裹要多久到"),
        ("哪里能交电费", "交电费要去哪里"),
        ("一天能喝几杯水", "一天可以喝几杯水"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(mood.differ(*pair) for pair in both(asked, stored))
