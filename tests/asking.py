"""Requests and rules for tests of identity."""

from __future__ import annotations

import json
from typing import Any

from proxy.config import parse
from proxy.core.endpoint import recognise
from proxy.core.message import Arrival, Headers
from proxy.core.receive import receive
from proxy.core.request import Bypass, Lookup
from proxy.core.rules import Rules, rules

RULES = rules(parse(""), {})
JSON = ("content-type", "application/json")
K1 = ("authorization", "Bearer K1")
K2 = ("authorization", "Bearer K2")


def arrival(
    body: bytes | dict[str, Any],
    *headers: tuple[str, str],
    path: str = "/v1/chat/completions",
    query: str = "",
) -> Arrival:
    """A POST by the first client, unless `headers` has a credential."""
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    known = {name.lower() for name, _ in headers}
    given: Headers = tuple(h for h in (JSON, K1) if h[0] not in known) + headers
    return Arrival("POST", path, query, given, raw)


def intent(asked: Arrival, made: Rules = RULES) -> Lookup | Bypass:
    endpoint = recognise("POST", asked.path)
    assert endpoint is not None
    return receive(asked, endpoint, made)


def lookup(asked: Arrival, made: Rules = RULES) -> Lookup:
    found = intent(asked, made)
    assert isinstance(found, Lookup), found
    return found


def bypass(asked: Arrival, made: Rules = RULES) -> str:
    found = intent(asked, made)
    assert isinstance(found, Bypass), found
    return found.reason


def configured(text: str, **secrets: str) -> Rules:
    return rules(parse(text), secrets)


def chat(text: Any = "hello", **more: Any) -> dict[str, Any]:
    """A chat completion's body."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}
