"""The manual's example of questions that mean the same, as it stands there, on other ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_two_nodes import ended
from tests.gateway import ROOT, free_port

if TYPE_CHECKING:
    from pathlib import Path

_TTL = re.compile(r"ttl=\d+")  # a second may have passed
LOADED = 40.0
"""Seconds until the semantic process is surely there, also on a machine with other work."""


def example(ports: dict[str, str]) -> list[str]:
    """Its settings, what is asked, and what is shown then."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Meaning\n")[2]
    for port, own in ports.items():
        section = section.replace(f":{port}/", f":{own}/")
    return re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)[:3]


def there(port: str) -> bool:
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer,
    ):
        return b'hotprefix_tier_working{tier="semantic"} 1.0' in answer.read()
    return False


@pytest.mark.timeout(90)
def test_who_types_the_example_sees_what_the_manual_shows(tmp_path: Path) -> None:
    ports = {name: str(free_port()) for name in ("8080", "8081")}
    settings, asking, shown = example(ports)
    own = f"[server]\nport = {ports['8080']}\n[admin]\nport = {ports['8081']}\n"
    (tmp_path / "that.toml").write_text(settings.replace('"shadow"', '"on"') + own)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "proxy", "serve", "--config", "that.toml"]
    process = subprocess.Popen(command, cwd=tmp_path, env=env, start_new_session=True)
    try:
        deadline = time.monotonic() + LOADED
        while not there(ports["8081"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        said = subprocess.run(["bash", "-c", asking], env=env, capture_output=True, check=True)
    finally:
        ended(process)

    first, *answers = said.stdout.decode().splitlines()
    assert first == 'hotprefix_tier_working{tier="semantic"} 1.0'
    assert [_TTL.sub("", line) for line in answers] == _TTL.sub("", shown).splitlines()
