"""argv → command."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

COMMANDS = ("serve", "check", "explain", "demo", "purge", "stats", "calibrate", "warm")


def main(argv: list[str] | None = None) -> int:
    """Run a command. Exit codes: 0, 1 failure, 2 usage or configuration."""
    parser = argparse.ArgumentParser(
        prog="hotprefix", description="An OpenAI-compatible caching reverse proxy."
    )
    parser.add_argument("--version", action="version", version=f"hotprefix {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"proxy.cli.{name}").add(commands)
    args = parser.parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _version() -> str:
    try:
        return version("hotprefix")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0"


if __name__ == "__main__":
    sys.exit(main())
