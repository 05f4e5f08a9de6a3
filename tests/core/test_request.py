"""What may be shown of a request."""

from __future__ import annotations

from tests.asking import arrival, chat, configured, lookup

SHARED = configured('[[tenant]]\nname = "blue"\nkey_env = "BLUE"', BLUE="kb")


def test_a_key_is_shown_by_its_first_digits() -> None:
    found = lookup(arrival(chat()))

    assert len(found.shown) == 16
    assert found.key.hex().startswith(found.shown)


def test_no_key_is_shown_where_others_share_the_partition() -> None:
    assert (
        lookup(arrival(chat(), ("api-key", "kb"), ("authorization", "Bearer kb")), SHARED).shown
        == ""
    )
