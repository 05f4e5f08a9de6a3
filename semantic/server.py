"""The semantic process's socket: messages in, answers out, no more at once than can be done."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from semantic.frames import FrameError, framed, read
from semantic.protocol import Failed, Framed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from semantic.protocol import Message

    Answer = Callable[[Message], Awaitable[Message]]

AT_ONCE: Final = 256
"""Messages of a connection that are worked on at the same time; more are told that it is busy."""
_UNSENT: Final = 1 << 23
"""Bytes that may wait for a worker to read them; one that reads no more is cut off."""


class Server:
    """Listens for the workers of this machine."""

    def __init__(self, path: Path, answer: Answer) -> None:
        """`answer`: what is said to a message; whatever it raises reads as a failure."""
        self._path = path
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._lines: dict[asyncio.StreamWriter, asyncio.Event] = {}
        """The workers' connections, and whether they are over."""

    async def start(self) -> None:
        """Listen; a socket that an earlier process left is replaced. Raises: OSError."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, str(self._path))
        self._path.chmod(0o600)

    async def aclose(self) -> None:
        """Stop listening, and drop what is not answered yet."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        lines = dict(self._lines)
        for writer in lines:
            writer.transport.abort()
        await asyncio.gather(*(over.wait() for over in lines.values()))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running: set[asyncio.Task[None]] = set()
        over = self._lines[writer] = asyncio.Event()
        try:
            with suppress(OSError, FrameError):
                while (message := await read(reader)) is not None:
                    if len(running) >= AT_ONCE:
                        self._tell(writer, Framed(message.number, Failed("busy")))
                        continue
                    task = asyncio.get_running_loop().create_task(self._told(message, writer))
                    for tasks in (running, self._tasks):
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
        finally:
            for task in running:
                task.cancel()
            writer.close()
            del self._lines[writer]
            over.set()

    async def _told(self, message: Framed, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answer(message.message)
        except Exception as error:  # of one message; the process goes on with the others
            answer = Failed(type(error).__name__)
        self._tell(writer, Framed(message.number, answer))

    def _tell(self, writer: asyncio.StreamWriter, answer: Framed) -> None:
        if writer.is_closing():
            return
        if writer.transport.get_write_buffer_size() > _UNSENT:
            writer.transport.abort()
            return
        writer.write(framed(answer))
