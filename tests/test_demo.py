"""The demo upstream, asked by the providers' own SDKs over a real socket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import aiohttp
import anthropic
import openai
import orjson
import pytest
from pydantic import BaseModel

from proxy.adapters.demo.answer import LABEL, instance
from proxy.adapters.demo.kept import TOKENS, Kept
from proxy.adapters.demo.server import Pace, start
from proxy.core.cached import counts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ASK: Any = [{"role": "user", "content": "How do I get a refund? 如何退款"}]
WEATHER: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
}
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": WEATHER}}
    for name in ("forecast", "history")
]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    runner, port = await start("127.0.0.1", 0, Pace())
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-test") as client:
        yield client


@pytest.fixture
async def claude(url: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="sk-test") as client:
        yield client


async def post(url: str, path: str, body: bytes) -> tuple[int, bytes, Any]:
    async with aiohttp.ClientSession() as session, session.post(url + path, data=body) as answer:
        return answer.status, await answer.read(), answer.headers


async def test_an_answer_says_that_no_model_gave_it(client: openai.AsyncOpenAI) -> None:
    raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=ASK)
    answer = raw.parse()

    assert raw.headers["x-demo-upstream"] == "true"
    assert answer.model == "demo-gpt-4o"
    assert LABEL in (answer.choices[0].message.content or "")
    assert "如何退款" in (answer.choices[0].message.content or "")
    assert answer.choices[0].finish_reason == "stop"


async def test_the_same_request_has_the_same_bytes_and_another_has_others(url: str) -> None:
    body = orjson.dumps({"model": "demo-chat", "messages": ASK})
    hotter = orjson.dumps({"model": "demo-chat", "messages": ASK, "temperature": 1.5})
    _, first, _ = await post(url, "/v1/chat/completions", body)
    _, second, _ = await post(url, "/v1/chat/completions", body)
    _, other, _ = await post(url, "/v1/chat/completions", hotter)

    assert first == second
    assert first != other


async def test_each_call_has_a_request_id_of_its_own(url: str) -> None:
    body = orjson.dumps({"model": "demo-chat", "messages": ASK})
    seen = [(await post(url, "/v1/completions", body))[2]["x-request-id"] for _ in range(2)]

    assert seen == ["req_demo_1", "req_demo_2"]


@pytest.mark.parametrize("asked", [{}, {"n": 3}, {"max_tokens": 4}, {"logprobs": True}])
async def test_a_stream_adds_up_to_the_whole(client: openai.AsyncOpenAI, asked: Any) -> None:
    whole = await client.chat.completions.create(model="demo-chat", messages=ASK, **asked)
    stream = await client.chat.completions.create(
        model="demo-chat", messages=ASK, stream=True, **asked
    )
    texts = [""] * asked.get("n", 1)
    finishes = [""] * asked.get("n", 1)
    async for chunk in stream:
        assert chunk.id == whole.id
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            finishes[choice.index] += choice.finish_reason or ""

    assert texts == [choice.message.content for choice in whole.choices]
    assert finishes == [choice.finish_reason for choice in whole.choices]
    assert len(set(texts)) == len(texts)


async def test_a_limit_cuts_the_answer_and_counts(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="demo-chat", messages=ASK, max_tokens=4)

    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 4
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 4


@pytest.mark.parametrize("wanted", [True, False])
async def test_usage_is_streamed_only_if_asked_for(url: str, wanted: bool) -> None:
    asked = {"model": "demo-chat", "messages": ASK, "stream": True}
    if wanted:
        asked["stream_options"] = {"include_usage": True}
    _, body, _ = await post(url, "/v1/chat/completions", orjson.dumps(asked))
    *events, done, rest = body.split(b"\n\n")
    chunks = [orjson.loads(event.removeprefix(b"data: ")) for event in events]

    assert (done, rest) == (b"data: [DONE]", b"")
    assert ["usage" in chunk for chunk in chunks] == [wanted] * len(chunks)
    assert (chunks[-1]["choices"] == []) is wanted
    assert bool(chunks[-1].get("usage")) is wanted


@pytest.mark.parametrize(
    ("choice", "parallel", "called"),
    [
        ("auto", True, []),
        ("none", True, []),
        ("required", True, ["forecast", "history"]),
        ("required", False, ["forecast"]),
        ({"type": "function", "function": {"name": "history"}}, True, ["history"]),
    ],
)
async def test_tools_are_called_when_the_request_insists(
    client: openai.AsyncOpenAI, choice: Any, parallel: bool, called: list[str]
) -> None:
    answer = await client.chat.completions.create(
        model="demo-chat",
        messages=ASK,
        tools=TOOLS,
        tool_choice=choice,
        parallel_tool_calls=parallel,
    )
    calls: list[Any] = list(answer.choices[0].message.tool_calls or [])

    assert [call.function.name for call in calls] == called
    assert [orjson.loads(call.function.arguments) for call in calls] == [
        {"city": "demo", "days": 1} for _ in called
    ]
    assert answer.choices[0].finish_reason == ("tool_calls" if called else "stop")


async def test_streamed_tool_calls_add_up(client: openai.AsyncOpenAI) -> None:
    asked: Any = {"model": "demo-chat", "messages": ASK, "tools": TOOLS, "tool_choice": "required"}
    whole = await client.chat.completions.create(**asked)
    async with client.chat.completions.stream(**asked) as stream:
        added = await stream.get_final_completion()
    expected: Any = whole.choices[0].message.tool_calls
    found: Any = added.choices[0].message.tool_calls

    assert [(c.id, c.function.name, c.function.arguments) for c in found] == [
        (c.id, c.function.name, c.function.arguments) for c in expected
    ]


class Verdict(BaseModel):
    """What the structured output has to look like."""

    ok: bool
    score: int
    tags: list[str]


async def test_a_structured_output_fits_its_schema(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.parse(
        model="demo-chat", messages=ASK, response_format=Verdict
    )

    assert answer.choices[0].message.parsed == Verdict(ok=True, score=1, tags=["demo"])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "demo"),
        ({"type": ["null", "string"]}, None),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": 7}, 7),
        ({"anyOf": [{"type": "number", "minimum": 3}, {"type": "null"}]}, 3),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "boolean"}}}, True),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}, {"a": ["demo"]}),
    ],
)
def test_an_instance_fits(schema: Any, value: Any) -> None:
    assert instance(schema, schema) == value


def test_a_schema_that_contains_itself_ends() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}

    assert orjson.dumps(instance(schema, schema)).count(b"next") <= 16


async def test_completions_answer_each_prompt_n_times(client: openai.AsyncOpenAI) -> None:
    asked: Any = {"model": "demo-chat", "prompt": ["first", "second"], "n": 2}
    whole = await client.completions.create(**asked)
    texts = [""] * 4
    async for chunk in await client.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.text

    assert [choice.index for choice in whole.choices] == [0, 1, 2, 3]
    assert ["second" in choice.text for choice in whole.choices] == [False, False, True, True]
    assert texts == [choice.text for choice in whole.choices]
    assert len(set(texts)) == 4


async def test_embeddings_are_unit_vectors_in_order_in_both_encodings(
    client: openai.AsyncOpenAI,
) -> None:
    asked: Any = {"model": "demo-embed", "input": ["one", "two", "one"], "dimensions": 8}
    plain = await client.embeddings.create(**asked, encoding_format="float")
    packed = await client.embeddings.create(**asked)
    vectors = [item.embedding for item in plain.data]

    assert [item.index for item in plain.data] == [0, 1, 2]
    assert vectors[0] == vectors[2] != vectors[1]
    assert [len(vector) for vector in vectors] == [8, 8, 8]
    assert math.hypot(*vectors[0]) == pytest.approx(1, abs=1e-6)
    assert [item.embedding for item in packed.data] == vectors


@pytest.mark.parametrize(("value", "count"), [("a", 1), ([1, 2, 3], 1), ([[1], [2, 3]], 2)])
async def test_embeddings_take_text_and_tokens(
    client: openai.AsyncOpenAI, value: Any, count: int
) -> None:
    answer = await client.embeddings.create(model="demo-embed", input=value)

    assert len(answer.data) == count


async def test_responses_stream_what_they_answer(client: openai.AsyncOpenAI) -> None:
    asked: Any = {"model": "demo-chat", "input": "How do I get a refund?", "store": False}
    whole = await client.responses.create(**asked)
    events = [event async for event in await client.responses.create(**asked, stream=True)]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last: Any = events[-1]

    assert LABEL in whole.output_text
    assert "".join(deltas) == whole.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (last.type, last.response.output) == ("response.completed", whole.output)


async def test_responses_call_functions(client: openai.AsyncOpenAI) -> None:
    tools = [{"type": "function", "name": "forecast", "parameters": WEATHER, "strict": False}]
    asked: Any = {"model": "demo-chat", "input": "?", "tools": tools, "tool_choice": "required"}
    async with client.responses.stream(**asked) as stream:
        added = await stream.get_final_response()
    call: Any = added.output[0]

    assert (call.type, call.name) == ("function_call", "forecast")
    assert orjson.loads(call.arguments) == {"city": "demo", "days": 1}


async def test_responses_say_that_they_were_cut(client: openai.AsyncOpenAI) -> None:
    asked: Any = {"model": "demo-chat", "input": "?", "max_output_tokens": 3}
    whole = await client.responses.create(**asked)
    last: Any = [event async for event in await client.responses.create(**asked, stream=True)][-1]

    assert (whole.status, last.type) == ("incomplete", "response.incomplete")
    assert last.response.output == whole.output


@pytest.mark.parametrize(("limit", "reason"), [(500, "end_turn"), (3, "max_tokens")])
async def test_messages_stream_what_they_answer(
    claude: anthropic.AsyncAnthropic, limit: int, reason: str
) -> None:
    asked: Any = {"model": "claude", "max_tokens": limit, "messages": ASK}
    whole = await claude.messages.create(**asked)
    async with claude.messages.stream(**asked) as stream:
        added = await stream.get_final_message()

    assert whole.model == "demo-claude"
    assert whole.stop_reason == added.stop_reason == reason
    assert [block.to_dict() for block in added.content] == [b.to_dict() for b in whole.content]
    assert added.usage.output_tokens == whole.usage.output_tokens


async def test_messages_call_tools(claude: anthropic.AsyncAnthropic) -> None:
    tools = [{"name": name, "input_schema": WEATHER} for name in ("forecast", "history")]
    asked: Any = {"model": "claude", "max_tokens": 9, "messages": ASK, "tools": tools}
    async with claude.messages.stream(**asked, tool_choice={"type": "any"}) as stream:
        added = await stream.get_final_message()
    blocks: Any = added.content

    assert [(block.name, block.input) for block in blocks] == [
        ("forecast", {"city": "demo", "days": 1}),
        ("history", {"city": "demo", "days": 1}),
    ]
    assert added.stop_reason == "tool_use"


async def test_models_are_listed(client: openai.AsyncOpenAI) -> None:
    models = [model.id async for model in client.models.list()]

    assert models == ["demo-chat", "demo-embed"]
    assert (await client.models.retrieve("demo-chat")).owned_by == "hotprefix-demo"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("other/model")


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/v1/chat/completions", b"{", 400, None),
        ("/v1/chat/completions", b"[]", 400, None),
        ("/v1/chat/completions", b'{"model": "m"}', 400, "messages"),
        ("/v1/chat/completions", b'{"messages": [{}]}', 400, "model"),
        ("/v1/chat/completions", b'{"model": "m", "messages": [{}], "n": 0}', 400, "n"),
        ("/v1/chat/completions", b'{"model": "m", "messages": [{}], "tools": [1]}', 400, None),
        ("/v1/embeddings", b'{"model": "m", "input": "a", "dimensions": 0.5}', 400, "dimensions"),
        ("/v1/models", b"{}", 405, None),
        ("/v1/nowhere", b"{}", 404, None),
    ],
)
async def test_what_cannot_be_answered_is_an_error_in_the_providers_shape(
    url: str, path: str, body: bytes, status: int, param: str | None
) -> None:
    code, answer, headers = await post(url, path, body)
    error = orjson.loads(answer)["error"]

    assert (code, error["type"], error["param"]) == (status, "invalid_request_error", param)
    assert error["message"]
    assert set(error) == {"message", "type", "param", "code"}
    assert headers["x-demo-upstream"] == "true"


async def test_a_bad_stream_request_is_an_error_before_the_stream(url: str) -> None:
    status, _, _ = await post(url, "/v1/responses", b'{"model": "m", "stream": true}')

    assert status == 400


async def test_messages_have_their_own_shape_of_error(claude: anthropic.AsyncAnthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        await claude.messages.create(model="m", max_tokens=5, messages=[])

    assert caught.value.body == {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "expected a value for 'messages'",
        },
    }


LONG = "You sell books. " * 20


def longer(text: str) -> Any:
    return [{"role": "system", "content": LONG}, {"role": "user", "content": text}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("chat/completions", lambda text: {"messages": longer(text)}),
        ("completions", lambda text: {"prompt": LONG + text}),
        ("responses", lambda text: {"instructions": LONG, "input": text}),
        ("messages", lambda text: {"system": LONG, "messages": ASK, "max_tokens": 9}),
    ],
)
async def test_one_that_remembers_tells_how_a_prompt_before_began(
    path: str, body: Any, stream: bool
) -> None:
    """In every dialect, and never all of it: an engine computes one token at least."""
    runner, port = await start("127.0.0.1", 0, Pace(), Kept())
    told = []
    for text in ("Is it open?", "Is it far?", "Is it far?"):
        asked = {"model": "demo-chat", "stream": stream, **body(text)}
        asked |= {"stream_options": {"include_usage": True}} if path.endswith("completions") else {}
        _, said, _ = await post(f"http://127.0.0.1:{port}", f"/v1/{path}", orjson.dumps(asked))
        told.append(counts(said))
    await runner.cleanup()

    (none, _), (most, _), (again, whole) = [one or (-1, 0) for one in told]
    assert none == 0
    assert 4 * TOKENS <= most < whole
    assert whole - TOKENS <= again < whole


async def test_one_that_does_not_remember_answers_the_same_each_time(url: str) -> None:
    asked = orjson.dumps({"model": "demo-chat", "messages": longer("Is it far?")})
    told = [(await post(url, "/v1/chat/completions", asked))[1] for _ in range(2)]

    assert told[0] == told[1]
    assert (counts(told[1]) or (-1, 0))[0] == 0


def test_what_is_kept_of_prompts_is_told_by_whole_blocks_and_for_each_model() -> None:
    kept = Kept()
    assert kept.count("m", "x" * 200) == 0

    assert kept.count("m", "x" * 200 + "y") == 3 * TOKENS
    assert kept.count("m", "x" * 100 + "y" * 100) == TOKENS
    assert kept.count("n", "x" * 200) == 0
    assert kept.count("m", "y" + "x" * 200) == 0


def test_what_was_not_used_for_longest_is_forgotten_first_and_a_prompt_from_its_end() -> None:
    kept = Kept(most=6)
    kept.count("m", "a" * 200)
    kept.count("m", "b" * 200)
    kept.count("m", "c" * 100)

    assert kept.count("m", "a" * 200) == 2 * TOKENS
