"""Failures on the path as the errors that clients read."""

from __future__ import annotations

from math import ceil
from typing import Final, TypeAlias

from proxy.core.controls import ControlError
from proxy.core.errors import RefusedError
from proxy.core.tenant import ForbiddenModelError, UnauthorizedError
from proxy.fleet import NoNodeError
from proxy.ports import UpstreamError

Refused: TypeAlias = (
    ControlError | UnauthorizedError | ForbiddenModelError | NoNodeError | UpstreamError
)

REFUSED: Final = (
    ControlError,
    UnauthorizedError,
    ForbiddenModelError,
    NoNodeError,
    UpstreamError,
)


def refusal(error: Refused) -> RefusedError:
    """What the client is told. Never a key, a host or a library's own words."""
    match error:
        case ControlError():
            return RefusedError(400, str(error), param=error.param, code="invalid_cache_control")
        case UnauthorizedError():
            return RefusedError(401, "the API key is not known here", code="invalid_api_key")
        case ForbiddenModelError():
            return RefusedError(403, str(error), param="model", code="model_not_allowed")
        case NoNodeError():
            return RefusedError(404, str(error), param="model", code="model_not_found")
        case UpstreamError():
            return _unanswered(error)


def _unanswered(error: UpstreamError) -> RefusedError:
    if error.kind == "overload":
        pause = (("retry-after", str(max(1, ceil(error.retry_after)))),)
        return RefusedError(503, str(error), code="upstream_unavailable", headers=pause)
    node = (("x-upstream-node", error.node),) if error.node else ()
    if error.kind == "timeout":
        return RefusedError(504, str(error), code="upstream_timeout", headers=node)
    return RefusedError(502, str(error), code="upstream_error", headers=node)


def missed(why: str) -> RefusedError:
    """What `only-if-cached` is told where nothing is stored. SDKs ask again after any 504, unless
    they are told that it is of no use."""
    return RefusedError(504, why, code="cache_miss", headers=(("x-should-retry", "false"),))
