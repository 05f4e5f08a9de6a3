"""Chat and text completions keep everything from one form to the other and back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai._models import construct_type
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.completion import Completion

from proxy.core import sse
from proxy.core.render import chat, transcript

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SCALAR = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXT
# Fields that nobody knows yet; objects in lists carry no `index`, which has a meaning in streams.
ANY = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
UNKNOWN = st.dictionaries(
    st.sampled_from(["x_one", "timings", "note", "citations"]), ANY, max_size=2
)
TOKEN = st.fixed_dictionaries({"token": TEXT, "logprob": st.floats(-9, 0), "bytes": st.none()})
LOGPROBS = st.fixed_dictionaries(
    {"content": st.none() | st.lists(TOKEN, max_size=3), "refusal": st.none() | st.lists(TOKEN)}
)
CALL = st.one_of(
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "type": st.just("function"),
            "function": st.fixed_dictionaries(
                {"name": TEXT, "arguments": TEXT}, optional={"x": SCALAR}
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "type": st.just("custom"),
            "custom": st.fixed_dictionaries({"name": TEXT, "input": TEXT}),
        }
    ),
)
MESSAGE = st.builds(
    dict.__or__,
    UNKNOWN,
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.none() | TEXT},
        optional={
            "refusal": st.none() | TEXT,
            "reasoning_content": st.none() | TEXT,
            "reasoning_details": st.lists(
                st.fixed_dictionaries({"type": TEXT, "text": TEXT}), max_size=2
            ),
            "tool_calls": st.none() | st.lists(CALL, max_size=3),
            "function_call": st.fixed_dictionaries({"name": TEXT, "arguments": TEXT}),
            "audio": st.none()
            | st.fixed_dictionaries({"id": TEXT, "data": TEXT, "expires_at": st.integers(0, 9)}),
            "annotations": st.lists(
                st.fixed_dictionaries({"type": TEXT, "url_citation": ANY}), max_size=2
            ),
        },
    ),
)
FINISH = st.sampled_from(["stop", "length", "tool_calls", None])
HEAD: dict[str, Any] = {"id": TEXT, "created": st.integers(0, 2**31), "model": TEXT}
TAIL: dict[str, Any] = {
    "system_fingerprint": st.none() | TEXT,
    "service_tier": st.none() | TEXT,
    "usage": st.fixed_dictionaries(
        {
            "prompt_tokens": st.integers(0, 2**53),
            "details": st.dictionaries(TEXT, st.integers(0, 9)),
        }
    ),
}


def numbered(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"index": index, **choice} for index, choice in enumerate(choices)]


def bodies(kind: str, choice: Any) -> Any:
    choices = st.lists(choice, min_size=1, max_size=3).map(numbered)
    fixed = {"object": st.just(kind), "choices": choices, **HEAD}
    return st.builds(dict.__or__, UNKNOWN, st.fixed_dictionaries(fixed, optional=TAIL))


def choice_of(**fields: Any) -> Any:
    rest = st.fixed_dictionaries(
        fields | {"finish_reason": FINISH}, optional={"logprobs": st.none() | LOGPROBS}
    )
    return st.builds(dict.__or__, UNKNOWN, rest)


def back(stream: bytes | None) -> dict[str, Any] | None:
    read = transcript.read(stream or b"")

    assert read is not None
    assert read.done

    return chat.merged(read.objects)


@settings(max_examples=50)
@given(bodies("chat.completion", choice_of(message=MESSAGE)))
def test_a_chat_comes_back_from_its_stream(body: dict[str, Any]) -> None:
    assert back(chat.expanded(body, usage=True)) == body


@settings(max_examples=50)
@given(bodies("text_completion", choice_of(text=TEXT)))
def test_a_completion_comes_back_from_its_stream(body: dict[str, Any]) -> None:
    assert back(chat.expanded(body, usage=True)) == body


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **more,
    }


def call(index: int, **function: str) -> dict[str, Any]:
    named = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **named, "function": function}]}


def test_calls_that_begin_at_one_and_interleave_are_neither_mixed_nor_invented() -> None:
    """The stream of case tl-sparse-index."""
    body = chat.merged(
        [
            chunk({"role": "assistant", "content": None}),
            chunk(call(1, name="b", arguments="")),
            chunk(call(0, name="a", arguments="")),
            chunk(call(1, arguments='{"x":')),
            chunk(call(0, arguments='{"y":')),
            chunk(call(1, arguments="1}")),
            chunk(call(0, arguments="2}")),
            chunk({}, "tool_calls"),
        ]
    )

    assert body is not None
    assert body["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_0",
                        "type": "function",
                        "function": {"name": "a", "arguments": '{"y":2}'},
                    },
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "b", "arguments": '{"x":1}'},
                    },
                ],
            },
            "finish_reason": "tool_calls",
        }
    ]


def test_a_single_call_at_index_one_stays_single() -> None:
    body = chat.merged([chunk(call(1, name="b", arguments="{}")), chunk({}, "tool_calls")])

    assert body is not None
    assert [one["id"] for one in body["choices"][0]["message"]["tool_calls"]] == ["call_1"]


def test_every_field_of_a_stream_is_in_the_body() -> None:
    """Case st-reasoning-kept, and what only streams have left out."""
    first = {"token": "h", "logprob": -0.5}
    second = {"token": "i", "logprob": 0}
    chunks = [
        chunk({"role": "assistant", "content": "", "refusal": None}, usage=None, obfuscation="zz"),
        chunk({"reasoning_content": "hm"}, usage=None),
        chunk({"reasoning_content": "m", "x_new": {"a": "1"}}, usage=None),
        chunk({"content": "h", "x_new": {"a": "2"}}, usage=None, obfuscation="q"),
        chunk({"content": "i", "annotations": [{"type": "u"}]}, usage=None),
        chunk({}, "stop", usage=None, timings={"ms": 3}),
        {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
        | {"usage": {"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": 0}}},
    ]
    chunks[3]["choices"][0]["logprobs"] = {"content": [first], "refusal": None}
    chunks[4]["choices"][0]["logprobs"] = {"content": [second], "refusal": None}

    assert chat.merged(chunks) == {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "timings": {"ms": 3},
        "usage": {"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": 0}},
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "hi",
                    "refusal": None,
                    "reasoning_content": "hmm",
                    "x_new": {"a": "12"},
                    "annotations": [{"type": "u"}],
                },
                "logprobs": {"content": [first, second], "refusal": None},
                "finish_reason": "stop",
            }
        ],
    }


def test_a_null_takes_nothing_back() -> None:
    """A usage that rides on the finish, and chunks after it that say nothing."""
    known = {"usage": {"prompt_tokens": 1}, "system_fingerprint": "fp"}
    chunks = [chunk({"content": "a"}, "stop", **known), chunk({}, **dict.fromkeys(known))]
    body = chat.merged(chunks)

    assert body is not None
    assert (body["usage"], body["system_fingerprint"]) == ({"prompt_tokens": 1}, "fp")
    assert body["choices"][0]["finish_reason"] == "stop"


def test_choices_of_a_stream_are_told_apart_by_index() -> None:
    pieces = [(1, "b"), (0, "a"), (1, "B"), (0, "A")]
    chunks = [{"choices": [{"index": i, "delta": {"content": text}}]} for i, text in pieces]
    body = chat.merged(chunks)

    assert body is not None
    assert [(c["index"], c["message"]["content"]) for c in body["choices"]] == [
        (0, "aA"),
        (1, "bB"),
    ]


def test_calls_without_index_are_calls_of_their_own() -> None:
    calls = [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "f"}}]
    body = chat.merged([chunk({"tool_calls": [one]}) for one in calls])

    assert body is not None
    assert body["choices"][0]["message"]["tool_calls"] == calls


@pytest.mark.parametrize("choices", [{}, "x", [1], [{"index": "0"}], [{"index": 0.5}]])
def test_chunks_of_another_shape_make_no_body(choices: Any) -> None:
    assert chat.merged([{"choices": choices}]) is None


ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m-small",
    "system_fingerprint": None,
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Sure.",
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "call_a",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a":1}'},
                    },
                    {
                        "id": "call_b",
                        "type": "function",
                        "function": {"name": "g", "arguments": "{}"},
                    },
                ],
            },
            "logprobs": {
                "content": [{"token": "Sure.", "logprob": -0.1, "bytes": None, "top_logprobs": []}],
                "refusal": None,
            },
            "finish_reason": "tool_calls",
        },
        {
            "index": 1,
            "message": {"role": "assistant", "content": "No.", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        },
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11},
    "timings": {"ms": 1},
}


def test_a_stream_has_the_shape_that_providers_send() -> None:
    """Case st-replay-shape: role first, then contents, one finish, usage, the end marker."""
    body = ANSWER | {"choices": [ANSWER["choices"][1] | {"index": 0}]}
    stream = sse.split(chat.expanded(body, usage=True) or b"")
    chunks = [orjson.loads(sse.data(event) or b"") for event in stream[:-1]]

    assert stream[-1] == b"data: [DONE]\n\n"
    assert {(c["id"], c["object"], c["created"], c["model"]) for c in chunks} == {
        ("chatcmpl-1", "chat.completion.chunk", 7, "m-small")
    }
    assert [c["choices"][0]["delta"] for c in chunks[:-1]] == [
        {"role": "assistant", "refusal": None},
        {"content": "No."},
        {},
    ]
    assert [c["choices"][0]["finish_reason"] for c in chunks[:-1]] == [None, None, "stop"]
    assert [c["usage"] for c in chunks] == [None, None, None, ANSWER["usage"]]
    assert (chunks[-1]["choices"], chunks[-2]["timings"]) == ([], {"ms": 1})


def test_a_stream_has_no_usage_unless_asked_for() -> None:
    assert b"usage" not in (chat.expanded(ANSWER, usage=False) or b"usage")


def test_the_official_sdk_assembles_what_was_stored() -> None:
    state = ChatCompletionStreamState()
    for event in sse.split(chat.expanded(ANSWER, usage=True) or b"")[:-1]:
        state.handle_chunk(
            ChatCompletionChunk.model_validate_json(sse.data(event) or b"", strict=True)
        )
    final = state.get_final_completion()
    expected = ChatCompletion.model_validate(ANSWER)

    assert final.usage == expected.usage
    for ours, theirs in zip(final.choices, expected.choices, strict=True):
        assert ours.finish_reason == theirs.finish_reason
        assert (ours.logprobs and ours.logprobs.content) == (
            theirs.logprobs and theirs.logprobs.content
        )
        assert ours.message.content == theirs.message.content
        assert [
            c.model_dump(exclude={"function": {"parsed_arguments"}, "index": True})
            for c in ours.message.tool_calls or []
        ] == [c.model_dump() for c in theirs.message.tool_calls or []]


CALLED = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message",
    [
        {"content": "No.", "refusal": None},
        {"content": None, "refusal": "No."},
        {"content": None, "tool_calls": [CALLED]},
    ],
    ids=["said", "refused", "called"],
)
def test_log_probabilities_come_once_and_not_with_the_role(message: dict[str, Any]) -> None:
    """SDKs take the first event of a choice as its beginning, and then add its log probabilities to
    it: they would have them twice."""
    told = {"content": None, "refusal": [{"token": "No.", "logprob": -0.1}]}
    one = {"index": 0, "message": {"role": "assistant", **message}, "logprobs": told}
    body = ANSWER | {"choices": [one | {"finish_reason": "stop"}]}
    events = sse.split(chat.expanded(body, usage=False) or b"")[:-1]
    pieces = [orjson.loads(sse.data(event) or b"")["choices"][0] for event in events]

    assert [piece["logprobs"] for piece in pieces].count(told) == 1
    assert pieces[0]["logprobs"] is None


def test_the_official_sdk_reads_a_completions_stream() -> None:
    body = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "text": "tea", "logprobs": None, "finish_reason": "stop"}],
    }
    events = sse.split(chat.expanded(body, usage=False) or b"")[:-1]
    parts: list[Any] = [
        construct_type(type_=Completion, value=orjson.loads(sse.data(event) or b""))
        for event in events
    ]

    assert "".join(part.choices[0].text for part in parts) == "tea"


@pytest.mark.parametrize(
    "body", [{}, {"choices": []}, {"choices": [1]}, {"choices": [{"index": 0}]}, {"choices": "x"}]
)
def test_a_body_without_choices_has_no_stream(body: dict[str, Any]) -> None:
    assert chat.expanded(body, usage=True) is None
