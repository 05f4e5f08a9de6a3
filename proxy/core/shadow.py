"""The body of a shadow call: a request's own, or its beginning, asking for the shortest answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from proxy.core.context import Hints
from proxy.core.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.prefix import Prompt
    from proxy.core.providers import Rule
    from proxy.core.request import Request
    from proxy.core.warming import Target

_DROPPED: Final = ("stream", "stream_options", "n", "best_of", "prediction")
"""Members that make an answer longer or dearer, and no prompt different."""
_RESPONSES: Final = 16
"""Tokens; the shortest answer that OpenAI's Responses can be limited to."""
_ASKED: Final = "."
"""Stands where a user's turn must be: templates refuse a conversation without one."""
_BYTES: Final = 4
"""Of a token, about."""
_PARTS: Final = {
    Endpoint.CHAT: ("messages",),
    Endpoint.MESSAGES: ("system", "messages"),
    Endpoint.RESPONSES: ("instructions", "input"),
    Endpoint.COMPLETIONS: ("prompt",),
}
"""The members that a prompt is made of, after its tools."""
_SYSTEM: Final = ("system", "developer")  # no set: a role may be anything, a list too

Fields = dict[str, Any]


class Form(NamedTuple):
    """What is sent to have some of a prompt computed."""

    body: bytes
    prompt: Prompt
    """That it has itself."""
    depth: int
    """Boundaries that it has in common with the whole prompt."""


def formed(
    target: Target,
    goal: int,
    rule: Rule,
    prompted: Callable[[bytes, Request, Hints], Prompt | None],
) -> Form | None:
    """For so many tokens of it; None: there is no such form."""
    arrival, request, prompt = target
    body = arrival.body
    if goal < prompt.tokens:
        body = shortened(body, request.endpoint, goal) or body
    part, form = prompted(body, request, Hints()), whole(body, request.endpoint, rule)
    if part is None or form is None:
        return None
    pairs = zip(prompt.chain, part.chain, strict=False)
    return Form(form, part, sum(one.digest == other.digest for one, other in pairs))


def whole(body: bytes, endpoint: Endpoint, rule: Rule) -> bytes | None:
    """The request in the provider's warm form; None: it has none."""
    fields = _read(body, endpoint)
    return None if fields is None else _asking(fields, endpoint, rule)


def opening(body: bytes, endpoint: Endpoint) -> bytes | None:
    """The request up to its first turn, which is left empty: what many have in common. None:
    nothing is."""
    fields = _read(body, endpoint)
    if fields is None or endpoint is Endpoint.COMPLETIONS:
        return None
    kept = dict(fields)
    turns = "input" if endpoint is Endpoint.RESPONSES else "messages"
    told = fields.get(turns)
    first: list[Any] = []
    for one in told if isinstance(told, list) else ():
        if not (isinstance(one, dict) and one.get("role") in _SYSTEM):
            break
        first.append(one)
    kept[turns] = [*first, {"role": "user", "content": _ASKED}]
    return _written(kept)


def earlier(body: bytes, endpoint: Endpoint) -> bytes | None:
    """The request without its last turn, which is left empty; None: it has no earlier one."""
    fields = _read(body, endpoint)
    turns = "input" if endpoint is Endpoint.RESPONSES else "messages"
    told = None if fields is None else fields.get(turns)
    if fields is None or not isinstance(told, list) or len(told) < 2:
        return None
    return _written({**fields, turns: [*told[:-1], {"role": "user", "content": _ASKED}]})


def shortened(body: bytes, endpoint: Endpoint, tokens: int) -> bytes | None:
    """The request cut off after about so many tokens of its prompt; None: it cannot be cut there.

    What is left out is at the end, so that what is left is a beginning of the whole prompt.
    """
    fields = _read(body, endpoint)
    if fields is None:
        return None
    tools = fields.get("tools")
    room = tokens * _BYTES - (len(json.dumps(tools)) if tools else 0)
    kept = dict(fields)
    for name in _PARTS[endpoint]:
        part = fields.get(name)
        if part is None:
            continue
        kept[name], room = _cut(part, room)
    turns = _PARTS[endpoint][-1]
    if isinstance(kept.get(turns), list) and endpoint is not Endpoint.COMPLETIONS:
        last = kept[turns][-1] if kept[turns] else None
        if not (isinstance(last, dict) and last.get("role") == "user"):
            kept[turns] = [*kept[turns], {"role": "user", "content": _ASKED}]
    elif not kept.get(turns):
        return None
    return _written(kept)


def _cut(part: Any, room: int) -> tuple[Any, int]:
    """As much of a part as there is room for, and the room that is left then."""
    if isinstance(part, str):
        left = part.encode("utf-8", "surrogatepass")[: max(0, room)]
        return left.decode("utf-8", "ignore"), room - len(left)
    if not isinstance(part, list):
        return part, room
    kept = []
    for one in part:
        size = len(json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size <= room:
            kept.append(one)
            room -= size
            continue
        # Only the text of a turn may be cut: half a picture or half a call is none.
        if isinstance(one, dict) and isinstance(one.get("content"), str) and room > 0:
            kept.append({**one, "content": _cut(one["content"], room)[0]})
        elif isinstance(one, str | list) and room > 0:  # the one prompt of a completion
            kept.append(_cut(one, room)[0])
        return kept, 0
    return kept, room


def _read(body: bytes, endpoint: Endpoint) -> Fields | None:
    """By Python's own reader: what engines make of numbers in their templates is the same."""
    if endpoint not in _PARTS:
        return None
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _written(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _asking(fields: Fields, endpoint: Endpoint, rule: Rule) -> bytes:
    made = {name: value for name, value in fields.items() if name not in _DROPPED}
    match endpoint:
        case Endpoint.RESPONSES:
            made["max_output_tokens"] = _RESPONSES
        case Endpoint.CHAT if "max_completion_tokens" in fields or "max_tokens" not in fields:
            name = "max_completion_tokens" if "max_completion_tokens" in fields else rule.limit
            made[name] = max(1, rule.least_output)
            if name != "max_tokens":
                made.pop("max_tokens", None)
        case Endpoint.MESSAGES:
            made["max_tokens"] = rule.least_output
        case _:
            made["max_tokens"] = max(1, rule.least_output)
    return _written(made)
