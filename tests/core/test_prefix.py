"""The prompt as a chain: what two prompts have in common, and what never counts."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.core.endpoint import Endpoint
from proxy.core.entry import Tenant
from proxy.core.prefix import Prompt, chained, prompt
from proxy.core.request import Request
from proxy.core.rules import Rules, Served
from proxy.core.segments import segments as parts_of
from tests.asking import RULES, arrival, chat, configured, lookup

REQUEST = lookup(arrival(chat())).request
KIB = 1024


def asked(endpoint: Endpoint = Endpoint.CHAT, **more: Any) -> Request:
    return msgspec.structs.replace(REQUEST, endpoint=endpoint, **more)


def told(
    body: bytes | dict[str, Any], request: Request = REQUEST, rules: Rules = RULES
) -> Prompt | None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return prompt(raw, request, rules)


def made(
    body: bytes | dict[str, Any], endpoint: Endpoint = Endpoint.CHAT, rules: Rules = RULES
) -> Prompt:
    found = told(body, asked(endpoint), rules)
    assert found is not None
    return found


def digests(found: Prompt) -> list[bytes]:
    return [boundary.digest for boundary in found.chain]


def shared(one: Prompt, other: Prompt) -> int:
    """Boundaries in common, counted to the deepest one."""
    known = set(digests(one))
    return max((at for at, digest in enumerate(digests(other), 1) if digest in known), default=0)


def said(*texts: str, first: str = "user") -> list[dict[str, Any]]:
    """Messages in turn, by a user and an assistant."""
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def talk(*texts: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": said(*texts), **more}


def of(*segments: bytes, role: bytes = b"user") -> Prompt:
    found = chained([], [(role, segment) for segment in segments])
    assert found is not None
    return found


texts = st.text(st.characters(codec="utf-8"), max_size=6)
roles = st.sampled_from(["system", "user", "assistant", "tool"])
messages = st.lists(st.fixed_dictionaries({"role": roles, "content": texts}), max_size=6)
long_texts = st.builds(
    lambda word, times: word * times, st.sampled_from("ab"), st.integers(0, 9000)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(messages, messages, messages)
def test_what_is_shared_never_exceeds_the_true_common_prefix(
    both: list[dict[str, Any]], one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    left, right = both + one, both + other
    common = 0
    for mine, theirs in zip(left, right, strict=False):
        if mine != theirs:
            break
        common += 1
    made_left, made_right = told({"messages": left}), told({"messages": right})
    if not left or not right:
        assert made_left is None or made_right is None
        return
    assert made_left is not None
    assert made_right is not None

    assert shared(made_left, made_right) == shared(made_right, made_left) == common
    assert digests(made_left)[:common] == digests(made_right)[:common]


@given(st.integers(1, 100_000), st.integers(1, 100_000), st.integers(0, 100_000))
def test_long_texts_share_half_of_their_common_bytes_or_more_and_never_too_many(
    mine: int, theirs: int, common: int
) -> None:
    common = min(common, mine, theirs)
    one = of(b"x" * common + b"a" * (mine - common))
    other = of(b"x" * common + b"b" * (theirs - common))
    depth = shared(one, other)
    reached = other.chain[depth - 1].tokens if depth else 0

    assert reached <= (common + 3) // 4
    if min(mine, theirs) > 8 * KIB and common >= 2 * KIB:
        assert reached > common // 8 - 1


@given(messages.filter(bool), messages)
def test_the_next_turn_has_every_boundary_of_this_one(
    now: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    this, after = (
        made({"messages": now, "tools": tools}),
        made({"messages": now + more, "tools": tools}),
    )

    assert this.chain == after.chain[: len(this.chain)]


@given(st.lists(long_texts, min_size=1, max_size=5), st.data())
def test_one_changed_byte_changes_every_boundary_from_there_on(
    contents: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(contents) - 1))
    place = data.draw(st.integers(0, len(contents[at])))
    changed = contents.copy()
    changed[at] = contents[at][:place] + "c" + contents[at][place + 1 :]
    one, other = made(talk(*contents)), made(talk(*changed))
    before = len(made(talk(*contents[:at])).chain) if at else 0
    same = [a.digest == b.digest for a, b in zip(one.chain, other.chain, strict=False)]

    assert all(same[:before])
    assert same == sorted(same, reverse=True)
    assert not same[-1]
    assert shared(one, other) == sum(same)


MODELS = configured(
    """
