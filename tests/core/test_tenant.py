"""Partitions: nobody sees another's answers, and nobody uses what is not theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.message import Headers
from proxy.core.tenant import (
    Caller,
    ForbiddenModelError,
    Known,
    UnauthorizedError,
    caller,
    digest,
    private,
    shared,
)

SECRET = b"s" * 32
NAMES = ("authorization", "x-api-key", "api-key")
credentials = st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=4)), max_size=3)


def partition(headers: Headers, secret: bytes = SECRET) -> bytes:
    return caller(headers, secret, ()).tenant


def by_name(headers: list[tuple[str, str]]) -> dict[str, list[str]]:
    return {n: [v for name, v in headers if name == n] for n, _ in headers}


@given(credentials, credentials)
def test_private_partitions_are_equal_exactly_if_the_credentials_are(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    same = partition(tuple(one)) == partition(tuple(other))

    assert same == (by_name(one) == by_name(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((), (("authorization", ""),)),
        ((("authorization", "k"),), (("x-api-key", "k"),)),
        ((("x-api-key", "k"),), (("api-key", "k"),)),
        ((("authorization", "Bearer k"),), (("authorization", "Bearer K"),)),
        ((("authorization", "k"),), (("authorization", "k"), ("x-api-key", "k"))),
        ((("x-api-key", "a"), ("x-api-key", "b")), (("x-api-key", "b"), ("x-api-key", "a"))),
    ],
)
def test_private_partitions_that_differ(one: Headers, other: Headers) -> None:
    assert partition(one) != partition(other)


def test_spelling_and_order_of_header_names_do_not_count() -> None:
    one = (("Authorization", "k"), ("user-agent", "x"), ("API-Key", "l"))
    other = (("api-key", "l"), ("authorization", "k"))

    assert partition(one) == partition(other)


def test_a_partition_cannot_be_computed_without_the_secret() -> None:
    headers = (("authorization", "Bearer k"),)

    assert partition(headers, SECRET) != partition(headers, b"t" * 32)


def test_a_partition_is_sixteen_bytes() -> None:
    assert len(partition(())) == 16


def known(name: str, credential: str, **more: object) -> Known:
    made = Caller(shared(SECRET, name), name, **more)  # type: ignore[arg-type]  # by the tests' hand
    return Known(digest(SECRET, credential), made)


BLUE, BLUE2, RED = known("blue", "kb"), known("blue", "kc", models=("x",)), known("red", "kr")
ALL = (BLUE, BLUE2, RED)


@pytest.mark.parametrize(
    "headers",
    [
        (("authorization", "Bearer kb"),),
        (("Authorization", "bearer  kb"),),
        (("x-api-key", "kb"),),
        (("api-key", "kb"),),
        (("api-key", "kb"), ("authorization", "Bearer kc")),
    ],
)
def test_a_configured_tenant_is_known_by_any_credential_header(headers: Headers) -> None:
    assert caller(headers, SECRET, ALL) == BLUE.caller


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("authorization", ""),),
        (("authorization", "Bearer other"),),
        (("authorization", "Bearer "),),
        (("authorization", "Basic kb"),),
        (("authorization", "Bearer kb"), ("x-api-key", "other")),
        (("authorization", "Bearer kb"), ("x-api-key", "kr")),
    ],
)
def test_everybody_else_is_refused(headers: Headers) -> None:
    with pytest.raises(UnauthorizedError):
        caller(headers, SECRET, ALL)


def test_tables_with_one_name_are_one_partition_with_own_rights() -> None:
    one = caller((("api-key", "kb"),), SECRET, ALL)
    other = caller((("api-key", "kc"),), SECRET, ALL)

    assert one.tenant == other.tenant
    assert one.models != other.models


def test_a_named_partition_is_no_private_one() -> None:
    assert shared(SECRET, "blue") != private(SECRET, [("blue", "")])
    assert shared(SECRET, "blue") != shared(SECRET, "red")


@pytest.mark.parametrize("models", [(), ("m-small",), ("x", "y")])
def test_a_star_allows_every_model_and_none(models: tuple[str, ...]) -> None:
    Caller(shared(SECRET, "t"), models=("x", "*")).check(*models)


def test_globs_allow_what_they_match() -> None:
    Caller(shared(SECRET, "t"), models=("m-*", "x")).check("m-small", "x")


@pytest.mark.parametrize("models", [(), ("",), ("M-small",), ("big",), ("m-small", "big")])
def test_a_model_that_no_glob_matches_is_forbidden(models: tuple[str, ...]) -> None:
    with pytest.raises(ForbiddenModelError):
        Caller(shared(SECRET, "t"), models=("m-*",)).check(*models)
