"""`hotprefix warm`: have the prompts in a file computed by the nodes of a running proxy."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from proxy.adapters.clock import SystemClock
from proxy.adapters.console import ConsoleError, ask
from proxy.config import ConfigError
from proxy.core.recorded import RecordError, recorded
from proxy.environment import locate
from proxy.mistake import unread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

_DONE: Final = frozenset(("warmed", "held"))
_WIDTH: Final = 30
"""Characters of the bar."""

Told = dict[str, Any]


class _Line(NamedTuple):
    number: int
    text: bytes


class _Wish(NamedTuple):
    """What is asked of the proxy for every line."""

    key: str
    node: str
    everywhere: bool
    patience: float


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "warm",
        help="have prompts computed before they are asked for",
        description="Each line of FILE is a request's JSON body, or an object with its body, path "
        "and headers; - is standard input. Nothing is stored, and no tenant is charged.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    parser.add_argument(
        "--key-env",
        default="",
        metavar="NAME",
        help="variable with the key of the client whose prompts they are: others share none",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--node", default="", help="default: where the requests would be sent")
    where.add_argument("--all-nodes", action="store_true", help="each that serves the model")
    parser.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for an idle node, or for the budget, with each line (default: %(default)g)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Warm line after line; 1 where not all are held in the end, 2 for a bad configuration."""
    try:
        config = locate(args.config, os.environ)
        key = os.environ.get(args.key_env, "") if args.key_env else ""
        if args.key_env and not key:
            raise ConfigError(f"the variable {args.key_env} is not set")
        lines = list(_lines(args.file))
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    except RecordError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 1
    wish = _Wish(key, args.node, args.all_nodes, args.wait)
    # The last word comes from the nodes, after whole prompts were computed.
    timeout = 2 * wish.patience + 20 * float(config.warming.timeout)

    def post(body: bytes) -> list[Told]:
        told = ask(config.admin, os.environ, "/admin/warm", body, timeout=timeout)
        results: list[Told] = told["results"]
        return results

    return _all(lines, wish, post)


def _all(lines: Sequence[_Line], wish: _Wish, post: Callable[[bytes], list[Told]]) -> int:
    outcomes: Counter[str] = Counter()
    spent, shown = 0, _Shown(len(lines))
    for line in lines:
        try:
            results, computed = _warmed(line, wish, post)
        except ConsoleError as error:
            shown.end()
            print(f"hotprefix: line {line.number}: {error}", file=sys.stderr)
            return 1
        outcomes.update(one["outcome"] for one in results)
        spent += computed
        shown.line(line, results)
    shown.end()
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{len(lines)} prompts: {told or 'none'}; {spent:,} tokens computed")
    return 0 if outcomes.keys() <= _DONE else 1


def _warmed(
    line: _Line, wish: _Wish, post: Callable[[bytes], list[Told]]
) -> tuple[list[Told], int]:
    """What came of it at each node, and the tokens computed for it in all; asked again while that
    makes sense and time is left."""
    clock = SystemClock()
    until = clock.mono() + wish.patience
    results = post(_body(line, wish, wish.node, everywhere=wish.everywhere))
    spent = sum(one["spent"] for one in results)
    while again := max((one["again"] for one in results), default=0.0):
        if clock.mono() + again > until:
            break
        Event().wait(again)
        # Elsewhere than at first only where nobody said where.
        asked = [one["node"] for one in results if one["again"]] if wish.everywhere else [wish.node]
        kept = [one for one in results if wish.everywhere and not one["again"]]
        later = [one for node in asked for one in post(_body(line, wish, node))]
        spent += sum(one["spent"] for one in later)
        results = kept + later
    return results, spent


def _body(line: _Line, wish: _Wish, node: str, *, everywhere: bool = False) -> bytes:
    asked = {
        "request": msgspec.Raw(line.text),
        "key": wish.key,
        "node": node,
        "everywhere": everywhere,
    }
    return msgspec.json.encode(asked)


def _lines(file: str) -> Iterator[_Line]:
    """Those that hold a request. Raises: RecordError, naming the file and the line."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise RecordError(f"cannot read {file}: {unread(error)}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            recorded(line)
        except RecordError as error:
            raise RecordError(f"{file}, line {number}: {error}") from error
        yield _Line(number, line.strip())


class _Shown:
    """A bar on a terminal; otherwise a line for each prompt."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._bar = sys.stderr.isatty() and sys.stdout.isatty()

    def line(self, line: _Line, results: Sequence[Told]) -> None:
        self._done += 1
        if not self._bar:
            for one in results:
                computed = f"{one['spent']:,} tokens computed of about {one['tokens']:,}"
                node = one["node"] or "no node"
                print(f"line {line.number}: {one['outcome']} at {node}, {computed}", flush=True)
            return
        full = _WIDTH * self._done // self._total
        bar = "#" * full + "." * (_WIDTH - full)
        last = results[-1]["outcome"] if results else ""
        text = f"[{bar}] {self._done}/{self._total} {last}"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._bar and self._done:
            print(file=sys.stderr)
