"""Canonical bodies: equal bytes exactly for equal values."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.canonical import Opaque, decoded, encoded

texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def canonical(body: str | bytes) -> bytes:
    return encoded(decoded(body if isinstance(body, bytes) else body.encode()))


def shuffled(value: Any, chance: Random) -> Any:
    match value:
        case dict():
            names = chance.sample(list(value), len(value))
            return {name: shuffled(value[name], chance) for name in names}
        case list():
            return [shuffled(item, chance) for item in value]
        case _:
            return value


def strictly_equal(one: Any, other: Any) -> bool:
    """Equal as JSON: `True` is not 1, 1.0 is 1, and integers of any length are exact."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(strictly_equal(one[k], other[k]) for k in one)
        case list(), list():
            return len(one) == len(other) and all(map(strictly_equal, one, other))
        case (bool(), _) | (_, bool()):
            return one is other
        case _:
            return bool(one == other)


@given(values, st.randoms(use_true_random=False), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_order_blanks_and_escapes_do_not_count(
    value: Any, chance: Random, escaped: bool, indent: int | str | None
) -> None:
    again = json.dumps(shuffled(value, chance), ensure_ascii=escaped, indent=indent)

    assert canonical(again) == canonical(json.dumps(value))


@given(values, values)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    same = canonical(json.dumps(one)) == canonical(json.dumps(other))

    assert same == strictly_equal(one, other)


@given(values)
def test_the_bytes_say_the_value(value: Any) -> None:
    assert strictly_equal(json.loads(canonical(json.dumps(value))), value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "1e0"),
        ("100", "1E+2"),
        ("0", "-0.0"),
        ("0", "-0"),
        ("0.7", "7e-1"),
        ("1e20", "100000000000000000000"),
        ('"\\u4e2d\\/"', '"中/"'),
        ('"\\ud83d\\ude00"', '"😀"'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
    ],
)
def test_two_spellings_of_one_value(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "true"),
        ("0", "false"),
        ("1", '"1"'),
        ("null", '""'),
        ("[]", "{}"),
        ("9007199254740992", "9007199254740993"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
        ("18446744073709551616", "18446744073709551617"),
        ("-9223372036854775809", "-9223372036854775810"),
        ("0.1", "0.10000000000000002"),
        ('"café"', '"cafe\u0301"'),
        ('"ﬁn"', '"fin"'),
        ('"a"', '"a\u200b"'),
        ('"a "', '"a"'),
        ('["a","b"]', '["b","a"]'),
        ('{"a":null}', "{}"),
    ],
)
def test_two_values_that_differ(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{} x",
        b"{'a':1}",
        b"[1,]",
        b"NaN",
        b"[Infinity]",
        b"1e400",
        b"-1e400",
        b"01",
        b'"\\ud800"',
        b'"\\ude00\\ud83d"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"a\nb"',
        b"\xef\xbb\xbf{}",
        b"1" + b"0" * 5000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_upstreams_may_read_otherwise_or_not_at_all_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        decoded(body)


damaged = st.builds(
    lambda body, at, byte: body[: at % len(body)] + byte + body[at % len(body) + 1 :],
    values.map(lambda value: json.dumps(value).encode()),
    st.integers(0, 200),
    st.sampled_from([b"", b" ", b"0", b"-", b"e", b'"', b"\\", b",", b"\n", b"\xff", b"}"]),
)


@given(st.binary(max_size=30) | damaged)
def test_nothing_is_taken_that_another_parser_refuses(body: bytes) -> None:
    """Both ways but for numbers: what only one of two parsers takes has no meaning to rely on."""
    try:
        decoded(body)
    except ValueError:
        return
    orjson.loads(body)


@pytest.mark.parametrize("levels", [300, 900])
def test_nesting_beyond_what_can_be_written_is_refused(levels: int) -> None:
    with pytest.raises(ValueError):
        canonical("[" * levels + "]" * levels)


@given(st.integers(2**64, 2**80), st.floats(allow_nan=False, allow_infinity=False))
def test_a_long_integer_changes_no_other_byte(long: int, number: float) -> None:
    """The two ways of writing agree wherever both can."""
    plain = canonical(json.dumps({"a": 0, "b": [number, "é\u2028\x1f"]}))
    beside = canonical(json.dumps({"a": long, "b": [number, "é\u2028\x1f"]}))

    assert beside == plain.replace(b'"a":0', b'"a":%d' % long)


def test_a_digest_is_written_as_no_value_can_be() -> None:
    written = encoded({"url": Opaque('image/"png', b"\x01\x02")})

    assert written == b'{"url":<"image/\\"png":0102>}'
    with pytest.raises(ValueError):
        json.loads(written)
