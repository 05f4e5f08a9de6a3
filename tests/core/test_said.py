"""What an answer says, where it says one thing."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.endpoint import Endpoint
from proxy.core.entry import Form
from proxy.core.said import LONGEST, said
from tests import answers

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TWO = answers.chat("a")
TWO["choices"] = [*TWO["choices"], {**TWO["choices"][0], "index": 1}]
THOUGHT = answers.message("", content=[{"type": "thinking", "thinking": "hm", "signature": "s"}])
THOUGHT["content"].append({"type": "text", "text": "yes"})
USED = answers.message("", content=[{"type": "tool_use", "id": "t", "name": "f", "input": {}}])


@pytest.mark.parametrize(
    ("endpoint", "body", "text"),
    [
        (Endpoint.CHAT, answers.chat("yes"), "yes"),
        (Endpoint.CHAT, answers.chat("yes", finish="length"), None),
        (Endpoint.CHAT, answers.chat("yes", finish="content_filter"), None),
        (Endpoint.CHAT, answers.chat("yes", tool_calls=[CALL]), None),
        (Endpoint.CHAT, answers.chat("", refusal="I cannot."), None),
        (Endpoint.CHAT, answers.chat(None), None),
        (Endpoint.CHAT, answers.chat("yes", reasoning_content="hm"), "yes"),
        (Endpoint.CHAT, TWO, None),
        (Endpoint.MESSAGES, answers.message("yes"), "yes"),
        (Endpoint.MESSAGES, THOUGHT, "yes"),
        (Endpoint.MESSAGES, USED, None),
        (Endpoint.MESSAGES, answers.message("yes", stop="max_tokens"), None),
        (Endpoint.RESPONSES, answers.response("yes"), "yes"),
        (Endpoint.RESPONSES, answers.response("yes", status="incomplete"), None),
        (Endpoint.COMPLETIONS, answers.completion("yes"), None),
        (Endpoint.CHAT, {"error": {"message": "no"}}, None),
        (Endpoint.CHAT, {"choices": "none"}, None),
    ],
)
def test_the_one_text_of_an_answer(endpoint: Endpoint, body: Any, text: str | None) -> None:
    assert said(endpoint, "json", answers.dumps(body)) == text


@pytest.mark.parametrize(
    ("endpoint", "events"),
    [
        (Endpoint.CHAT, answers.chat_events(("ye", "s"))),
        (Endpoint.MESSAGES, answers.message_events(("ye", "s"))),
        (Endpoint.RESPONSES, answers.response_events(("ye", "s"))),
    ],
)
def test_a_stream_says_what_its_pieces_say(endpoint: Endpoint, events: list[bytes]) -> None:
    assert said(endpoint, "events", b"".join(events)) == "yes"


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"data: x\n\n", b"[" * 100_000])
def test_what_is_no_answer_says_nothing(form: Form, body: bytes) -> None:
    assert said(Endpoint.CHAT, form, body) is None


def test_what_is_too_long_for_an_answer_to_a_short_question_is_not_read() -> None:
    long = answers.dumps(answers.chat("x" * LONGEST))

    assert said(Endpoint.CHAT, "json", long) is None
