"""What goes to a node before a request's body."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from proxy.core.headers import end_to_end
from proxy.core.recent import length, recent

if TYPE_CHECKING:
    from proxy.core.message import Call, Headers

_UNFIT: Final = re.compile(r"[\r\n\0]")
"""What would end a line before its time."""

_WITHOUT_BODY: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods of which it goes without saying that they have none."""


def head(call: Call, path: str, own: Headers) -> tuple[bytes, bool]:
    """The bytes before the body, and whether that has to be sent in chunks.

    `path`: the node's own; `own`: headers in place of the client's. Raises: ValueError.
    """
    start = f"{call.method} {path}?{call.query}" if call.query else f"{call.method} {path}"
    if _UNFIT.search(start):
        raise ValueError("a line break in the target")
    body, chunked = call.body, False
    lines, length = _lines(own, call.headers)
    if body is None or isinstance(body, bytes):
        stated = body is not None or call.method not in _WITHOUT_BODY
        length = f"Content-Length: {len(body or b'')}\r\n" if stated else ""
    elif not length:
        length, chunked = "Transfer-Encoding: chunked\r\n", True
    spelled = f"{start} HTTP/1.1\r\n{lines}{length}\r\n"
    return spelled.encode("utf-8", "surrogateescape"), chunked


# Most clients repeat theirs from request to request.
@recent(128, lambda _own, headers: length(headers))
def _lines(own: Headers, headers: Headers) -> tuple[str, str]:
    """All header lines but the one that states a length, and that one. Raises: ValueError."""
    replaced = {"expect", *(name.lower() for name, _ in own)}
    lines, length = [f"{name}: {value}\r\n" for name, value in own], ""
    for name, value in end_to_end(headers):
        if _UNFIT.search(name) or _UNFIT.search(value):
            raise ValueError("a line break in a header")
        if (lower := name.lower()) == "content-length":
            length = f"{name}: {value}\r\n"
        elif lower not in replaced:
            lines.append(f"{name}: {value}\r\n")
    return "".join(lines), length
