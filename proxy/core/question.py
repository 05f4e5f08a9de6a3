"""The question of a request: its last user text, apart from everything else it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from proxy.core import canonical
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Question
from proxy.core.text import places

if TYPE_CHECKING:
    from proxy.core.canonical import Fields
    from proxy.core.key import Scope

_TURNS: Final = {
    Endpoint.CHAT: "messages",
    Endpoint.MESSAGES: "messages",
    Endpoint.RESPONSES: "input",
}
_TOOLS: Final = ("tools", "functions")

Why: TypeAlias = Literal["endpoint", "several", "tools", "shape", "long", "empty"]
"""No question is one of plain completions; several: answers, or the chances of one, are wanted;
shape: the last word is not one text of the user's."""


def question(
    endpoint: Endpoint, kept: Fields, scope: Scope, *, longest: int, tools: bool
) -> Question | Why:
    """The question of a request whose answer depends on the members `kept`, or why its answer
    cannot be another question's: several answers or probabilities are wanted, tools may be
    called (unless `tools` allows it), or the last word is not one text of the user's of at most
    `longest` characters.

    All else, from the tenant to the earlier turns, is its scope, by a digest.
    """
    turns = _TURNS.get(endpoint)
    if turns is None:
        return "endpoint"
    if not _plain(kept):
        return "several"
    if not tools and any(map(kept.get, _TOOLS)):
        return "tools"
    holder, name = _last(endpoint, kept, turns)
    if holder is None:
        return "shape"
    text = holder[name]
    if not text.strip() or len(text) > longest:
        return "long" if text.strip() else "empty"
    holder[name] = None  # which no request can say there, so no other body reads the same
    try:
        rest = canonical.encoded(kept)
    finally:
        holder[name] = text
    return Question(scope.key("question", rest), text)


def _plain(kept: Fields) -> bool:
    """Whether one answer is wanted, and no probabilities."""
    return kept.get("n") in (None, 1) and not kept.get("logprobs") and not kept.get("top_logprobs")


def _last(endpoint: Endpoint, kept: Fields, turns: str) -> tuple[Any, Any]:
    """Where the last message has its text: one of the user's, and nothing beside it."""
    spoken = kept.get(turns)
    if endpoint is Endpoint.RESPONSES and isinstance(spoken, str):
        return kept, turns
    last = spoken[-1] if isinstance(spoken, list) and spoken else None
    if not isinstance(last, dict) or last.get("role") != "user":
        return None, None
    content = last.get("content")
    if not isinstance(content, str) and not (isinstance(content, list) and len(content) == 1):
        return None, None
    found = [place for place in places(Endpoint.CHAT, {"messages": [last]}) if not place.literal]
    return (found[0].holder, found[0].name) if len(found) == 1 else (None, None)
