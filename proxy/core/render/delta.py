"""Deltas merged: many partial JSON objects become the whole they are pieces of."""

from __future__ import annotations

from typing import Any, Final

# What names a thing rather than continues a text: sent once, or repeated unchanged.
_NAMES: Final = frozenset({"id", "call_id", "type", "role", "name", "object", "model", "format"})


def merge(whole: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to the whole, in place. The delta must not be used afterwards.

    Strings are continued, lists extended, indexed objects and dicts merged, all else replaced;
    null says nothing. Names, once given, stay.
    """
    for key, new in delta.items():
        old = whole.get(key)
        if isinstance(new, str) and isinstance(old, str) and key not in _NAMES:
            # With no other reference to it, the text grows in place: ten thousand deltas are
            # not ten thousand copies.
            whole[key] = None
            old += new
            whole[key] = old
        else:
            whole[key] = continued(key, old, new)


def continued(key: str, old: Any, new: Any) -> Any:
    """What becomes of one field by one more delta; `old` is None where there was none."""
    if new is None:
        return old
    if isinstance(new, str) and isinstance(old, str):
        return _joined(key, old, new)
    if key == "content" and {type(old), type(new)} == {list, str}:
        return _spoken(old, new)
    if isinstance(new, list) and (old is None or isinstance(old, list)):
        return _extended(old or [], new)
    if isinstance(new, dict) and isinstance(old, dict):
        merge(old, new)
        return old
    return new


def _joined(key: str, old: str, new: str) -> str:
    """Texts go on, and names stay. But a tool's name may come in pieces, which SDKs join."""
    stays = key in _NAMES and (key != "name" or old == new)
    return (old or new) if stays else old + new


def _spoken(old: list[Any] | str, new: list[Any] | str) -> list[Any]:
    """Parts and texts in one list, in order: Mistral's models think in parts, and then say a text
    that is no part of a list as it comes."""
    parts = old if isinstance(old, list) else _said(old)
    if isinstance(new, list):
        return parts + new
    last = parts[-1] if parts else None
    if not (isinstance(last, dict) and last.get("type") == "text"):
        return parts + _said(new)
    merge(last, {"text": new})
    return parts


def _said(text: str) -> list[Any]:
    return [{"type": "text", "text": text}] if text else []


def _extended(old: list[Any], new: list[Any]) -> list[Any]:
    """Lists appended; if all are objects with an `index`, merged and put in order by it."""
    if not new or not (_indexed(new) and _indexed(old)):
        return old + new
    known = {_index(one): one for one in old}
    for entry in new:
        merge(known.setdefault(_index(entry), {"index": entry["index"]}), entry)
    return [known[index] for index in sorted(known)]


def _indexed(entries: list[Any]) -> bool:
    return all(isinstance(one, dict) and type(one.get("index")) is int for one in entries)


def _index(entry: dict[str, Any]) -> int:
    return int(entry["index"])


def update(whole: dict[str, Any], news: dict[str, Any]) -> None:
    """Take over what a later chunk says of the same thing, in place; null says nothing.

    For fields beside the delta: they are repeated (`model`, filter results), not continued, but
    lists come in pieces (token ids).
    """
    for key, new in news.items():
        old = whole.get(key)
        if old is None:
            whole[key] = new
        elif isinstance(old, dict) and isinstance(new, dict):
            whole[key] = old | new
        elif isinstance(old, list) and isinstance(new, list):
            whole[key] = old + new
        elif new is not None:
            whole[key] = new
