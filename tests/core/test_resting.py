"""Nodes that asked for a pause: how long it is, and for whom."""

from __future__ import annotations

import pytest

from proxy.core.message import Head
from proxy.core.resting import Resting, pause

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 1.0),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "86400"}, 60.0),
        ({"retry-after": "-3"}, 1.0),
        ({"retry-after": "nan"}, 1.0),
        ({"retry-after": "inf"}, 1.0),
        ({"retry-after": "soon"}, 1.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:20 GMT"}, 20.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 9999999 08:00:20 GMT"}, 1.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "much", "retry-after": "3"}, 3.0),
    ],
)
def test_a_pause_is_what_the_refusal_says_within_bounds(
    headers: dict[str, str], seconds: float
) -> None:
    assert pause(Head(429, tuple(headers.items())), NOW) == seconds


def test_a_node_rests_for_one_model_and_one_sender_alone() -> None:
    resting = Resting()
    resting.rest("gpu", "m", b"", 110.0)

    assert resting.rests("gpu", "m", b"", 109.9)
    assert not resting.rests("gpu", "m", b"tenant", 109.9)
    assert not resting.rests("gpu", "other", b"", 109.9)
    assert not resting.rests("gpu", "m", b"", 110.0)


def test_clients_cannot_make_the_memory_grow() -> None:
    resting = Resting()
    for number in range(10_000):
        resting.rest("gpu", f"m{number}", b"", 110.0)

    assert len(resting._until) == 4096
    assert resting.rests("gpu", "m9999", b"", 100.0)