[[model]]
name = "m"
model_version = "1"
template_version = "a"
"""
)


def versioned(model: str = "1", template: str = "a") -> Rules:
    served = {"m": Served("m", model, template)}
    return msgspec.structs.replace(MODELS, models=served)


CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any], Rules]] = {
    "the tenant": ({}, {"tenant": Tenant(b"other")}, versioned()),
    "the endpoint": ({}, {"endpoint": Endpoint.MESSAGES}, versioned()),
    "the model": ({}, {"model": "n"}, versioned()),
    "the model's version": ({}, {}, versioned(model="2")),
    "the template's version": ({}, {}, versioned(template="b")),
    "versions that join up alike": ({}, {}, versioned("1a", "")),
    "the salt": ({"cache_salt": "s"}, {}, versioned()),
    "an empty salt": ({"cache_salt": ""}, {}, versioned()),
    "the template": ({"chat_template": "{{ messages }}"}, {}, versioned()),
    "the template's arguments": ({"chat_template_kwargs": {"a": 1}}, {}, versioned()),
    "documents": ({"documents": [{"text": "a"}]}, {}, versioned()),
    "an adapter": ({"lora": "a"}, {}, versioned()),
    "tools": ({"tools": [{"name": "f"}]}, {}, versioned()),
    "functions": ({"functions": [{"name": "f"}]}, {}, versioned()),
}


@pytest.mark.parametrize("what", CHANGED)
def test_what_changes_the_beginning_leaves_no_boundary_in_common(what: str) -> None:
    members, other, rules = CHANGED[what]
    body = talk("a", "b", "c" * 20_000)
    one = told(body, asked(), versioned())
    two = told({**body, **members}, asked(**other), rules)
    assert one is not None
    assert two is not None

    assert shared(one, two) == shared(two, one) == 0


def test_members_of_the_beginning_do_not_run_into_each_other() -> None:
    one = made(talk("a", cache_salt="x", chat_template="y"))
    two = made(talk("a", cache_salt="y", chat_template="x"))

    assert shared(one, two) == 0
    assert chained([b"a", b"bc"], [(b"", b"x")]) != chained([b"ab", b"c"], [(b"", b"x")])


@pytest.mark.parametrize(
    "members",
    [
        {"temperature": 1},
        {"stream": True},
        {"max_tokens": 5},
        {"cache_salt": None},
        {"tools": []},
        {"user": "me"},
    ],
)
def test_what_comes_after_the_prompt_does_not_count(members: dict[str, Any]) -> None:
    assert made(talk("a", "b", **members)) == made(talk("a", "b"))


def test_the_version_is_that_of_the_model_asked_for() -> None:
    """An alias may have versions of its own, and the target's name is not in the body."""
    rules = configured(
        '[[model]]\nname = "m"\ntarget = "t"\nmodel_version = "1"\n'
        '[[model]]\nname = "n"\ntarget = "t"\nmodel_version = "2"\n'
        '[[model]]\nname = "o"\ntarget = "t"\nmodel_version = "2"\n'
    )

    def aliased(name: Any) -> Prompt:
        found = told({**talk("a"), "model": name}, asked(model="t"), rules)
        assert found is not None
        return found

    assert shared(aliased("m"), aliased("n")) == 0
    assert aliased("n") == aliased("o")
    assert aliased(["m"]) == aliased(None) == aliased("t")


MARK = {"type": "ephemeral", "ttl": "1h"}


