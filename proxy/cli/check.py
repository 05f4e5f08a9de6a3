"""`hotprefix check`: whether a configuration can be used, and what it amounts to."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proxy.adapters.calendars import closings
from proxy.adapters.clock import SystemClock
from proxy.adapters.folders import unusable
from proxy.adapters.redis.url import masked
from proxy.config import Config, ConfigError, UnsetError
from proxy.core.rules import exchanges
from proxy.environment import located, unset, variable_in
from proxy.quantity import Duration, Size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

_DURATIONS: Final = (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_SIZES: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_USERINFO: Final = re.compile(r"(?<=://)[^/@]*(?=@)")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("check", help="validate a configuration, print what is in effect")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the effective settings as TOML. 2 and one line on standard error for a bad file; 1 and
    a line for each variable that it names and this environment lacks, where `serve` would end, and
    for each folder that cannot be used here, without which it would serve."""
    try:
        with located(args.file, os.environ) as config:
            _tried(config, os.environ)
            closings(exchanges(config), SystemClock.now())
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    print("\n".join(effective(config, os.environ)))
    lacking = [*map(str, unset(config, os.environ)), *unusable(config, os.environ)]
    for told in lacking:
        print(f"hotprefix: {args.file}: {told}", file=sys.stderr)
    return 1 if lacking else 0


def _tried(config: Config, environment: Mapping[str, str]) -> None:
    """Whether it makes sense all together. Raises: ConfigError."""
    # The gateway's libraries take 0.3 s to load: no other command pays for them.
    from proxy.app import checks

    for check in checks(config, environment):
        with suppress(UnsetError):  # each of them is told once the file is known to be good
            check()


def effective(config: msgspec.Struct, environment: Mapping[str, str]) -> Iterator[str]:
    """TOML lines that load as the same settings, secrets masked.

    Variables that hold secrets are named, with whether they are set; what they hold is not shown.
    """
    yield from _table(config, "", environment)


def _table(table: msgspec.Struct, path: str, environment: Mapping[str, str]) -> Iterator[str]:
    values = {field.name: getattr(table, field.name) for field in msgspec.structs.fields(table)}
    nested = {name: value for name, value in values.items() if _is_nested(value)}
    for name, value in values.items():
        if name not in nested and value is not None:
            shown = masked(value) if (path, name) == ("cache.redis", "url") else value
            yield f"{name} = {_literal(shown)}{_remark(name, value, environment)}"
    for name, value in nested.items():
        below = f"{path}.{name}" if path else name
        for one in value if isinstance(value, tuple) else [value]:
            yield ""
            yield f"[[{below}]]" if isinstance(value, tuple) else f"[{below}]"
            yield from _table(one, below, environment)


def _is_nested(value: object) -> bool:
    first = value[0] if isinstance(value, tuple) and value else value
    return isinstance(first, msgspec.Struct)


def _remark(name: str, value: object, environment: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        return ""
    if not (variable := variable_in(name, value)):
        return ""
    return "  # set" if environment.get(variable) else "  # not set"


def _literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Duration():
            return _in_units(value, _DURATIONS)
        case Size():
            return _in_units(value, _SIZES)
        case tuple():
            return f"[{', '.join(_literal(one) for one in value)}]"
        case str():
            # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
            hidden = _USERINFO.sub("***", value)
            return json.dumps(hidden, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return repr(value)


def _in_units(value: Duration | Size, units: tuple[tuple[str, int], ...]) -> str:
    for unit, worth in units:
        if value and value % worth == 0:
            return f'"{int(value // worth)}{unit}"'
    return float.__repr__(value) if isinstance(value, Duration) else str(value)
