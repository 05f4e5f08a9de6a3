"""The parts of a prompt, each with its role, as bytes that no spelling changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.core import canonical, media
from proxy.core.endpoint import Endpoint

if TYPE_CHECKING:
    from proxy.core.canonical import Fields

_ROLE: Final = 64
"""Bytes of a role that are looked at; of a longer one the message itself has all."""
_PARTS: Final = 8192
"""Messages that are hashed one by one, 3 us each; what follows counts as one long message."""
_JSON: Final = b"\xff"
"""Before all that is no text: no byte of a text in UTF-8."""
_MARK: Final = b'"cache_control"'
"""Of what tells a provider what to keep. In canonical bytes no text looks like it: a quotation mark
within a text is escaped."""

MESSAGES: Final = {
    Endpoint.CHAT: ("messages",),
    Endpoint.MESSAGES: ("system", "messages"),
    Endpoint.RESPONSES: ("instructions", "previous_response_id", "conversation", "input"),
    Endpoint.COMPLETIONS: ("prompt",),
}
"""The members that a prompt is made of, in an engine's order."""


def segments(fields: Fields, names: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """The role and the bytes of each part: tools, then what `names` hold.

    A text stands there as it is and not as its JSON, so that a longer one begins with the bytes of
    a shorter one; it takes half as long, too. Inline media count by their content.
    Raises: ValueError, RecursionError: it is nested too deeply.
    """
    parts: list[tuple[bytes, bytes]] = []
    for name in ("tools", "functions"):
        held = fields.get(name)
        if held and (text := written(held)) != b"{}":
            parts.append((name.encode(), _JSON + text))
    for name in names:
        held = _whole(fields.get(name))
        if isinstance(held, list):
            # Tokens instead of a text: no element is a message of its own.
            single = 0 if held and isinstance(held[0], int) else _PARTS
            parts += map(_message, held[:single])
            if rest := held[single:]:
                # Open at its end, so that a longer one begins with the bytes of a shorter one.
                parts.append((b"rest", _JSON + written(media.in_items(rest, remote=True))[:-1]))
        elif isinstance(held, str):
            if held:
                parts.append((_ROLES.get(name, b"user"), held.encode()))
        elif isinstance(held, dict):
            parts.append((_ROLES.get(name, b""), _JSON + written(held)))
    return parts


_ROLES: Final = {
    "system": b"system",
    "instructions": b"system",
    # Stands for turns that only the node knows.
    "previous_response_id": _JSON + b"response",
    "conversation": _JSON + b"conversation",
}


def _message(message: object) -> tuple[bytes, bytes]:
    """A turn that is one text, as that text: with a breakpoint it must be written as a part, and
    is written as a text again when the breakpoint has moved on."""
    if not isinstance(message, dict):
        return b"", _JSON + written(message)
    role, content = message.get("role"), message.get("content")
    if isinstance(role, str) and isinstance(content, str) and len(message) == 2:
        if len(role) <= _ROLE:
            return role.encode(), content.encode()
    elif "cache_control" in message:
        return _message({name: one for name, one in message.items() if name != "cache_control"})
    elif (text := _whole(content)) is not content:
        return _message({**message, "content": text})
    named = role.encode()[:_ROLE] if isinstance(role, str) else b""
    return named, _JSON + written(media.in_item(message, remote=True))


def _whole(content: object) -> object:
    match content:
        case [{"type": "text", "text": str(text), **more}] if not more.keys() - {"cache_control"}:
            return text
        case _:
            return content


def written(value: object) -> bytes:
    """Canonical bytes without breakpoints, which are no part of the prompt.

    Raises: ValueError, RecursionError: it is nested too deeply.
    """
    made = canonical.encoded(value)
    return canonical.encoded(_unmarked(value)) if _MARK in made else made


def _unmarked(value: Any) -> Any:
    match value:
        case dict():
            return {k: _unmarked(one) for k, one in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return value
