"""The context hash tree: four layers of a prompt, each with its parent in its digest."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from proxy.core.prefix import Prompt


class Layer(NamedTuple):
    """A part of a prompt, with all before it."""

    name: str
    """global: tools and system; project: developer; session: earlier turns; turn: the last one."""
    tokens: int
    """Of the prompt up to its end, estimated."""
    digest: bytes
    """SHA-256 of its name, its parent's digest, the client's hint, and what the chain says of it:
    a change in one layer is a change in all below it."""


def tree(prompt: Prompt) -> tuple[Layer, ...]:
    """The four layers; their digests in a row are the composite key of 128 bytes."""
    asked, made, parent = prompt.hints, [], b""
    named = (("global", ""), ("project", asked.project), ("session", asked.session), ("turn", ""))
    for (name, hint), end in zip(named, (*prompt.layers, len(prompt.chain)), strict=True):
        boundary = prompt.chain[end - 1] if end else None
        digest = b"" if boundary is None else boundary.digest
        parts = (name.encode(), parent, hint.encode("utf-8", "surrogatepass"), digest)
        parent = sha256(b"".join(len(p).to_bytes(4, "big") + p for p in parts)).digest()
        made.append(Layer(name, 0 if boundary is None else boundary.tokens, parent))
    return tuple(made)
