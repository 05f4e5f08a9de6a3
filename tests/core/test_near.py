"""The names under which errors are counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.near import group

LONG = "a" * 300


def test_a_models_name_is_kept() -> None:
    assert group("gpt-4.1-mini") == "gpt-4.1-mini"
    assert group("模" * 256) == "模" * 256


def test_a_long_one_is_cut() -> None:
    assert len(group("x" * 1_000_000)) == 289


@given(st.sampled_from([LONG, "b", LONG + "\ud800"]), st.text(max_size=300))
def test_different_models_are_never_counted_together(start: str, rest: str) -> None:
    names = {start, start + rest, LONG, group(LONG), group(group(LONG))}

    assert len({group(name) for name in names}) == len(names)
