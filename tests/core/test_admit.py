"""Only what is complete and right is stored; nothing that arrives can break the judgement."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import sse
from proxy.core.admit import Admitted, Refused, admit, negative
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Form, Usage
from proxy.core.render import chat, messages, responses

CHAT, TEXT = Endpoint.CHAT, Endpoint.COMPLETIONS


def judged(endpoint: Endpoint, body: Any, *, limited: bool = False) -> str:
    """The reason of a refusal, or empty."""
    verdict = admit(endpoint, 200, "json", orjson.dumps(body), limited=limited)
    return verdict.reason if isinstance(verdict, Refused) else ""


def said(message: dict[str, Any], finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def called(arguments: Any, name: Any = "f") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


OK = said({"content": "ok"})


@pytest.mark.parametrize(
    "body",
    [
        OK,
        said({"content": [{"type": "text", "text": "ok"}]}),
        said(called('{"a":1}'), "tool_calls"),
        said(called({"a": 1}), "tool_calls"),
        said(
            {"tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "{"}}]},
            "tool_calls",
        ),
        said({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        said({"content": None, "refusal": "No."}),
        said({"content": "", "audio": {"data": "x"}}),
        said({"content": "", "reasoning_content": "hm"}),
        said({"content": "ok"}, error=None),
        {"choices": [OK["choices"][0] | {"index": 1}, OK["choices"][0]]},
    ],
)
def test_a_whole_chat_answer_is_stored(body: dict[str, Any]) -> None:
    assert judged(CHAT, body) == ""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # er-200-with-error-body
        ({"error": {"message": "overloaded", "code": 529}}, "error"),
        ({"choices": []}, "empty"),
        (OK | {"error": "late"}, "error"),
        ({"choices": [OK["choices"][0] | {"error": {"code": 502}}]}, "error"),
        # er-content-filter
        (said({"content": ""}, "content_filter"), "finish"),
        (said({"content": "half"}, "content_filter"), "finish"),
        (said({"content": "half"}, None), "finish"),
        (said({"content": "half"}, "error"), "finish"),
        (said({"content": "half"}, 7), "finish"),
        # er-empty-answer
        (said({"content": ""}), "empty"),
        (said({"content": None}), "empty"),
        (said({"content": None, "tool_calls": []}, "tool_calls"), "empty"),
        (said({"role": "assistant"}), "empty"),
        ({"choices": [{"finish_reason": "stop"}]}, "empty"),
        # er-length-cut
        (said({"content": "half"}, "length"), "length"),
        (said(called('{"a":')), "arguments"),
        (said(called("")), "arguments"),
        (said(called(None)), "arguments"),
        (said(called("{}", name="")), "arguments"),
        (said(called("{}", name=None)), "arguments"),
        (said({"tool_calls": ["f"]}), "arguments"),
        (said({"tool_calls": {"a": 1}}), "arguments"),
        (said({"function_call": {"name": "f", "arguments": "{"}}), "arguments"),
        ({"choices": [OK["choices"][0]] * 2}, "incomplete"),
        ({"choices": [OK["choices"][0] | {"index": 1}]}, "incomplete"),
        (
            {"choices": [*OK["choices"], said({"content": ""})["choices"][0] | {"index": 1}]},
            "empty",
        ),
        ({"choices": ["ok"]}, "malformed"),
        ({"choices": "ok"}, "empty"),
        ({}, "malformed"),
        ({"id": "c"}, "empty"),
        ([], "malformed"),
        ("ok", "malformed"),
    ],
)
def test_a_chat_answer_that_is_not_stored(body: Any, reason: str) -> None:
    assert judged(CHAT, body) == reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (said({"content": "half"}, "length"), ""),
        (said({"content": ""}, "length"), "empty"),  # er-retry-hits-own-bad-entry
        (said(called('{"a":'), "length"), "arguments"),
        (said({"content": "half"}, "content_filter"), "finish"),
    ],
)
def test_a_request_with_its_own_limit_may_be_cut_by_it(body: Any, reason: str) -> None:
    assert judged(CHAT, body, limited=True) == reason


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [("ok", "stop", ""), ("", "stop", "empty"), ("ok", "length", "length"), ("ok", None, "finish")],
)
def test_text_completions(text: str, finish: str | None, reason: str) -> None:
    assert judged(TEXT, {"choices": [{"text": text, "finish_reason": finish}]}) == reason


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "ok"}]}
ITEM_CALL = {"type": "function_call", "name": "f", "arguments": "{}"}


def response(*output: Any, **more: Any) -> dict[str, Any]:
    return {"status": "completed", "error": None, "output": list(output), **more}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (response(MESSAGE), ""),
        (response(ITEM_CALL), ""),
        (response({"type": "reasoning", "summary": []}, MESSAGE), ""),
        (response({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}), ""),
        (response({"type": "custom_tool_call", "name": "f", "input": "x"}), ""),
        (response(), "empty"),
        (response("ok"), "empty"),
        (response({"type": "message", "content": []}), "empty"),
        (response({"type": "message", "content": [{"type": "output_text", "text": ""}]}), "empty"),
        (response({"type": "reasoning", "summary": [], "content": None}), "empty"),
        (response(ITEM_CALL | {"arguments": "{"}), "arguments"),
        (response(MESSAGE, "odd", ITEM_CALL | {"name": ""}), "arguments"),
        (response(MESSAGE, status="failed"), "finish"),
        (response(MESSAGE, status="in_progress"), "finish"),
        (response(MESSAGE, error={"code": "server_error"}), "error"),
        (
            response(MESSAGE, status="incomplete", incomplete_details={"reason": "content_filter"}),
            "finish",
        ),
        (
            response(
                MESSAGE, status="incomplete", incomplete_details={"reason": "max_output_tokens"}
            ),
            "length",
        ),
    ],
)
def test_responses(body: dict[str, Any], reason: str) -> None:
    assert judged(Endpoint.RESPONSES, body) == reason


def test_a_response_cut_by_its_own_limit_is_stored() -> None:
    details = {"reason": "max_output_tokens"}
    body = response(MESSAGE, status="incomplete", incomplete_details=details)

    assert judged(Endpoint.RESPONSES, body, limited=True) == ""


def message(*content: Any, stop: Any = "end_turn") -> dict[str, Any]:
    return {"type": "message", "content": list(content), "stop_reason": stop}


SPOKEN = {"type": "text", "text": "ok"}
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (message(SPOKEN), ""),
        (message(SPOKEN, stop="stop_sequence"), ""),
        (message(USE, stop="tool_use"), ""),
        (message({"type": "thinking", "thinking": "hm"}, SPOKEN), ""),
        (message(), "empty"),
        (message({"type": "text", "text": ""}), "empty"),
        (message("ok"), "empty"),
        (message(SPOKEN, stop="max_tokens"), "length"),
        (message(SPOKEN, stop="refusal"), "finish"),
        (message(SPOKEN, stop="pause_turn"), "finish"),
        (message(SPOKEN, stop=None), "finish"),
        (message(USE | {"input": "{"}, stop="tool_use"), "arguments"),
        (message(USE | {"name": None}, stop="tool_use"), "arguments"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "error"),
    ],
)
def test_messages(body: dict[str, Any], reason: str) -> None:
    assert judged(Endpoint.MESSAGES, body) == reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([{"index": 0, "embedding": [0.5]}], ""),
        ([{"index": 1, "embedding": "AAAA"}, {"index": 0, "embedding": "AAAA"}], ""),
        ([], "empty"),
        (None, "empty"),
        ([{"index": 0, "embedding": []}], "empty"),
        (["x"], "empty"),
        ([{"index": 1, "embedding": [0.5]}], "incomplete"),
        ([{"index": 0, "embedding": [0.5]}] * 2, "incomplete"),
        ([{"embedding": [0.5]}], "incomplete"),
        ([{"index": [0], "embedding": [0.5]}], "incomplete"),
    ],
)
def test_embeddings(data: Any, reason: str) -> None:
    assert judged(Endpoint.EMBEDDINGS, {"data": data}) == reason


@pytest.mark.parametrize("status", [201, 204, 206, 400, 429, 500, 502, 503])
def test_only_200_is_stored(status: int) -> None:
    assert admit(CHAT, status, "json", orjson.dumps(OK), limited=False) == Refused("status")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Too Many Requests",
        b"<html>",
        orjson.dumps(OK)[:-1],
        b'{"choices":["\\ud800"]}',
        b"\xff",
    ],
)
def test_what_is_not_json_is_not_stored(body: bytes) -> None:
    """Cases er-upstream-wrong-length, st-reset-mid-body and un-raw-replay."""
    assert admit(CHAT, 200, "json", body, limited=False) == Refused("malformed")


def test_odd_characters_are_no_reason_to_refuse() -> None:
    text = "\x00 \u2028 \ufeff \U00020000 \u202e 😀"

    assert judged(CHAT, said({"content": text})) == ""


@pytest.mark.parametrize(
    ("endpoint", "usage", "counted"),
    [
        (CHAT, {"prompt_tokens": 11, "completion_tokens": 40}, Usage(11, 40)),
        (CHAT, {"prompt_tokens": None, "completion_tokens": "x"}, Usage(0, 0)),
        (CHAT, None, Usage(0, 0)),
        (Endpoint.RESPONSES, {"input_tokens": 3, "output_tokens": 5}, Usage(3, 5)),
        (
            Endpoint.MESSAGES,
            {"input_tokens": 3, "cache_read_input_tokens": 9, "output_tokens": 5},
            Usage(12, 5),
        ),
    ],
)
def test_the_verdict_says_what_it_cost(endpoint: Endpoint, usage: Any, counted: Usage) -> None:
    bodies = {CHAT: OK, Endpoint.RESPONSES: response(MESSAGE), Endpoint.MESSAGES: message(SPOKEN)}
    body = orjson.dumps(bodies[endpoint] | {"usage": usage, "model": "m-2"})

    assert admit(endpoint, 200, "json", body, limited=False) == Admitted(counted, "m-2")


STREAMS = {
    CHAT: chat.expanded(said(called('{"a":1}')) | {"usage": {"prompt_tokens": 2}}, usage=True),
    TEXT: chat.expanded(
        {"choices": [{"index": 0, "text": "ok", "finish_reason": "stop"}]}, usage=True
    ),
    Endpoint.RESPONSES: responses.expanded(response(MESSAGE, usage={"input_tokens": 2})),
    Endpoint.MESSAGES: messages.expanded(message(SPOKEN) | {"usage": {"input_tokens": 2}}),
}
DIALECTS = pytest.mark.parametrize("endpoint", STREAMS, ids=lambda endpoint: endpoint.name)


def streamed(endpoint: Endpoint, body: bytes) -> str:
    verdict = admit(endpoint, 200, "events", body, limited=False)
    return verdict.reason if isinstance(verdict, Refused) else ""


@DIALECTS
def test_a_whole_stream_is_stored(endpoint: Endpoint) -> None:
    assert streamed(endpoint, STREAMS[endpoint] or b"") == ""


@DIALECTS
def test_no_part_of_a_stream_is_stored(endpoint: Endpoint) -> None:
    """Case st-reset-mid-body: cut anywhere before the last line is complete."""
    whole = STREAMS[endpoint] or b""
    least = len(whole.rstrip(b"\n"))

    assert [cut for cut in range(least) if not streamed(endpoint, whole[:cut])] == []


@DIALECTS
@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error":{"message":"no"}}\n\n',
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
        b'event: error\ndata: {"message":"no"}\n\n',
        b'data: {"type":"response.failed","response":{}}\n\n',
    ],
)
def test_no_stream_with_an_error_in_it_is_stored(endpoint: Endpoint, error: bytes) -> None:
    events = sse.split(STREAMS[endpoint] or b"")

    assert streamed(endpoint, b"".join([*events[:2], error, *events[2:]])) == "error"


@pytest.mark.parametrize(
    ("endpoint", "more", "reason"),
    [
        (CHAT, b": bye\n\n", ""),
        (CHAT, b"data: [DONE]\n\n", "cut"),
        (CHAT, b'data: {"choices":[]}\n\n', "cut"),
        (Endpoint.RESPONSES, b"data: [DONE]\n\n", ""),
        (Endpoint.RESPONSES, b'data: {"type":"response.output_text.delta"}\n\n', "cut"),
        (Endpoint.MESSAGES, b'data: {"type":"ping"}\n\n', "cut"),
    ],
)
def test_what_may_follow_the_end_marker(endpoint: Endpoint, more: bytes, reason: str) -> None:
    assert streamed(endpoint, (STREAMS[endpoint] or b"") + more) == reason


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([{"content": "hi"}], "finish"),
        ([{"role": "assistant", "content": ""}, "stop"], "empty"),
        ([{"content": "hi"}, "content_filter"], "finish"),
        ([{"content": "hi"}, "stop"], ""),
        (
            [{"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": "{"}}]}, "stop"],
            "arguments",
        ),
    ],
)
def test_a_stream_is_judged_as_the_answer_it_amounts_to(chunks: list[Any], reason: str) -> None:
    choices = [
        {"delta": {}, "finish_reason": one} if isinstance(one, str) else {"delta": one}
        for one in chunks
    ]
    body = b"".join(sse.frame(orjson.dumps({"choices": [choice]})) for choice in choices)

    assert streamed(CHAT, body + sse.DONE) == reason


def test_each_choice_of_a_stream_has_to_finish() -> None:
    ended = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}
    open_ended = {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": None}]}
    body = sse.frame(orjson.dumps(ended)) + sse.frame(orjson.dumps(open_ended)) + sse.DONE

    assert streamed(CHAT, body) == "finish"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "cut"),
        (b"data: [DONE]\n\n", "malformed"),
        (b"data: x\n\n", "malformed"),
        (b"{}", "cut"),
    ],
)
def test_streams_that_are_none(body: bytes, reason: str) -> None:
    assert streamed(CHAT, body) == reason


def test_vectors_do_not_stream() -> None:
    assert streamed(Endpoint.EMBEDDINGS, b"data: {}\n\ndata: [DONE]\n\n") == "malformed"


FORMS: Any = st.sampled_from(["json", "events"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "x", "stop", "message"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "index",
                    "delta",
                    "message",
                    "content",
                    "text",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "status",
                    "type",
                    "finish_reason",
                    "stop_reason",
                    "output",
                    "data",
                    "embedding",
                    "usage",
                    "model",
                    "error",
                    "incomplete_details",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(st.sampled_from(list(Endpoint)), FORMS, st.binary(max_size=60), st.booleans())
def test_no_bytes_break_the_judgement(
    endpoint: Endpoint, form: Form, body: bytes, limited: bool
) -> None:
    assert isinstance(admit(endpoint, 200, form, body, limited=limited), Refused)
    assert not negative(400, body)


@given(st.sampled_from(list(Endpoint)), st.lists(JSON, min_size=1, max_size=4), st.booleans())
def test_no_json_breaks_the_judgement(endpoint: Endpoint, found: list[Any], limited: bool) -> None:
    texts = [orjson.dumps(one) for one in found]
    stream = b"".join(map(sse.frame, texts)) + sse.DONE

    assert isinstance(admit(endpoint, 200, "events", stream, limited=limited), Admitted | Refused)
    assert isinstance(admit(endpoint, 200, "json", texts[0], limited=limited), Admitted | Refused)


def test_depth_does_not_break_the_judgement() -> None:
    deep = b'{"x":' * 990 + b"1" + b"}" * 990
    event = b'data: {"choices":[{"delta":' + deep + b"}]}\n\n"

    assert admit(CHAT, 200, "events", event * 2 + sse.DONE, limited=False) == Refused("malformed")


@pytest.mark.parametrize(
    ("status", "body", "remembered"),
    [
        (400, b'{"error":{"message":"bad","type":"t","param":null,"code":null}}', True),
        (404, b'{"error":{"message":"no such model"}}', True),
        (413, b'{"error":{"message":"long"}}', True),
        (422, b'{"error":{"message":"bad"}}', True),
        (401, b'{"error":{"message":"key"}}', False),
        (403, b'{"error":{"message":"key"}}', False),
        (408, b'{"error":{"message":"late"}}', False),
        (409, b'{"error":{"message":"busy"}}', False),
        (429, b'{"error":{"message":"slow down"}}', False),
        (500, b'{"error":{"message":"oops"}}', False),
        (400, b'{"detail":"bad"}', False),
        (400, b'{"error":"bad"}', False),
        (400, b'{"error":{"message":null}}', False),
        (400, b"<html>", False),
        (404, b"", False),
        (200, b'{"error":{"message":"odd"}}', False),
    ],
)
def test_errors_worth_remembering(status: int, body: bytes, remembered: bool) -> None:
    assert negative(status, body) is remembered
