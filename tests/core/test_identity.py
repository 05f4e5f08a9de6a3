"""Which requests share an answer, and which never may: the laws, and cases people reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.canonical import INERT
from proxy.core.message import Arrival
from proxy.core.receive import raw_key
from proxy.core.request import Bypass, Lookup
from tests.asking import K1, K2, RULES, arrival, bypass, chat, configured, intent, lookup

DEPLOYED = "/openai/deployments/%s/chat/completions"
PIXEL = "data:image/png;base64,QUJD"
RESPONSES = {"model": "m", "input": "hi", "store": False}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "save", "parameters": {"type": "object"}},
}


def turns(*said: tuple[str, str]) -> dict[str, Any]:
    return chat(messages=[{"role": role, "content": text} for role, text in said])


def offering(**parameters: Any) -> dict[str, Any]:
    """A chat with a tool that takes these parameters."""
    function = {"name": "save", "parameters": {"type": "object", "properties": parameters}}
    return chat(tools=[{"type": "function", "function": function}])


def embedding(given: Any, *headers: tuple[str, str], **more: Any) -> Arrival:
    return arrival({"model": "e", "input": given, **more}, *headers, path="/v1/embeddings")


def completion(**more: Any) -> Arrival:
    return arrival({"model": "m", "prompt": "def f():", **more}, path="/v1/completions")


def together(one: Arrival, other: Arrival) -> bool:
    return lookup(one).key == lookup(other).key


def meet(one: Arrival, other: Arrival) -> bool:
    """Whether they share the second key."""
    normalized = lookup(one).normalized
    return normalized is not None and normalized == lookup(other).normalized


texts = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
reserved = INERT | {"cache", "store", "model", "audio", "tools", "messages", "text"}
free = st.dictionaries(texts.filter(lambda name: name not in reserved), values, max_size=3)
inert = st.dictionaries(
    st.sampled_from(sorted(INERT - {"stream", "stream_options"})), values, max_size=3
)
usual = st.none() | texts | st.dictionaries(st.just("include_usage"), values)


@given(free, inert, st.none() | st.booleans(), usual, st.randoms(use_true_random=False))
def test_order_and_inert_members_do_not_count(
    fields: dict[str, Any], ignored: dict[str, Any], stream: bool | None, usage: Any, chance: Any
) -> None:
    body = {**chat(), **fields}
    form = {"stream": stream, "stream_options": usage}
    members = list({**body, **ignored, **form, "store": False, "cache": {}}.items())
    chance.shuffle(members)

    assert together(arrival(dict(members)), arrival(body))


@given(free, free)
def test_every_other_member_counts(one: dict[str, Any], other: dict[str, Any]) -> None:
    def spelled(fields: dict[str, Any]) -> str:
        return json.dumps(fields, sort_keys=True)

    same = together(arrival({**chat(), **one}), arrival({**chat(), **other}))

    assert same == (spelled(one) == spelled(other))


@given(st.text(max_size=4), st.text(max_size=4), free)
def test_tenants_never_share(one: str, other: str, fields: dict[str, Any]) -> None:
    body = chat(**fields)
    left = lookup(arrival(body, ("authorization", one)))
    right = lookup(arrival(body, ("authorization", other)))

    assert (left.key == right.key) == (one == other)
    assert (left.normalized == right.normalized) == (one == other)


APART = {
    "an unknown member": (chat(num_ctx=2048), chat(num_ctx=8192)),
    "an unknown member and none": (chat(), chat(chat_template_kwargs={"thinking": False})),
    "an inert name deeper down": (offering(), offering(user={"type": "string"})),
    "a name of ours deeper down": (offering(), offering(cache={"type": "object"})),
    "metadata of a part": (
        chat([{"type": "text", "text": "a"}]),
        chat([{"type": "text", "text": "a", "metadata": 1}]),
    ),
    "the order of messages": (
        turns(("user", "a"), ("user", "b")),
        turns(("user", "b"), ("user", "a")),
    ),
    "the history": (
        turns(("user", "Java?"), ("assistant", "An island."), ("user", "How many live there?")),
        turns(("user", "Malta?"), ("assistant", "An island."), ("user", "How many live there?")),
    ),
    "who speaks": (turns(("user", "a")), turns(("system", "a"))),
    "the name of a limit": (chat(max_tokens=5), chat(max_completion_tokens=5)),
    "absent and null": (chat(), chat(temperature=None)),
    "absent and the default": (chat(), chat(temperature=1)),
    "a number and a truth": (chat(logprobs=True), chat(logprobs=1)),
    "long integers": (chat(seed=2**70), chat(seed=2**70 + 1)),
    "one stop word or a list": (chat(stop="a"), chat(stop=["a"])),
    "forms of tool choice": (chat(tool_choice="auto"), chat(tool_choice={"type": "auto"})),
    "tools allowed or not": (chat(tools=[TOOL]), chat(tools=[TOOL], tool_choice="none")),
    "no tools and none allowed": (chat(), chat(tool_choice="none")),
    "a tool's schema": (offering(when={}), offering(date={})),
    "a text and one part of text": (chat("a"), chat([{"type": "text", "text": "a"}])),
    "one picture and another": (
        chat([{"type": "image_url", "image_url": {"url": PIXEL}}]),
        chat([{"type": "image_url", "image_url": {"url": PIXEL.replace("QUJD", "QUJE")}}]),
    ),
    "a picture's detail": (
        chat([{"type": "image_url", "image_url": {"url": PIXEL}}]),
        chat([{"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}]),
    ),
    "decomposed letters": (chat("café"), chat("cafe\u0301")),
    "compatible letters": (chat("ﬁn １２"), chat("fin 12")),
    "an invisible letter": (chat("café"), chat("café\u200b")),
    "a blank at the end": (chat("a"), chat("a ")),
    "the case": (chat("a"), chat("A")),
    "padding of events": (
        chat(stream=True),
        chat(stream=True, stream_options={"include_obfuscation": False}),
    ),
    "usage in every event": (
        chat(stream=True, stream_options={"include_usage": True}),
        chat(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}),
    ),
    "reasoning effort": (chat(reasoning_effort="low"), chat(reasoning_effort="high")),
}


@pytest.mark.parametrize("case", APART)
def test_requests_with_keys_of_their_own(case: str) -> None:
    one, other = APART[case]

    assert not together(arrival(one), arrival(other))


TOGETHER = {
    "floats": (b'{"model":"m","temperature":0}', b'{"model":"m","temperature":-0.0}'),
    "exponents": (b'{"model":"m","temperature":0.7}', b'{"model":"m","temperature":7e-1}'),
    "repeats": (b'{"model":"x","model":"m"}', b'{"model":"m"}'),
    "escapes": ('{"model":"hi 😀"}'.encode(), b'{"model":"hi \\ud83d\\ude00"}'),
    "an explicit json form": (b'{"model":"m","stream":false}', b'{"model":"m"}'),
    "the other form": (b'{"model":"m","stream":true}', b'{"model":"m"}'),
    "usage": (b'{"model":"m","stream_options":{"include_usage":true}}', b'{"model":"m"}'),
    "usage beside padding": (
        b'{"model":"m","stream_options":{"include_usage":true,"include_obfuscation":false}}',
        b'{"model":"m","stream_options":{"include_obfuscation":false}}',
    ),
    "not to be stored upstream": (b'{"model":"m","store":false}', b'{"model":"m"}'),
    "who the user is": (b'{"model":"m","user":"u","metadata":{"a":1}}', b'{"model":"m"}'),
    "our own object": (b'{"model":"m","cache":{"ttl":5,"tags":["a"]}}', b'{"model":"m"}'),
    "a wrapped picture": (
        json.dumps(chat([{"type": "image_url", "image_url": {"url": PIXEL}}])).encode(),
        json.dumps(chat([{"type": "image_url", "image_url": {"url": PIXEL + "\n"}}])).encode(),
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        *("stream_options", "user", "safety_identifier", "metadata", "service_tier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    ],
)
def test_a_member_that_cannot_change_the_answer(name: str) -> None:
    assert together(arrival(chat(**{name: "a"})), arrival(chat()))


@pytest.mark.parametrize("case", TOGETHER)
def test_spellings_of_one_request(case: str) -> None:
    one, other = TOGETHER[case]

    assert together(arrival(one), arrival(other))


@pytest.mark.parametrize(
    ("header", "counts"),
    [
        (("openai-beta", "assistants=v2"), True),
        (("OpenAI-Organization", "org-b"), True),
        (("openai-project", "p"), True),
        (("anthropic-version", "2023-06-01"), True),
        (("anthropic-beta", "b"), True),
        (("x-cache-namespace", "blue"), True),
        (("x-api-key", "k"), True),
        (("accept-language", "de"), False),
        (("x-stainless-retry-count", "1"), False),
        (("user-agent", "x"), False),
        (("cookie", "a=b"), False),
        (("traceparent", "x"), False),
        (("accept-encoding", "gzip"), False),
        (("x-cache-ttl", "5"), False),
        (("x-cache-tags", "a"), False),
        (("cache-control", "no-cache"), False),
    ],
)
def test_which_headers_count(header: tuple[str, str], counts: bool) -> None:
    assert together(arrival(chat(), header), arrival(chat())) != counts


@pytest.mark.parametrize("named", ["anthropic-beta", "close, Anthropic-Beta"])
def test_what_is_not_sent_on_does_not_count(named: str) -> None:
    """Else who has a header end here stores an answer for those who have it sent on."""
    beta = ("anthropic-beta", "tools-1")
    ended = arrival(chat(), beta, ("connection", named))

    assert together(ended, arrival(chat()))
    assert not together(ended, arrival(chat(), beta))
    assert raw_key(ended, RULES) != raw_key(arrival(chat(), beta), RULES)  # of a refusal too


def test_a_wish_and_a_credential_count_though_they_end_here() -> None:
    ends = ("connection", "cache-control, authorization")
    asked = intent(arrival(chat(), ("cache-control", "no-store"), ends))

    assert isinstance(asked, Bypass)
    assert asked.request.tenant == lookup(arrival(chat())).request.tenant


def test_the_order_of_repeated_headers_counts_and_of_others_does_not() -> None:
    a, b, other = ("openai-beta", "a"), ("openai-beta", "b"), ("openai-project", "p")

    assert together(arrival(chat(), a, b, other), arrival(chat(), other, a, b))
    assert not together(arrival(chat(), a, b), arrival(chat(), b, a))


def test_the_spelling_of_a_headers_name_does_not_count() -> None:
    assert together(arrival(chat(), ("OpenAI-Beta", "a")), arrival(chat(), ("openai-beta", "a")))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (arrival(chat(), query="x=1"), arrival(chat())),
        (arrival(chat(), path="/chat/completions"), arrival(chat())),
        (arrival({"model": "m"}, path="/v1/completions"), arrival({"model": "m"})),
        (embedding("hi"), arrival(RESPONSES, path="/v1/responses")),
        (arrival(chat(), path=DEPLOYED % "a"), arrival(chat(), path=DEPLOYED % "b")),
        (completion(suffix=""), completion(suffix="return x")),
        (completion(suffix=""), completion(echo=True)),
    ],
)
def test_the_operation_and_its_query_count(one: Arrival, other: Arrival) -> None:
    assert not together(one, other)


def test_streams_of_the_responses_api_share_with_its_json() -> None:
    path = "/v1/responses"

    assert together(
        arrival({**RESPONSES, "stream": True}, path=path), arrival(RESPONSES, path=path)
    )


ALIASES = '[[model]]\nname = "fast"\ntarget = "%s"\n[[model]]\nname = "m-small"\n%s'


def test_an_alias_shares_with_its_target() -> None:
    made = configured(ALIASES % ("m-small", 'model_version = "2"'))

    fast, small = (lookup(arrival(chat() | {"model": m}), made) for m in ("fast", "m-small"))

    assert (fast.key, fast.normalized) == (small.key, small.normalized)


@pytest.mark.parametrize(
    ("target", "versions"),
    [("m-large", ""), ("m-small", 'model_version = "2"'), ("m-small", 'template_version = "2"')],
)
def test_another_target_or_version_is_another_key(target: str, versions: str) -> None:
    before = configured(ALIASES % ("m-small", ""))
    after = configured(ALIASES % (target, versions))
    asked = arrival(chat() | {"model": "fast"})

    assert lookup(asked, before).key != lookup(asked, after).key


def test_a_models_version_is_not_its_templates() -> None:
    one = configured(ALIASES % ("m-small", 'model_version = "2"'))
    other = configured(ALIASES % ("m-small", 'template_version = "2"'))
    asked = arrival(chat() | {"model": "fast"})

    assert lookup(asked, one).key != lookup(asked, other).key


def test_a_namespace_asked_for_only_narrows_the_operators() -> None:
    blue = configured('[cache]\nnamespace = "blue"')
    plain, narrowed = arrival(chat()), arrival(chat(), ("x-cache-namespace", "blue"))

    keys = {lookup(asked, made).key for asked in (plain, narrowed) for made in (RULES, blue)}

    assert len(keys) == 4


def test_a_namespace_is_the_same_from_header_and_body() -> None:
    in_body = arrival(chat(cache={"namespace": "blue"}))

    assert together(in_body, arrival(chat(), ("x-cache-namespace", "blue")))


def test_the_service_tier_counts_where_the_operator_says_so() -> None:
    made = configured("[cache]\nkey_service_tier = true")
    one, other = arrival(chat(service_tier="flex")), arrival(chat())

    assert together(one, other)
    assert lookup(one, made).key != lookup(other, made).key


def test_key_headers_are_the_operators_choice() -> None:
    made = configured('[cache]\nkey_headers = ["X-Route"]')
    plain = lookup(arrival(chat()), made).key

    assert lookup(arrival(chat(), ("x-route", "a")), made).key != plain
    assert lookup(arrival(chat(), ("openai-beta", "a")), made).key == plain


def test_remote_media_count_by_address_where_they_are_allowed() -> None:
    made = configured("[cache]\nremote_media = true")
    one, other = (
        lookup(arrival(chat([{"type": "image_url", "image_url": {"url": f"https://h/{n}"}}])), made)
        for n in "ab"
    )

    assert one.key != other.key


MEET = [
    (chat(" 如何退款 "), chat("如何退款")),
    (chat("a  b\n"), chat("a b")),
    (chat([{"type": "text", "text": " a "}]), chat([{"type": "text", "text": "a"}])),
    (turns(("system", "s \n")), turns(("system", "s"))),
    (turns(("assistant", "a "), ("user", "b")), turns(("assistant", "a"), ("user", "b "))),
]


@pytest.mark.parametrize(("one", "other"), MEET)
def test_requests_that_differ_in_blanks_have_one_normalized_key(one: Any, other: Any) -> None:
    assert meet(arrival(one), arrival(other))
    assert not together(arrival(one), arrival(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (chat("def f():\n  a\n  b"), chat("def f():\n  a\nb")),
        (chat("a"), chat("b")),
        (chat("a", seed=1), chat("a ", seed=2)),
        (chat("a", tools=[TOOL]), chat("a", tools=[{**TOOL, "description": " "}])),
        (turns(("user", "a"), ("assistant", "b ")), turns(("user", "a"), ("assistant", "b"))),
        (turns(("tool", "a  b"), ("user", "x")), turns(("tool", "a b"), ("user", "x"))),
        (chat(response_format={"name": "a "}), chat(response_format={"name": "a"})),
    ],
)
def test_requests_that_never_meet(one: Any, other: Any) -> None:
    assert not meet(arrival(one), arrival(other))


def test_the_normalized_key_keeps_tenants_apart() -> None:
    assert not meet(arrival(chat("a"), K1), arrival(chat("a "), K2))


def test_a_normalized_key_is_no_exact_key() -> None:
    found = lookup(arrival(chat("a")))

    assert found.normalized != found.key


@pytest.mark.parametrize(
    "made",
    [configured('[cache]\nnormalize = "none"'), configured("[cache]\nnormalize_max_bytes = 4")],
)
def test_no_second_key_where_the_operator_wants_none(made: Any) -> None:
    assert lookup(arrival(chat("hello")), made).normalized is None


def test_the_size_limit_is_in_bytes_of_text() -> None:
    made = configured("[cache]\nnormalize_max_bytes = 6")

    assert lookup(arrival(chat("退款")), made).normalized
    assert lookup(arrival(chat("退款了")), made).normalized is None


def test_no_second_key_where_the_request_wants_none() -> None:
    assert lookup(arrival(chat(), ("x-cache-mode", "exact"))).normalized is None


@pytest.mark.parametrize("prompt", ["a", ["a", "b"], [1, 2]])
def test_a_prompt_that_is_continued_has_no_second_key(prompt: Any) -> None:
    body = {"model": "m", "prompt": prompt}

    assert lookup(arrival(body, path="/v1/completions")).normalized is None


def embedded(given: Any, *headers: tuple[str, str], **more: Any) -> Lookup:
    return lookup(embedding(given, *headers, **more))


@pytest.mark.parametrize(
    ("given", "count"),
    [("a", 1), (["a"], 1), (["a", "b", "a"], 3), ([1, 2], 1), ([[1, 2], [3]], 2), (["a", [1]], 2)],
)
def test_an_embedding_has_a_key_for_each_item(given: Any, count: int) -> None:
    assert len(embedded(given).items) == count


def test_an_item_has_one_key_in_every_batch() -> None:
    a, b, again = embedded(["a", "b", "a"]).items

    assert a == again != b
    assert embedded("a").items == embedded(["a"]).items == (a,)
    assert embedded([[1, 2]]).items == embedded([1, 2]).items
    assert len({embedded(given).key for given in ("a", ["a"], ["a", "b"])}) == 3


@pytest.mark.parametrize(
    "other",
    [
        embedded("a", encoding_format="base64"),
        embedded("a", dimensions=256),
        embedded("b"),
        embedded("a "),
        embedded([1]),
        embedded("a", model="f"),
        embedded("a", K2),
    ],
)
def test_items_that_differ(other: Lookup) -> None:
    assert embedded("a").items[0] != other.items[0]


def test_an_items_key_does_not_depend_on_inert_members() -> None:
    assert embedded("a", user="u").items == embedded("a").items


def test_tokens_are_numbers_and_no_texts() -> None:
    assert embedded(["1"]).items != embedded([[1]]).items


def test_embeddings_have_no_second_key() -> None:
    assert embedded("a").normalized is None


@pytest.mark.parametrize("given", [None, [], [[]], [1, "a"], [True], {"text": "a"}, [{"image": 1}]])
def test_embeddings_of_another_shape_are_passed_on(given: Any) -> None:
    assert bypass(embedding(given)) == "malformed"


def test_only_embeddings_have_items() -> None:
    assert lookup(arrival({**RESPONSES, "input": ["a"]}, path="/v1/responses")).items == ()
