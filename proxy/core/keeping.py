"""Which arrived answers become entries, and for how long."""

from __future__ import annotations

from typing import Final

import msgspec

from proxy.core.admit import Admitted, admit, negative
from proxy.core.closing import Closings, room
from proxy.core.delivery import form
from proxy.core.entry import Entry, Form, Key, Usage
from proxy.core.headers import replayable
from proxy.core.message import Head
from proxy.core.request import Lookup
from proxy.core.ttl import Span, span

UNCACHEABLE: Final = frozenset({"finish", "length", "empty", "incomplete", "arguments"})
"""Reasons that lie in the question, so that the next answer is likely not stored either. All other
ones tell of an upstream in trouble, which needs its callers together more than ever."""


class Keeping(msgspec.Struct, frozen=True):
    """How long answers are kept; times are seconds."""

    jitter: float = 0.1
    stale_while_revalidate: float = 300.0
    stale_if_error: float = 86400.0
    negative_ttl: float = 10.0
    closings: Closings = {}


class Arrived(msgspec.Struct, frozen=True):
    """A whole answer as it came from upstream, content coding removed. Times as in `Entry`."""

    head: Head
    body: bytes
    node: str
    asked: float
    created: float
    latency: float
    epoch: int
    counted: bool = True
    fence: int = 0


def kept(arrived: Arrived, lookup: Lookup, keeping: Keeping) -> Entry | str:
    """What is stored of an answer, or the reason why nothing is.

    One function for live answers and refreshes: only what is proven complete is stored.
    """
    shape = form(arrived.head)
    if shape is None:
        return "content_type"
    status, limited = arrived.head.status, lookup.request.limited
    verdict = admit(lookup.request.endpoint, status, shape, arrived.body, limited=limited)
    if isinstance(verdict, Admitted):
        life = lived(lookup, lookup.key, arrived.created, keeping)
        entry = _entry(arrived, shape, lookup, life, verdict.usage)
        return msgspec.structs.replace(entry, pinned=True) if lookup.lifetime.pinned else entry
    lasting = not _may_pass(arrived.head) and negative(status, arrived.body)
    if keeping.negative_ttl and lasting:
        ttl = min(keeping.negative_ttl, lookup.lifetime.ttl)
        refused = _entry(arrived, shape, lookup, Span(ttl, 0.0, 0.0), Usage())
        return msgspec.structs.replace(refused, key=lookup.raw)
    return verdict.reason


def _may_pass(head: Head) -> bool:
    """Whether the upstream itself says that the same request may be answered otherwise soon: a
    client that tries again, as SDKs do then, must reach it."""
    should = head.get("x-should-retry") or ""
    return should.strip().lower() == "true" or head.get("retry-after") is not None


def lived(lookup: Lookup, key: Key, created: float, keeping: Keeping) -> Span:
    """The life of an answer under `key` that was complete at `created`."""
    lifetime = lookup.lifetime
    grace = (keeping.stale_while_revalidate, keeping.stale_if_error)
    left = room(lifetime.exchanges, keeping.closings, created)
    return span(lifetime, key, keeping.jitter, grace, left)


def _entry(arrived: Arrived, shape: Form, lookup: Lookup, life: Span, usage: Usage) -> Entry:
    request = lookup.request
    return Entry(
        key=lookup.key,
        tenant=request.tenant,
        endpoint=request.endpoint.value,
        status=arrived.head.status,
        headers=replayable(arrived.head.headers),
        form=shape,
        body=arrived.body,
        asked=arrived.asked,
        created=arrived.created,
        ttl=life.ttl,
        stale_while_revalidate=life.stale_while_revalidate,
        stale_if_error=life.stale_if_error,
        epoch=arrived.epoch,
        tags=request.controls.tags,
        model=request.model,
        node=arrived.node,
        latency=arrived.latency,
        usage=usage,
        counted=arrived.counted,
        fence=arrived.fence,
        ends=life.ends,
    )
