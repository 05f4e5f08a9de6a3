"""What a request is estimated to cost, and how limits are told."""

from __future__ import annotations

import base64

import orjson
import pytest

from proxy.core.quota import again, duration, estimate, told


def test_a_text_costs_a_token_for_four_bytes_and_its_answer_what_it_may() -> None:
    assert estimate(b"x" * 400, 0) == 100
    assert estimate(b"x" * 400, 50) == 150


@pytest.mark.parametrize("text", ["an English text " * 10_000, "中文的文章没有空格" * 10_000])
def test_a_long_text_is_no_picture(text: str) -> None:
    body = orjson.dumps({"messages": [{"role": "user", "content": text}]})

    assert estimate(body, 0) == len(body) // 4


def test_a_picture_costs_less_than_its_bytes() -> None:
    picture = base64.b64encode(bytes(1 << 20)).decode()
    body = orjson.dumps({"a": picture, "b": f"data:image/png;base64,{picture}", "c": "x" * 400})

    assert 2100 <= estimate(body, 0) <= 2200


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0ms"),
        (0.0001, "1ms"),
        (0.12, "120ms"),
        (1, "1s"),
        (8.64, "8.64s"),
        (59.9999, "1m0s"),
        (60, "1m0s"),
        (360, "6m0s"),
        (3661.5, "1h1m1.5s"),
    ],
)
def test_times_are_written_as_openai_does(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "whole", "milliseconds"),
    [(0.001, "1", "1"), (0.0, "1", "1"), (1.0, "1", "1000"), (1.0001, "2", "1001")],
)
def test_nobody_is_called_back_too_early(seconds: float, whole: str, milliseconds: str) -> None:
    assert again(seconds) == (("retry-after", whole), ("retry-after-ms", milliseconds))


def test_what_is_left_is_told_in_whole_numbers_and_never_below_zero() -> None:
    assert told("requests", 60, 58.9, 1.1) == (
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "58"),
        ("x-ratelimit-reset-requests", "1.1s"),
    )
    assert told("tokens", 100, -40, 84)[1] == ("x-ratelimit-remaining-tokens", "0")
