"""A way to a server that can be slow, encrypted, or interrupted."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from typing import TYPE_CHECKING, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

_START = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_END = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Files with a certificate for 127.0.0.1 that vouches for itself, and with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redis")])
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_START)
        .not_valid_after(_END)
        .add_extension(place, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    crt, secret = folder / "redis.crt", folder / "redis.key"
    crt.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return crt, secret


class Relay:
    """Passes on what comes, each piece `delay` seconds late on its way there."""

    def __init__(
        self,
        port: int,
        *,
        delay: float = 0.0,
        tls: ssl.SSLContext | None = None,
        at: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        """`at`: where it listens."""
        self.port = 0
        self.delay = delay
        self._target = port
        self._tls = tls
        self._at = at
        self._whole = asyncio.Event()
        self._whole.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, *self._at, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)

    def cut(self) -> None:
        """From now on nothing comes through, either way, and nobody is told."""
        self._whole.clear()

    def mend(self) -> None:
        """What was on its way arrives."""
        self._whole.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepting, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert accepting is not None
        self._tasks.add(accepting)
        accepting.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            await self._whole.wait()
            ahead, back = await asyncio.open_connection("127.0.0.1", self._target)
        except (asyncio.CancelledError, OSError):
            writer.transport.abort()
            return
        self._writers.add(back)
        for task in (
            loop.create_task(self._pass(reader, back, self.delay)),
            loop.create_task(self._pass(ahead, writer, 0.0)),
        ):
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            while data := await reader.read(65536):
                await self._whole.wait()
                if delay:
                    loop.call_later(delay, writer.write, data)
                else:
                    writer.write(data)
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)
