"""A response's head: found in any spelling, the first of repeated headers."""

from __future__ import annotations

import pytest

from proxy.core.message import Head

HEAD = Head(200, (("X-One", "1"), ("x-one", "2"), ("x-two", "")))


@pytest.mark.parametrize(("name", "value"), [("x-one", "1"), ("x-two", ""), ("x-three", None)])
def test_a_header_by_its_lower_case_name(name: str, value: str | None) -> None:
    assert HEAD.get(name) == value
