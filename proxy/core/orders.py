"""What an operator asks of a running gateway, and what is told of what is no such order."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
import msgspec.inspect as kinds

from proxy.core.entry import Key
from proxy.core.errors import RefusedError
from proxy.mistake import nearest


def _said(expected: str, **bounds: Any) -> msgspec.Meta:
    return msgspec.Meta(description=expected, **bounds)


class Purge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forget answers: exactly one of the two."""

    scope: Annotated[Literal["all", ""], _said('"all"')] = ""
    key: Annotated[
        str, _said("64 hex digits, as `explain` shows them", pattern="^([0-9a-fA-F]{64})?$")
    ] = ""


class Feedback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word about an answer."""

    request_id: Annotated[
        str, _said("the x-request-id of a hit by meaning", min_length=1, max_length=1024)
    ]
    wrong: Annotated[Literal[True], _said("true, or to be left out")] = True
    """Praise is not listened to: nothing would follow from it."""


class Warm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Have a prompt computed."""

    request: Annotated[msgspec.Raw, _said("a request's body")]
    """As `recorded` reads it."""
    key: Annotated[str, _said("text: the API key of the client whose prompt it is")] = ""
    node: Annotated[str, _said("text: the name of a node")] = ""
    everywhere: Annotated[bool, _said("true or false")] = False


Order = TypeVar("Order", bound=Purge | Feedback | Warm)

_FORMS: Final[dict[type, str]] = {
    Purge: '{"scope":"all"} or {"key":"64 hex digits"}',
    Feedback: '{"request_id":"req_…"}',
    Warm: '{"request":{…}}, and with it "key", "node" or "everywhere" if wanted',
}
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MISSING: Final = "Object missing required field `"


def order(body: bytes, kind: type[Order]) -> Order:
    """The order that a request's body is. Raises: RefusedError, without the values that are there:
    a credential may be among them."""
    try:
        return msgspec.json.decode(body, type=kind)
    except _UNREADABLE as error:
        param, what = _mistake(str(error), body, kind)
        raise _refused(kind, what, param) from error


def to_forget(body: bytes) -> Key | None:
    """The key to purge; None: all. Raises: RefusedError."""
    asked = order(body, Purge)
    if bool(asked.scope) == bool(asked.key):
        raise _refused(Purge, "One of `scope` and `key` is needed, and not both", None)
    return Key(bytes.fromhex(asked.key)) if asked.key else None


def _mistake(said: str, body: bytes, kind: type) -> tuple[str | None, str]:
    """The member that is wrong, if it is one, and what is wrong."""
    try:
        given: object = msgspec.json.decode(body)
    except _UNREADABLE:
        return None, "The body is not JSON"
    if not isinstance(given, dict):
        return None, "The body is no JSON object"
    wanted = _wanted(kind)
    for name in given:
        if name not in wanted:
            near = nearest(name, list(wanted))
            return name[:64], f"No such member{f'; did you mean `{near}`?' if near else ''}"
    if said.startswith(_MISSING):
        name = said.removeprefix(_MISSING).partition("`")[0]
        return name, f"Missing: {wanted[name]}"
    name = said.partition(" - at `$.")[2].rstrip("`")
    return name, f"Expected {wanted[name]}"


def _wanted(kind: type) -> dict[str, str]:
    """What each member is to be."""
    told = kinds.type_info(kind)
    assert isinstance(told, kinds.StructType)
    return {
        field.name: (field.type.extra_json_schema or {})["description"]
        for field in told.fields
        if isinstance(field.type, kinds.Metadata)
    }


def _refused(kind: type, what: str, param: str | None) -> RefusedError:
    name = kind.__name__.lower()
    where = f"{param}: " if param else ""
    end = "" if what.endswith("?") else "."
    message = f"{where}{what}{end} A {name} is {_FORMS[kind]}."
    return RefusedError(400, message, code=f"invalid_{name}", param=param)
