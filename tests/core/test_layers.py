"""The four layers of a prompt: what changes in one changes it and all below it, and none above."""

from __future__ import annotations

import pytest

from proxy.core.context import Hints
from proxy.core.layers import tree
from proxy.core.prefix import Prompt, chained, prompt
from tests.asking import RULES, arrival, lookup

TURNS = [
    (b"tools", b"[1]"),
    (b"system", b"be kind"),
    (b"developer", b"in French"),
    (b"user", b"hello"),
    (b"assistant", b"salut"),
    (b"user", b"and now?"),
]


def made(turns: list[tuple[bytes, bytes]], asked: Hints | None = None) -> Prompt:
    found = chained((b"tenant",), turns)
    assert found is not None
    return found._replace(hints=asked or Hints())


def changed(other: Prompt) -> list[str]:
    """The layers that differ from those of TURNS."""
    pairs = zip(tree(made(TURNS)), tree(other), strict=True)
    return [one.name for one, two in pairs if one.digest != two.digest]


@pytest.mark.parametrize(
    ("at", "names"),
    [
        (0, ["global", "project", "session", "turn"]),
        (1, ["global", "project", "session", "turn"]),
        (2, ["project", "session", "turn"]),
        (3, ["session", "turn"]),
        (4, ["session", "turn"]),
        (5, ["turn"]),
    ],
)
def test_a_change_in_a_layer_changes_it_and_all_below(at: int, names: list[str]) -> None:
    turns = TURNS.copy()
    turns[at] = (turns[at][0], turns[at][1] + b"!")

    assert changed(made(turns)) == names


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (Hints(request="req_1"), []),
        (Hints(project="p"), ["project", "session", "turn"]),
        (Hints(session="s"), ["session", "turn"]),
    ],
)
def test_hints_belong_to_their_layer(asked: Hints, names: list[str]) -> None:
    assert changed(made(TURNS, asked)) == names


def test_the_composite_key_has_128_bytes_and_tokens_grow() -> None:
    layers = tree(made(TURNS))

    assert len(b"".join(layer.digest for layer in layers)) == 128
    assert [layer.name for layer in layers] == ["global", "project", "session", "turn"]
    assert [layer.tokens for layer in layers] == [3, 5, 8, 10]


def test_what_a_prompt_does_not_have_is_an_empty_layer() -> None:
    layers = tree(made([(b"user", b"hello")]))

    assert [layer.tokens for layer in layers] == [0, 0, 0, 2]
    assert len({layer.digest for layer in layers}) == 4


def test_the_last_message_is_the_turn_whatever_its_role() -> None:
    assert tree(made([(b"system", b"be kind")]))[0].tokens == 0


def test_a_long_conversation_keeps_its_layers() -> None:
    turns = [(b"system", b"be kind"), *[(b"user", b"%d" % i) for i in range(2000)]]
    found = made(turns)

    assert found.layers == (1, 1, len(found.chain) - 1)


def test_a_request_has_its_layers() -> None:
    messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    asked = arrival({"model": "m", "messages": messages})
    found = prompt(asked.body, lookup(asked).request, RULES, Hints(session="s"))

    assert found is not None
    assert found.layers == (1, 1, 1)
    assert found.hints.session == "s"
