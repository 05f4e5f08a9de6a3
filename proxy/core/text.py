"""Where a request's body holds the texts that people and programs wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, assert_never

from proxy.core.endpoint import Endpoint

if TYPE_CHECKING:
    from proxy.core.canonical import Fields


class Place(NamedTuple):
    """One text: `holder[name]`. `literal`: every character of it counts."""

    holder: Any
    name: str | int
    literal: bool

    @property
    def text(self) -> str:
        text: str = self.holder[self.name]
        return text


def places(endpoint: Endpoint, fields: Fields) -> list[Place]:
    """All texts of a request, in order. What has not the shape of the API holds none."""
    match endpoint:
        case Endpoint.CHAT:
            return _turns(fields.get("messages"))
        case Endpoint.MESSAGES:
            return _content(fields, "system") + _turns(fields.get("messages"))
        case Endpoint.RESPONSES:
            if isinstance(fields.get("input"), str):
                return [*_content(fields, "instructions"), Place(fields, "input", False)]
            return _content(fields, "instructions") + _turns(fields.get("input"))
        case Endpoint.COMPLETIONS:
            # The answer goes on from the last character of the prompt, so each one counts.
            return _listed(fields, "prompt")
        case Endpoint.EMBEDDINGS:
            return _listed(fields, "input")
        case _:
            assert_never(endpoint)


def asked(endpoint: Endpoint, fields: Fields) -> str:
    """The last text that the user wrote; empty where there is none. Messages are taken as they
    come: a tool's result after it changes nothing of what was asked."""
    spoken = fields.get("input" if endpoint is Endpoint.RESPONSES else "messages")
    if endpoint in (Endpoint.COMPLETIONS, Endpoint.EMBEDDINGS) or isinstance(spoken, str):
        found = places(endpoint, fields)
        return found[-1].text if found else ""
    for message in reversed(spoken) if isinstance(spoken, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            texts = [place.text for place in _content(message, "content")]
            if texts:
                return "\n".join(texts)
    return ""


def _turns(messages: Any) -> list[Place]:
    if not isinstance(messages, list):
        return []
    found: list[Place] = []
    end = len(messages) - 1
    for index, message in enumerate(messages):
        if isinstance(message, dict):
            # Tools speak data; and a last turn of the assistant is continued to the letter.
            role = message.get("role")
            last = index == end
            literal = role in _DATA or (last and role == "assistant")
            found += _content(message, "content", literal=literal)
    return found


_DATA: Final = ("tool", "function")
_TEXTS: Final = ("text", "input_text", "output_text")


def _content(holder: Fields, name: str, *, literal: bool = False) -> list[Place]:
    """A text, or a list of parts of which some are."""
    content = holder.get(name)
    if isinstance(content, str):
        return [Place(holder, name, literal)]
    if not isinstance(content, list):
        return []
    return [
        Place(part, "text", literal)
        for part in content
        if isinstance(part, dict) and part.get("type") in _TEXTS and _is_text(part.get("text"))
    ]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _listed(fields: Fields, name: str) -> list[Place]:
    value = fields.get(name)
    if isinstance(value, str):
        return [Place(fields, name, True)]
    if not isinstance(value, list):
        return []
    return [Place(value, i, True) for i, item in enumerate(value) if isinstance(item, str)]
