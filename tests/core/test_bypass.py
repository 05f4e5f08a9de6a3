"""Requests whose answers stand for themselves, and those that reach beyond their body."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.bypass import reason
from proxy.core.endpoint import Endpoint

CHAT, RESPONSES, MESSAGES = Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.MESSAGES
FUNCTION = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"store": False, "audio": None, "web_search_options": None, "modalities": ["text"]}, None),
        ({"tools": [FUNCTION, {"type": "custom"}], "stream": None}, None),
        ({"tools": None, "messages": "hello", "modalities": "audio"}, None),
        ({"store": True}, "store_true"),
        ({"store": 1}, "store_true"),
        ({"web_search_options": {}}, "web_search"),
        ({"plugins": [{"id": "web"}]}, "web_search"),
        ({"model": "gpt-4o-search-preview-2025-03-11"}, "web_search"),
        ({"model": "vendor/model:online"}, "web_search"),
        ({"model": "research-online"}, None),
        ({"audio": {"voice": "a"}}, "audio_output"),
        ({"modalities": ["text", "audio"]}, "audio_output"),
        ({"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, "stateful"),
        ({"messages": [{"role": "assistant", "audio": None}]}, None),
        ({"tools": [FUNCTION, {"type": "web_search"}]}, "hosted_tools"),
        ({"tools": [{}]}, "hosted_tools"),
        ({"stream": 1}, "malformed"),
        ({"stream": "true"}, "malformed"),
        ({"model": 5}, "malformed"),
        ({"model": None}, "malformed"),
    ],
)
def test_chat(fields: dict[str, Any], expected: str | None) -> None:
    assert reason(CHAT, fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"background": False, "conversation": None, "prompt": None}, None),
        ({"input": [{"role": "user", "id": "m"}, {"type": "message", "id": "m"}, "x"]}, None),
        ({"tools": [{"type": "function"}, {"type": "custom"}]}, None),
        ({"store": True}, "store_true"),
        ({"store": None}, "store_true"),
        ({"store": 0}, "store_true"),
        ({"previous_response_id": "resp_A"}, "stateful"),
        ({"conversation": "conv_1"}, "stateful"),
        ({"conversation": {"id": "conv_1"}}, "stateful"),
        ({"background": True}, "stateful"),
        ({"prompt": {"id": "p"}}, "stateful"),
        ({"input": [{"type": "item_reference", "id": "i"}]}, "stateful"),
        ({"input": [{"id": "i"}]}, "stateful"),
        *(
            ({"tools": [{"type": kind}]}, "hosted_tools")
            for kind in ("web_search", "file_search", "code_interpreter", "mcp", "image_generation")
        ),
        ({"audio": {"voice": "a"}}, "audio_output"),
    ],
)
def test_responses_that_are_not_to_be_stored(fields: dict[str, Any], expected: str | None) -> None:
    assert reason(RESPONSES, {"store": False, **fields}) == expected


def test_the_responses_api_stores_unless_told_otherwise() -> None:
    assert reason(RESPONSES, {"input": "hello"}) == "store_true"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"mcp_servers": [], "container": None}, None),
        ({"tools": [{"name": "f"}, {"type": "custom"}, {"type": "bash_20250124"}]}, None),
        ({"tools": [{"type": "computer_20250124"}, {"type": "text_editor_20250728"}]}, None),
        ({"tools": [{"type": "web_search_20250305"}]}, "hosted_tools"),
        ({"tools": [{"type": "code_execution_20250522"}]}, "hosted_tools"),
        ({"tools": [{"type": 5}]}, "hosted_tools"),
        ({"mcp_servers": [{"url": "x"}]}, "hosted_tools"),
        ({"container": "c"}, "stateful"),
    ],
)
def test_messages(fields: dict[str, Any], expected: str | None) -> None:
    assert reason(MESSAGES, fields) == expected


@pytest.mark.parametrize("endpoint", [Endpoint.COMPLETIONS, Endpoint.EMBEDDINGS])
def test_completions_and_embeddings(endpoint: Endpoint) -> None:
    assert reason(endpoint, {"prompt": "a", "audio": 1}) is None
    assert reason(endpoint, {"store": True}) == "store_true"
