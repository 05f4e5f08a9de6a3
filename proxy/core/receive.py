"""A request understood: by which key an answer to it is found, or why none may be looked for."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import msgspec
from blake3 import blake3

from proxy.core import bypass, canonical, controls, media, tenant
from proxy.core.identity import Identity, identity
from proxy.core.request import Bypass, Edits, Intent, Lifetime, Lookup, Reason, Request

if TYPE_CHECKING:
    from proxy.core.canonical import Fields
    from proxy.core.controls import Controls
    from proxy.core.endpoint import Endpoint
    from proxy.core.message import Arrival, Headers
    from proxy.core.rules import Rules, Served
    from proxy.core.tenant import Caller


def raw_key(arrival: Arrival, rules: Rules) -> bytes:
    """32 bytes that are equal only for requests which `receive` cannot tell apart."""
    method, path, query, headers = arrival.method, arrival.path, arrival.query, arrival.headers
    hasher = _opening(method, path, query, headers, rules.read_headers).copy()
    hasher.update(arrival.body)
    return hasher.digest()


@lru_cache(maxsize=256)  # most clients repeat theirs from request to request
def _opening(method: str, path: str, query: str, headers: Headers, read: frozenset[str]) -> blake3:
    """The hash of what `receive` can tell of a request's head, to be copied and gone on with; no
    two heads end where one's body could go on."""
    parts = [method, path, query]
    for spelled, value in headers:
        if (name := spelled.lower()) in read:
            parts += name, value
    head = "".join([f"{len(part)}:{part}" for part in parts])
    return blake3(head.encode("utf-8", "surrogatepass") + b"\n")


def receive(arrival: Arrival, endpoint: Endpoint, rules: Rules) -> Intent:
    """What is to be done about a request to `endpoint`; a strange body is a Bypass, never an error.

    Raises: UnauthorizedError, ForbiddenModelError, ControlError.
    """
    return understood(arrival, endpoint, rules).intent


class Understood(NamedTuple):
    """An intent and what it was made from."""

    intent: Intent
    served: Served | None = None
    """None: the body could not be read."""
    identity: Identity | None = None
    """None: it is a bypass."""


def understood(arrival: Arrival, endpoint: Endpoint, rules: Rules) -> Understood:
    """As `receive`, with what explains it. Raises the same."""
    arrival = _as_read(arrival, rules)
    caller = tenant.caller(arrival.headers, rules.secret, rules.tenants)
    asked = controls.from_headers(arrival.headers, aliases=rules.aliases)
    fields = _fields(arrival)
    if isinstance(fields, str):
        caller.check()
        wishes = controls.limited(asked, caller.controls, caller.max_ttl)
        return Understood(Bypass(_request(arrival, endpoint, caller, wishes, {}), fields))
    deployment = _deployment(arrival.path)
    caller.check(*(name for name in (deployment, fields.get("model")) if isinstance(name, str)))
    if own := isinstance(fields.get("cache"), dict):
        asked = controls.merged_with_body(asked, fields.pop("cache"))
    wishes = controls.limited(asked, caller.controls, min(caller.max_ttl, rules.max_ttl))
    request = _request(arrival, endpoint, caller, wishes, fields)
    served = _served(deployment, fields, rules)
    edits = _edits(own, None if deployment else fields.get("model"), served)
    request = msgspec.structs.replace(request, model=served.target, edits=edits)
    return _looked_up(arrival, fields, request, served, rules)


def _as_read(arrival: Arrival, rules: Rules) -> Arrival:
    """Without the headers that nothing here depends on; their names in lower case."""
    read = rules.read_headers
    named = [
        (name, value) for spelled, value in arrival.headers if (name := spelled.lower()) in read
    ]
    return msgspec.structs.replace(arrival, headers=tuple(named))


def _fields(arrival: Arrival) -> Fields | Reason:
    """The body's members, or why they cannot be read."""
    for spelled, value in arrival.headers:
        name = spelled.lower()
        if name == "content-encoding" and value.strip().lower() not in ("", "identity"):
            return "encoded_body"
        if name == "content-type" and not _is_json(value):
            return "content_type"
    try:
        fields = canonical.decoded(arrival.body)
    except ValueError:
        return "not_json"
    return fields if isinstance(fields, dict) else "not_object"


