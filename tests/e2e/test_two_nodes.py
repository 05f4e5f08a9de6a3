"""The manual's example of routing, as it stands there, on other ports."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from tests.gateway import ROOT, STARTUP, free_port

if TYPE_CHECKING:
    from pathlib import Path


def example(ports: dict[str, str]) -> list[str]:
    """Its settings, what starts it, what is asked, and what is shown then."""
    manual = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.split(r"\n##+ ", manual.partition("### See it at work\n")[2])[0]
    for port, own in ports.items():
        section = section.replace(port, own)
    section = section.replace(".venv/bin/hotprefix", f"{sys.executable} -m proxy")
    return re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)


def listening(port: str) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), 1):
        return True
    return False


def ended(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(10)


@pytest.mark.timeout(60)
def test_who_types_the_example_sees_what_the_manual_shows(tmp_path: Path) -> None:
    ports = {name: str(free_port()) for name in ("8001", "8002", "8080", "8081")}
    settings, starting, asking, shown = example(ports)
    own = f"\n[server]\nport = {ports['8080']}\n[admin]\nport = {ports['8081']}\n"
    (tmp_path / "two.toml").write_text(settings + own)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    lines = [line.removesuffix(" &") for line in starting.splitlines()]
    with ExitStack() as stack:
        for line, name in zip(lines, ("8001", "8002", "8080"), strict=True):
            command = ["sh", "-c", f"exec {line}"]
            process = subprocess.Popen(command, cwd=tmp_path, env=env, start_new_session=True)
            stack.callback(ended, process)
            deadline = time.monotonic() + STARTUP
            while not listening(ports[name]):
                assert time.monotonic() < deadline
                time.sleep(0.02)
        said = subprocess.run(["bash", "-c", asking], env=env, capture_output=True, check=True)

    assert said.stdout.decode().splitlines() == shown.splitlines()
