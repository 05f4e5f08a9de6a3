"""What the demo upstream says, before a dialect gives it its shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import orjson
from blake3 import blake3

if TYPE_CHECKING:
    from collections.abc import Sequence

Fields: TypeAlias = dict[str, Any]
"""A request's JSON object."""

LABEL: Final = "This is the Hotprefix demo upstream; no model is behind it."
_SHAPE: Final = frozenset({"stream", "stream_options"})
_QUOTED: Final = 160
_DEPTH: Final = 16


class RefusedError(ValueError):
    """A request that no upstream would answer; becomes a 400 that names the field."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class Call(msgspec.Struct, frozen=True):
    """A tool call: the arguments are JSON that fits the tool's own schema."""

    id: str
    name: str
    arguments: str


class Answer(msgspec.Struct, frozen=True):
    """The words of one choice, or its tool calls."""

    pieces: tuple[str, ...] = ()
    """Text as it would be streamed; one piece counts as one token."""
    calls: tuple[Call, ...] = ()
    cut: bool = False
    """Whether the request's token limit ended it."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def tokens(self) -> int:
        return len(self.pieces) + sum(len(pieces(call.arguments)) for call in self.calls)


class Tool(msgspec.Struct, frozen=True):
    """A function that the request offers, in whatever dialect."""

    name: str
    schema: Fields


class Wish(msgspec.Struct, frozen=True):
    """What a request asks for, in no dialect."""

    asked: str
    tools: tuple[Tool, ...] = ()
    """The tools that the answer has to call; none: text."""
    schema: Fields | None = None
    """The JSON schema that the text has to fit, if any."""
    limit: int | None = None


def digest(fields: Fields) -> str:
    """16 hex digits of everything that is asked; the same for a stream and for JSON."""
    kept = {name: value for name, value in fields.items() if name not in _SHAPE}
    return blake3(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def created(mark: str) -> int:
    """A time of making that depends on the request alone, so that answers repeat exactly."""
    return 1_700_000_000 + int(mark, 16) % 10_000_000


def labelled(model: str) -> str:
    """The model's name as the answer shows it: always `demo-…`."""
    return model if model.startswith("demo-") else f"demo-{model}"


_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
"""Two numbers that differ would be a contradiction to who compares answers."""


def answer(wish: Wish, mark: str, variant: int = 0) -> Answer:
    """The answer to a request with this digest; `variant` counts the choices."""
    if wish.tools:
        return Answer(
            calls=tuple(
                Call(
                    f"call_demo_{mark[:8]}_{variant}_{i}",
                    tool.name,
                    orjson.dumps(instance(tool.schema, tool.schema)).decode(),
                )
                for i, tool in enumerate(wish.tools)
            )
        )
    if wish.schema is not None:
        said = pieces(orjson.dumps(instance(wish.schema, wish.schema)).decode())
    else:
        choice = f" This is choice {variant + 1}." if variant else ""
        asked = f" You asked: “{wish.asked[:_QUOTED]}”." if wish.asked else ""
        said = pieces(
            f"{LABEL}{asked}{choice} Your request's mark is {mark[:8].translate(_LETTERS)}."
        )
    if wish.limit is not None and wish.limit < len(said):
        return Answer(said[: wish.limit], cut=True)
    return Answer(said)


def pieces(text: str) -> tuple[str, ...]:
    """The text cut after each run of blanks."""
    return tuple(re.findall(r"\S+\s*|\s+", text))


def tokens(value: object) -> int:
    """About how many tokens a part of the request is."""
    return max(1, len(orjson.dumps(value)) // 4)


def instance(schema: Any, root: Fields, depth: int = 0) -> Any:
    """A small value that fits a JSON schema, as far as tools and structured outputs use them."""
    if not isinstance(schema, dict) or depth > _DEPTH:
        return None
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if "$ref" in schema:
        return instance(_resolved(str(schema["$ref"]), root), root, depth + 1)
    for options in (schema.get(name) for name in ("anyOf", "oneOf", "allOf")):
        if options:
            return instance(options[0], root, depth + 1)
    return _typed(schema, root, depth)


def _typed(schema: Fields, root: Fields, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            found = schema.get("properties") or {}
            return {name: instance(part, root, depth + 1) for name, part in found.items()}
        case "array":
            return [instance(schema.get("items", {}), root, depth + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case leaf:
            return {"string": "demo", "boolean": True}.get(str(leaf))


def _resolved(reference: str, root: Fields) -> Any:
    part: Any = root
    for name in reference.removeprefix("#").strip("/").split("/"):
        part = part.get(name) if name and isinstance(part, dict) else part
    return part


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text", "") for part in content if isinstance(part, dict))
    return " ".join(part for part in parts if isinstance(part, str))


def last_asked(messages: Any) -> str:
    """The text of the last message that a user wrote."""
    if isinstance(messages, str):
        return messages
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def chosen(tools: Sequence[Tool], choice: Any, name: object, *, parallel: bool) -> tuple[Tool, ...]:
    """The tools to call: the named one, or where a call is required all (one unless `parallel`)."""
    if isinstance(name, str):
        return tuple(tool for tool in tools if tool.name == name)
    if choice in ("required", "any"):
        return tuple(tools if parallel else tools[:1])
    return ()


def required(fields: Fields, name: str, kind: type | tuple[type, ...]) -> Any:
    """A field that must be there. Raises RefusedError."""
    value = fields.get(name)
    if not isinstance(value, kind) or value in ("", []):
        raise RefusedError(f"expected a value for '{name}'", name)
    return value


def limit_of(fields: Fields, *names: str) -> int | None:
    """The token limit under the first of these names that has one. Raises RefusedError."""
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise RefusedError(f"expected a whole number of at least 1 for '{name}'", name)
        return value
    return None


def count_of(fields: Fields) -> int:
    """How many choices are wanted. Raises RefusedError."""
    value = fields.get("n")
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 128:
        raise RefusedError("expected a whole number from 1 to 128 for 'n'", "n")
    return value


def event(data: object, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + orjson.dumps(data) + b"\n\n"
