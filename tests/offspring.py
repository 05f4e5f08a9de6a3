"""Other processes that use the same files, to be frozen or killed at will."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

_ROOT = Path(__file__).parent.parent


class Offspring:
    """Runs a piece of Python in a process of its own, until the block ends at the latest."""

    def __init__(self, code: str, *args: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, args)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def line(self) -> str:
        """The next line it prints; empty once it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """At once, without a chance to tidy up."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Let it hold whatever it holds."""
        self._process.send_signal(signal.SIGSTOP)

    def finish(self) -> int:
        """Let it come to its end; its exit code."""
        self._process.communicate()
        return self._process.returncode
