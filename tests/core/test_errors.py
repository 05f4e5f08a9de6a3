"""Our own errors: in the shape that each client reads."""

from __future__ import annotations

import orjson
import pytest

from proxy.core.endpoint import Endpoint
from proxy.core.errors import RefusedError, answer

ERROR = RefusedError(400, "no such thing", code="bad_thing", param="thing")


@pytest.mark.parametrize(
    "endpoint", [None, Endpoint.CHAT, Endpoint.COMPLETIONS, Endpoint.EMBEDDINGS, Endpoint.RESPONSES]
)
def test_in_openais_shape(endpoint: Endpoint | None) -> None:
    assert orjson.loads(answer(ERROR, endpoint)[1]) == {
        "error": {
            "message": "no such thing",
            "type": "invalid_request_error",
            "param": "thing",
            "code": "bad_thing",
        }
    }


def test_in_anthropics_shape() -> None:
    assert orjson.loads(answer(ERROR, Endpoint.MESSAGES)[1]) == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "no such thing"},
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "invalid_request_error"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "api_error"),
    ],
)
def test_the_type_follows_from_the_status(status: int, kind: str) -> None:
    head, body = answer(RefusedError(status, "x"))

    assert head.status == status
    assert orjson.loads(body)["error"]["type"] == kind


def test_the_head_says_json_and_what_the_error_brings() -> None:
    head, _ = answer(RefusedError(503, "x", headers=(("retry-after", "1"),)))

    assert head.headers == (("content-type", "application/json"), ("retry-after", "1"))


@pytest.mark.parametrize(
    ("endpoint", "kind"), [(None, "tokens"), (Endpoint.MESSAGES, "rate_limit_error")]
)
def test_openais_clients_may_be_told_another_type(endpoint: Endpoint | None, kind: str) -> None:
    """OpenAI names the limit there, Anthropic has one type for all."""
    _, body = answer(RefusedError(429, "x", kind="tokens"), endpoint)

    assert orjson.loads(body)["error"]["type"] == kind
