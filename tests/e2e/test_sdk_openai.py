"""The official openai SDK through the gateway: the same objects as without it, hit or miss."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests import answers
from tests.reply import Reply, body, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

    from tests.gateway import Gateway
    from tests.upstream import Channel

ASKED: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Name a colour."}]
PLACE: dict[str, object] = {"type": "object", "properties": {"place": {"type": "string"}}}
TOOLS: list[ChatCompletionToolParam] = [
    {"type": "function", "function": {"name": "weather", "parameters": PLACE}},
    {"type": "function", "function": {"name": "clock", "parameters": PLACE}},
]
CALLS: list[dict[str, Any]] = [
    {"id": "call_1", "function": {"name": "weather", "arguments": '{"place":"Tromsø"}'}},
    {"id": "call_2", "function": {"name": "clock", "arguments": '{"place":"東京"}'}},
]


class Colour(BaseModel):
    name: str
    warm: bool


@pytest.fixture
def client(gateway: Gateway, upstream: Channel) -> Iterator[OpenAI]:
    with OpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=0) as one:
        yield one


@pytest.fixture
async def aclient(gateway: Gateway, upstream: Channel) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=0) as one:
        yield one


def tool_reply(calls: list[dict[str, Any]]) -> Reply:
    made = [{**call, "type": "function"} for call in calls]
    return body(answers.chat(None, finish="tool_calls", tool_calls=made))


def tool_stream(calls: list[dict[str, Any]]) -> Reply:
    """Each call's name first, then the arguments of all calls in turns of a few characters."""
    parts: list[answers.Json] = [{"role": "assistant", "content": None}]
    for i, call in enumerate(calls):
        function = {"name": call["function"]["name"], "arguments": ""}
        opened = {"index": i, "id": call["id"], "type": "function", "function": function}
        parts.append({"tool_calls": [opened]})
    for at in range(0, 40, 6):
        for i, call in enumerate(calls):
            if piece := call["function"]["arguments"][at : at + 6]:
                parts.append({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    return events(answers.deltas(parts, finish="tool_calls", usage=answers.USAGE))


def test_the_second_answer_is_the_first_from_the_cache(client: OpenAI, upstream: Channel) -> None:
    first, second = (
        client.chat.completions.create(model="m-small", messages=ASKED) for _ in range(2)
    )

    assert first.choices[0].message.content == "#1"
    assert second == first
    assert second.usage is not None
    assert second.usage.total_tokens == 18
    assert upstream.calls == 1


async def test_async_clients_share_the_entry_of_sync_ones(
    client: OpenAI, aclient: AsyncOpenAI, upstream: Channel
) -> None:
    first = client.chat.completions.create(model="m-small", messages=ASKED)
    second = await aclient.chat.completions.create(model="m-small", messages=ASKED)

    assert second == first
    assert upstream.calls == 1


def test_a_stream_is_replayed_chunk_by_chunk(client: OpenAI, upstream: Channel) -> None:
    runs = [
        list(client.chat.completions.create(model="m-small", messages=ASKED, stream=True))
        for _ in range(2)
    ]

    assert runs[0] == runs[1]
    assert [chunk.choices[0].delta.content for chunk in runs[1]] == ["", "#", "1", None]
    assert all(chunk.usage is None for chunk in runs[1])
    assert upstream.calls == 1


async def test_async_streams_carry_usage_when_asked(
    aclient: AsyncOpenAI, upstream: Channel
) -> None:
    for _ in range(2):
        stream = await aclient.chat.completions.create(
            model="m-small", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]

        assert chunks[-1].choices == []
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == 18
    assert upstream.calls == 1


def test_one_entry_serves_both_forms(client: OpenAI, upstream: Channel) -> None:
    streamed = client.chat.completions.create(model="m-small", messages=ASKED, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in streamed)
    whole = client.chat.completions.create(model="m-small", messages=ASKED)

    assert whole.choices[0].message.content == text == "#1"
    assert whole.choices[0].finish_reason == "stop"
    assert upstream.calls == 1


def test_the_stream_helper_assembles_a_hit(client: OpenAI, upstream: Channel) -> None:
    finals = []
    for _ in range(2):
        with client.chat.completions.stream(model="m-small", messages=ASKED) as stream:
            finals.append(stream.get_final_completion())

    assert finals[0].choices[0].message.content == "#1"
    assert finals[0] == finals[1]
    assert upstream.calls == 1


@pytest.mark.parametrize("calls", [CALLS[:1], CALLS], ids=["single", "parallel"])
def test_tool_calls_come_back_whole(
    client: OpenAI, upstream: Channel, calls: list[dict[str, Any]]
) -> None:
    upstream.reply(tool_reply(calls))
    for _ in range(2):
        answer = client.chat.completions.create(model="m-small", messages=ASKED, tools=TOOLS)
        made = answer.choices[0].message.tool_calls or []

        assert answer.choices[0].finish_reason == "tool_calls"
        assert [call.model_dump(include={"id", "function"}) for call in made] == calls
    assert upstream.calls == 1


@pytest.mark.parametrize("calls", [CALLS[:1], CALLS], ids=["single", "parallel"])
def test_streamed_tool_calls_come_back_whole(
    client: OpenAI, upstream: Channel, calls: list[dict[str, Any]]
) -> None:
    upstream.reply(tool_stream(calls))
    runs = []
    for _ in range(2):
        with client.chat.completions.stream(model="m-small", messages=ASKED, tools=TOOLS) as stream:
            runs.append(stream.get_final_completion())
    whole = client.chat.completions.create(model="m-small", messages=ASKED, tools=TOOLS)

    for run in (*runs, whole):
        made = run.choices[0].message.tool_calls or []
        told = [(call.id, call.function.name, call.function.arguments) for call in made]  # type: ignore[union-attr]
        assert told == [
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
        ]
    assert upstream.calls == 1


def test_a_tool_result_is_another_question(client: OpenAI, upstream: Channel) -> None:
    upstream.reply(tool_reply(CALLS[:1]))
    first = client.chat.completions.create(model="m-small", messages=ASKED, tools=TOOLS)
    told = first.choices[0].message.model_dump(exclude_none=True)
    result = {"role": "tool", "tool_call_id": "call_1", "content": "-3 °C"}
    second = client.chat.completions.create(
        model="m-small",
        messages=[*ASKED, told, result],  # type: ignore[list-item]
        tools=TOOLS,
    )

    assert second.choices[0].message.content == "#2"


def test_structured_outputs_parse_from_the_cache(client: OpenAI, upstream: Channel) -> None:
    upstream.reply(body(answers.chat('{"name":"red","warm":true}')))
    for _ in range(2):
        answer = client.chat.completions.parse(
            model="m-small", messages=ASKED, response_format=Colour
        )

        assert answer.choices[0].message.parsed == Colour(name="red", warm=True)
    assert upstream.calls == 1


def test_embeddings_of_the_default_encoding(client: OpenAI, upstream: Channel) -> None:
    """The SDK asks for base64 unless told otherwise, and decodes it itself."""
    for words in (["a", "b"], ["b", "c", "a"], ["a"]):
        answer = client.embeddings.create(model="e-small", input=words)

        assert [item.embedding for item in answer.data] == [answers.vector(w) for w in words]
        assert [item.index for item in answer.data] == list(range(len(words)))
    assert upstream.seen[0].json()["encoding_format"] == "base64"
    assert [seen.json()["input"] for seen in upstream.seen] == [["a", "b"], ["c"]]


def test_embeddings_as_numbers(client: OpenAI, upstream: Channel) -> None:
    for _ in range(2):
        answer = client.embeddings.create(
            model="e-small", input="a", encoding_format="float", dimensions=8
        )

        assert answer.data[0].embedding == answers.vector("a", 8)
    assert upstream.calls == 1


def test_raw_responses_show_the_headers(client: OpenAI, upstream: Channel) -> None:
    upstream.reply(body(answers.chat("hi"), ("x-request-id", "req_up"), ("openai-version", "1")))
    create = client.chat.completions.with_raw_response.create
    miss = create(model="m-small", messages=ASKED)
    hit = create(model="m-small", messages=ASKED)

    assert (miss.headers["x-cache"], hit.headers["x-cache"]) == ("MISS", "HIT")
    assert miss.headers["x-request-id"] == miss.request_id == "req_up"
    assert hit.request_id not in (None, "req_up")
    assert hit.headers["cache-status"].startswith("hotprefix; hit")
    assert int(hit.headers["age"]) <= 2
    assert hit.parse().choices[0].message.content == "hi"
    assert upstream.calls == 1


def test_a_streaming_response_gives_the_bytes_as_sent(client: OpenAI, upstream: Channel) -> None:
    sent = answers.chat_events(["blue"], usage=answers.USAGE)
    upstream.reply(events(sent))
    for outcome in ("MISS", "HIT"):
        with client.chat.completions.with_streaming_response.create(
            model="m-small", messages=ASKED, stream=True, stream_options={"include_usage": True}
        ) as response:
            assert response.headers["x-cache"] == outcome
            assert b"".join(response.iter_bytes()) == b"".join(sent)


def test_responses_are_cached_when_nothing_is_to_be_kept(client: OpenAI, upstream: Channel) -> None:
    for _ in range(2):
        answer = client.responses.create(model="m-small", input="hi", store=False)
        assert answer.output_text == "#1"
    for _ in range(2):
        kinds = []
        for event in client.responses.create(model="m-small", input="hi", store=False, stream=True):
            kinds.append(event.type)
            if event.type == "response.completed":
                assert event.response.output_text == "#1"
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"
    assert upstream.calls == 1


def test_a_streamed_response_serves_a_whole_one(client: OpenAI, upstream: Channel) -> None:
    with client.responses.stream(model="m-small", input="hi", store=False) as stream:
        first = stream.get_final_response()
    second = client.responses.create(model="m-small", input="hi", store=False)

    assert first.output_text == second.output_text == "#1"
    assert second.usage == first.usage
    assert upstream.calls == 1


def test_responses_that_the_provider_keeps_are_never_cached(
    client: OpenAI, upstream: Channel
) -> None:
    texts = [client.responses.create(model="m-small", input="hi").output_text for _ in range(2)]

    assert texts == ["#1", "#2"]


def test_completions_in_both_forms(client: OpenAI, upstream: Channel) -> None:
    for _ in range(2):
        whole = client.completions.create(model="m-small", prompt="def f():")
        assert whole.choices[0].text == "#1"
    streamed = list(client.completions.create(model="m-small", prompt="def f():", stream=True))

    assert "".join(chunk.choices[0].text for chunk in streamed) == "#1"
    assert streamed[-1].choices[0].finish_reason == "stop"
    assert upstream.calls == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_errors_are_the_upstreams_own(
    client: OpenAI, upstream: Channel, status: int, kind: type[openai.APIStatusError]
) -> None:
    sent = answers.error("no such thing", code="nope")
    upstream.default = body(sent, ("x-request-id", "req_9"), ("x-up", "1"), status=status)
    with pytest.raises(kind) as caught:
        client.chat.completions.create(model="m-small", messages=ASKED)

    assert caught.value.status_code == status
    assert caught.value.request_id == "req_9"
    assert caught.value.response.headers["x-up"] == "1"
    assert caught.value.response.content == sent
    assert caught.value.code == "nope"


def test_an_error_inside_a_stream_is_raised(client: OpenAI, upstream: Channel) -> None:
    broken = events(answers.chat_events(["a", "b"])[:2], ending="rst")
    upstream.default = broken
    with pytest.raises(openai.APIError):
        for _ in client.chat.completions.create(model="m-small", messages=ASKED, stream=True):
            pass


def test_an_unreachable_upstream_is_a_bad_gateway(start: Any, upstream: Channel) -> None:
    gateway = start({"upstream": [{"name": "gone", "url": "http://127.0.0.1:9/v1"}]})
    with (
        OpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=0) as client,
        pytest.raises(openai.InternalServerError) as caught,
    ):
        client.chat.completions.create(model="m-small", messages=ASKED)

    assert caught.value.status_code == 502
    assert isinstance(caught.value.body, dict)
    assert set(caught.value.body) == {"message", "type", "param", "code"}


def test_each_retry_of_the_sdk_reaches_the_upstream(gateway: Gateway, upstream: Channel) -> None:
    busy = body(answers.error("busy"), ("retry-after-ms", "10"), status=429)
    upstream.reply(busy, busy)
    with OpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=2) as client:
        answer = client.chat.completions.create(model="m-small", messages=ASKED)

    assert answer.choices[0].message.content == "#3"
    assert [seen.get("x-stainless-retry-count") for seen in upstream.seen] == ["0", "1", "2"]


