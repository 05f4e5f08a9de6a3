"""The directory of one run."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from proxy.adapters.runtime import runtime

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import signal, sys
from pathlib import Path
from proxy.adapters.runtime import runtime
with runtime(Path(sys.argv[1])) as directory:
    print(directory, flush=True)
    signal.pause()
"""


def test_only_this_user_may_enter(tmp_path: Path) -> None:
    with runtime(tmp_path) as directory:
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_it_is_gone_after_the_run(tmp_path: Path) -> None:
    with runtime(tmp_path) as directory:
        (directory / "socket").write_text("")

    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_swept_by_the_next_and_a_living_one_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        held = tmp_path / os.path.basename(run.stdout.readline().strip())
        with runtime(tmp_path):
            assert held.exists()
        run.send_signal(signal.SIGKILL)
    assert held.exists()

    with runtime(tmp_path) as directory:
        assert list(tmp_path.iterdir()) == [directory]


def test_strangers_directories_stay(tmp_path: Path) -> None:
    """Without a lock of ours in it, a directory only has a similar name."""
    (tmp_path / "hotprefix-notes").mkdir()
    with runtime(tmp_path):
        pass

    assert (tmp_path / "hotprefix-notes").exists()
