"""What a request asks of the cache, in headers or in the body's `cache` object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import msgspec

from proxy.mistake import nearest
from proxy.quantity import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.message import Headers

Mode = Literal["exact", "normalized", "semantic"]


class Controls(msgspec.Struct, frozen=True):
    """Request controls. Times are seconds."""

    read: bool = True
    store: bool = True
    """False: nothing is written, and no flight is joined that others started."""
    bypass: Literal["", "off", "no_store"] = ""
    """Why the cache takes no part at all; empty: it does."""
    only_if_cached: bool = False
    max_age: float | None = None
    min_fresh: float | None = None
    max_stale: float | None = None
    ttl: float | None = None
    namespace: str = ""
    tags: tuple[str, ...] = ()
    mode: Mode = "semantic"
    threshold: float | None = None


class ControlError(ValueError):
    """A control whose value makes no sense; `param` names the header or body member."""

    def __init__(self, param: str, expected: str, value: object) -> None:
        super().__init__(f"{param}: expected {expected}, got {value!r:.80}")
        self.param = param


FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "no-cache": ("read",),
    "no-store": ("bypass", "store"),
    "only-if-cached": ("only_if_cached",),
    "max-age": ("max_age",),
    "min-fresh": ("min_fresh",),
    "max-stale": ("max_stale",),
    **{name: (name,) for name in ("ttl", "namespace", "tags", "mode", "threshold")},
}
"""The names by which a tenant's `controls` setting allows them, and what each one governs."""

_MAX_TEXT: Final = 256  # characters of a namespace or tag: they go into keys, logs and scopes
_MAX_TAGS: Final = 32
_SHARE: Final = re.compile(r"0?\.\d+|0|1(?:\.0*)?", re.ASCII)
_MAX_SECONDS: Final = 2.0**31  # RFC 9111 §1.2.2: what a number of seconds is taken for at most

_Changes = dict[str, Any]
_DEFAULTS: Final = Controls()


def from_headers(headers: Headers, *, aliases: bool) -> Controls:
    """What the headers ask for; `aliases`: other gateways' spellings too. Raises ControlError."""
    changes: _Changes = {}
    for spelled, value in headers:
        name = spelled.lower()
        if name in OWN_NAMES:
            _OWN[name](changes, name, value.strip())
        elif aliases and name in ALIAS_NAMES:
            _alias(changes, name, value.strip())
    return Controls(**changes) if changes else _DEFAULTS


def merged_with_body(controls: Controls, cache_object: dict[str, Any]) -> Controls:
    """`controls` and what the body's `cache` object adds; of two lifetimes or names the body's.
    Raises ControlError."""
    changes: _Changes = {}
    for name, value in cache_object.items():
        if name not in _BODY:
            near = nearest(name, list(_BODY))
            raise ControlError(f"cache.{name:.64}", near or f"one of {', '.join(_BODY)}", name)
        if value is not None:
            _BODY[name](changes, f"cache.{name}", value)
    if "max_age" in changes and controls.max_age is not None:
        changes["max_age"] = min(changes["max_age"], controls.max_age)
    return msgspec.structs.replace(controls, **changes) if changes else controls


def limited(controls: Controls, allowed: tuple[str, ...], max_ttl: float) -> Controls:
    """`controls` without those that are not allowed (`*`: all are), its ttl at most `max_ttl`.

    A lifetime of 0 is a wish not to store.
    """
    changes: _Changes = {}
    if "*" not in allowed:
        refused = (field for name in FIELDS if name not in allowed for field in FIELDS[name])
        changes = {field: getattr(_DEFAULTS, field) for field in refused}
    ttl = changes.get("ttl", controls.ttl)
    if ttl is not None and ttl > max_ttl:
        ttl = changes["ttl"] = max_ttl
    if ttl == 0:
        changes["store"] = False
    return msgspec.structs.replace(controls, **changes) if changes else controls


def _cache_control(changes: _Changes, _: str, value: str) -> None:
    for part in value.split(","):
        directive, _, argument = part.partition("=")
        match directive.strip().lower():
            case "no-cache":
                changes["read"] = False
            case "no-store":
                changes["bypass"] = "no_store"
            case "only-if-cached":
                changes["only_if_cached"] = True
            case "max-age":
                # Unreadable means stale (RFC 9111 §4.2.1), so nothing old is served by mistake.
                number = _delta(argument) or 0.0
                changes["max_age"] = min(number, changes.get("max_age", number))
            case "min-fresh":
                changes["min_fresh"] = _delta(argument)
            case "max-stale":
                changes["max_stale"] = _delta(argument) if argument else float("inf")
            case _:
                pass  # directives that are not known are ignored (RFC 9111 §5.2.3)


