"""A restart is proven by what a node says; whatever else looks like one is doubted only."""

from __future__ import annotations

import pytest

from proxy.core.restart import DOUBTED, LOST, Restarts


def after(told: str) -> tuple[int, bool]:
    """Restarts, and whether there is doubt. d: it could not be reached; k: it had kept what was
    thought, p: a part of it, n: nothing."""
    node = Restarts()
    node.tells = True
    for one in told:
        if one == "d":
            assert node.doubt()
        elif one == "k":
            node.kept()
        elif node.missed(everything=one == "n"):
            node.begin()
    return node.number, node.doubted


@pytest.mark.parametrize(
    ("told", "restarts", "doubted"),
    [
        ("", 0, False),
        ("d", 0, True),
        ("dk", 0, False),
        ("dp", 0, False),
        ("dn", 0, True),
        ("d" + "n" * DOUBTED, 1, False),
        ("dnkn", 0, False),
        ("dnpn", 0, False),
        ("dnkdn", 0, True),
        ("n" * (LOST - 1), 0, False),
        ("n" * LOST, 1, False),
        ("d" + "n" * (DOUBTED + LOST - 1), 1, False),
        ("d" + "n" * (DOUBTED + LOST), 2, False),
    ],
)
def test_what_is_doubted_needs_less_to_be_proven(told: str, restarts: int, doubted: bool) -> None:
    assert after(told) == (restarts, doubted)


def test_a_node_that_never_tells_leaves_no_doubt() -> None:
    node = Restarts()

    assert not node.doubt()
    assert not node.doubted
