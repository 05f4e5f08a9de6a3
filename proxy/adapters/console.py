"""Asks the admin port of a running proxy."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.config import Admin

TIMEOUT: Final = 10.0

_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class ConsoleError(Exception):
    """The proxy refused, or is not there; the message says which."""


def ask(
    admin: Admin,
    environment: Mapping[str, str],
    path: str,
    body: dict[str, str] | bytes | None = None,
    *,
    timeout: float = TIMEOUT,
) -> dict[str, Any]:
    """What the admin port answers to a GET, or to a POST of `body`, in JSON or to be written so.
    Raises ConsoleError."""
    host = _ANY_ADDRESS.get(admin.host, admin.host)
    address = f"[{host}]" if ":" in host else host
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(f"http://{address}:{admin.port}{path}", data)
    request.add_header("content-type", "application/json")
    if admin.token_env:
        request.add_header("authorization", f"Bearer {environment.get(admin.token_env, '')}")
    # An empty handler: HTTP_PROXY is for the world outside, and must not see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        raise ConsoleError(f"{error.code}: {_message(error)}") from error
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ConsoleError(f"no proxy at {address}:{admin.port} ({reason})") from error
    return answer if isinstance(answer, dict) else {"answer": answer}


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, LookupError, TypeError, OSError):
        return error.reason
