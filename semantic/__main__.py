"""`python -m semantic SOCKET TELL`: serves the workers of a machine, and says on the descriptor
TELL that it is well. Settings as JSON on standard input; `hotprefix serve` starts it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import uvloop

from semantic.embed.port import EmbedderError
from semantic.process import run
from semantic.settings import Settings


def main() -> None:
    """Serve until SIGTERM."""
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings)
    try:
        uvloop.run(run(settings, Path(sys.argv[1]), int(sys.argv[2]), os.environ))
    except EmbedderError as error:  # it is started again and again: no traceback each time
        sys.exit(f"hotprefix: the semantic process cannot start: {error}")


if __name__ == "__main__":
    main()
