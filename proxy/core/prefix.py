"""The prompt of a request as a chain of boundaries: equal boundary, equal prefix.

Engines keep what they computed of a prompt from its beginning on. What two prompts have in common
is therefore told by the deepest boundary that both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from proxy.core import canonical
from proxy.core.chain import TOKEN, laid, rooted
from proxy.core.context import Hints
from proxy.core.endpoint import Endpoint
from proxy.core.prompts import longest
from proxy.core.segments import MESSAGES, segments, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.canonical import Fields
    from proxy.core.chain import Boundary, Laid, Part
    from proxy.core.request import Request
    from proxy.core.rules import Rules

    Lay: TypeAlias = Callable[[bytes, Sequence[Part]], Laid]

_FIRST: Final = 64
_LAST: Final = 448
"""Boundaries of one prompt, from its beginning and from its end: where most are shared, and where
the next turn goes on. What lies between them counts together."""
LONGEST: Final = _FIRST + _LAST

_NO_HINTS: Final = Hints()


class Prompt(NamedTuple):
    """What a node has to compute before its first token."""

    chain: tuple[Boundary, ...]
    """Shallowest first; never empty."""
    anchor: int
    """The boundary that names the conversation: the end of its first question."""
    layers: tuple[int, int, int] = (0, 0, 0)
    """Boundaries up to the end of tools and system, of developer messages, of the earlier turns."""
    hints: Hints = Hints()
    beside: int = 0
    """Tokens of other prompts in the same request, of which nothing else is known."""

    @property
    def tokens(self) -> int:
        return self.chain[-1].tokens + self.beside

    def held(self, depth: int) -> int:
        """Tokens up to the end of so many boundaries."""
        return self.chain[depth - 1].tokens if depth else 0

    def beyond(self, depth: int) -> bytes | None:
        """The first boundary after so many; None: there is none."""
        return self.chain[depth].digest if depth < len(self.chain) else None


def prompt(
    body: bytes,
    request: Request,
    rules: Rules,
    hints: Hints = _NO_HINTS,
    lay: Lay = laid,
) -> Prompt | None:
    """The prompt of a request body; None: it has none that a node would keep.

    In the order in which engines lay it out: what changes the template, tools, system, messages.
    Two tenants have no boundary in common, whatever they ask. Of several the longest. `lay`: as
    `laid` does.
    """
    names = MESSAGES.get(request.endpoint)
    if names is None:
        return None
    try:
        fields = canonical.decoded(body)
        if not isinstance(fields, dict):
            return None
        beside = 0
        if request.endpoint is Endpoint.COMPLETIONS:
            fields["prompt"], beside = longest(fields.get("prompt"))
        made = chained(_root(fields, request, rules), segments(fields, names), hints, lay)
        return None if made is None else made._replace(beside=beside // TOKEN)
    except (ValueError, RecursionError):
        return None


def chained(
    root: Sequence[bytes],
    parts: Sequence[Part],
    hints: Hints = _NO_HINTS,
    lay: Lay = laid,
) -> Prompt | None:
    """The prompt of `parts`; None: there are none. `root`: as of `rooted`."""
    _, links, ends = lay(rooted(root), parts)
    if not links:
        return None
    asked = next((end for role, end in ends if role == b"user"), len(links))
    whole = Prompt(tuple(links), asked - 1, _layers(ends), hints)
    return whole if len(links) <= LONGEST else _cut(whole)


def _cut(whole: Prompt) -> Prompt:
    """The beginning and the end of a very long chain."""
    chain, missing = whole.chain, len(whole.chain) - LONGEST
    first, second, third = (
        end if end <= _FIRST else max(_FIRST, end - missing) for end in whole.layers
    )
    # A question that late begins nothing: the last boundary before it that stays names it.
    anchor = min(whole.anchor, _FIRST - 1)
    links = chain[:_FIRST] + chain[-_LAST:]
    return whole._replace(chain=links, anchor=anchor, layers=(first, second, third))


def _layers(ends: Sequence[tuple[bytes, int]]) -> tuple[int, int, int]:
    """Where the layers end, by the roles of the parts and where those end."""
    earlier, at = ends[:-1], 0
    marks = []
    for roles in (_GLOBAL, _PROJECT):
        while at < len(earlier) and earlier[at][0] in roles:
            at += 1
        marks.append(earlier[at - 1][1] if at else 0)
    return marks[0], marks[1], earlier[-1][1] if earlier else 0


_GLOBAL: Final = frozenset((b"tools", b"functions", b"system"))
_PROJECT: Final = frozenset((b"developer",))

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
        parts.append(b"" if held is None else written(held))
    return parts
