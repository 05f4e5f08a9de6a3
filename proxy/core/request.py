"""A request understood: what the path needs to know of it, without its body."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from proxy.core.controls import Controls
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Key, Question, Tenant

Reason: TypeAlias = Literal[
    "not_json",  # no JSON as RFC 8259 and every upstream read it
    "not_object",
    "malformed",  # JSON, but in a place that decides it is not what the API defines
    "content_type",
    "encoded_body",
    "off",
    "no_store",
    "read_only",  # nothing was stored, and nothing shall be
    "store_true",
    "stateful",  # names something that only the upstream knows
    "hosted_tools",
    "audio_output",
    "web_search",
    "remote_media",
    "unlike",  # asked together with another request, whose answer was none to this
]
"""Why the cache takes no part in a request."""


class Lifetime(msgspec.Struct, frozen=True):
    """Seconds that an answer lives, before jitter."""

    ttl: float
    ceiling: float
    """Jitter never reaches above this."""
    exchanges: tuple[str, ...] = ()
    """Those with whose next session close it ends in any case."""
    pinned: bool = False


class Request(msgspec.Struct, frozen=True):
    """What every request to a cacheable endpoint has, whether it is looked up or not."""

    endpoint: Endpoint
    tenant: Tenant
    tenant_name: str
    """The configured tenant's name, or empty for a private partition; for logs and metrics."""
    credential: str | None
    """What to send upstream instead of the client's credential, or None: the client's own."""
    model: str
    """After aliases."""
    controls: Controls
    codings: frozenset[str]
    """Content codings the client takes, lower case, without `identity`."""
    stream: bool = False
    wants_usage: bool = False
    """Whether a stream shall carry usage: this client set `stream_options.include_usage`."""
    stream_options: bool = False
    """Whether the body has that member, whatever its value."""
    limited: bool = False
    """Whether the request itself set a token limit."""
    longest: int = 0
    """Tokens of an answer, by that limit; 0: it set none."""
    edits: Edits | None = None
    """How the client's bytes differ from what goes upstream, usage apart; None: not at all."""

    @property
    def light(self) -> bool:
        """Whether it may be remembered by the thousand. A client may call megabytes a model, and
        give dozens of tags."""
        asked = self.controls
        return len(self.model) + len(asked.namespace) + sum(map(len, asked.tags)) <= _LIGHT


class Edits(msgspec.Struct, frozen=True):
    """Changes to the top level of a JSON body, made without touching the other bytes."""

    drop_cache: bool = False
    model: str | None = None


class Lookup(msgspec.Struct, frozen=True):
    """Look for a stored answer; if there is none, join or start the flight for it."""

    request: Request
    key: Key
    normalized: Key | None
    lifetime: Lifetime
    raw: Key = Key(b"")
    """The request by its very bytes: under this lies what was refused, since another spelling of
    the same question, with other inert members, may be valid."""
    items: tuple[Key, ...] = ()
    """Embeddings: a key for each input item, in order. Empty for all other endpoints."""
    question: Question | None = None
    """What it asks, where the answer to a question that means the same would do."""
    apart: str = ""
    """Why none would, in a word; empty: one would, or nobody wants it."""

    @property
    def shown(self) -> str:
        """What a client may see of the key: nothing where others share its partition."""
        return self.showing(self.key)

    def showing(self, key: Key) -> str:
        """The same of another answer's key."""
        return "" if self.request.tenant_name else key[:8].hex()


class Bypass(msgspec.Struct, frozen=True):
    """Pass it on alone; the cache takes no part."""

    request: Request
    reason: Reason
    """For `Cache-Status` and metrics."""


_LIGHT: Final = 512
"""Characters of names, which take four times as many bytes at most."""

Intent: TypeAlias = Lookup | Bypass
