"""Requests recorded in files, one a line: a JSON body, or an object that has one and its path."""

from __future__ import annotations

from typing import Final

import msgspec

from proxy.core.endpoint import recognise
from proxy.core.message import Arrival, Headers

CHAT: Final = "/v1/chat/completions"
_OWN: Final = frozenset(("host", "content-length", "connection", "transfer-encoding"))
"""Headers of the connection it came by."""


_EXPECTED: Final = "a request's JSON body, or an object with its body, path and headers"


class RecordError(ValueError):
    """A line that holds no request; the message says why."""


class Record(msgspec.Struct, frozen=True):
    """A request; what else a recording tells of it is passed over."""

    body: msgspec.Raw
    path: str = CHAT
    method: str = "POST"
    headers: dict[str, str] = {}


def recorded(line: bytes, credential: str = "") -> Arrival:
    """The request on a line, sent with that credential, unless it has its own. Raises:
    RecordError."""
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        bare = "body" not in members or "messages" in members
        told = Record(msgspec.Raw(line)) if bare else msgspec.json.decode(line, type=Record)
        body = bytes(told.body)
        if body.startswith(b'"'):  # spelled as a text
            body = msgspec.json.decode(body, type=str).encode()
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        raise RecordError(f"not a request: expected {_EXPECTED}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RecordError(f"not a request: {error}") from error
    path, _, query = told.path.partition("?")
    if recognise(told.method.upper(), path) is None:
        raise RecordError(f"{told.method} {path}: no operation that has a prompt")
    return Arrival("POST", path, query, _headers(told.headers, credential), body)


def _headers(told: dict[str, str], credential: str) -> Headers:
    kept = [(name, value) for name, value in told.items() if name.lower() not in _OWN]
    names = {name.lower() for name, _ in kept}
    if "content-type" not in names:
        kept.append(("content-type", "application/json"))
    if credential and not names & {"authorization", "x-api-key", "api-key"}:
        kept.append(("authorization", f"Bearer {credential}"))
    return tuple(kept)