def test_the_upstream_may_forbid_a_retry(gateway: Gateway, upstream: Channel) -> None:
    upstream.default = body(answers.error("no"), ("x-should-retry", "false"), status=503)
    with (
        OpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=2) as client,
        pytest.raises(openai.InternalServerError),
    ):
        client.chat.completions.create(model="m-small", messages=ASKED)

    assert upstream.calls == 1


def test_controls_reach_the_cache_by_header_and_by_body(client: OpenAI, upstream: Channel) -> None:
    create = client.chat.completions.create
    texts = [
        create(model="m-small", messages=ASKED, **extra).choices[0].message.content
        for extra in (
            {},
            {"extra_body": {"cache": {"namespace": "n"}}},
            {"extra_headers": {"x-cache-namespace": "n"}},
            {"extra_headers": {"Cache-Control": "no-cache"}},
            {"extra_body": {"cache": {"no-store": True}}},
            {},
        )
    ]

    assert texts == ["#1", "#2", "#2", "#3", "#4", "#3"]
    assert all("cache" not in seen.json() for seen in upstream.seen)
    assert all(seen.get("x-cache-namespace") is None for seen in upstream.seen)


async def test_many_async_callers_share_one_upstream_call(
    aclient: AsyncOpenAI, upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.default = body(answers.chat("shared")).but(hold=gate)
    create = aclient.chat.completions.create
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(create(model="m-small", messages=ASKED)) for _ in range(20)]
        await upstream.until(lambda: gate.reached)
        gate.open()

    assert {task.result().choices[0].message.content for task in tasks} == {"shared"}
    assert upstream.calls == 1


def test_other_operations_pass_through(client: OpenAI, upstream: Channel) -> None:
    model = {"id": "m/x", "object": "model", "created": 1, "owned_by": "me"}
    upstream.reply(body({"object": "list", "data": [model]}), body(model))

    assert [one.id for one in client.models.list()] == ["m/x"]
    assert client.models.retrieve("m/x").id == "m/x"
    assert [seen.target for seen in upstream.seen] == ["/v1/models", "/v1/models/m%2Fx"]
