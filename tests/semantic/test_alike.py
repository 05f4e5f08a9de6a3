"""Questions of the same words."""

from __future__ import annotations

import pytest

from semantic.alike import alike
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the capital of Peru", "What is Peru's capital"),
        ("How do I clean a carpet", "How do I clean the carpets"),
        ("How do I renew a passport", "How do I renew a pasport"),
        ("Who won the race in 1999", "Who won the 1999 race"),
        ("怎么更换驾照", "驾驶证如何更换"),
        ("Do you heat the hall", "Is the hall heated"),
        ("How do I recieve mail abroad", "How do I receive mail abroad"),
        ("Which contry is the largest", "Which country is the largest"),
        ("Do you ship on Monday", "Do you ship on Mon"),
        ("充电宝能带上飞机吗", "充电宝能带飞机吗"),
        ("Is cancelling a trip free", "Is canceling a trip free"),
    ],
)
def test_alike(one: str, other: str) -> None:
    assert all(alike(*pair) for pair in both(one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I clean a carpet", "How do I clean a kettle"),
        ("Why do I clean a carpet", "How do I clean a carpet"),
        ("Can I clean a carpet", "Must I clean a carpet"),
        ("Do you like music", "Do I like music"),
        ("Dogs chase cats uphill", "Cats chase dogs uphill"),
        ("", ""),
        ("Do you love dogs", "Do dogs love"),
        ("Do you heat the hall", "Is the heated hall"),
        ("How do I get rid of a mortgage", "How do I take out a mortgage"),
        ("How to sort numbers in a sheet", "How to type numbers in a sheet"),
        ("How do I join a call", "How do I merge a call"),
        ("Which country is the largest", "Which county is the largest"),
        ("How do I reset my route", "How do I reset my router"),
        ("How do I edit a contact", "How do I edit a contract"),
        ("What is silicon used for", "What is silicone used for"),
        ("What does heroin look like", "What does a heroine look like"),
        ("Is hoping good for me", "Is hopping good for me"),
        ("Where can I buy a coarse rope", "Where can I buy a course rope"),
        ("When is the garage collected", "When is the garbage collected"),
        ("公司年会流程", "公司年流程"),
        ("们呢", "吧们"),
    ],
)
def test_not_alike(one: str, other: str) -> None:
    assert not any(alike(*pair) for pair in both(one, other))
