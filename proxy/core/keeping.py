"""Which arrived answers become entries, and for how long."""

from __future__ import annotations

import msgspec

from proxy.core.admit import Admitted, admit, negative
from proxy.core.delivery import form
from proxy.core.entry import Entry, Form, Usage
from proxy.core.headers import replayable
from proxy.core.message import Head
from proxy.core.request import Lookup
from proxy.core.ttl import jittered


class Keeping(msgspec.Struct, frozen=True):
    """How long answers are kept; times are seconds."""

    jitter: float = 0.1
    stale_while_revalidate: float = 300.0
    stale_if_error: float = 86400.0
    negative_ttl: float = 10.0


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
        ttl = jittered(lookup.lifetime, lookup.key, keeping.jitter)
        grace = (keeping.stale_while_revalidate, keeping.stale_if_error)
        return _entry(arrived, shape, lookup, ttl, grace, verdict.usage)
    if keeping.negative_ttl and negative(status, arrived.body):
        ttl = min(keeping.negative_ttl, lookup.lifetime.ttl)
        refused = _entry(arrived, shape, lookup, ttl, (0.0, 0.0), Usage())
        return msgspec.structs.replace(refused, key=lookup.raw)
    return verdict.reason


def _entry(
    arrived: Arrived,
    shape: Form,
    lookup: Lookup,
    ttl: float,
    grace: tuple[float, float],
    usage: Usage,
) -> Entry:
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
        ttl=ttl,
        stale_while_revalidate=grace[0],
        stale_if_error=grace[1],
        epoch=arrived.epoch,
        tags=request.controls.tags,
        model=request.model,
        node=arrived.node,
        latency=arrived.latency,
        usage=usage,
        counted=arrived.counted,
    )
