"""Opposite words refuse, also those that differ by a prefix; the same side does not."""

from __future__ import annotations

import pytest

from semantic.guard import opposite
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How to buy shares", "How to sell shares"),
        ("Turn on the lights", "Turn off the lights"),
        ("Is it legal", "Is it illegal"),
        ("What is phosphate in tea", "What is phosphite in tea"),
        ("What should a mentor say", "What should a mentee say"),
        ("What must the insurer prove", "What must the insured prove"),
        ("Subscribe to news", "Unsubscribe from news"),
        ("A tidy house", "An untidy house"),
        ("An alcoholic drink", "A non-alcoholic drink"),
        ("Flights before noon", "Flights after noon"),
        ("Raise my rent", "Lower my rent"),
        ("Enable sync", "Disable sync"),
        ("Foods high in zinc", "Foods low in zinc"),
        ("Wear loose clothes", "Wear tight clothes"),
        ("Is the nurse overpaid", "Is the nurse underpaid"),
        ("Show preoperative advice", "Show postoperative advice"),
        ("What does the trainer sign", "What does the trainee sign"),
        ("Is mould harmful", "Is mould harmless"),
        ("海关入口怎么走", "海关出口怎么走"),
        ("已婚怎么填", "未婚怎么填"),
        ("灯光太亮", "灯光太暗"),
        ("请问供方怎么签字", "需方怎么签字"),
        ("股票上涨原因", "股票下跌原因"),
        ("怎么买房", "怎么卖房"),
        ("写一段支持放烟花的话", "写一段反对放烟花的话"),
        ("Arguments that support tolls", "Arguments that oppose tolls"),
        ("如何开启定位", "如何关闭定位"),
        ("上传照片", "下载照片"),
        ("加密文件", "解密文件"),
        ("左边有什么", "右边有什么"),
        ("大号有货吗", "小号有货吗"),
        ("付款之前改地址", "付款之后改地址"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(opposite.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How to buy shares", "How to purchase shares"),
        ("Increase the limit", "Raise the limit"),
        ("A tidy house", "A neat house"),
        ("Is the nurse overpaid", "Is the nurse paid over the odds"),
        ("Update the driver", "Upgrade the driver"),
        ("多少钱", "几多钱"),
        ("Buy or sell now", "Sell or buy now"),
        ("如何开启定位", "怎么打开定位"),
        ("上海天气", "海上天气"),
        ("付款失败", "付款不成功"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(opposite.differ(*pair) for pair in both(asked, stored))
