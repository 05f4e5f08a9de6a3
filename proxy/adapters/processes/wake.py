"""The parent's signals as something that it can wait for."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@contextmanager
def woken() -> Iterator[int]:
    """A descriptor on which the numbers of arriving signals can be read."""
    wake, ring = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(ring, False)
    before = [(number, signal.signal(number, _ignored)) for number in SIGNALS]
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    try:
        yield wake
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before:
            signal.signal(number, handler)
        os.close(wake)
        os.close(ring)


def _ignored(number: int, frame: FrameType | None) -> None:
    """A handler must be there for the number to be written; the loop decides what it means."""
