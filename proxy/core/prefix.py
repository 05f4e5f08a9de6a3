"""The prompt of a request as a chain of boundaries: equal boundary, equal prefix.

Engines keep what they computed of a prompt from its beginning on. What two prompts have in common
is therefore told by the deepest boundary that both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from blake3 import blake3

from proxy.core import canonical, media
from proxy.core.context import Hints
from proxy.core.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proxy.core.canonical import Fields
    from proxy.core.request import Request
    from proxy.core.rules import Rules

VERSION: Final = b"hotprefix-chain-1"
_DIGEST: Final = 16
"""Bytes; a collision costs a prefill, never an answer."""
_PIECE: Final = 2048
"""Bytes; inside a long message there are boundaries at this times the powers of two."""
_LONG: Final = 8192
"""Bytes; a shorter message is hashed in one go, which is twice as fast."""
_TOKEN: Final = 4
"""Bytes of a token, about; what nodes report is compared by its share of the prompt."""
_GOES_ON: Final = b"\xff"
"""In the place of a role's length: the message goes on, and no other begins."""
_ROLE: Final = 64
"""Bytes of a role that are looked at; the message itself has all of it."""
_PARTS: Final = 8192
"""Messages that are hashed one by one, 4 us each; what follows counts as one long message."""
_FIRST: Final = 64
_LAST: Final = 448
"""Boundaries of one prompt, from its beginning and from its end: where most are shared, and where
the next turn goes on. What lies between them counts together."""
LONGEST: Final = _FIRST + _LAST
MOST: Final = 1 << 40
"""Tokens; a fleet that says that more waits for a node does not speak the truth."""

_NO_HINTS: Final = Hints()


class Boundary(NamedTuple):
    """The prompt up to here."""

    digest: Annotated[bytes, msgspec.Meta(min_length=_DIGEST, max_length=_DIGEST)]
    tokens: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    """Of the prompt up to here, estimated."""


class Prompt(NamedTuple):
    """What a node has to compute before its first token."""

    chain: tuple[Boundary, ...]
    """Shallowest first; never empty."""
    anchor: int
    """The boundary that names the conversation: the end of its first question."""
    layers: tuple[int, int, int] = (0, 0, 0)
    """Boundaries up to the end of tools and system, of developer messages, of the earlier turns."""
    hints: Hints = Hints()

    @property
    def tokens(self) -> int:
        return self.chain[-1].tokens

    def held(self, depth: int) -> int:
        """Tokens up to the end of so many boundaries."""
        return self.chain[depth - 1].tokens if depth else 0


def prompt(body: bytes, request: Request, rules: Rules, hints: Hints = _NO_HINTS) -> Prompt | None:
    """The prompt of a request body; None: it has none that a node would keep.

    In the order in which engines lay it out: what changes the template, tools, system, messages.
    Two tenants have no boundary in common, whatever they ask.
    """
    names = _MESSAGES.get(request.endpoint)
    if names is None:
        return None
    try:
        fields = canonical.decoded(body)
        if not isinstance(fields, dict):
            return None
        fields = media.by_content(fields, remote=True)
        if b'"cache_control"' in body:
            fields = _unmarked(fields)
        made = chained(_root(fields, request, rules), _segments(fields, names))
        return None if made is None else made._replace(hints=hints)
    except (ValueError, RecursionError):
        return None


