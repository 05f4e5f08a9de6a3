"""Pictures, sound and files inside a body: identical by what they decode to, not by spelling."""

from __future__ import annotations

import binascii
import re
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from blake3 import blake3

from proxy.core.canonical import Opaque

if TYPE_CHECKING:
    from proxy.core.canonical import Fields


class RemoteMediaError(ValueError):
    """A body that names a picture or file which lies elsewhere, where it may change."""


def by_content(fields: Fields, *, remote: bool) -> Fields:
    """`fields` with inline media replaced by their digests; the same object if there are none.

    Raises: RemoteMediaError, unless `remote` allows such bodies.
    """
    changed: Fields = {}
    for name in ("messages", "input", "system", "instructions"):
        held = fields.get(name)
        if (walked := in_items(held, remote)) is not held:
            changed[name] = walked
    return {**fields, **changed} if changed else fields


def in_items(value: Any, remote: bool) -> Any:
    """Each of a list of messages, items or parts as `by_content`; of anything else, as it is."""
    if not isinstance(value, list):
        return value
    walked = [in_item(item, remote) if isinstance(item, dict) else item for item in value]
    return value if all(map(is_, walked, value)) else walked


def in_item(item: Fields, remote: bool) -> Fields:
    """A message, item or part as `by_content`."""
    if "type" not in item and isinstance(item.get("content"), str):
        return item  # a turn that is a text, as nearly all are
    _refuse_named(item, remote)
    changed: Fields = {}
    for name in ("content", "output"):
        held = item.get(name)
        new = in_item(held, remote) if isinstance(held, dict) else in_items(held, remote)
        if new is not held:
            changed[name] = new
    kind = item.get("type")
    place = _PLACES.get(kind) if isinstance(kind, str) else None
    if place is not None and (found := item.get(place)) is not None:
        changed[place] = _medium(found, remote, is_url=place != "file_data")
    return {**item, **changed} if changed else item


def _refuse_named(item: Fields, remote: bool) -> None:
    if not remote and any(item.get(name) is not None for name in _NAMES):
        raise RemoteMediaError


# Where a part keeps its medium: a string, or an object that holds one. `source` is Anthropic's.
_PLACES: Final = {
    "image_url": "image_url",
    "video_url": "video_url",
    "audio_url": "audio_url",
    "input_audio": "input_audio",
    "file": "file",
    "input_image": "image_url",
    "input_file": "file_data",
    "computer_screenshot": "image_url",
    "image": "source",
    "document": "source",
}
_DATA: Final = ("url", "data", "file_data")
_NAMES: Final = ("file_id", "file_url", "file_uri")


def _medium(found: Any, remote: bool, *, is_url: bool) -> Any:
    if isinstance(found, str):
        return _datum(found, remote, is_url=is_url)
    if not isinstance(found, dict) or found.get("type") == "text":  # a document given as its text
        return found
    _refuse_named(found, remote)
    changed: Fields = {
        name: _datum(value, remote, is_url=name == "url")
        for name in _DATA
        if isinstance(value := found.get(name), str)
    }
    if isinstance(content := found.get("content"), list):
        changed["content"] = in_items(content, remote)
    return {**found, **changed}


_DATA_URL: Final = re.compile(r"data:([^,]*?);base64,", re.IGNORECASE)
_BLANKS: Final = str.maketrans("", "", " \t\r\n")


def _datum(text: str, remote: bool, *, is_url: bool) -> str | Opaque:
    """Base64 as its digest; anything else inline as it is written."""
    kind, start = "", 0
    if found := _DATA_URL.match(text):
        kind, start = found[1].lower(), found.end()
    elif is_url:
        if not remote and text[:5].lower() != "data:":
            raise RemoteMediaError
        return text
    content = _content(text[start:])
    return text if content is None else Opaque(kind, blake3(content).digest())


def _content(text: str) -> bytes | None:
    """The bytes that base64 stands for, or None: it is no base64 that every decoder reads alike."""
    for spelling in (text, text.translate(_BLANKS)):
        try:
            return binascii.a2b_base64(spelling, strict_mode=True)
        except ValueError:
            continue
    return None
