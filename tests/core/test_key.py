"""Keys: equal exactly where all labelled parts are, in order."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from proxy.core.entry import Key
from proxy.core.key import Scope, spelling

labels = st.sampled_from(["", "a", "b", "1:a", "a1:b"]) | st.text(max_size=4)
parts = st.lists(st.tuples(labels, labels), max_size=4)
bodies = st.sampled_from([b"", b"a", b"1:a", b"\n"]) | st.binary(max_size=4)
narrowings = st.lists(
    st.tuples(labels.map(lambda text: text.encode("utf-8", "replace").decode()), bodies)
)


def key(given: list[tuple[str, str]], more: list[tuple[str, bytes]]) -> bytes:
    scope = Scope(given)
    for label, part in more:
        scope = scope.narrowed(label, part)
    return scope.key("exact", b"")


@given(parts, narrowings, parts, narrowings)
@example([("a", "b"), ("c", "d")], [], [("a", "bc:d")], [])
@example([], [("a", b"1"), ("b", b"2")], [], [("a", b"1b2")])
def test_keys_are_equal_exactly_if_all_parts_are(
    one: list[tuple[str, str]],
    one_more: list[tuple[str, bytes]],
    other: list[tuple[str, str]],
    other_more: list[tuple[str, bytes]],
) -> None:
    same = key(one, one_more) == key(other, other_more)

    assert same == ((one, one_more) == (other, other_more))


def test_a_body_has_another_key_under_another_label() -> None:
    scope = Scope([])

    assert scope.key("exact", b"{}") != scope.key("normalized", b"{}")


def test_making_one_key_leaves_the_scope_as_it_was() -> None:
    scope = Scope([("tenant", "t")])
    scope.key("exact", b"first")

    assert scope.key("exact", b"second") == Scope([("tenant", "t")]).key("exact", b"second")


def test_a_header_that_is_no_unicode_text_has_a_key() -> None:
    assert Scope([("header", "\udcff")]).key("exact", b"") != Scope([("header", "?")]).key(
        "exact", b""
    )


def test_a_key_is_the_same_in_every_process() -> None:
    """Stored answers outlive the process: this value changes only together with VERSION."""
    code = 'from proxy.core.key import Scope; print(Scope([("a", "é")]).key("exact", b"{}").hex())'
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert runs == {"3c79f138311d13ed44f5e4bf62c8b7b74425c219111bfb4c3801dd5156cc3c3d"}


def test_a_spelling_is_one_of_its_own_request_only() -> None:
    one, other = Key(b"1" * 32), Key(b"2" * 32)
    found = {spelling(key, raw) for key in (one, other) for raw in (one, other)}

    assert len(found - {one, other}) == 4
