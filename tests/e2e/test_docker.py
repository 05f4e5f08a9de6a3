"""What lies in docker/ fits the project: its context, its settings, its check of health."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proxy.config import Admin, Server, load
from proxy.environment import disk_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "docker").glob("*.toml"))
IMAGE = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "docker/compose.yaml").read_text(encoding="utf-8")


def copied() -> list[str]:
    """What the image's build takes from the project."""
    lines = re.findall(r"^COPY (?!--from)(.*) \S+$", IMAGE, re.MULTILINE)
    return sorted({name for line in lines for name in line.split()})


def variable(name: str) -> str:
    """What the image sets this variable to."""
    found = re.search(rf"\b{name}=(\S+)", IMAGE)
    assert found is not None
    return found[1]


def volume() -> str:
    found = re.search(r"^VOLUME (\S+)$", IMAGE, re.MULTILINE)
    assert found is not None
    return found[1]


def check(port: int, **env: str) -> int:
    """The exit code of the image's check of health, asked of a gateway's own admin port."""
    found = re.search(r"HEALTHCHECK .*\\\n +CMD (\[.*\])$", IMAGE, re.MULTILINE)
    assert found is not None
    python, *words = json.loads(found[1])
    words = [word.replace(str(Admin().port), str(port)) for word in words]
    assert python == "python"
    assert str(port) in " ".join(words)
    command = [sys.executable, *words]
    return subprocess.run(command, env=env, capture_output=True, timeout=10).returncode


@pytest.mark.parametrize("name", copied())
def test_the_context_holds_what_the_image_takes(name: str) -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert allowed[0] == "*"
    assert f"!{name}" in allowed
    assert (ROOT / name).exists()


def test_the_image_takes_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    globs = project["tool"]["setuptools"]["packages"]["find"]["include"]

    assert {glob.partition(".")[0] for glob in globs} <= set(copied())


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_its_settings_are_reached_from_outside_and_keep_the_cache_on_the_volume(file: Path) -> None:
    config = load(file)

    assert config.server.host == "0.0.0.0"
    assert f"EXPOSE {config.server.port}\n" in IMAGE
    assert disk_path(config, {"XDG_CACHE_HOME": variable("XDG_CACHE_HOME")}) == Path(volume())
    assert not config.cache.disk.path  # nor does a file of the user's own need to name it


def test_the_volume_is_of_the_user_that_the_image_runs_as() -> None:
    found = re.search(r"^USER (\d+):(\d+)$", IMAGE, re.MULTILINE)

    assert found is not None
    assert int(found[1]) > 0
    assert f"install -d -o {found[1]} -g {found[2]} -m 0700 {volume()}" in IMAGE


def test_compose_has_the_redis_that_its_settings_name() -> None:
    config = load(ROOT / "docker/compose.toml")
    services = re.findall(r"^  (\w+):$", COMPOSE.partition("\nvolumes:")[0], re.MULTILINE)

    assert re.fullmatch(r"redis://(\w+):6379/0", config.cache.redis.url)[1] in services  # type: ignore[index]


def test_compose_waits_for_the_drain() -> None:
    found = re.search(r"stop_grace_period: (\d+)s", COMPOSE)

    assert found is not None
    assert int(found[1]) > Server().drain_timeout


@pytest.fixture
def frozen(start: Start) -> Iterator[Gateway]:
    """A gateway that stands still."""
    one = start()
    pids = [one.pid, *one.workers()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield one
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_a_gateway_that_serves_is_healthy(gateway: Gateway) -> None:
    """Also where the container was given a proxy for the world outside."""
    assert check(gateway.admin_port) == 0
    assert check(gateway.admin_port, http_proxy="http://127.0.0.1:9") == 0


def test_a_gateway_that_stands_still_is_not(frozen: Gateway) -> None:
    assert check(frozen.admin_port) == 1


def test_nor_is_one_that_is_gone(start: Start) -> None:
    one = start()
    one.stop()

    assert check(one.admin_port) == 1
