"""A request understood: by which key an answer to it is found, or why none may be looked for."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import msgspec
from blake3 import blake3

from proxy.core import bypass, canonical, controls, media
from proxy.core.client import sender
from proxy.core.closing import TAG
from proxy.core.identity import Identity, identity
from proxy.core.recent import length, recent
from proxy.core.request import Bypass, Edits, Intent, Lifetime, Lookup, Reason, Request
from proxy.core.rules import LifetimeRule

if TYPE_CHECKING:
    from proxy.core.canonical import Fields
    from proxy.core.client import Client
    from proxy.core.controls import Controls
    from proxy.core.endpoint import Endpoint
    from proxy.core.message import Arrival, Headers
    from proxy.core.rules import Rules, Served


def raw_key(arrival: Arrival, rules: Rules) -> bytes:
    """32 bytes that are equal only for requests which `receive` cannot tell apart."""
    method, path, query, headers = arrival.method, arrival.path, arrival.query, arrival.headers
    hasher = _opening(method, path, query, headers, rules.read_headers).copy()
    hasher.update(arrival.body)
    return hasher.digest()


# Most clients repeat theirs from request to request.
@recent(256, lambda _, path, query, headers, _read: len(path) + len(query) + length(headers))
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
    client = sender(arrival.headers, rules)
    caller, asked = client.caller, client.asked
    fields = client.unreadable or _fields(arrival.body)
    if isinstance(fields, str):
        caller.check()
        wishes = controls.limited(asked, caller.controls, caller.max_ttl)
        return Understood(Bypass(_request(client, endpoint, wishes, {}), fields))
    deployment = _deployment(arrival.path)
    caller.check(*(name for name in (deployment, fields.get("model")) if isinstance(name, str)))
    if own := isinstance(fields.get("cache"), dict):
        asked = controls.merged_with_body(asked, fields.pop("cache"))
    wishes = controls.limited(asked, caller.controls, min(caller.max_ttl, rules.max_ttl))
    served = _served(deployment, fields, rules)
    edits = _edits(own, None if deployment else fields.get("model"), served)
    request = _request(client, endpoint, wishes, fields, served.target, edits)
    read = msgspec.structs.replace(arrival, headers=client.headers)
    return _looked_up(read, fields, request, served, rules)


def _fields(body: bytes) -> Fields | Reason:
    """The body's members, or why they cannot be read."""
    try:
        fields = canonical.decoded(body)
    except ValueError:
        return "not_json"
    return fields if isinstance(fields, dict) else "not_object"


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
    client: Client,
    endpoint: Endpoint,
    wishes: Controls,
    fields: Fields,
    model: str = "",
    edits: Edits | None = None,
) -> Request:
    caller = client.caller
    stream = fields.get("stream") is True
    options = fields.get("stream_options")
    return Request(
        endpoint=endpoint,
        tenant=caller.tenant,
        tenant_name=caller.name,
        credential=caller.credential,
        model=model,
        controls=wishes,
        codings=client.codings,
        stream=stream,
        wants_usage=stream and isinstance(options, dict) and options.get("include_usage") is True,
        stream_options="stream_options" in fields,
        limited=any(fields.get(name) is not None for name in _LIMITS),
        longest=_longest(fields),
        edits=edits,
    )


_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def _longest(fields: Fields) -> int:
    limits = [limit for name in _LIMITS if type(limit := fields.get(name)) is int and limit > 0]
    return min(max(limits, default=0), _VAST)


_VAST: Final = 1 << 24
"""Tokens; no model answers at such length, and counts with it stay small numbers."""


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
    asked = found.question
    question, apart = (None, asked) if isinstance(asked, str) else (asked, "")
    lookup = Lookup(
        request,
        found.key,
        found.normalized,
        lifetime,
        items=found.items,
        question=question,
        apart=apart,
    )
    return Understood(lookup, served, found)


def _lifetime(request: Request, texts: tuple[str, ...], rules: Rules) -> Lifetime:
    """What the request asks for, else the first rule that matches, else the general setting. A
    request cannot outlive a rule's exchange: of the ends that both name the first counts."""
    wishes, rule = request.controls, _rule(request, texts, rules)
    ttl, ceiling = (rule.ttl, rules.max_ttl) if wishes.ttl is None else (wishes.ttl, wishes.ttl)
    named = {rule.exchange, *(tag.removeprefix(TAG) for tag in wishes.tags if tag.startswith(TAG))}
    pinned = rule.pin or _PERMANENT in wishes.tags
    return Lifetime(ttl, ceiling, tuple(sorted(named & rules.exchanges)), pinned)


_PERMANENT: Final = "permanent"
"""The tag that pins an answer."""


def _rule(request: Request, texts: tuple[str, ...], rules: Rules) -> LifetimeRule:
    wishes = request.controls
    namespace = wishes.namespace or rules.namespace
    for rule in rules.lifetimes:
        if (
            (not rule.model or fnmatchcase(request.model, rule.model))
            and (not rule.namespace or rule.namespace == namespace)
            and (not rule.tag or rule.tag in wishes.tags)
            and (rule.text is None or any(map(rule.text.search, texts)))
        ):
            return rule
    return LifetimeRule(rules.ttl)
