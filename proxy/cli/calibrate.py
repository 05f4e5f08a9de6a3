"""`hotprefix calibrate`: what hits by meaning there would be, and how many of them wrong."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proxy.comparing import compared
from proxy.environment import located
from proxy.mistake import unread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from semantic.score import Score
    from semantic.settings import Settings

_EXAMPLE = '{"a":"…","b":"…","same_answer":true}'
_EVENT = re.compile(r'"event"\s*:\s*"(\w+)"')


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    what = "what hits by meaning there would be, and how many of them wrong"
    parser = commands.add_parser("calibrate", help=what)
    lines = f"pairs of questions, one a line: {_EXAMPLE}; or a log written in shadow mode; -: stdin"
    parser.add_argument("file", type=Path, metavar="FILE", help=lines)
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    parser.add_argument("--profile", choices=("strict", "balanced", "relaxed"))
    parser.add_argument("--embedder", metavar="NAME", help="in place of the configured one")
    parser.add_argument("--group", default="", help="of a log, only this MODEL/LANGUAGE")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw it as well")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table; 1 where the file cannot be read or the embedder does not work."""
    # Heavy, and no other command's.
    from semantic.calibrate import LineError, PlotError, calibrate, drawable, plot
    from semantic.embed.port import EmbedderError

    try:
        if args.plot is not None:
            drawable()
        settings = _settings(args)
        with _read(args.file) as lines, _scoring(settings) as score:
            budget = settings.max_error_rate
            table = calibrate(_labels(lines), score=score, budget=budget, group=args.group)
        if not table.pairs:
            print(f"hotprefix: no pairs in {args.file}", file=sys.stderr)
            return 1
        print(table.text(), end="")
        if args.plot is not None:
            plot(table, args.plot)
    except (OSError, UnicodeDecodeError) as error:
        file = getattr(error, "filename", None) or args.file
        print(f"hotprefix: {file}: {unread(error)}", file=sys.stderr)
        return 1
    except (LineError, PlotError, EmbedderError) as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 1
    except ValueError as error:  # ConfigError among them
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    """Raises: ConfigError."""
    with located(args.config, os.environ) as config:
        settings = compared(config, os.environ)
    given = {"profile": args.profile, "embedder": args.embedder}
    return msgspec.structs.replace(settings, **{k: v for k, v in given.items() if v})


@contextmanager
def _read(path: Path) -> Iterator[Iterable[str]]:
    if str(path) == "-":
        yield sys.stdin
        return
    with path.open(encoding="utf-8-sig") as lines:
        yield lines


def _labels(lines: Iterable[str]) -> Iterator[str]:
    """Of a log, only the lines that are about labels: what stands before and between them, such
    as what `serve` says on standard error, is left out too. Empty ones stand for the others, so
    that the numbers of lines are the file's."""
    rest, first = iter(lines), list[str]()
    for line in rest:
        first.append(line)
        if line.lstrip().startswith("{"):
            break
    log = any(map(_EVENT.search, first))
    for line in chain(first, rest):
        event = _EVENT.search(line)
        log = log or event is not None
        label = event is not None and event[1] == "semantic_label"
        yield line if label or not log else "\n"


@contextmanager
def _scoring(settings: Settings) -> Iterator[Score]:
    """What compares two questions. Raises: ValueError, EmbedderError."""
    from semantic.embed.choose import embedder
    from semantic.score import Score

    with asyncio.Runner() as runner:
        chosen = runner.run(embedder(settings.embedder, os.environ))
        try:
            yield Score(settings, chosen, lambda texts: runner.run(chosen.embed(texts)))
        finally:
            runner.run(chosen.aclose())
