"""What the headers of a request tell of its sender."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core import controls, tenant
from proxy.core.headers import end_to_end
from proxy.core.recent import length, recent

if TYPE_CHECKING:
    from proxy.core.controls import Controls
    from proxy.core.message import Headers
    from proxy.core.request import Reason
    from proxy.core.rules import Rules
    from proxy.core.tenant import Caller


class Client(msgspec.Struct, frozen=True):
    """Who asks, and in what way."""

    headers: Headers
    """All that an answer may depend on, their names in lower case."""
    caller: Caller
    asked: Controls
    codings: frozenset[str]
    """The content codings that are taken, besides none at all."""
    unreadable: Reason | None
    """Why the body that comes with such headers is not read."""


# Most clients repeat theirs from request to request.
@recent(256, lambda headers, _rules: length(headers))
def sender(headers: Headers, rules: Rules) -> Client:
    """Whoever sent these headers. Raises: UnauthorizedError, ControlError."""
    # What `Connection` names ends here, so no answer depends on it.
    ends = rules.key_headers - {name.lower() for name, _ in end_to_end(headers)}
    read = rules.read_headers - ends
    named = tuple(
        [(name, value) for spelled, value in headers if (name := spelled.lower()) in read]
    )
    return Client(
        headers=named,
        caller=tenant.caller(named, rules.secret, rules.tenants),
        asked=controls.from_headers(named, aliases=rules.aliases),
        codings=_codings(",".join([value for name, value in named if name == "accept-encoding"])),
        unreadable=_unreadable(named),
    )


def _codings(accepted: str) -> frozenset[str]:
    # What is made of it is held for as long as the request is known.
    if len(accepted) > _ACCEPTED or accepted.count(",") >= _CODINGS:
        return frozenset()
    taken = set()
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        if not _REFUSED.fullmatch(weight.strip()):
            taken.add(coding.strip().removeprefix("x-"))
    return frozenset(taken - {"", "identity", "*"})


_ACCEPTED: Final = 256
"""Characters; no client has a longer list."""
_CODINGS: Final = 8
"""Codings, more than there are in use; of a hundred, a set takes 12 kB."""
_REFUSED: Final = re.compile(r"q\s*=\s*0(?:\.0*)?")


def _unreadable(named: Headers) -> Reason | None:
    for name, value in named:
        if name == "content-encoding" and value.strip().lower() not in ("", "identity"):
            return "encoded_body"
        if name == "content-type" and not _is_json(value):
            return "content_type"
    return None


def _is_json(content_type: str) -> bool:
    kind, *parameters = content_type.lower().split(";")
    if not _JSON.fullmatch(kind.strip()):
        return False
    named = (parameter.partition("=") for parameter in parameters)
    charsets = [value.strip(' "') for name, _, value in named if name.strip() == "charset"]
    return all(charset in ("utf-8", "utf8") for charset in charsets)


_JSON: Final = re.compile(r"(?:application/(?:[\w.-]+\+)?json)?")
