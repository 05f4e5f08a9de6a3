"""A configured text reaches every client in its own dialect and form."""

from __future__ import annotations

from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import orjson
import pytest
from pydantic import BaseModel, TypeAdapter

from proxy.config import Static
from proxy.core import sse
from proxy.core.delivery import wanted
from proxy.core.endpoint import Endpoint
from proxy.core.replay import replay
from proxy.core.static import static
from tests.asking import arrival, chat, intent

PHRASES = (Static("Sorry, too busy.", text_zh="抱歉,请稍后再试。"),)
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: chat(),
    COMPLETIONS: {"model": "m", "prompt": "hello"},
    RESPONSES: {"model": "m", "input": "hello"},
    MESSAGES: chat(max_tokens=5),
}
WHOLE: dict[str, type[BaseModel]] = {
    CHAT: openai.types.chat.ChatCompletion,
    COMPLETIONS: openai.types.Completion,
    RESPONSES: openai.types.responses.Response,
    MESSAGES: anthropic.types.Message,
}
PIECES: dict[str, Any] = {
    CHAT: openai.types.chat.ChatCompletionChunk,
    COMPLETIONS: dict[str, Any],  # its type allows no null that a stream has until its end
    RESPONSES: openai.types.responses.ResponseStreamEvent,
    MESSAGES: anthropic.types.RawMessageStreamEvent,
}
PATHS = pytest.mark.parametrize("path", BODIES)


def answered(
    body: dict[str, Any], path: str = CHAT, phrases: tuple[Static, ...] = PHRASES
) -> tuple[str, bytes] | None:
    """The content type and body of what `body` is answered."""
    asked = arrival(body, path=path)
    said = static(phrases, intent(asked).request, asked.body, name="7", now=1_800_000_000.5)
    if said is None:
        return None
    assert [name for name, _ in said[0]] == ["content-type"]
    return said[0][0][1], said[1]


def text(body: dict[str, Any], **more: Any) -> str:
    """The text of a chat answer."""
    said = answered(body, **more)
    assert said is not None
    return str(orjson.loads(said[1])["choices"][0]["message"]["content"])


@PATHS
def test_it_is_a_whole_answer_to_an_sdk(path: str) -> None:
    said = answered(BODIES[path], path)

    assert said is not None
    assert said[0] == "application/json"
    WHOLE[path].model_validate_json(said[1])
    assert b"Sorry, too busy." in said[1]


@PATHS
def test_its_stream_is_one_to_an_sdk(path: str) -> None:
    said = answered({**BODIES[path], "stream": True}, path)

    assert said is not None
    assert said[0] == "text/event-stream; charset=utf-8"
    events = [payload for event in sse.split(said[1]) if (payload := sse.data(event))]
    for payload in events:
        if payload != b"[DONE]":
            TypeAdapter(PIECES[path]).validate_json(payload)
    assert (events[-1] == b"[DONE]") == (path in (CHAT, COMPLETIONS))


@PATHS
def test_both_forms_say_the_same(path: str) -> None:
    asked = arrival({**BODIES[path], "stream": True}, path=path)
    request = intent(asked).request
    whole, events = answered(BODIES[path], path), answered({**BODIES[path], "stream": True}, path)

    assert wanted(request) == "events"
    assert whole is not None
    assert events is not None
    again = replay(request.endpoint, "events", "json", events[1], usage=True)
    counted = orjson.loads(whole[1])
    if path in (CHAT, COMPLETIONS):  # whose streams have usage only on request
        del counted["usage"]
    assert orjson.loads(again or b"") == counted


@PATHS
def test_it_cost_nothing_and_is_at_its_end(path: str) -> None:
    said = answered(BODIES[path], path)

    assert said is not None
    whole = orjson.loads(said[1])
    ends = (whole.get("choices") or [whole])[0]
    reason = ends.get("finish_reason") or ends.get("stop_reason") or ends.get("status")
    assert reason in ("stop", "end_turn", "completed")
    assert {n for n in whole["usage"].values() if not isinstance(n, dict)} == {0}


def test_a_stream_has_usage_if_it_asked_for_it() -> None:
    asked = chat(stream=True, stream_options={"include_usage": True})
    said = answered(asked)

    assert said is not None
    assert orjson.loads(sse.data(sse.split(said[1])[-2]) or b"")["usage"]["total_tokens"] == 0


def test_who_asks_in_chinese_is_answered_in_chinese() -> None:
    assert text(chat("今天天气怎么样?")) == "抱歉,请稍后再试。"
    assert text(chat("how is the weather?")) == "Sorry, too busy."


def test_where_there_is_no_chinese_text_all_get_the_other() -> None:
    assert text(chat("你好"), phrases=(Static("Sorry."),)) == "Sorry."


def test_it_is_the_last_thing_the_user_said_that_counts() -> None:
    turns = [
        {"role": "user", "content": "what is it?"},
        {"role": "assistant", "content": "it is this"},
        {"role": "user", "content": [{"type": "text", "text": "请用中文说"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "the result of the tool"},
    ]

    assert text({"model": "m", "messages": turns}) == "抱歉,请稍后再试。"


def test_the_first_text_for_the_model_is_taken() -> None:
    phrases = (Static("small", model="m-*"), Static("all"), Static("never", model="m"))

    assert text({**chat(), "model": "m-1"}, phrases=phrases) == "small"
    assert text(chat(), phrases=phrases) == "all"


def test_a_model_without_a_text_has_no_static_answer() -> None:
    assert answered(chat(), phrases=(Static("small", model="m-*"),)) is None
    assert answered(chat(), phrases=()) is None


def test_embeddings_have_no_static_answer() -> None:
    assert answered({"model": "m", "input": "hello"}, "/v1/embeddings") is None


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (CHAT, {"response_format": {"type": "json_object"}}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": {}}}),
        (RESPONSES, {"text": {"format": {"type": "json_schema", "name": "x"}}}),
        (MESSAGES, {"output_config": {"format": {"type": "json_schema", "schema": {}}}}),
        (MESSAGES, {"output_format": {"type": "json_schema", "schema": {}}}),
    ],
)
def test_words_are_no_answer_where_a_program_expects_json(path: str, more: dict[str, Any]) -> None:
    """It would be read as an answer and fail there, where an error would be handled."""
    assert answered({**BODIES[path], **more}, path) is None
    assert answered({**BODIES[path], **more}, path, (Static('{"sorry":1}'),)) is not None


def test_plain_formats_are_words() -> None:
    assert answered(chat(response_format={"type": "text"})) is not None
    assert answered({"model": "m", "input": "x", "text": {}}, RESPONSES) is not None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"messages":5}', b"\xff" * 10])
def test_a_body_that_cannot_be_read_is_answered_all_the_same(body: bytes) -> None:
    request = intent(arrival(chat())).request

    assert static(PHRASES, request, body, name="7", now=1.0) is not None


def test_a_vast_body_is_not_read() -> None:
    request = intent(arrival(chat())).request
    body = orjson.dumps(chat("你" * (3 << 20)))

    said = static(PHRASES, request, body, name="7", now=1.0)

    assert said is not None
    assert b"Sorry" in said[1]
    assert request.endpoint is Endpoint.CHAT
