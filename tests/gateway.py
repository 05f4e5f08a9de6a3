"""The gateway as a real process: configuration file, ports, disk cache and outputs of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LISTEN = "0A"
STARTUP = 20.0
"""Seconds; a busy machine starts Python slowly."""

Settings = dict[str, Any]


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def toml(settings: Settings) -> str:
    """Settings as TOML, every table in line."""
    return "".join(f"{name} = {_shown(value)}\n" for name, value in settings.items())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_shown(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_shown(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def merged(low: Settings, high: Settings) -> Settings:
    """Settings with tables laid over each other; lists are replaced."""
    both = dict(low)
    for name, value in high.items():
        under = both.get(name)
        nested = isinstance(under, dict) and isinstance(value, dict)
        both[name] = merged(under, value) if nested else value  # type: ignore[arg-type]
    return both


class Gateway:
    """A `serve` process with its workers. Stopping and starting again keeps ports and disk."""

    def __init__(
        self, folder: Path, upstream: str, settings: Settings, env: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port, self.admin_port = free_port(), free_port()
        self.disk = folder / "disk"
        self.file = folder / "gateway.toml"
        self._env = env or {}
        self._process: subprocess.Popen[bytes] | None = None
        own: Settings = {
            "server": {"port": self.port},
            "admin": {"port": self.admin_port},
            "upstream": [{"name": "mock", "url": upstream}],
            "cache": {"disk": {"path": str(self.disk), "max_bytes": "64MiB"}},
        }
        self.settings = merged(own, settings)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start and wait until every worker takes connections."""
        self.file.write_text(toml(self.settings), encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        homes = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        with self._output("stdout").open("ab") as out, self._output("stderr").open("ab") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "proxy", "serve", "--config", str(self.file)],
                cwd=ROOT,
                env={**kept, **homes, **self._env},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        deadline = time.monotonic() + STARTUP
        size = self.settings["server"].get("workers", 1)
        while not (len(self.workers()) == size and self.ready()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the gateway did not start:\n{self.stdout()}{self.stderr()}")
            time.sleep(0.02)

    def ready(self) -> bool:
        try:
            return self.admin("/readyz")[0] == 200
        except OSError:
            return False

    def admin(self, path: str) -> tuple[int, str]:
        """Status and body of an admin route."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """Every sample of `/metrics`, by name with labels."""
        lines = self.admin("/metrics")[1].splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def total(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        found = {
            sample: value
            for sample, value in self.metrics().items()
            if re.match(rf"{name}(\{{|$)", sample) and all(label in sample for label in wanted)
        }
        return sum(found.values())

    def workers(self) -> list[int]:
        """The process ids of the workers that take connections."""
        try:
            text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except OSError:  # it is over
            return []
        return [pid for pid in map(int, text.split()) if _listens(pid, self.port)]

    def owner(self, port: int) -> int:
        """The worker that has a connection with this port of its own: one to an upstream."""
        return next(pid for pid in self.workers() if port in _ports(pid)[0])

    def ports(self, pid: int) -> set[int]:
        """The near ports of a worker's connections: those to upstreams among them."""
        return _ports(pid)[0]

    def clients(self, pid: int) -> set[int]:
        """The far ports of a worker's connections: those of its clients among them."""
        return _ports(pid)[1]

    def resident(self) -> list[int]:
        """Bytes of memory that each worker has resident now."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in self.workers()]
        return [1024 * int(text.split("VmRSS:")[1].split()[0]) for text in texts]

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float = 10.0) -> int:
        """Wait for the end; the exit status."""
        assert self._process is not None
        return self._process.wait(seconds)

    def stop(self) -> int:
        """End it in order, by force if that takes long; the exit status."""
        if self._process is None or self._process.poll() is not None:
            return 0 if self._process is None else self._process.returncode
        workers = self.workers()
        self.signal(signal.SIGTERM)
        try:
            return self.wait(15)
        except subprocess.TimeoutExpired:
            for pid in [self.pid, *workers]:
                _kill(pid)
            return self.wait()

    def kill(self) -> None:
        """End all its processes at once, as a crash of the machine would."""
        for pid in [self.pid, *self.workers()]:
            _kill(pid)
        self.wait()

    def stdout(self) -> str:
        return self._output("stdout").read_text(encoding="utf-8", errors="replace")

    def stderr(self) -> str:
        return self._output("stderr").read_text(encoding="utf-8", errors="replace")

    def log(self) -> list[dict[str, Any]]:
        """The request log: standard output's JSON lines."""
        lines = (line for line in self.stdout().splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]

    def _output(self, name: str) -> Path:
        return self.folder / name


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _sockets(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            found.add(os.readlink(link))
        except OSError:  # closed since it was listed
            continue
    return found


def _table(pid: int) -> list[tuple[int, int, str]]:
    """Near port, far port and state of every TCP socket that the process holds."""
    mine = _sockets(pid)
    rows = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return [(_port(row[1]), _port(row[2]), row[3]) for row in rows if f"socket:[{row[9]}]" in mine]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _listens(pid: int, port: int) -> bool:
    try:
        return any(near == port and state == _LISTEN for near, _, state in _table(pid))
    except OSError:
        return False


def _ports(pid: int) -> tuple[set[int], set[int]]:
    rows = [row for row in _table(pid) if row[2] != _LISTEN]
    return {near for near, _, _ in rows}, {far for _, far, _ in rows}
