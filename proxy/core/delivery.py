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


class UnlikeError(Exception):
    """What another request was answered is no answer to this one: it is to ask for itself.

    The answer has not the form, the coding or the usage that this one wants; or another spelling
    of the question was refused, where this one may be valid.
    """


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

    What is no success is JSON for everyone. Raises: UnlikeError where it has not the form wanted.
    """
    want = wanted(request) if entry.status == 200 else entry.form
    endpoint = Endpoint(entry.endpoint)
    body = replay(endpoint, entry.form, want, entry.body, usage=request.wants_usage)
    if body is None:
        raise UnlikeError
    headers = entry.headers if want == entry.form else retyped(entry.headers, want)
    return headers, zeroed(endpoint, want, body) if zero else body
