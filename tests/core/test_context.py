"""What a client says of its prompt's context: read, cut, never sent on, no part of the key."""

from __future__ import annotations

from proxy.core.context import NAMES, Hints, hints
from tests.asking import RULES, arrival, lookup


def test_hints_are_read_whatever_their_spelling_and_cut() -> None:
    long = ("X-Context-Session", "s" * 300)
    given = (long, ("x-context-session", "t"), ("X-Context-Project", "p"))

    assert hints("req_1", given) == Hints("req_1", "p", "s" * 256)
    assert hints("", ()) == Hints()


def test_they_are_never_sent_on_and_no_part_of_the_key() -> None:
    assert RULES.control_names >= NAMES
    assert not NAMES & RULES.read_headers
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    plain = lookup(arrival(body))
    named = lookup(arrival(body, ("x-context-session", "s")))

    assert plain.key == named.key
