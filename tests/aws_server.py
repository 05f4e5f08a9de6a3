"""AWS as far as it is needed here, as a child process: object storage and keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import boto3
import botocore.config
import botocore.exceptions

from tests.redis_server import free_port

if TYPE_CHECKING:
    from pathlib import Path

STARTUP = 30.0
"""Seconds; it is a large program."""
REGION = "us-east-1"


class AwsServer:
    """Moto's server on loopback: started again, it is empty."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.port = port or free_port()
        self._log = folder / "aws.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What points AWS' tools, and those that read the same variables, to it."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
        }

    def client(self, service: str, patience: float = 5.0) -> Any:
        """A client that gives up after so many seconds."""
        return boto3.session.Session().client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=botocore.config.Config(
                connect_timeout=1, read_timeout=patience, retries={"total_max_attempts": 1}
            ),
        )

    def start(self) -> AwsServer:
        """Returns once it answers."""
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + STARTUP
        while time.monotonic() < until and self._process.poll() is None:
            try:
                self.client("s3").list_buckets()
                return self
            except botocore.exceptions.BotoCoreError:
                time.sleep(0.05)
        raise RuntimeError(self._log.read_text()[-2000:])

    def freeze(self) -> None:
        """It accepts connections, and says nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> AwsServer:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()
