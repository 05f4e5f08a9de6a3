"""`hotprefix purge`: forget stored answers of a running proxy."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.adapters.console import ConsoleError, ask
from proxy.config import ConfigError
from proxy.environment import locate

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("purge", help="forget stored answers of a running proxy")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--all", action="store_true", help="every answer")
    what.add_argument("--key", type=_key, help="one answer: its 64 hex digits, as `explain` shows")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask for it; 1 where the proxy is not there or refuses."""
    try:
        admin = locate(args.config, os.environ).admin
        what = {"key": args.key} if args.key else {"scope": "all"}
        ask(admin, os.environ, "/admin/purge", what)
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    except ConsoleError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 1
    print(f"purged {args.key or 'all'}")
    return 0


def _key(text: str) -> str:
    if re.fullmatch("[0-9a-fA-F]{64}", text) is None:
        raise ArgumentTypeError(f"expected 64 hex digits, got {text!r}")
    return text
