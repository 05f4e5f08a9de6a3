"""A response's head: found in any spelling, the first of repeated headers; its codings."""

from __future__ import annotations

import pytest

from proxy.core.message import Head

HEAD = Head(200, (("X-One", "1"), ("x-one", "2"), ("x-two", "")))


@pytest.mark.parametrize(
    ("lines", "coding"),
    [((), ""), (("GZIP",), "gzip"), (("gzip, br",), "gzip, br"), (("gzip", "br"), "gzip, br")],
)
def test_codings_in_several_lines_are_one_list(lines: tuple[str, ...], coding: str) -> None:
    assert Head(200, tuple(("Content-Encoding", line) for line in lines)).coding == coding


@pytest.mark.parametrize(("name", "value"), [("x-one", "1"), ("x-two", ""), ("x-three", None)])
def test_a_header_by_its_lower_case_name(name: str, value: str | None) -> None:
    assert HEAD.get(name) == value
