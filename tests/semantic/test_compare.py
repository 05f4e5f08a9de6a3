"""Labels from two answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.compare import compare, plain
from tests.semantic.streams import DATA

if TYPE_CHECKING:
    from semantic.compare import Outcome, Word

NEAR, LEAST = 0.99, 0.85
MORE = "Bring your passport, a photo and the form to the embassy, and pay the fee there. " * 3
FURTHER = "请携带护照、照片和表格前往使馆,并在那里缴纳费用,工作人员会当面核对材料。" * 4


def answers() -> list[dict[str, Any]]:
    """Pairs of answers: reworded, or to another question; with the cosine of the bundled
    embedder."""
    lines = (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is open.", "it  is\nopen"),
        ("**Yes.** Use `pip`", "Yes. Use pip"),
        ("- one\n- two", "* one\n* two"),
        ("1. Open\n2. Press", "1) Open\n2) Press"),
        ("Ａ１２３", "a123"),
        ("可以退货。", "可以退货"),
        ("it’s", "it's"),
    ],
)
def test_what_only_formats_is_no_difference(one: str, other: str) -> None:
    assert compare(one, other, None, LEAST) == "right"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Order 48213 has shipped.", "Order 48231 has shipped."),
        ("It opens on 2024-05-01.", "It opens on 2024-05-02."),
        ("You have 30 days to return it.", "You have 14 days to return it."),
        ("You have three days to return it.", "You have five days to return it."),
        ("It costs $5.", "It costs $15."),
        ("The rate is 2.5%.", "The rate is 25%."),
        ("签收后7天内可以退货。", "签收后15天内可以退货。"),
        ("签收后三天内可以退货。", "签收后五天内可以退货。"),
        ("It takes ten working days.", "It takes thirty working days."),
        ("It takes twenty-one days.", "It takes twenty-two days."),
        ("The fee is one hundred dollars.", "The fee is two hundred dollars."),
        ("审核需要十个工作日,请耐心等待。", "审核需要三十个工作日,请耐心等待。"),
        ("每月费用为两百元。", "每月费用为三百元。"),
        ("手续费是百分之十。", "手续费是百分之三十。"),
        (f"It takes ten working days. {MORE}", f"It takes thirty working days. {MORE}"),
        (f"需要十个工作日。{FURTHER}", f"需要三十个工作日。{FURTHER}"),
        ("Yes, you can.", "No, you can't."),
        ("可以,随时都能改。", "不可以,下单后改不了。"),
        ("We store your password.", "We do not store your password."),
        ("我们会保存您的密码。", "我们不会保存您的密码。"),
        ("Turn on the switch in Settings.", "Turn off the switch in Settings."),
        ("在设置里开启自动续费。", "在设置里关闭自动续费。"),
        ("", "It is open."),
        ("It is open.", "  "),
    ],
)
def test_a_contradiction_is_wrong_whatever_speaks_for_it(one: str, other: str) -> None:
    for judged in (None, "yes", "unknown"):
        assert compare(one, other, NEAR, LEAST, judged) == "wrong"
        assert compare(other, one, NEAR, LEAST, judged) == "wrong"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("You have 30 days to return it.", "Returns are accepted for 30 days."),
        ("It takes 3 to 5 days.", "It takes 3–5 days."),
        ("It takes three days.", "That will take 3 days."),
        ("It costs $1,000 in total.", "The total is $1000."),
        ("It is 30 days.", "It is 30 days; ask us in case of doubt."),
        ("三天送到。", "3天就能送到。"),
        ("保修十二个月。", "保修12个月。"),
        ("It takes twenty one days.", "That will take 21 days."),
        ("One has to wait.", "One may have to wait."),
        ("索引会让写入变慢。", "不过索引会让写入慢一些。"),
    ],
)
def test_the_same_in_other_words_is_right_where_the_vectors_say_so(one: str, other: str) -> None:
    assert compare(one, other, NEAR, LEAST) == "right"
    assert compare(one, other, LEAST - 0.01, LEAST) == "unsure"
    assert compare(one, other, None, LEAST) == "unsure"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The capital is Canberra.", "The capital is Sydney."),
        ("首都是堪培拉。", "首都是悉尼。"),
        ("Use it before it has shipped.", "As long as it hasn't been shipped, feel free to edit."),
        ("```\na = 1\n```", "```\nb = 1\n```"),
    ],
)
def test_vectors_do_not_decide_what_they_cannot_tell(one: str, other: str) -> None:
    """One name for another, a negation in other words, code."""
    assert compare(one, other, NEAR, LEAST) == "unsure"


MEDICINE = (
    "{0} relieves pain and fever. Adults take one tablet with a glass of water after a meal, and "
    "not more often than every six hours. Do not take {0} on an empty stomach, since it can "
    "irritate the stomach lining. Ask a pharmacist before you combine {0} with other medicines."
)
DEVICE = (
    "Open the settings, choose Devices and press Add. Pick the {0} from the list and follow the "
    "steps on the screen. If nothing shows up, switch the device off and on again, check the cable "
    "and make sure that both are in the same network. Then start the search once more."
)
CITY = (
    "{0} is best seen in spring, when the weather is mild and the queues are short. Buy the city "
    "card at the airport: it covers buses, trams and most museums. Book a hotel near the centre of "
    "{0}, since the evenings are the nicest time to walk around the old streets."
)
PAYING = (
    "打开{0},点击右下角的“我的”,进入“设置”,选择“支付管理”,然后点击“自动扣费”。在列表中找到需要取消的"
    "服务,点击“关闭服务”并确认。取消之后{0}不会再自动扣款,已经支付的费用不会退回,请在下次扣款日之前完成操作。"
)
DISH = (
    "先把{0}洗净切块,用盐和料酒腌二十分钟。锅里放油烧热,放入姜片和蒜爆香,再把{0}倒进去翻炒到变色,加酱油、糖和"
    "一碗热水,盖上锅盖用小火焖煮,最后大火收汁,撒上葱花即可出锅。"
)


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        (MEDICINE, "Aspirin", "Ibuprofen"),
        (MEDICINE, "Vitamin C", "Paracetamol"),
        (DEVICE, "printer", "scanner"),
        (DEVICE, "wireless headset", "TV"),
        (CITY, "Rome", "Oslo"),
        (CITY, "New York", "Buenos Aires"),
        (PAYING, "微信", "支付宝"),
        (PAYING, "抖音", "快手"),
        (DISH, "排骨", "鸡翅"),
        (DISH, "牛肉", "羊肉"),
    ],
)
def test_a_long_answer_about_another_thing_is_not_taken_for_the_same(
    text: str, one: str, other: str
) -> None:
    """Word for word the same but for a name; vectors see 0.87 to 0.92. A judge may see more."""
    first, second = text.format(one), text.format(other)
    told = f"Sure! {second} Let me know if there is more to ask." if text.isascii() else second

    assert compare(first, second, NEAR, LEAST) == "unsure"
    assert compare(first, told, NEAR, LEAST) == "unsure"
    assert compare(first, second, NEAR, LEAST, "yes") == "right"
    assert compare(first, second, NEAR, LEAST, "no") == "wrong"
    assert compare(first, first + " Ok", NEAR, LEAST) == "right"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Aspirin thins the blood. " + MORE + "Aspirin should be stopped before surgery. "
            "Tell your doctor that you take aspirin.",
            "It is known that ibuprofen thins blood. " + MORE + "Before surgery, ibuprofen has to "
            "be stopped. Any doctor needs to hear that you take ibuprofen.",
        ),
        (
            f"It makes reads very fast and easy, and writes slow. {MORE}",
            f"It makes writes very fast and easy, and reads slow. {MORE}",
        ),
    ],
)
def test_nor_is_one_that_is_reworded_as_well_or_turned_round(one: str, other: str) -> None:
    assert compare(one, other, NEAR, LEAST) == "unsure"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Open the settings, choose Colour and mix the palette as you like. " + MORE,
            "Open the settings, choose Color and mix the palette as you like. " + MORE,
        ),
        (MORE, f"{MORE} If you need help with the form, ask at the counter."),
        (
            "First open your account page, then press Orders and select what goes back. Print the "
            "label, put it on the parcel and hand it in at any post office. We refund the amount "
            "to your card as soon as the parcel has reached us.",
            "You can start the return from the list of orders in your account. After selecting "
            "the goods, print the label and stick it on the parcel. Any post office accepts it, "
            "and the money goes back to your card when it has arrived here.",
        ),
    ],
)
def test_what_is_spelt_added_or_said_in_other_words_is_no_other_thing(one: str, other: str) -> None:
    assert compare(one, other, NEAR, LEAST) == "right"


@pytest.mark.parametrize(("judged", "outcome"), [("yes", "right"), ("no", "wrong")])
@pytest.mark.parametrize("similarity", [None, 0.1, NEAR])
def test_a_judges_word_comes_before_the_vectors(
    judged: Word, outcome: Outcome, similarity: float | None
) -> None:
    one, other = "You can send it back.", "Returns are accepted."

    assert compare(one, other, similarity, LEAST, judged) == outcome


def test_a_judge_who_does_not_know_leaves_it_to_the_vectors() -> None:
    one, other = "You can send it back to us.", "Any of our shops takes returns."

    assert compare(one, other, NEAR, LEAST, "unknown") == "right"
    assert compare(one, other, 0.1, LEAST, "unknown") == "unsure"


def test_a_number_that_only_one_gives_is_no_contradiction() -> None:
    one, other = "You can return it within 30 days.", "Returns are no trouble: send it to us."

    assert compare(one, "Sure, feel free to return it.", NEAR, LEAST) == "right"
    assert compare(one, other, 0.1, LEAST) == "unsure"


def test_long_answers_may_differ_in_numbers_that_are_not_of_one_thing() -> None:
    text = "Open your account and choose the order that you want to send back. " * 4
    one, other = text + "It takes 5 days.", text + "Call 555 if you need help; it takes 5 days."

    assert compare(one, other, NEAR, LEAST) == "right"
    assert compare(one, text + "It takes 9 days.", NEAR, LEAST) == "wrong"


@given(st.text(min_size=1), st.text(min_size=1), st.floats(0.0, 1.0))
def test_it_is_the_same_both_ways(one: str, other: str, similarity: float) -> None:
    assert compare(one, other, similarity, LEAST) == compare(other, one, similarity, LEAST)


@given(st.text())
def test_an_answer_agrees_with_itself(text: str) -> None:
    assert compare(text, text, None, LEAST) == ("right" if text.strip() else "wrong")


@given(st.text())
def test_plain_text_stays_plain(text: str) -> None:
    assert plain(text) == plain(text)
    assert "\n" not in plain(text)


def test_of_reworded_answers_most_are_right_and_of_others_almost_none() -> None:
    """Measured with the bundled embedder: 116 pairs, half of them answers to a near question."""
    right = {True: 0, False: 0}
    wrong = {True: 0, False: 0}
    for pair in answers():
        outcome = compare(pair["a"], pair["b"], pair["cosine"], LEAST)
        right[pair["same_answer"]] += outcome == "right"
        wrong[pair["same_answer"]] += outcome == "wrong"

    assert right[True] >= 35
    assert right[False] <= 2
    assert wrong[True] <= 1
    assert wrong[False] >= 20
