"""Which paths name an operation, and where they lie on an upstream."""

from __future__ import annotations

import pytest

from proxy.core.endpoint import Endpoint, disguised, recognise, target


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/chat/completions", Endpoint.CHAT),
        ("/chat/completions", Endpoint.CHAT),
        ("/openai/v1/chat/completions", Endpoint.CHAT),
        ("/openai/deployments/gpt%2F4/chat/completions", Endpoint.CHAT),
        ("/v1/completions", Endpoint.COMPLETIONS),
        ("/v1/embeddings", Endpoint.EMBEDDINGS),
        ("/openai/deployments/e/embeddings", Endpoint.EMBEDDINGS),
        ("/v1/responses", Endpoint.RESPONSES),
        ("/v1/messages", Endpoint.MESSAGES),
        ("/v1/moderations", None),
        ("/messages", None),
        ("/openai/v1/messages", None),
        ("/v1/threads/t/messages", None),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/chat/completions/", None),
        ("/v1/chat/completions/id", None),
        ("/v1/responses/input_tokens", None),
        ("/v1/responses/compact", None),
        ("/v1/Chat/Completions", None),
        ("/v1/chat%2Fcompletions", None),
        ("/v2/chat/completions", None),
        ("/openai/deployments/a/b/chat/completions", None),
        ("/v1/chat/completions\n", None),
        ("", None),
        ("*", None),
    ],
)
def test_a_path_names_an_operation(path: str, endpoint: Endpoint | None) -> None:
    assert recognise("POST", path) is endpoint


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "post"])
def test_other_methods_are_other_operations(method: str) -> None:
    assert recognise(method, "/v1/chat/completions") is None


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        ("", "/v1/models", "/v1/models"),
        ("/", "/v1/models", "/v1/models"),
        ("/v1", "/v1/models", "/v1/models"),
        ("/v1/", "/v1/models", "/v1/models"),
        ("/v1", "/v1", "/v1"),
        ("/api/v1", "/v1/models", "/api/v1/models"),
        ("/api/v1", "/v1", "/api/v1"),
        ("/api/v1", "/api/v1/models", "/api/v1/models"),
        ("/api/v1", "/v1/a%2Fb", "/api/v1/a%2Fb"),
        ("/v1", "/chat/completions", "/v1/chat/completions"),
        ("/api/v1", "/embeddings", "/api/v1/embeddings"),
        ("/v1", "/openai/deployments/d/chat/completions", "/openai/deployments/d/chat/completions"),
        ("/v1", "/health", "/health"),
        ("/v1", "/v10/models", "/v10/models"),
        ("/api", "/apis/v1", "/apis/v1"),
    ],
)
def test_a_path_lies_below_the_upstreams_own(base: str, path: str, expected: str) -> None:
    assert target(base, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("//v1/chat/completions", True),
        ("/v1/chat/completions/", True),
        ("/v1/./chat/completions", True),
        ("/v1/chat%2Fcompletions", True),
        ("/v1/files/../Responses", True),
        ("/api/v1/embeddings", True),
        ("/x/v1/messages", True),
        ("/v1/threads/t/messages", False),
        ("/v1/files", False),
        ("/v1/completions/x", False),
    ],
)
def test_a_path_that_an_upstream_may_take_for_an_operation(path: str, expected: bool) -> None:
    assert disguised("POST", path) is expected
    assert not disguised("GET", path)
