"""A stored or arriving answer in the form that a request asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.core.endpoint import Endpoint
from proxy.core.headers import media_type
from proxy.core.replay import replay, zeroed

if TYPE_CHECKING:
    from proxy.core.entry import Entry, Form
    from proxy.core.message import Head, Headers
    from proxy.core.request import Request

EVENT_STREAM: Final = "text/event-stream"
_TYPE: Final[dict[Form, str]] = {
    "json": "application/json",
    "events": f"{EVENT_STREAM}; charset=utf-8",
}


def wanted(request: Request) -> Form:
    """The form that this request asks for."""
    return "events" if request.stream else "json"


def form(head: Head) -> Form | None:
    """The form of an answer by its content type; None: neither."""
    kind = media_type(head.get("content-type"))
    if kind == EVENT_STREAM:
        return "events"
    return "json" if kind == "application/json" or kind.endswith("+json") else None


def serves(entry: Entry, request: Request) -> bool:
    """Whether the entry has what the request wants: usage, if its stream was not asked for any."""
    return entry.counted or entry.form == "json" or not request.wants_usage


def retyped(headers: Headers, to: Form) -> Headers:
    """With the content type of another form."""
    rest = tuple(pair for pair in headers if pair[0].lower() != "content-type")
    return (("content-type", _TYPE[to]), *rest)


def rendered(entry: Entry, request: Request, *, zero: bool) -> tuple[Headers, bytes]:
    """Headers and body of a stored answer as this request wants them.

    An answer that cannot be rendered in the other form is shown in its own: an error, say, is
    JSON for everyone.
    """
    want = wanted(request) if entry.status == 200 else entry.form
    endpoint = Endpoint(entry.endpoint)
    body = replay(endpoint, entry.form, want, entry.body, usage=request.wants_usage)
    headers = entry.headers
    if body is None:
        want, body = entry.form, entry.body
    elif want != entry.form:
        headers = retyped(headers, want)
    return headers, zeroed(endpoint, want, body) if zero else body
