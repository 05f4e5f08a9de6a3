"""Why an answer may not be stored or shared, as far as the request's body tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, assert_never

from proxy.core.endpoint import Endpoint

if TYPE_CHECKING:
    from proxy.core.canonical import Fields
    from proxy.core.request import Reason


def reason(endpoint: Endpoint, fields: Fields) -> Reason | None:
    """None: the body stands for itself, and answering it leaves and reads no state elsewhere."""
    if not _is_switch(fields.get("stream")):
        return "malformed"  # what form the answer has cannot be told
    if not isinstance(fields.get("model", ""), str):
        return "malformed"
    match endpoint:
        case Endpoint.CHAT:
            return _chat(fields)
        case Endpoint.RESPONSES:
            return _responses(fields)
        case Endpoint.MESSAGES:
            return _messages(fields)
        case Endpoint.COMPLETIONS | Endpoint.EMBEDDINGS:
            return "store_true" if fields.get("store") else None
        case _:
            assert_never(endpoint)


_SEARCHING: Final = re.compile(r"-search-(?:preview|api)|:online$")
"""Models that search the web unasked: OpenAI's, and OpenRouter's with its suffix."""


def _is_switch(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _chat(fields: Fields) -> Reason | None:
    modalities = fields.get("modalities")
    if fields.get("store"):
        return "store_true"
    if _searches(fields):
        return "web_search"
    if fields.get("audio") is not None or (isinstance(modalities, list) and "audio" in modalities):
        return "audio_output"
    if any(_names_sound(message) for message in _objects(fields.get("messages"))):
        return "stateful"
    if any(tool.get("type") not in _OURS for tool in _objects(fields.get("tools"))):
        return "hosted_tools"
    return None


def _searches(fields: Fields) -> bool:
    asked = fields.get("web_search_options") is not None or bool(fields.get("plugins"))
    return asked or _SEARCHING.search(str(fields.get("model", ""))) is not None


def _responses(fields: Fields) -> Reason | None:
    if any(fields.get(name) is not None for name in _STATE) or fields.get("background"):
        return "stateful"
    if any(_is_reference(item) for item in _objects(fields.get("input"))):
        return "stateful"
    if fields.get("store") is not False:  # the API's default is to store
        return "store_true"
    if any(tool.get("type") not in _OURS for tool in _objects(fields.get("tools"))):
        return "hosted_tools"
    return None if fields.get("audio") is None else "audio_output"


def _messages(fields: Fields) -> Reason | None:
    if fields.get("container") is not None:
        return "stateful"
    if fields.get("mcp_servers") or any(
        not _runs_at_client(tool.get("type")) for tool in _objects(fields.get("tools"))
    ):
        return "hosted_tools"
    return None


_OURS: Final = ("function", "custom")  # tools that the client runs, not the upstream
_CLIENT_SIDE: Final = ("bash_", "computer_", "text_editor_", "memory_")
_STATE: Final = ("previous_response_id", "conversation", "prompt")


def _objects(value: Any) -> list[Fields]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _names_sound(message: Fields) -> bool:
    """An earlier spoken answer, which the upstream keeps."""
    sound = message.get("audio")
    return isinstance(sound, dict) and "id" in sound


def _is_reference(item: Fields) -> bool:
    """An item that stands for one which the upstream keeps."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "id" in item and "role" not in item)


def _runs_at_client(kind: Any) -> bool:
    if kind is None or kind == "custom":
        return True
    return isinstance(kind, str) and kind.startswith(_CLIENT_SIDE)