def _delta(argument: str) -> float | None:
    digits = argument.strip(' "')
    return min(float(digits), _MAX_SECONDS) if digits.isascii() and digits.isdigit() else None


def _switch(changes: _Changes, param: str, value: str) -> None:
    match value.lower():
        case "on" | "":
            pass
        case "off":
            changes.setdefault("bypass", "off")
        case "read-only":
            changes["store"] = False
        case "write-only":
            changes["read"] = False
        case _:
            raise ControlError(param, "on, off, read-only or write-only", value)


def _duration(field: str) -> Callable[[_Changes, str, Any], None]:
    def apply(changes: _Changes, param: str, value: Any) -> None:
        try:
            changes[field] = seconds(value)
        except (ValueError, OverflowError) as error:
            raise ControlError(param, "a duration like 90 or 5m", value) from error

    return apply


def _namespace(changes: _Changes, param: str, value: object) -> None:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ControlError(param, f"a text of at most {_MAX_TEXT} characters", value)
    changes["namespace"] = value


def _tags(changes: _Changes, param: str, value: object) -> None:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(tag, str) for tag in listed):
        raise ControlError(param, "tags separated by commas", value)
    named = [tag.strip() for tag in listed if tag.strip()]
    tags = tuple(dict.fromkeys([*changes.get("tags", ()), *named]))
    if len(tags) > _MAX_TAGS or any(len(tag) > _MAX_TEXT for tag in tags):
        raise ControlError(param, f"at most {_MAX_TAGS} tags of {_MAX_TEXT} characters", value)
    changes["tags"] = tags


def _mode(changes: _Changes, param: str, value: str) -> None:
    if value.lower() not in get_args(Mode):
        raise ControlError(param, "exact, normalized or semantic", value)
    changes["mode"] = value.lower()


def _threshold(changes: _Changes, param: str, value: str) -> None:
    if not _SHARE.fullmatch(value):
        raise ControlError(param, "a number from 0 to 1", value)
    changes["threshold"] = float(value)


def _flag(field: str, when: bool, change: object) -> Callable[[_Changes, str, object], None]:
    def apply(changes: _Changes, param: str, value: object) -> None:
        if not isinstance(value, bool):
            raise ControlError(param, "true or false", value)
        if value is when:
            changes[field] = change

    return apply


_OWN: Final[dict[str, Callable[[_Changes, str, str], None]]] = {
    "cache-control": _cache_control,
    "x-cache": _switch,
    "x-cache-ttl": _duration("ttl"),
    "x-cache-namespace": _namespace,
    "x-cache-tags": _tags,
    "x-cache-mode": _mode,
    "x-cache-threshold": _threshold,
}
_BODY: Final[dict[str, Callable[[_Changes, str, Any], None]]] = {
    "ttl": _duration("ttl"),
    "s-maxage": _duration("max_age"),
    "s-max-age": _duration("max_age"),
    "namespace": _namespace,
    "tags": _tags,
    "no-cache": _flag("read", True, False),
    "no-store": _flag("bypass", True, "no_store"),
    "use-cache": _flag("bypass", False, "off"),
}

ALIAS_NAMES: Final = frozenset(
    {
        "x-portkey-cache-force-refresh",
        "x-portkey-cache-namespace",
        "helicone-cache-enabled",
        "helicone-cache-seed",
        "cf-aig-skip-cache",
        "cf-aig-cache-ttl",
    }
)


def _alias(changes: _Changes, name: str, value: str) -> None:
    """Another gateway's header: what it has no meaning for is ignored, as that gateway does."""
    match name, value.lower():
        case (("x-portkey-cache-force-refresh" | "cf-aig-skip-cache"), "true"):
            changes["read"] = False
        case "helicone-cache-enabled", "false":
            changes.setdefault("bypass", "off")
        case (("x-portkey-cache-namespace" | "helicone-cache-seed"), _):
            changes.setdefault("namespace", value[:_MAX_TEXT])
        case "cf-aig-cache-ttl", _ if (number := _delta(value)) is not None:
            changes.setdefault("ttl", number)


OWN_NAMES: Final = frozenset(_OWN)
HEADER_NAMES: Final = OWN_NAMES | ALIAS_NAMES
"""Headers that steer the cache: never forwarded, and part of what a request's spelling is."""