def marked(*at: int) -> dict[str, Any]:
    """An Anthropic request with breakpoints at these places."""

    def part(place: int, text: str) -> dict[str, Any]:
        plain = {"type": "text", "text": text}
        return {**plain, "cache_control": MARK} if place in at else plain

    tool: dict[str, Any] = {"name": "f", "input_schema": {"type": "object"}}
    return {
        "model": "m",
        "tools": [{**tool, "cache_control": MARK} if 0 in at else tool],
        "system": [part(1, "You are."), part(2, "Be kind.")],
        "messages": [
            {"role": "user", "content": [part(3, "a"), part(4, "b")]},
            {"role": "assistant", "content": [part(5, "c"), part(6, "d")]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": [part(7, "e")]},
                    part(8, "f"),
                ],
            },
        ],
        **({"cache_control": MARK} if 9 in at else {}),
    }


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_breakpoints_are_no_part_of_the_prompt(one: set[int], other: set[int]) -> None:
    left, right = (made(marked(*at), Endpoint.MESSAGES) for at in (one, other))

    assert left == right
    assert len(left.chain) == 6


@pytest.mark.parametrize("more", [{}, {"cache_control": MARK}])
def test_a_text_may_be_written_as_a_part(more: dict[str, Any]) -> None:
    """As clients do with the turn that has the breakpoint, until it moves on."""

    def part(text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": text, **more}]

    plain = {"system": "s", "messages": [*said("a", "b", "c")]}
    parts = {"system": part("s"), "messages": [said("a")[0], *said(*"bc", first="assistant")]}
    parts["messages"][2] = {"role": "user", "content": part("c")}

    assert made(parts, Endpoint.MESSAGES) == made(plain, Endpoint.MESSAGES)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "a", "citations": []},
        {"type": "input_text", "text": "a"},
        {"type": "text", "text": ["a"]},
        {"text": "a"},
    ],
)
def test_a_part_that_is_more_than_its_text_is_told_apart_from_it(part: dict[str, Any]) -> None:
    assert made(chat([part])) != made(chat("a"))
    assert made(chat([part, part])) != made(chat([part]))


