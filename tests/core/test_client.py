"""What headers tell of who sent them; the same headers tell the same again."""

from __future__ import annotations

import pytest

from proxy.core.client import sender
from proxy.core.controls import ControlError
from proxy.core.tenant import UnauthorizedError
from tests.asking import RULES, configured

BLUE = configured(
    """
[[tenant]]
name = "blue"
key_env = "BLUE"
""",
    BLUE="kb",
)
AS_BLUE = ("Authorization", "Bearer kb")


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip, deflate, zstd", {"gzip", "deflate", "zstd"}),
        ("GZIP;q=0.5, br;q=0, zstd; q=0.000", {"gzip"}),
        ("identity, *", set()),
        ("x-gzip", {"gzip"}),
        ("", set()),
    ],
)
def test_the_codings_a_client_takes(accepted: str, expected: set[str]) -> None:
    assert sender((("Accept-Encoding", accepted),), RULES).codings == expected


def test_an_endless_list_of_codings_is_not_held() -> None:
    assert sender((("Accept-Encoding", "gzip," + "x," * 200),), RULES).codings == frozenset()


def test_headers_that_nothing_depends_on_are_left_out() -> None:
    client = sender((("Traceparent", "00-1"), ("X-Cache-TTL", "5"), AS_BLUE), RULES)

    assert client.headers == (("x-cache-ttl", "5"), ("authorization", "Bearer kb"))
    assert client.asked.ttl == 5


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (("Content-Type", "application/json"), None),
        (("Content-Type", "application/vnd.api+json; charset=UTF-8"), None),
        (("Content-Type", ""), None),
        (("Content-Type", "text/plain"), "content_type"),
        (("Content-Encoding", "identity"), None),
        (("Content-Encoding", "gzip"), "encoded_body"),
    ],
)
def test_what_bodies_can_be_read(header: tuple[str, str], reason: str | None) -> None:
    assert sender((header,), RULES).unreadable == reason


def test_the_same_headers_are_another_sender_under_other_rules() -> None:
    assert sender((AS_BLUE,), BLUE).caller.name == "blue"
    assert sender((AS_BLUE,), RULES).caller.name == ""
    assert sender((AS_BLUE,), BLUE).caller.name == "blue"


def test_who_is_refused_is_refused_again() -> None:
    for _ in range(2):
        with pytest.raises(UnauthorizedError):
            sender((("Authorization", "Bearer no"),), BLUE)
        with pytest.raises(ControlError):
            sender((("X-Cache-TTL", "soon"),), RULES)


def test_a_list_of_more_codings_than_there_are_is_not_held() -> None:
    """What is remembered of a request has them all."""
    some, many = (",".join(f"c{number}" for number in range(count)) for count in (8, 9))

    assert len(sender((("Accept-Encoding", some),), RULES).codings) == 8
    assert sender((("Accept-Encoding", many),), RULES).codings == frozenset()
