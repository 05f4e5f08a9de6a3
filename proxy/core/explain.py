"""Why two requests are the same or not: what `receive` made of one, in words and bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proxy.core import canonical, identity
from proxy.core.endpoint import Endpoint
from proxy.core.media import RemoteMediaError
from proxy.core.receive import understood
from proxy.core.request import Bypass, Intent, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.core.canonical import Fields
    from proxy.core.message import Arrival
    from proxy.core.request import Request
    from proxy.core.rules import Rules

WHY: Final[dict[Reason, str]] = {
    "not_json": "the body is not JSON that every upstream reads alike",
    "not_object": "the body is JSON, but no object",
    "malformed": "a member that decides has not the shape of the API, or it is nested too deeply",
    "content_type": "the content type is not JSON in UTF-8",
    "encoded_body": "the body came compressed",
    "off": "the request switched the cache off",
    "no_store": "the request allows no trace of it",
    "read_only": "nothing is stored, and the request lets nothing be",
    "store_true": "the upstream shall store the answer, which a replay would not do",
    "stateful": "the answer depends on something that only the upstream keeps",
    "hosted_tools": "the upstream runs tools, whose results change",
    "audio_output": "the answer has sound",
    "web_search": "the answer depends on what the web says now",
    "remote_media": "it names a picture or file that lies elsewhere and may change",
    "unlike": "another request, asked at the same time, got an answer that is none to this",
}


class Explanation(msgspec.Struct, frozen=True):
    """What became of one request."""

    intent: Intent
    ignored: tuple[tuple[str, str], ...]
    """What is not part of the key, and why."""
    scope: tuple[tuple[str, str], ...]
    """What the key covers besides the body, labelled."""
    fields: Fields
    """The members that the key covers."""
    canonical: str = ""
    normalized: str = ""
    """Empty: no second key."""

    @property
    def why(self) -> str:
        """Why the cache takes no part; empty: it does."""
        return WHY[self.intent.reason] if isinstance(self.intent, Bypass) else ""


def explain(arrival: Arrival, endpoint: Endpoint, rules: Rules) -> Explanation:
    """Raises: UnauthorizedError, ForbiddenModelError, ControlError."""
    found = understood(arrival, endpoint, rules)
    request, body, second = found.intent.request, b"", None
    parts: list[tuple[str, str]] = []
    if found.served is not None:
        parts = identity.scope_parts(arrival, request, found.served, rules)
    if found.identity is not None:
        body, second = found.identity.body, found.identity.normalized_body
    return Explanation(
        intent=found.intent,
        ignored=(*_headers(arrival, rules), *_members(arrival.body, endpoint, rules)),
        scope=tuple(parts),
        fields=_kept(arrival.body, request, rules),
        canonical=body.decode(),
        normalized=(second or b"").decode(),
    )


def differences(one: Explanation, other: Explanation) -> Iterator[str]:
    """What keeps two requests apart: parts of the scope, and JSON paths in the body."""
    names = dict.fromkeys(name for name, _ in (*one.scope, *other.scope))
    for name in names:
        if [v for n, v in one.scope if n == name] != [v for n, v in other.scope if n == name]:
            yield name
    yield from _paths("$", one.fields, other.fields)


_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ABSENT: Final = object()


def _paths(at: str, one: Any, other: Any) -> Iterator[str]:
    match one, other:
        case dict(), dict():
            for name in dict.fromkeys((*one, *other)):
                step = f".{name}" if _PLAIN.fullmatch(name) else f"[{name!r}]"
                yield from _paths(at + step, one.get(name, _ABSENT), other.get(name, _ABSENT))
        case list(), list():
            for i in range(max(len(one), len(other))):
                left, right = (side[i] if i < len(side) else _ABSENT for side in (one, other))
                yield from _paths(f"{at}[{i}]", left, right)
        case _:
            if type(one) is not type(other) or one != other:
                yield at


def _headers(arrival: Arrival, rules: Rules) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(spelled.lower() for spelled, _ in arrival.headers):
        if name in rules.control_names:
            yield f"header {name}", "it steers the cache"
        elif name in ("accept-encoding", "content-type", "content-encoding"):
            yield f"header {name}", "it says how a body is written"
        elif name not in rules.read_headers:
            yield f"header {name}", "it is not one of `cache.key_headers`"


def _members(body: bytes, endpoint: Endpoint, rules: Rules) -> Iterator[tuple[str, str]]:
    fields = _fields(body)
    for name in fields:
        counts = name == "stream_options" and canonical.streamed(fields[name])
        if name in rules.ignored(endpoint) and not counts:
            yield f"$.{name}", "it cannot change the answer"
    if isinstance(fields.get("cache"), dict):
        yield "$.cache", "it steers the cache"
    if endpoint is Endpoint.CHAT and fields.get("store") is False:
        yield "$.store", "false is what its absence means"


def _kept(body: bytes, request: Request, rules: Rules) -> Fields:
    fields = _fields(body)
    if isinstance(fields.get("cache"), dict):
        del fields["cache"]
    try:
        return identity.kept_fields(fields, request, rules)
    except (RemoteMediaError, RecursionError):
        return fields


def _fields(body: bytes) -> Fields:
    """The members of a body; none if it cannot be read."""
    try:
        fields = canonical.decoded(body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
