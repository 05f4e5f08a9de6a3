"""Our own failures as answers, in the shape that OpenAI's and Anthropic's clients read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from proxy.core.endpoint import Endpoint
from proxy.core.message import Head

if TYPE_CHECKING:
    from proxy.core.message import Headers

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    431: "invalid_request_error",
    503: "overloaded_error",
}

UNWELL: Final = frozenset((429, 500, 502, 503, 504, 529))
"""Upstream answers that say nothing of the request: another node may have a better one, and a
stored one is better (RFC 5861 §4, and being told to wait)."""


class RefusedError(Exception):
    """A request that this gateway itself answers with an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        kind: str = "",
        headers: Headers = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.kind = kind
        """What OpenAI's clients are told as the error's type; empty: what the status stands for."""
        self.headers = headers


def answer(error: RefusedError, endpoint: Endpoint | None = None) -> tuple[Head, bytes]:
    """The head and body that tell a client of `error`, in the dialect of the endpoint."""
    kind = _TYPES.get(error.status, "api_error")
    if endpoint is Endpoint.MESSAGES:
        told: dict[str, object] = {
            "type": "error",
            "error": {"type": kind, "message": error.message},
        }
    else:
        told = {
            "error": {
                "message": error.message,
                "type": error.kind or kind,
                "param": error.param,
                "code": error.code,
            }
        }
    return Head(error.status, (("content-type", "application/json"), *error.headers)), orjson.dumps(
        told
    )
