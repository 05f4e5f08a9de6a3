"""Who asks: the partition that may see an answer, and what its holder may do."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

import msgspec
from blake3 import blake3

from proxy.core.entry import Tenant
from proxy.core.headers import CREDENTIALS
from proxy.core.quota import Quota

if TYPE_CHECKING:
    from proxy.core.message import Headers


class UnauthorizedError(Exception):
    """No credential that a configured tenant has; becomes a 401."""


class ForbiddenModelError(Exception):
    """A model that this tenant may not use, or one that could not be read; becomes a 403."""

    def __init__(self, model: str) -> None:
        super().__init__(f"model not allowed: {model!r:.80}" if model else "no model to check")
        self.model = model


class Caller(msgspec.Struct, frozen=True):
    """A configured tenant, or whoever holds a credential."""

    tenant: Tenant
    name: str = ""
    credential: str | None = None
    """What to send upstream instead of the client's; None: the client's own."""
    models: tuple[str, ...] = ("*",)
    controls: tuple[str, ...] = ("*",)
    max_ttl: float = float("inf")
    quota: Quota = Quota()

    def check(self, *models: str) -> None:
        """Raises ForbiddenModelError unless every one of `models`, and at least one, is allowed."""
        if "*" in self.models:
            return
        for model in models or ("",):
            if not any(fnmatchcase(model, glob) for glob in self.models):
                raise ForbiddenModelError(model)


class Known(msgspec.Struct, frozen=True):
    """A configured tenant and the digest of its credential."""

    digest: bytes
    caller: Caller


_BEARER: Final = re.compile(r"bearer +", re.IGNORECASE)


def caller(headers: Headers, secret: bytes, known: tuple[Known, ...]) -> Caller:
    """Who sent these headers. `secret`: 32 bytes that key the partitions.

    With no tenant configured, each credential is a partition of its own, and so is having none.
    Raises: UnauthorizedError.
    """
    given = [
        (name, value) for spelled, value in headers if (name := spelled.lower()) in CREDENTIALS
    ]
    if not known:
        return Caller(private(secret, given))
    matches = [_match(digest(secret, _token(value)), known) for _, value in given]
    if not matches or None in matches or len({m.tenant for m in matches if m is not None}) > 1:
        raise UnauthorizedError
    found = matches[0]
    assert found is not None
    return found


def private(secret: bytes, given: list[tuple[str, str]]) -> Tenant:
    """The partition of the credential headers `given`, lower-case names with values."""
    in_order = sorted(given, key=lambda pair: pair[0])  # of repeats, which comes first matters
    return _partition(secret, "private", *[part for pair in in_order for part in pair])


def shared(secret: bytes, name: str) -> Tenant:
    """The partition of a configured tenant: tables with one name are one."""
    return _partition(secret, "named", name)


def digest(secret: bytes, credential: str) -> bytes:
    """What a credential is compared by, so that comparing tells nothing of it."""
    return blake3(credential.encode("utf-8", "surrogatepass"), key=secret).digest()


def _partition(secret: bytes, *parts: str) -> Tenant:
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return Tenant(blake3(text.encode("utf-8", "surrogatepass"), key=secret).digest(16))


def _token(value: str) -> str:
    return _BEARER.sub("", value, count=1) if _BEARER.match(value) else value


def _match(presented: bytes, known: tuple[Known, ...]) -> Caller | None:
    found = None
    for tenant in known:  # no early end: how long it takes must not tell which one it was
        if compare_digest(presented, tenant.digest):
            found = tenant.caller
    return found
