"""`python -m semantic SOCKET`: serves the workers of a machine. Settings as JSON on standard input;
`hotprefix serve` starts it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import uvloop

from semantic.process import run
from semantic.settings import Settings


def main() -> None:
    """Serve until SIGTERM."""
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings)
    uvloop.run(run(settings, Path(sys.argv[1]), os.environ))


if __name__ == "__main__":
    main()