def pictured(data: bytes, *, blanks: bool = False) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    if blanks:
        text = "\n".join(text[i : i + 76] for i in range(0, len(text), 76))
    url = {"url": f"data:image/png;base64,{text}"}
    return chat([{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": url}])


def test_inline_pictures_count_by_digest_and_not_by_size() -> None:
    small, large, other = pictured(b"a" * 60), pictured(b"a" * 600_000), pictured(b"b" * 600_000)

    assert made(small).tokens == made(large).tokens < 100
    assert len({made(body).chain[-1].digest for body in (small, large, other)}) == 3
    assert made(pictured(b"a" * 600, blanks=True)) == made(pictured(b"a" * 600))


def test_a_picture_that_lies_elsewhere_is_told_by_its_address() -> None:
    one, other = (
        made(chat([{"type": "image_url", "image_url": {"url": f"https://example.com/{name}"}}]))
        for name in "ab"
    )

    assert shared(one, other) == 0


@given(messages.filter(bool), st.dictionaries(texts, values, max_size=3), st.randoms())
def test_spelling_does_not_count(
    asked_for: list[dict[str, Any]], more: dict[str, Any], chance: Any
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            members = [(name, shuffled(member)) for name, member in value.items()]
            chance.shuffle(members)
            return dict(members)
        return [shuffled(one) for one in value] if isinstance(value, list) else value

    body = {"messages": [{**message, "more": more} for message in asked_for], "tools": [more]}
    plain = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    spelled = json.dumps(shuffled(copy.deepcopy(body)), ensure_ascii=True, indent=3).encode()

    assert told(plain) == told(spelled)


SHAPES: dict[str, tuple[Endpoint, dict[str, Any], int]] = {
    "chat": (Endpoint.CHAT, talk("a", "b"), 2),
    "chat with tools": (Endpoint.CHAT, talk("a", tools=[{"name": "f"}]), 2),
    "chat with tools and functions": (Endpoint.CHAT, talk("a", tools=[1], functions=[2]), 3),
    "a completion": (Endpoint.COMPLETIONS, {"prompt": "a"}, 1),
    "completions": (Endpoint.COMPLETIONS, {"prompt": ["a", "b"]}, 1),
    "a response": (Endpoint.RESPONSES, {"input": "a"}, 1),
    "a response to messages": (Endpoint.RESPONSES, {"input": said("a", "b", "c")}, 3),
    "instructions and a text": (Endpoint.RESPONSES, {"instructions": "a", "input": "b"}, 2),
    "instructions and messages": (Endpoint.RESPONSES, {"instructions": "a", "input": said("b")}, 2),
    "instructions alone": (Endpoint.RESPONSES, {"instructions": "a"}, 1),
    "a message": (Endpoint.MESSAGES, talk("a"), 1),
    "a message and a system text": (Endpoint.MESSAGES, talk("a", system="s"), 2),
    "a message and system parts": (
        Endpoint.MESSAGES,
        talk("a", system=[{"type": "text", "text": "s"}, {"type": "text", "text": "t"}]),
        3,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_a_boundary_at_the_end_of_each_part(shape: str) -> None:
    endpoint, body, boundaries = SHAPES[shape]

    found = made(body, endpoint)

    assert len(found.chain) == boundaries
    assert [one.tokens for one in found.chain] == sorted(one.tokens for one in found.chain)


def test_what_comes_first_in_the_engine_comes_first_in_the_chain() -> None:
    """Another question leaves the system text's boundary, and another system text leaves none."""
    for endpoint, system, turns in (
        (Endpoint.MESSAGES, "system", "messages"),
        (Endpoint.RESPONSES, "instructions", "input"),
    ):
        base = {"tools": [{"name": "f"}], system: "s", turns: said("a")}
        one = made(base, endpoint)

        assert shared(one, made({**base, turns: said("b")}, endpoint)) == 2
        assert shared(one, made({**base, system: "t"}, endpoint)) == 1
        assert shared(one, made({**base, "tools": [1]}, endpoint)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"previous_response_id": "resp_1"}, {"previous_response_id": "resp_2"}),
        ({"previous_response_id": "resp_1"}, {}),
        ({"previous_response_id": "id"}, {"conversation": {"id": "id"}}),
        ({"conversation": "conv_1"}, {"conversation": "conv_2"}),
        ({"conversation": {"id": "conv_1"}}, {"conversation": {"id": "conv_2"}}),
    ],
)
def test_earlier_turns_that_only_the_node_knows_are_part_of_the_prompt(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    body = {"instructions": "s", "input": "yes"}
    left, right = (made({**body, **more}, Endpoint.RESPONSES) for more in (one, other))

    assert shared(left, right) == 1
    assert left.anchor == len(left.chain) - 1


@pytest.mark.parametrize("endpoint", [Endpoint.COMPLETIONS, Endpoint.RESPONSES])
def test_a_longer_text_begins_with_the_boundaries_of_a_shorter_one(endpoint: Endpoint) -> None:
    name = "prompt" if endpoint is Endpoint.COMPLETIONS else "input"
    text = 'def f():\n    return "é"\n' * 1000
    short, long = (made({name: text[:end]}, endpoint) for end in (12_000, None))

    assert shared(short, long) == 3


def test_a_text_is_told_by_its_bytes() -> None:
    assert made({"prompt": "é" * 10}, Endpoint.COMPLETIONS).tokens == 5


@pytest.mark.parametrize("body", [b"", b"nope", b"[]", b'"a"', b"1", b"null", b"{", b'{"a":1e999}'])
@pytest.mark.parametrize("endpoint", list(Endpoint))
def test_what_is_no_json_object_has_no_prompt(body: bytes, endpoint: Endpoint) -> None:
    assert told(body, asked(endpoint)) is None


def test_embeddings_have_no_prompt() -> None:
    assert (
        told({"input": "a", "messages": said("a"), "prompt": "a"}, asked(Endpoint.EMBEDDINGS))
        is None
    )


AMBIGUOUS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a message split in two": (talk("ab"), {"messages": said("a") + said("b")}),
    "parts split in two": (
        chat([{"type": "text", "text": "ab"}]),
        chat([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
    ),
    "a role moved into the text": (
        {"messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "", "content": "usera"}]},
    ),
    "another role": (talk("a"), {"messages": said("a", first="assistant")}),
    "another name": (talk("a"), {"messages": [{**said("a")[0], "name": "n"}]}),
    "a text that quotes a message": (
        {"messages": [{"role": "user", "content": '{"content":"a","name":"n","role":"user"}'}]},
        {"messages": [{"role": "user", "content": "a", "name": "n"}]},
    ),
    "a message that has no text": ({"messages": said("", "", "a")}, talk("a")),
    "a text and its JSON": (talk("a"), {"messages": ['{"content":"a","role":"user"}']}),
    "a message and a list of it": (talk("a"), {"messages": [said("a")]}),
    "tools and functions": ({"tools": [1]}, {"functions": [1]}),
    "a tool and a message": ({"tools": said("a")}, {"messages": [said("a")]}),
}


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_is_written_alike_is_not_the_same(what: str) -> None:
    one, other = AMBIGUOUS[what]

    assert made(one).chain[-1].digest != made(other).chain[-1].digest


pieces = st.sampled_from([b"a", b"b", b"ab", b"ba", b"\x01a"])
segments = st.lists(st.tuples(st.sampled_from([b"", b"a", b"ab"]), pieces), max_size=3)


@given(segments, segments)
@example([(b"a", b"b")], [(b"", b"ab")])
@example([(b"", b"ab")], [(b"", b"a"), (b"", b"b")])
def test_segments_do_not_run_into_each_other(
    one: list[tuple[bytes, bytes]], other: list[tuple[bytes, bytes]]
) -> None:
    left, right = chained([], one), chained([], other)

    assert (left is None) == (not one)
    if left and right:
        assert (left.chain[-1].digest == right.chain[-1].digest) == (one == other)


def test_a_text_that_goes_on_is_not_another_one_that_begins() -> None:
    text = "x" * 16 * KIB
    one = made({"instructions": text, "input": "hello"}, Endpoint.RESPONSES)
    other = made({"instructions": text + "userhello"}, Endpoint.RESPONSES)

    assert one.chain[:4] == other.chain[:4]
    assert one.chain[4].digest != other.chain[4].digest


@pytest.mark.parametrize(
    ("size", "ends"),
    [
        (1, [1]),
        (8 * KIB - 1, [8 * KIB - 1]),
        (8 * KIB, [2 * KIB, 4 * KIB, 8 * KIB]),
        (8 * KIB + 1, [2 * KIB, 4 * KIB, 8 * KIB, 8 * KIB + 1]),
        (16 * KIB, [2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB]),
        (100_000, [2048, 4096, 8192, 16384, 32768, 65536, 100_000]),
    ],
)
def test_long_messages_have_boundaries_at_powers_of_two(size: int, ends: list[int]) -> None:
    found = of(b"a" * 40, b"x" * size, b"z" * 4)

    assert [one.tokens for one in found.chain] == [
        10,
        *((40 + end + 3) // 4 for end in ends),
        (44 + size + 3) // 4,
    ]


@pytest.mark.parametrize(("size", "tokens"), [(1, 1), (4, 1), (5, 2), (400, 100)])
def test_a_token_is_about_four_bytes(size: int, tokens: int) -> None:
    assert of(b"x" * size).tokens == tokens


def test_a_digest_has_sixteen_bytes() -> None:
    assert {len(digest) for digest in digests(of(b"a", b"b" * 10_000))} == {16}


SEGMENTS = [b"%d" % n for n in range(1_200)]
TURNS = [f"{n}: " + "word " * 20 for n in range(5_006)]


def test_the_number_of_boundaries_is_bounded_and_a_long_conversation_goes_on() -> None:
    this, after = made(talk(*TURNS[:5_000])), made(talk(*TURNS[:5_006]))

    assert len(this.chain) == len(after.chain) == 512
    assert this.chain[-1] == after.chain[-7]
    assert shared(this, after) == 506
    assert this.tokens > 5_000 * 25
    assert this.chain[63] == made(talk(*TURNS[:64])).chain[-1]


@pytest.mark.parametrize(("turns", "boundaries"), [(511, 511), (512, 512), (513, 512)])
def test_what_is_not_too_long_has_all_its_boundaries(turns: int, boundaries: int) -> None:
    assert len(made(talk(*TURNS[:turns])).chain) == boundaries


@given(st.integers(1, 700), st.integers(0, 447))
def test_the_next_turn_goes_on_where_this_one_ended_however_long_it_is(
    this: int, more: int
) -> None:
    one, other = of(*SEGMENTS[:this]), of(*SEGMENTS[: this + more])

    assert other.chain[shared(one, other) - 1] == one.chain[-1]
    assert one.chain[one.anchor] == other.chain[other.anchor]


def test_long_conversations_share_how_they_begin() -> None:
    one, other = (
        made({"messages": [{"role": "system", "content": "s"}, *said(*turns)]})
        for turns in (TURNS[:1_000], [TURNS[0], *TURNS[2_000:3_000]])
    )

    assert shared(one, other) == 2


@pytest.mark.parametrize("one", [{}, 0, "", "a", []])
def test_clients_cannot_make_a_chain_take_long(one: Any) -> None:
    """A body has room for millions of them, and each would take as long as a message."""
    assert len(list(parts_of({"messages": [one] * 100_000}, ("messages",)))) <= 8_193
    assert len(made({"messages": [one] * 100_000}).chain) <= 512


def test_a_conversation_of_more_messages_than_are_told_apart_goes_on() -> None:
    turns = ["word " * 20] * 20_000
    one, other = made(talk(*turns)), made(talk(*turns, "more"))

    reached = other.chain[shared(one, other) - 1].tokens
    assert one.tokens // 2 < reached < one.tokens
    assert shared(one, made(talk(*turns[:-1], "other"))) >= shared(one, other)


def test_a_prompt_of_tokens_is_one_long_text() -> None:
    tokens = [n * 7919 % 100_000 for n in range(30_000)]
    one, other = (
        made({"prompt": given}, Endpoint.COMPLETIONS) for given in (tokens, [*tokens[:20_000], 1])
    )

    assert len(one.chain) == 8
    assert shared(one, other) == 6
    text = json.dumps(tokens, separators=(",", ":"))
    assert shared(one, made({"prompt": text[:-1]}, Endpoint.COMPLETIONS)) == 0


@pytest.mark.parametrize(
    "of", [lambda n: f"text {n} " * 90, lambda n: [n * 7 + i for i in range(90)]]
)
def test_of_several_prompts_the_longest_is_one_by_itself(of: Any) -> None:
    """And the others count as work: that they were sent together is no prefix of anything."""
    first, second, third = of(1), of(20), of(300)
    alone, other, both = (
        made({"prompt": given}, Endpoint.COMPLETIONS)
        for given in (third, [second], [second, third, first])
    )

    assert both.chain == alone.chain
    assert both.chain == made({"prompt": [third]}, Endpoint.COMPLETIONS).chain
    assert shared(both, other) == 0
    assert both.tokens == pytest.approx(
        sum(made({"prompt": one}, Endpoint.COMPLETIONS).tokens for one in (first, second, third)),
        abs=3,
    )


def test_a_first_question_that_comes_very_late_still_has_a_lasting_name() -> None:
    shots = [{"role": "system", "content": text} for text in TURNS[:600]]
    one, other = (made({"messages": shots + said(*TURNS[600:end])}) for end in (601, 700))

    assert one.chain[one.anchor] == other.chain[other.anchor]


@pytest.mark.parametrize(
    ("endpoint", "body", "anchor"),
    [
        (Endpoint.CHAT, talk("a", "b", "c"), 0),
        (Endpoint.CHAT, {"messages": [{"role": "system", "content": "s"}, *said("a", "b")]}, 1),
        (Endpoint.CHAT, talk("a", "b", tools=[1]), 1),
        (Endpoint.CHAT, talk("x" * 10_000, "b"), 3),
        (Endpoint.CHAT, {"messages": said("a", first="assistant")}, 0),
        (Endpoint.CHAT, {"messages": [{"role": "system", "content": "s"}, {"role": "tool"}]}, 1),
        (Endpoint.COMPLETIONS, {"prompt": "x" * 10_000}, 3),
        (Endpoint.COMPLETIONS, {"prompt": ["a", "b" * 10_000]}, 3),
        (Endpoint.RESPONSES, {"instructions": "s", "input": "a"}, 1),
        (Endpoint.RESPONSES, {"instructions": "s", "input": said("a", "b", "c")}, 1),
        (Endpoint.RESPONSES, {"instructions": "s", "input": ""}, 0),
        (Endpoint.MESSAGES, talk("a", "b", "c", system="s"), 1),
    ],
)
def test_the_anchor_is_the_end_of_the_first_question(
    endpoint: Endpoint, body: dict[str, Any], anchor: int
) -> None:
    assert made(body, endpoint).anchor == anchor


@given(st.lists(texts, min_size=2, max_size=8), st.data())
def test_the_anchor_stays_the_same_over_turns(contents: list[str], data: st.DataObject) -> None:
    turns = data.draw(st.integers(1, len(contents)))
    system = {"role": "system", "content": "s"}
    one = made({"messages": [system, *said(*contents[:turns])]})
    other = made({"messages": [system, *said(*contents)]})

    assert one.chain[one.anchor] == other.chain[other.anchor]


STRANGE: list[Any] = [
    None, 0, 1.5, True, "", "a", [], {}, [None], [1, 2], ["a", "b"], [[]], [["a"]],
    {"role": "user"}, [{}], [{"role": 1}], [{"role": None}], [{"role": ["user"]}], [{"role": {}}],
    [{"role": "r" * 1000, "content": "a"}], [{"role": "\U0001f600" * 64}],
    [{"role": "user", "content": None}],
    [{"role": "user", "content": 2**70}], [{"role": "user", "content": {"type": ["text"]}}],
    [{"role": "user", "content": [1, None, "a", {"type": "image_url", "image_url": 5}]}],
]  # fmt: skip


@pytest.mark.parametrize("endpoint", list(Endpoint))
@pytest.mark.parametrize("strange", STRANGE, ids=lambda strange: repr(strange)[:40])
def test_strange_values_never_raise(endpoint: Endpoint, strange: Any) -> None:
    names = (
        "messages",
        "system",
        "input",
        "instructions",
        "prompt",
        "tools",
        "model",
        "cache_salt",
    )
    for name in names:
        told({name: strange}, asked(endpoint))
        told({"messages": said("a"), "prompt": "a", "input": "a", name: strange}, asked(endpoint))
    told(dict.fromkeys(names, strange), asked(endpoint))


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"\\ud800","content":"\\udfff"}],"prompt":"\\ud800"}',
        b'{"messages":[{"role":"user","content":"\xed\xa0\x80"}]}',
        b'{"messages":[{"role":"user","content":"\xff"}]}',
        b'{"messages":[{"role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
        b'{"messages":[{"role":"user","content":'
        + b"[" * 700
        + b"]" * 700
        + b'}],"cache_control":1}',
        b'{"messages":[' + b'{"content":[' * 400 + b'"cache_control"' + b"]}" * 400 + b"]}",
    ],
)
def test_what_cannot_be_read_has_no_prompt(body: bytes) -> None:
    assert told(body) is None


def test_a_model_that_is_no_text_of_its_own_is_told_apart_all_the_same() -> None:
    one, other = (told(talk("a"), asked(model=name)) for name in ("\ud800", "m"))

    assert one is not None
    assert other is not None
    assert shared(one, other) == 0


MEMBERS = (
    "messages system input instructions prompt tools functions model cache_control role content "
    "type text source data url documents"
)
names = st.sampled_from(MEMBERS.split())
arbitrary = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=2), inner),
    max_leaves=12,
)


@given(arbitrary | st.dictionaries(names, arbitrary), st.sampled_from(list(Endpoint)))
def test_arbitrary_json_never_raises(value: Any, endpoint: Endpoint) -> None:
    found = told(json.dumps(value).encode(), asked(endpoint))

    if found is not None:
        assert 0 <= found.anchor < len(found.chain)
        assert found == told(json.dumps(value, indent=1).encode(), asked(endpoint))
        depths = [one.tokens for one in found.chain]
        assert depths == sorted(depths)
        assert depths[0] >= 1
        assert len(set(digests(found))) == len(found.chain)


@given(st.binary(max_size=40))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    told(body)
    told(b'{"messages":[' + body + b"]}")
