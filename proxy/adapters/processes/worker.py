"""A worker's first and last moments, between the fork and the exit."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PR_SET_PDEATHSIG: Final = 1


def become(
    work: Callable[[], int], parent: int, lifeline: int, inherited: Iterable[int]
) -> NoReturn:
    """Live as a worker: called after the fork with all signals blocked; never returns into the
    parent's code. `inherited` are descriptors that only the parent may hold."""
    code = 1
    try:
        for descriptor in inherited:
            os.close(descriptor)
        _take_signals()
        _end_with(parent, lifeline)
        code = work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def say(descriptor: int) -> None:
    """Tell the parent that this worker serves."""
    with suppress(OSError):  # the parent is gone: the signal of its death is on the way
        os.write(descriptor, b"1")


def _take_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGHUP):
        # The terminal sends these to the whole group; the parent decides what they mean.
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _end_with(parent: int, lifeline: int) -> None:
    """End this process as by SIGTERM when its parent is gone, however that died."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    except (AttributeError, OSError):  # not Linux
        threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _watch(lifeline: int) -> None:
    os.read(lifeline, 1)  # nobody ever writes: it returns when the parent's end is closed
    os.kill(os.getpid(), signal.SIGTERM)
