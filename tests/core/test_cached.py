"""What share of a prompt a node had kept, in every dialect, and never a guess."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cached import Edges, counts

if TYPE_CHECKING:
    from collections.abc import Callable

OPENAI = b'{"usage":{"prompt_tokens":400,"prompt_tokens_details":{"cached_tokens":100}}}'


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OPENAI, 0.25),
        (OPENAI.replace(b"100", b"0"), 0.0),
        (b'{"usage" : {"input_tokens":8,"input_tokens_details":{"cached_tokens":2}}}', 0.25),
        (b'{"usage":{"prompt_tokens":4,"prompt_cache_hit_tokens":3}}', 0.75),
        (b'{"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":5}}', 0.5),
        (b'{"timings":{"cache_n":30,"prompt_n":10,"predicted_n":5}}', 0.75),
        # Anthropic counts apart what was read, what was written, and the rest.
        (
            b'{"usage":{"input_tokens":10,"cache_read_input_tokens":60,'
            b'"cache_creation_input_tokens":30}}',
            0.6,
        ),
        (b'{"usage":{"input_tokens":0,"cache_read_input_tokens":60}}', 1.0),
        # The last one that says it counts: a stream may tell several times.
        (b'data: {"usage":null}\n\ndata: ' + OPENAI + b"\n\ndata: [DONE]\n\n", 0.25),
        (OPENAI + b'{"usage":{"prompt_tokens":4,"completion_tokens":2}}', 0.25),
        # More than all is all.
        (b'{"usage":{"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}}', 1.0),
        (b'{"usage":{"prompt_tokens":1,"prompt_cache_hit_tokens":1%s}}' % (b"0" * 400), 1.0),
    ],
)
def test_every_dialect_is_understood(answer: bytes, expected: float) -> None:
    told = counts(answer)

    assert told is not None
    assert told[0] / told[1] == expected


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff\xfe",
        b'{"usage":{"prompt_tokens":400,"completion_tokens":3}}',
        b'{"usage":{"prompt_tokens":400,"prompt_tokens_details":null}}',
        b'{"usage":{"prompt_tokens":400,"prompt_tokens_details":{"cached_tokens":null}}}',
        b'{"usage":{"prompt_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}}',
        b'{"usage":{"prompt_tokens":true,"prompt_tokens_details":{"cached_tokens":true}}}',
        b'{"usage":{"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":-1}}}',
        b'{"usage":{"prompt_tokens":400,"prompt_tokens_details":{"cached_to',
        # What a model says about usage is a text.
        rb'{"content":"\"usage\":{\"prompt_tokens\":4,\"prompt_cache_hit_tokens\":3}"}',
    ],
)
def test_what_is_not_said_is_unknown_and_not_nothing(answer: bytes) -> None:
    assert counts(answer) is None


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_no_bytes_are_an_error(before: bytes, after: bytes) -> None:
    for answer in (before, before + b'"usage":{' + after, before + OPENAI[:40] + after):
        told = counts(answer)
        assert told is None or 0 <= told[0] <= told[1]


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "gzip, zstd": lambda body: zstandard.compress(gzip.compress(body)),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("last", [True, False])
@given(size=st.integers(1, 5000))
def test_either_end_of_an_answer_is_read_whatever_its_coding(
    coding: str, last: bool, size: int
) -> None:
    filling = b"".join(b"data: %d\n\n" % number for number in range(3000))
    body = CODINGS[coding](filling + OPENAI if last else OPENAI + filling)
    edges = Edges(coding)
    for start in range(0, len(body), size):
        edges.feed(body[start : start + size])

    assert edges.counts() == (100, 400)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("dcb", OPENAI),
        ("gzip", OPENAI),
        ("gzip, dcb", gzip.compress(OPENAI, mtime=0)),
        ("gzip", gzip.compress(b"x" * (17 << 20), mtime=0) + gzip.compress(OPENAI, mtime=0)),
        ("gzip", gzip.compress(b"x" * 9000 + OPENAI, mtime=0)[:-20]),
    ],
)
def test_what_cannot_be_decoded_says_nothing(coding: str, body: bytes) -> None:
    """Which is not that nothing was kept."""
    edges = Edges(coding)
    edges.feed(body)

    assert edges.counts() is None
