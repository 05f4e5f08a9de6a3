"""What an operator posts: orders, and what is told of everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.errors import RefusedError
from proxy.core.orders import Feedback, Purge, Warm, order, to_forget

KEY = "0a" * 32


@pytest.mark.parametrize(
    ("kind", "body", "param", "said"),
    [
        (Purge, '{"scop":"all"}', "scop", "No such member; did you mean `scope`?"),
        (Purge, '{"tenant":"a"}', "tenant", "No such member."),
        (Purge, '{"scope":"al"}', "scope", 'Expected "all".'),
        (Purge, '{"scope":1}', "scope", 'Expected "all".'),
        (Purge, '{"key":"ab"}', "key", "Expected 64 hex digits"),
        (Purge, "[]", None, "The body is no JSON object."),
        (Purge, '{"scope":"all"', None, "The body is not JSON."),
        (Purge, "\xff", None, "The body is not JSON."),
        (Feedback, "{}", "request_id", "Missing: the x-request-id of a hit by meaning."),
        (Feedback, '{"requestid":"r"}', "requestid", "did you mean `request_id`?"),
        (Feedback, '{"request_id":5}', "request_id", "Expected the x-request-id"),
        (Feedback, '{"request_id":""}', "request_id", "Expected the x-request-id"),
        (Feedback, '{"request_id":"r","wrong":false}', "wrong", "Expected true, or to be left out"),
        (Warm, "{}", "request", "Missing: a request's body."),
        (Warm, '{"request":{},"everywere":true}', "everywere", "did you mean `everywhere`?"),
        (Warm, '{"request":{},"everywhere":"yes"}', "everywhere", "Expected true or false."),
    ],
)
def test_what_is_wrong_is_told_with_the_member_and_the_form(
    kind: type[Purge | Feedback | Warm], body: str, param: str | None, said: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        order(body.encode("latin-1"), kind)

    name = kind.__name__.lower()
    assert (caught.value.status, caught.value.code) == (400, f"invalid_{name}")
    assert caught.value.param == param
    assert said in caught.value.message
    assert f" A {name} is {{" in caught.value.message
    assert "Object" not in caught.value.message


@pytest.mark.parametrize("body", ["{}", f'{{"scope":"all","key":"{KEY}"}}'])
def test_a_purge_of_nothing_or_of_two_things_is_refused(body: str) -> None:
    with pytest.raises(RefusedError, match="One of `scope` and `key` is needed, and not both"):
        to_forget(body.encode())


def test_a_purge_is_of_all_or_of_one_key() -> None:
    assert to_forget(b'{"scope":"all"}') is None
    assert to_forget(f'{{"key":"{KEY}"}}'.encode()) == bytes.fromhex(KEY)


def test_no_credential_is_told() -> None:
    with pytest.raises(RefusedError) as caught:
        order(b'{"request":{},"key":["sk-secret"],"nod":"sk-secret"}', Warm)

    assert "sk-secret" not in caught.value.message


@given(st.binary(max_size=40), st.sampled_from([Purge, Feedback, Warm]))
def test_no_body_raises_anything_else(body: bytes, kind: type[Purge | Feedback | Warm]) -> None:
    try:
        order(body, kind)
    except RefusedError as error:
        assert error.status == 400
