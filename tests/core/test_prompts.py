"""Of several prompts in one request the longest stands for itself alone."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.prompts import longest


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("a text", ("a text", 0)),
        (["a text"], ("a text", 0)),
        (["ab", "abcd", "é"], ("abcd", 4)),
        (["abc", "xyz"], ("abc", 3)),
        ([1, 2, 3], ([1, 2, 3], 0)),
        ([[1, 2, 3]], ([1, 2, 3], 0)),
        ([[1, 2], [1, 2, 3], []], ([1, 2, 3], 7)),
        ([], ([], 0)),
        (None, (None, 0)),
        ([None, {}], (None, 2)),
        (["\ud800"], ("\ud800", 0)),
    ],
)
def test_the_longest_is_found_and_the_others_are_counted(prompt: Any, expected: Any) -> None:
    assert longest(prompt) == expected
