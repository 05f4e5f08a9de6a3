"""Which headers travel on, and which a replay may show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.core.message import Headers

HOP_BY_HOP: Final = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""RFC 9110 §7.6.1: meant for one connection."""

CREDENTIALS: Final = ("authorization", "x-api-key", "api-key")

_REPLAYABLE: Final = frozenset(
    (
        "content-language",
        "content-type",
        "openai-model",
        "openai-version",
        "x-llm-provider",
        "x-model-id",
    )
)
"""What describes the answer itself. Cookies, dates, ids, rate limits and framing never do."""

_SHARED_ERROR: Final = (
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "x-ratelimit-",
    "anthropic-ratelimit-",
)
"""Prefixes of what an error must tell every client that waited for it."""


def end_to_end(headers: Headers) -> Headers:
    """Without what belongs to one connection, named by the RFC or by `Connection` itself."""
    named = HOP_BY_HOP
    for name, value in headers:
        if name.lower() == "connection":
            named = named | {token.strip().lower() for token in value.split(",")}
    return tuple([pair for pair in headers if pair[0].lower() not in named])


def without(headers: Headers, names: frozenset[str]) -> Headers:
    """Without the named ones (lower case)."""
    return tuple([pair for pair in headers if pair[0].lower() not in names])


def replayable(headers: Headers) -> Headers:
    """What a stored answer keeps of its upstream's headers."""
    return tuple([pair for pair in headers if pair[0].lower() in _REPLAYABLE])


def shared(headers: Headers, status: int) -> Headers:
    """What a client sees that joined another's call: not that other's ids, cookies and limits."""
    if status < 400:
        return replayable(headers)
    return tuple(
        pair
        for pair in headers
        if pair[0].lower() in _REPLAYABLE or pair[0].lower().startswith(_SHARED_ERROR)
    )


def with_credential(headers: Headers, credential: str) -> Headers:
    """With `credential` in place of the client's own, in the header that the client used."""
    used = [pair for pair in headers if pair[0].lower() in CREDENTIALS]
    spelled = used[0][0] if used else "Authorization"
    value = f"Bearer {credential}" if spelled.lower() == "authorization" else credential
    rest = tuple(pair for pair in headers if pair[0].lower() not in CREDENTIALS)
    return (*rest, (spelled, value))


def media_type(value: str | None) -> str:
    """The bare lower-case media type of a `Content-Type`, or empty."""
    return (value or "").partition(";")[0].strip().lower()