def _is_json(content_type: str) -> bool:
    kind, *parameters = content_type.lower().split(";")
    if not _JSON.fullmatch(kind.strip()):
        return False
    named = (parameter.partition("=") for parameter in parameters)
    charsets = [value.strip(' "') for name, _, value in named if name.strip() == "charset"]
    return all(charset in ("utf-8", "utf8") for charset in charsets)


_JSON: Final = re.compile(r"(?:application/(?:[\w.-]+\+)?json)?")
_DEPLOYMENT: Final = re.compile(r"/openai/deployments/([^/]+)/")


def _deployment(path: str) -> str | None:
    """The model that the path names, instead of the body."""
    found = _DEPLOYMENT.match(path)
    return None if found is None else unquote(found[1])


def _served(deployment: str | None, fields: Fields, rules: Rules) -> Served:
    if deployment is not None:
        return msgspec.structs.replace(rules.served(deployment), target=deployment)
    model = fields.get("model")
    return rules.served(model if isinstance(model, str) else "")


def _edits(own: bool, model: object, served: Served) -> Edits | None:
    renamed = isinstance(model, str) and model != served.target
    return Edits(own, served.target if renamed else None) if own or renamed else None


def _request(
    arrival: Arrival, endpoint: Endpoint, caller: Caller, wishes: Controls, fields: Fields
) -> Request:
    stream = fields.get("stream") is True
    options = fields.get("stream_options")
    return Request(
        endpoint=endpoint,
        tenant=caller.tenant,
        tenant_name=caller.name,
        credential=caller.credential,
        model="",
        controls=wishes,
        codings=codings(arrival.headers),
        stream=stream,
        wants_usage=stream and isinstance(options, dict) and options.get("include_usage") is True,
        stream_options="stream_options" in fields,
        limited=any(fields.get(name) is not None for name in _LIMITS),
    )


_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def codings(headers: Headers) -> frozenset[str]:
    """The content codings a client takes, besides none at all."""
    accepted = ",".join([v for name, v in headers if name.lower() == "accept-encoding"])
    # What is made of it is held for as long as the request is known.
    return _codings(accepted) if len(accepted) <= _ACCEPTED else frozenset()


@lru_cache(maxsize=64)  # clients have few ways to say it
def _codings(accepted: str) -> frozenset[str]:
    taken = set()
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        if not _REFUSED.fullmatch(weight.strip()):
            taken.add(coding.strip().removeprefix("x-"))
    return frozenset(taken - {"", "identity", "*"})


_ACCEPTED: Final = 256
"""Characters; no client has a longer list."""
_REFUSED: Final = re.compile(r"q\s*=\s*0(?:\.0*)?")


def _looked_up(
    arrival: Arrival, fields: Fields, request: Request, served: Served, rules: Rules
) -> Understood:
    reason = request.controls.bypass or bypass.reason(request.endpoint, fields)
    if reason:
        return Understood(Bypass(request, reason), served)
    try:
        found = identity(arrival, fields, request, served, rules)
    except media.RemoteMediaError:
        return Understood(Bypass(request, "remote_media"), served)
    except (ValueError, RecursionError):
        return Understood(Bypass(request, "malformed"), served)
    lifetime = _lifetime(request, found.texts, rules)
    lookup = Lookup(request, found.key, found.normalized, lifetime, items=found.items)
    return Understood(lookup, served, found)


def _lifetime(request: Request, texts: tuple[str, ...], rules: Rules) -> Lifetime:
    """What the request asks for, else the first rule that matches, else the general setting."""
    wishes = request.controls
    if wishes.ttl is not None:
        return Lifetime(wishes.ttl, wishes.ttl)
    namespace = wishes.namespace or rules.namespace
    for rule in rules.lifetimes:
        if (
            (not rule.model or fnmatchcase(request.model, rule.model))
            and (not rule.namespace or rule.namespace == namespace)
            and (not rule.tag or rule.tag in wishes.tags)
            and (rule.text is None or any(map(rule.text.search, texts)))
        ):
            return Lifetime(rule.ttl, rules.max_ttl)
    return Lifetime(rules.ttl, rules.max_ttl)