def chained(root: Iterable[bytes], segments: Iterable[tuple[bytes, bytes]]) -> Prompt | None:
    """The chain of `segments`, each a role and its bytes; None: there are none.

    A boundary's digest covers its parent's, whether a segment begins there, and the bytes since.
    """
    hasher = blake3(VERSION)
    for part in root:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    parent, size, anchor = hasher.digest(length=_DIGEST), 0, -1
    chain: list[Boundary] = []
    ends: list[tuple[bytes, int]] = []
    for role, text in segments:
        start, length = 0, len(text)
        step = _PIECE if length > _LONG else length
        opening = parent + len(role).to_bytes(1, "big") + role
        while start < length:
            end = min(step, length)
            piece = text[start:end]
            parent = blake3(opening + piece).digest(length=_DIGEST)
            chain.append(Boundary(parent, (size + end + _TOKEN - 1) // _TOKEN))
            opening, start, step = parent + _GOES_ON, end, 2 * step
        size += length
        ends.append((role, len(chain)))
        if anchor < 0 and role == b"user":
            anchor = len(chain) - 1
    if not chain:
        return None
    anchor, layers = len(chain) - 1 if anchor < 0 else anchor, _layers(ends)
    made = Prompt(tuple(chain), anchor, layers)
    return made if len(chain) <= LONGEST else _cut(made)


def _cut(whole: Prompt) -> Prompt:
    """The beginning and the end of a very long chain."""
    chain, missing = whole.chain, len(whole.chain) - LONGEST
    first, second, third = (
        end if end <= _FIRST else max(_FIRST, end - missing) for end in whole.layers
    )
    # A question that late begins nothing: the last boundary before it that stays names it.
    anchor = min(whole.anchor, _FIRST - 1)
    return Prompt(chain[:_FIRST] + chain[-_LAST:], anchor, (first, second, third))


def _layers(ends: Sequence[tuple[bytes, int]]) -> tuple[int, int, int]:
    """Where the layers end, by the roles of the segments and where those end."""
    earlier, at = ends[:-1], 0
    marks = []
    for roles in (_GLOBAL, _PROJECT):
        while at < len(earlier) and earlier[at][0] in roles:
            at += 1
        marks.append(earlier[at - 1][1] if at else 0)
    return marks[0], marks[1], earlier[-1][1] if earlier else 0


_GLOBAL: Final = frozenset((b"tools", b"functions", b"system"))
_PROJECT: Final = frozenset((b"developer",))

_MESSAGES: Final = {
    Endpoint.CHAT: ("messages",),
    Endpoint.MESSAGES: ("system", "messages"),
    Endpoint.RESPONSES: ("instructions", "previous_response_id", "conversation", "input"),
    Endpoint.COMPLETIONS: ("prompt",),
}
"""The members that a prompt is made of, in an engine's order."""

_TEMPLATE: Final = ("cache_salt", "chat_template", "chat_template_kwargs", "documents", "lora")
"""Members that change how a prompt begins, or whose it is."""


def _root(fields: Fields, request: Request, rules: Rules) -> list[bytes]:
    asked = fields.get("model")
    served = rules.served(asked if isinstance(asked, str) else request.model)
    parts = [
        request.tenant,
        request.endpoint.value.encode(),
        request.model.encode("utf-8", "replace"),
        served.model_version.encode(),
        served.template_version.encode(),
    ]
    for name in _TEMPLATE:
        held = fields.get(name)
        parts.append(b"" if held is None else canonical.encoded(held))
    return parts


def _segments(fields: Fields, names: tuple[str, ...]) -> Iterator[tuple[bytes, bytes]]:
    for name in ("tools", "functions"):
        if held := fields.get(name):
            yield name.encode(), canonical.encoded(held)
    for name in names:
        held = _whole(fields.get(name))
        if isinstance(held, list):
            # Tokens instead of a text: no element is a message of its own.
            single = 0 if held and isinstance(held[0], int) else _PARTS
            for one in held[:single]:
                yield _role(one), canonical.encoded(_shortened(one))
            if rest := held[single:]:
                # Open at its end, so that a longer one begins with the bytes of a shorter one.
                yield b"rest", canonical.encoded(rest)[:-1]
        elif isinstance(held, str):
            # As a text and not as its JSON: a longer one begins with the bytes of a shorter one.
            yield _ROLES.get(name, b"user"), held.encode("utf-8", "surrogatepass")
        elif isinstance(held, dict):
            yield _ROLES.get(name, b""), canonical.encoded(held)


_ROLES: Final = {
    "system": b"system",
    "instructions": b"system",
    # Stands for turns that only the node knows.
    "previous_response_id": b"earlier",
    "conversation": b"earlier",
}


def _role(message: object) -> bytes:
    role = message.get("role") if isinstance(message, dict) else None
    return role.encode("utf-8", "replace")[:_ROLE] if isinstance(role, str) else b""


def _shortened(message: object) -> object:
    """A turn that is one text, as that text: with a breakpoint it must be written as a part, and
    is written as a text again when the breakpoint has moved on."""
    if isinstance(message, dict):
        held = message.get("content")
        if (text := _whole(held)) is not held:
            return {**message, "content": text}
    return message


def _whole(content: object) -> object:
    match content:
        case [{"type": "text", "text": str(text), **more}] if not more:
            return text
        case _:
            return content


def _unmarked(value: Any) -> Any:
    """Without breakpoints: they tell a provider what to keep, and are no part of the prompt."""
    match value:
        case dict():
            return {k: _unmarked(one) for k, one in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return value
