"""A JSON object's text with top-level members changed and every other character left as it is."""

from __future__ import annotations

from json import JSONDecoder
from typing import Final, NamedTuple

import orjson


class Member(NamedTuple):
    """Where a member lies: from its name's first quote to the end of its value."""

    name: str
    start: int
    value: int
    end: int


def members(text: str) -> list[Member]:
    """The members of the object that `text` is, in order, repeated names too.

    Raises: ValueError if it is no object, RecursionError if it is nested too deeply.
    """
    at = _blanks(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("expected a JSON object")
    at = _blanks(text, at + 1)
    found: list[Member] = []
    if text[at : at + 1] == "}":
        return found
    while True:
        name, colon = _SCANNER.raw_decode(text, at)
        value = _blanks(text, _after(text, colon, ":"))
        _, end = _SCANNER.raw_decode(text, value)
        found.append(Member(name, at, value, end))
        at = _blanks(text, end)
        if text[at : at + 1] == "}":
            return found
        at = _blanks(text, _after(text, at, ","))


def without(text: str, name: str) -> str:
    """`text` without the members called `name`, and without the commas they needed."""
    found = members(text)
    kept = [i for i, member in enumerate(found) if member.name != name]
    if len(kept) == len(found):
        return text
    pieces = [text[: found[0].start]]
    for first, i in enumerate(kept):
        if first:
            pieces.append(text[found[i - 1].end : found[i].start])
        pieces.append(text[found[i].start : found[i].end])
    return "".join([*pieces, text[found[-1].end :]])


def replaced(text: str, name: str, value: str) -> str:
    """`text` with `value`, JSON, as the value of every member called `name`."""
    for member in reversed(members(text)):
        if member.name == name:
            text = text[: member.value] + value + text[member.end :]
    return text


def appended(text: str, name: str, value: str) -> str:
    """`text`, known to be an object, with one more member at its end."""
    brace = text.rindex("}")
    before = text[:brace].rstrip(_BLANK)
    comma = "" if before.endswith("{") else ","
    written = f"{orjson.dumps(name).decode()}:{value}"
    return f"{before}{comma}{written}{text[len(before) :]}"


_BLANK: Final = " \t\r\n"
# Numbers are passed over unread: one may be longer than Python turns into an integer.
_SCANNER: Final = JSONDecoder(parse_int=len, parse_float=len)


def _blanks(text: str, at: int) -> int:
    while text[at : at + 1] in _BLANK and at < len(text):
        at += 1
    return at


def _after(text: str, at: int, mark: str) -> int:
    at = _blanks(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"expected {mark!r} at character {at}")
    return at + 1
