"""A head: its headers in any spelling, its codings; and how large a request is."""

from __future__ import annotations

import pytest

from proxy.core.message import Arrival, Head

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


def test_the_size_of_a_request_is_that_of_all_its_texts() -> None:
    assert Arrival("POST", "/ab", "c", (("d", "ef"), ("", "g")), b"hijk").size == 3 + 1 + 4 + 4
