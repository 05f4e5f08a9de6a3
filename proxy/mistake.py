"""A mistake in the settings in words: what was expected, what is there, and of which setting."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import msgspec.inspect as kinds

from proxy.quantity import Duration, Size, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_NAMED: Final = re.compile(r"^Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
_USER: Final = re.compile(r"(?<=://).*(?=@)", re.DOTALL)
_QUERY: Final = re.compile(r"(?<=\?).*", re.DOTALL)
_PLACE: Final = re.compile(r"at line (\d+), column (\d+)")
_LONGEST: Final = 60
"""Characters of a value that are shown."""
_FEW: Final = 12
"""Names that can be read at once."""
_MEASURES: Final = {
    Duration: 'a duration of at least 0, such as "90s", "5m" or 1.5 (seconds)',
    Timeout: 'a duration above 0, such as "50ms" or 0.05 (seconds)',
    Size: 'a size of at least 0, such as "64MiB" or 65536 (bytes)',
}


def mistake(error: Exception, given: Mapping[str, Any], table: type) -> str:
    """What msgspec says of settings that are no such table, in words of those who write them."""
    said, _, at = str(error).partition(" - at `$")
    path, kind = "", kinds.type_info(table)
    value: Any = given
    for name, index in _STEP.findall(at):
        kind = _bare(kind)
        if name:
            path, kind, value = _below(path, name), _fields(kind)[name].type, value[name]
        else:
            path, kind, value = f"{path}[{index}]", _item(kind, int(index)), value[int(index)]
    named = _NAMED.match(said)
    if named is None:
        what = f"expected {_wanted(kind, path)}, got {shown(value)}{_hint(_bare(kind), value)}"
        return f"{what} - at `{path}`"
    what, name = named.groups()
    if what == "contains unknown":
        return f"{_unknown(name, path, _bare(kind), table)} - at `{_below(path, name)}`"
    wanted = _wanted(_fields(_bare(kind))[name].type, name)
    return f"missing: expected {wanted} - at `{_below(path, name)}`"


def not_toml(error: Exception, text: str) -> str:
    """What is wrong with a text that is no TOML. Of signs that look like TOML's, as an input method
    writes them, tomllib does not tell that they are others."""
    said = f"not TOML: {error}"
    if (at := _PLACE.search(said)) is None:
        return said
    line = text.replace("\r\n", "\n").split("\n")[int(at[1]) - 1]
    sign = line[int(at[2]) - 1 :][:1]
    if sign.isascii():
        return said
    return f'{said}: {sign} is not ASCII; only comments and what stands between " may be otherwise'


def unread(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not in UTF-8 (byte {error.start}); save it in that encoding"
    return error.strerror or type(error).__name__


def lacking(extra: str) -> str:
    """What to tell of a setting that needs a package which is not installed."""
    clone = f".venv/bin/pip install -c constraints.txt -e '.[{extra}]'"
    return f"it needs the extra `{extra}`: pip install 'hotprefix[{extra}]', in a clone {clone}"


def nearest(name: str, known: Sequence[str]) -> str:
    """Which of them was meant; empty: none is like it."""
    # Two letters that changed places cost difflib more than one that is missing does.
    turned = [one for one in known if sorted(one) == sorted(name)]
    return next(iter(turned or get_close_matches(name, known, 1)), "")


def one_of(allowed: Iterable[str], given: str) -> str:
    """What to tell of a choice that there is not."""
    names = sorted(allowed)
    return f"expected {_or(names)}, got {shown(given)}{_meant_of(names, given)}"


def shown(value: object) -> str:
    """A value as it is written in the file, without what is secret in a URL."""
    match value:
        case str():
            hidden = _USER.sub("***", value)
            hidden = _QUERY.sub("***", hidden) if "://" in hidden else hidden
            cut = f"{hidden[:_LONGEST]}…" if len(hidden) > _LONGEST else hidden
            return json.dumps(cut, ensure_ascii=False)
        case bool() | int() | float():
            return json.dumps(value)
        case dict():
            return "a table"
        case [dict(), *_]:
            return "a list of tables"
        case list():
            return f"a list of {len(value)}"
        case _:
            return str(value)


def _unknown(name: str, path: str, kind: kinds.StructType, table: type) -> str:
    known = [field.encode_name for field in kind.fields]
    if near := nearest(name.lower().replace("-", "_"), known):
        return f"no such setting{_meant(f'`{_below(path, near)}`')}"
    if elsewhere := [
        where for where in _places(kinds.type_info(table), "") if _last(where) == name
    ]:
        return f"no such setting{_meant(' or '.join(f'`{where}`' for where in elsewhere[:3]))}"
    if len(known) > _FEW:
        return "no such setting; config.example.toml has all that there are"
    return f"no such setting; there are {', '.join(known)}"


def _places(kind: kinds.Type, path: str) -> Iterator[str]:
    """All settings, and in which tables they are."""
    inner = _bare(kind.item_type) if isinstance(kind, kinds.VarTupleType) else kind
    if isinstance(inner, kinds.StructType):
        for field in inner.fields:
            where = _below(path, field.encode_name)
            yield where
            yield from _places(_bare(field.type), where)


def _wanted(kind: kinds.Type, path: str) -> str:
    """What is written there, in words."""
    if isinstance(kind, kinds.Metadata) and kind.extra_json_schema:
        return str(kind.extra_json_schema["description"])
    match _bare(kind):
        case kinds.IntType() | kinds.FloatType() as number:
            whole = "whole " if isinstance(number, kinds.IntType) else ""
            return f"a {whole}number{_range(number)}"
        case kinds.LiteralType(values):
            return _or([str(value) for value in values])
        case kinds.CustomType(cls):
            return _MEASURES[cls]
        case kinds.StructType() | kinds.VarTupleType() | kinds.TupleType() as several:
            return _several(several, path)
        case single:
            return "true or false" if isinstance(single, kinds.BoolType) else "text in quotes"


def _several(kind: kinds.StructType | kinds.VarTupleType | kinds.TupleType, path: str) -> str:
    if isinstance(kind, kinds.StructType):
        return f"a table, as [{path}] begins one"
    if isinstance(kind, kinds.TupleType):
        return f"a list of {len(kind.item_types)} texts in quotes"
    match _bare(kind.item_type):
        case kinds.StructType():
            return f"tables that begin with [[{path}]]"
        case kinds.VarTupleType() | kinds.TupleType():
            return 'a list of lists, such as [["a", "b"]]'
        case _:
            return 'a list of texts, such as ["a", "b"]'


def _range(number: kinds.IntType | kinds.FloatType) -> str:
    if number.ge is not None and number.le is not None:
        return f" from {number.ge:g} to {number.le:g}"
    low = f" of at least {number.ge:g}" if number.ge is not None else ""
    low = f" above {number.gt:g}" if number.gt is not None else low
    high = f" at most {number.le:g}" if number.le is not None else ""
    high = f" below {number.lt:g}" if number.lt is not None else high
    return " and".join(one for one in (low, high) if one)


def _hint(kind: kinds.Type, value: object) -> str:
    """What is likely to be wrong with it."""
    match kind, value:
        case kinds.LiteralType(values), str():
            return _meant_of([str(one) for one in values], value)
        case ((kinds.BoolType() | kinds.IntType() | kinds.FloatType()), str()):
            number = re.fullmatch(r"[\d.]+|true|false", value.strip())
            return "; write it without quotes" if number else ""
        case _:
            return ""


def _bare(kind: kinds.Type) -> Any:
    """Without what is said about it; of what may be left out, what it is if it is there."""
    match kind:
        case kinds.Metadata(inner):
            return _bare(inner)
        case kinds.UnionType(types):
            return next(_bare(one) for one in types if not isinstance(one, kinds.NoneType))
        case _:
            return kind


def _fields(kind: kinds.StructType) -> dict[str, kinds.Field]:
    return {field.encode_name: field for field in kind.fields}


def _item(kind: kinds.VarTupleType | kinds.TupleType, index: int) -> kinds.Type:
    return kind.item_types[index] if isinstance(kind, kinds.TupleType) else kind.item_type


def _below(path: str, name: str) -> str:
    plain = name if re.fullmatch(r"[\w-]+", name) else json.dumps(name)
    return f"{path}.{plain}" if path else plain


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _meant_of(names: Sequence[str], given: str) -> str:
    near = nearest(given.lower(), names)
    return _meant(json.dumps(near)) if near else ""


def _meant(name: str) -> str:
    return f"; did you mean {name}?"


def _or(names: Sequence[str]) -> str:
    quoted = [json.dumps(name) for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
