"""What is stored: an upstream's whole answer with its times, and the alias that points to one."""

from __future__ import annotations

from typing import Final, Literal, NewType, TypeAlias

import msgspec

Key = NewType("Key", bytes)
"""32 bytes that name one stored answer."""

Tenant = NewType("Tenant", bytes)
"""16 bytes that name a partition: who may see an answer."""

Form: TypeAlias = Literal["json", "events"]
"""One JSON body, or a stream of server-sent events."""

OVERHEAD: Final = 1024
"""Bytes that an entry costs in memory besides its texts: objects, key, index."""


class Usage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Tokens as the upstream counted them; 0 where it did not say."""

    input: int = 0
    output: int = 0


class Question(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was asked, where another question may mean the same."""

    scope: Key
    """32 bytes for everything but the text: only within one scope are texts compared."""
    text: str
    tag: str = ""
    """Of the embedder that made the vector; empty: there is none."""
    vector: bytes = b""
    """Half-precision little-endian numbers."""
    form: bytes = b""
    """The same for questions that ask the same in other words; empty: nobody has said."""


# Not tracked by the garbage collector: values without cycles, and a memory tier holds so many
# that walking them would stop the loop for tens of milliseconds.
class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stored answer. Times are unix seconds, lengths of time seconds."""

    key: Key
    tenant: Tenant
    endpoint: str
    """The value of an `Endpoint`: how the body is to be read."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """The upstream's headers that a replay may show."""
    form: Form
    body: bytes
    """The JSON body, or the events as received with framing and end marker; never encoded."""
    asked: float
    """When the upstream was asked: of two entries under one key, the later asked one is right."""
    created: float
    """When the answer was complete: age counts from here."""
    ttl: float
    """Seconds fresh, jitter included."""
    stale_while_revalidate: float = 0.0
    """Seconds after `ttl` in which it is served while it is refreshed."""
    stale_if_error: float = 0.0
    """Seconds after that in which it is served if the upstream fails."""
    epoch: int = 0
    """The epoch known when the upstream was asked."""
    tags: tuple[str, ...] = ()
    model: str = ""
    node: str = ""
    latency: float = 0.0
    """Seconds that the upstream took."""
    usage: Usage = Usage()
    counted: bool = True
    """Whether the upstream was asked for usage, in the way that its streams are asked."""
    fence: int = 0
    """The fencing token of the lease under which it was fetched; 0: there was none."""
    pinned: bool = False
    """Kept when room is needed, as long as anything else can go."""
    ends: bool = False
    """Its lifetime was cut at a set end: an answer made sooner would not live longer."""
    question: Question | None = None
    """None: it answers no other request than its own."""

    @property
    def expires(self) -> float:
        """When it may no longer be served in any case."""
        return self.created + self.ttl + self.stale_while_revalidate + self.stale_if_error

    @property
    def weight(self) -> int:
        """Bytes it takes in memory, about."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        asked = self.question
        meaning = 0 if asked is None else OVERHEAD // 4 + 2 * len(asked.text) + len(asked.vector)
        return (
            OVERHEAD
            + len(self.body)
            + headers
            + sum(map(len, self.tags))
            + len(self.model)
            + meaning
        )


class Alias(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is stored under a normalized key: the exact key of the answer."""

    key: Key
    tenant: Tenant
    target: Key
    asked: float
    expires: float

    @property
    def weight(self) -> int:
        """Bytes it takes in memory, about."""
        return OVERHEAD // 4


Stored: TypeAlias = Entry | Alias
