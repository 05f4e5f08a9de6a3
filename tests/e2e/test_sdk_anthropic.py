"""The official anthropic SDK through the gateway: messages, streams and tools, hit or miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from tests import answers
from tests.reply import body, events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anthropic.types import MessageParam, ToolParam

    from tests.gateway import Gateway
    from tests.upstream import Channel

ASKED: list[MessageParam] = [{"role": "user", "content": "Name a colour."}]
TOOL: ToolParam = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
}
USE = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"place": "Tromsø"}}


@pytest.fixture
def client(gateway: Gateway, upstream: Channel) -> Iterator[Anthropic]:
    root = gateway.base_url.removesuffix("/v1")
    with Anthropic(api_key=upstream.key, base_url=root, max_retries=0) as one:
        yield one


def test_the_second_message_comes_from_the_cache(client: Anthropic, upstream: Channel) -> None:
    create = client.messages.with_raw_response.create
    first, second = (create(model="m-small", max_tokens=99, messages=ASKED) for _ in range(2))

    assert first.parse() == second.parse()
    assert first.parse().content[0].model_dump()["text"] == "#1"
    assert (first.headers["x-cache"], second.headers["x-cache"]) == ("MISS", "HIT")
    assert upstream.calls == 1


def test_keys_in_their_own_header_are_tenants_too(gateway: Gateway, upstream: Channel) -> None:
    root = gateway.base_url.removesuffix("/v1")
    texts = []
    for key in (upstream.key, f"{upstream.key}-2", upstream.key):
        sent: Any = {"X-Api-Key": key, "Authorization": anthropic.omit}
        with Anthropic(api_key=key, base_url=root, default_headers=sent) as client:
            message = client.messages.create(model="m", max_tokens=9, messages=ASKED)
            texts.append(message.content[0].model_dump()["text"])

    assert texts == ["#1", "#2", "#1"]
    assert [seen.get("x-api-key") for seen in upstream.seen] == [upstream.key, f"{upstream.key}-2"]
    assert upstream.seen[0].get("authorization") is None


def test_the_stream_helper_assembles_a_hit(client: Anthropic, upstream: Channel) -> None:
    finals = []
    for _ in range(2):
        with client.messages.stream(model="m-small", max_tokens=99, messages=ASKED) as stream:
            assert "".join(stream.text_stream) == "#1"
            finals.append(stream.get_final_message())

    assert finals[0] == finals[1]
    assert finals[0].stop_reason == "end_turn"
    assert finals[0].usage.output_tokens == 7
    assert upstream.calls == 1


def test_one_entry_serves_both_forms(client: Anthropic, upstream: Channel) -> None:
    whole = client.messages.create(model="m-small", max_tokens=99, messages=ASKED)
    with client.messages.stream(model="m-small", max_tokens=99, messages=ASKED) as stream:
        streamed = stream.get_final_message()

    assert streamed.content[0].model_dump()["text"] == "#1"
    assert streamed.usage.input_tokens == whole.usage.input_tokens
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert upstream.calls == 1


def test_a_stream_serves_a_whole_message(client: Anthropic, upstream: Channel) -> None:
    upstream.reply(events(answers.message_events(["Look", "ing."], tool=USE)))
    asked = {"model": "m-small", "max_tokens": 99, "messages": ASKED, "tools": [TOOL]}
    with client.messages.stream(**asked) as stream:  # type: ignore[arg-type]
        streamed = stream.get_final_message()
    whole = client.messages.create(**asked)  # type: ignore[call-overload]

    for message in (streamed, whole):
        said, call = (block.model_dump() for block in message.content)
        assert said["text"] == "Looking."
        assert {name: call[name] for name in USE} == USE
        assert message.stop_reason == "tool_use"
    assert upstream.calls == 1


def test_tool_use_is_stored(client: Anthropic, upstream: Channel) -> None:
    upstream.reply(body(answers.message("", content=[USE], stop="tool_use")))
    for _ in range(2):
        message = client.messages.create(
            model="m-small", max_tokens=99, messages=ASKED, tools=[TOOL]
        )
        assert message.content[0].model_dump()["input"] == {"place": "Tromsø"}
    assert upstream.calls == 1


def test_a_beta_header_is_another_question(client: Anthropic, upstream: Channel) -> None:
    for beta in ("a-1", "b-2", "a-1"):
        client.messages.create(
            model="m-small", max_tokens=9, messages=ASKED, extra_headers={"anthropic-beta": beta}
        )

    assert [seen.get("anthropic-beta") for seen in upstream.seen] == ["a-1", "b-2"]


def test_errors_keep_their_shape(client: Anthropic, upstream: Channel) -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    upstream.reply(body(told, ("request-id", "req_1"), status=529))
    with pytest.raises(anthropic.APIStatusError) as caught:
        client.messages.create(model="m-small", max_tokens=9, messages=ASKED)

    assert caught.value.status_code == 529
    assert caught.value.body == told
    assert caught.value.request_id == "req_1"


def test_a_broken_stream_is_raised(client: Anthropic, upstream: Channel) -> None:
    upstream.reply(events(answers.message_events(["a", "b"])[:5], ending="rst"))
    with (
        pytest.raises(anthropic.APIError),
        client.messages.stream(model="m-small", max_tokens=9, messages=ASKED) as stream,
    ):
        stream.until_done()


async def test_the_async_client_shares_entries(gateway: Gateway, upstream: Channel) -> None:
    root = gateway.base_url.removesuffix("/v1")
    async with AsyncAnthropic(api_key=upstream.key, base_url=root, max_retries=0) as client:
        for _ in range(2):
            message = await client.messages.create(model="m", max_tokens=9, messages=ASKED)
            assert message.content[0].model_dump()["text"] == "#1"
        assert upstream.calls == 1


def test_counting_tokens_passes_through(client: Anthropic, upstream: Channel) -> None:
    upstream.default = body({"input_tokens": 5})
    for _ in range(2):
        assert client.messages.count_tokens(model="m", messages=ASKED).input_tokens == 5
    assert [seen.path for seen in upstream.seen] == ["/v1/messages/count_tokens"] * 2
