"""Types of question that exclude each other refuse."""

from __future__ import annotations

import pytest

from semantic.guard import question
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I donate blood", "Where do I donate blood"),
        ("How do I know where figs grow", "How do I know why figs grow"),
        ("Write a memo on leave", "How do I write a memo on leave"),
        ("When is the ferry ride", "How long is the ferry ride"),
        ("Why was it closed", "When was it closed"),
        ("Who built it", "Why was it built"),
        ("Where is the bank", "When is the bank open"),
        ("How much is a visa", "How do I get a visa"),
        ("What is a mortgage", "How do I mortgage"),
        ("为什么退款", "怎么退款"),
        ("什么时候退款", "退款去哪里"),
        ("谁能申请", "什么时候申请"),
        ("驾照怎么考", "考驾照多少钱"),
        ("什么是区块链", "为什么区块链"),
        ("体检几点开始", "体检多久"),
        ("What time is the show", "How long is the show"),
        ("每天吃几次", "每天吃几粒"),
        ("每天吃多少克", "每天吃多少次"),
        ("贷款逾期会怎样", "为什么贷款会逾期"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(question.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I update my address", "Where do I update my address"),
        ("How do I tell if figs are ripe", "How do I tell when figs are ripe"),
        ("When does it come", "How long until it comes"),
        ("Sort a list in Lua", "How do I sort a list in Lua"),
        ("When does it open", "What time does it open"),
        ("How do I apply", "Where do I apply"),
        ("How soon is it sent", "When is it sent"),
        ("Why is it slow", "What makes it slow"),
        ("怎么申请", "在哪里申请"),
        ("为什么慢", "慢的原因是什么"),
        ("多久到", "什么时候到"),
        ("每天吃多少克", "每天吃几克"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(question.differ(*pair) for pair in both(asked, stored))
