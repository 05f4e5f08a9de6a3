"""`hotprefix explain`: the key of a request, and what keeps two requests apart."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from proxy.config import ConfigError
from proxy.core.controls import ControlError
from proxy.core.endpoint import Endpoint, recognise
from proxy.core.explain import Explanation, differences, explain
from proxy.core.message import Arrival
from proxy.core.request import Lookup
from proxy.core.rules import rules
from proxy.core.tenant import ForbiddenModelError, UnauthorizedError
from proxy.environment import located

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from proxy.core.message import Headers
    from proxy.core.request import Lifetime


class InputError(ValueError):
    """A file that holds no request."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "explain",
        help="the key of a request; with two, what keeps them apart",
        description="FILE holds a request's JSON body, or an object with its method, path, "
        "headers and body; - is standard input.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("other", metavar="FILE", nargs="?")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    parser.add_argument(
        "--endpoint",
        choices=[endpoint.value for endpoint in Endpoint],
        default=Endpoint.CHAT.value,
        help="the operation that a bare body is for (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what becomes of the request; 1 for one that is refused, 2 for a bad configuration."""
    files = [args.file] if args.other is None else [args.file, args.other]
    if files == ["-", "-"]:
        print("hotprefix: standard input can be read only once", file=sys.stderr)
        return 2
    try:
        with located(args.config, os.environ) as config:
            made = rules(config, os.environ)
        given = [_given(_read(file), Endpoint(args.endpoint)) for file in files]
        found = [explain(one.arrival, one.endpoint, made) for one in given]
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    except (InputError, ControlError, ForbiddenModelError) as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 1
    except UnauthorizedError:
        print("hotprefix: no credential of a configured tenant", file=sys.stderr)
        return 1
    for file, one in zip(files, found, strict=True):
        print("\n".join(_lines(file, one)))
    if len(found) == 2:
        print("\n".join(_compared(*found)))
    return 0


class _Given(NamedTuple):
    arrival: Arrival
    endpoint: Endpoint


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error


def _given(data: bytes, endpoint: Endpoint) -> _Given:
    """A whole request if `data` is an object with a body and a path, else a body."""
    try:
        told = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        told = {}
    if "body" not in told or "path" not in told:
        return _Given(Arrival("POST", f"/v1/{endpoint.value}", "", (), data), endpoint)
    try:
        path, _, query = msgspec.json.decode(told["path"], type=str).partition("?")
        method = msgspec.json.decode(told.get("method", b'"POST"'), type=str).upper()
        headers = _header_list(msgspec.json.decode(told.get("headers", b"{}")))
    except (msgspec.DecodeError, TypeError) as error:
        raise InputError(f"not a request: {error}") from error
    named = recognise(method, path)
    if named is None:
        raise InputError(
            f"{method} {path}: no operation whose answers are stored; it passes through"
        )
    return _Given(Arrival(method, path, query, headers, _body(bytes(told["body"]))), named)


def _body(raw: bytes) -> bytes:
    """A body given as an object stands for itself; one given as a string is spelled in it."""
    return msgspec.json.decode(raw, type=str).encode() if raw.startswith(b'"') else raw


def _header_list(headers: Any) -> Headers:
    pairs = headers.items() if isinstance(headers, dict) else headers
    return msgspec.convert([list(pair) for pair in pairs], tuple[tuple[str, str], ...])


_WIDTH: Final = 12


def _lines(file: str, found: Explanation) -> Iterator[str]:
    request = found.intent.request
    yield _line("request", file)
    yield _line("endpoint", request.endpoint.value)
    yield _line("tenant", request.tenant_name or f"private {request.tenant.hex()[:8]}")
    yield _line("model", request.model or "none named")
    if isinstance(found.intent, Lookup):
        second = found.intent.normalized
        yield _line("key", found.intent.key.hex())
        yield _line("normalized", "no second key" if second is None else second.hex())
        if (asked := found.intent.question) is not None:
            yield _line("question", f"compared by meaning within scope {asked.scope.hex()[:16]}")
        elif found.intent.apart:
            yield _line("question", f"not compared by meaning: {found.intent.apart}")
        yield from (_line(f"item {i}", key.hex()) for i, key in enumerate(found.intent.items))
        yield _line("ttl", _life(found.intent.lifetime))
    else:
        yield _line("bypass", f"{found.intent.reason}: {found.why}")
    yield from (_line("ignored", f"{what}: {why}") for what, why in found.ignored)
    if found.canonical:
        yield _line("canonical", found.canonical)
    if found.normalized:
        yield _line("as text", found.normalized)
    yield ""


def _life(lifetime: Lifetime) -> str:
    text = f"{lifetime.ttl:g} s before jitter"
    if lifetime.exchanges:
        text += f", and no longer than to the next close of {' or '.join(lifetime.exchanges)}"
    return f"{text}, pinned" if lifetime.pinned else text


def _line(name: str, value: str) -> str:
    return f"{name:<{_WIDTH}}{value}"


def _compared(one: Explanation, other: Explanation) -> Iterator[str]:
    yield _line("together", _verdict(one, other))
    yield from (_line("differs", what) for what in differences(one, other))


def _verdict(one: Explanation, other: Explanation) -> str:
    if not (isinstance(one.intent, Lookup) and isinstance(other.intent, Lookup)):
        return "no: the cache takes no part"
    if one.intent.key == other.intent.key:
        return "yes: one key"
    second = one.intent.normalized
    if second is not None and second == other.intent.normalized:
        return "yes: one normalized key"
    asked, meant = one.intent.question, other.intent.question
    if asked is not None and meant is not None and asked.scope == meant.scope:
        return "perhaps: questions of one scope, to be compared by meaning"
    return "no: different keys"
