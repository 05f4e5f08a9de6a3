"""What goes upstream: the client's own bytes, but for what the cache and the operator add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from proxy.core import splice
from proxy.core.endpoint import Endpoint
from proxy.core.headers import with_credential, without
from proxy.core.message import Call

if TYPE_CHECKING:
    from proxy.core.message import Arrival
    from proxy.core.request import Request

_WITH_USAGE: Final = (Endpoint.CHAT, Endpoint.COMPLETIONS)
_USAGE: Final = '{"include_usage":true}'


def call(
    arrival: Arrival,
    request: Request,
    body: bytes,
    credential: str | None,
    stripped: frozenset[str],
    *,
    ask_usage: bool,
) -> Call:
    """What a node is sent for `request`. `credential`: the node's, where the request has none of
    its own; None: the client's. `stripped`: headers that are not sent on, in lower case."""
    headers = without(arrival.headers, stripped)
    credential = request.credential or credential
    if credential is not None:
        headers = with_credential(headers, credential)
    sent = outgoing(body, request, ask_usage=ask_usage)
    return Call(arrival.method, arrival.path, arrival.query, headers, sent)


def outgoing(body: bytes, request: Request, *, ask_usage: bool) -> bytes:
    """The body to send for `request`, which `body` was understood as; often the same object.

    `ask_usage`: have a stream of chunks end with its usage, whether the client asked or not.
    """
    edits = request.edits
    wants = ask_usage and request.stream and not request.wants_usage
    wants = wants and request.endpoint in _WITH_USAGE
    if edits is None and not wants:
        return body
    text = body.decode()
    try:
        if edits is not None and edits.drop_cache:
            text = splice.without(text, "cache")
        if edits is not None and edits.model is not None:
            text = splice.replaced(text, "model", orjson.dumps(edits.model).decode())
        if wants:
            text = _with_usage(text, request)
    except RecursionError:
        return body  # deeper than it can be read here: the upstream may refuse it
    return text.encode()


def _with_usage(text: str, request: Request) -> str:
    if not request.stream_options:
        return splice.appended(text, "stream_options", _USAGE)
    given = [m for m in splice.members(text) if m.name == "stream_options"][
        -1
    ]  # the one that counts
    value = text[given.value : given.end]
    if value == "null":
        value = _USAGE
    elif value.startswith("{"):
        value = splice.appended(splice.without(value, "include_usage"), "include_usage", "true")
    return text[: given.value] + value + text[given.end :]
