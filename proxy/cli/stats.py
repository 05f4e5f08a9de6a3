"""`hotprefix stats`: what a running proxy has done so far."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.adapters.console import ConsoleError, ask
from proxy.config import ConfigError
from proxy.environment import locate

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("stats", help="numbers of a running proxy")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print them; 1 where the proxy is not there or refuses."""
    try:
        admin = locate(args.config, os.environ).admin
        numbers = ask(admin, os.environ, "/admin/stats")
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    except ConsoleError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 1
    print(json.dumps(numbers) if args.json else "\n".join(lines(numbers)))
    return 0


def lines(numbers: dict[str, Any], above: str = "") -> Iterator[str]:
    """One line a number, named by its path: `tiers.memory.bytes`."""
    for name, value in numbers.items():
        if isinstance(value, dict):
            yield from lines(value, f"{above}{name}.")
        else:
            yield f"{above + name:<32} {_shown(value):>16}"


def _shown(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,g}" if value % 1 else f"{value:,.0f}"
    return str(value)
