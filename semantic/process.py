"""The semantic process: its parts put together, from the start to the end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from semantic.embed.batch import Batcher
from semantic.embed.choose import embedder
from semantic.judge import Judge
from semantic.lessons import Lessons
from semantic.lookup import Lookup
from semantic.memory import Memory
from semantic.policy import policy
from semantic.server import Server
from semantic.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semantic.settings import Settings

_SWEEP_EVERY: Final = 30.0
"""Seconds between two searches for questions whose answers have expired."""
_KEEP_EVERY: Final = 5.0
"""Seconds after which what was learnt is written down, at the latest."""


async def run(
    settings: Settings, path: Path, environ: Mapping[str, str], serving: Callable[[], None]
) -> None:
    """Serve the workers of this machine on a Unix socket until SIGTERM. `serving` is called once
    questions are taken. Raises: ValueError, EmbedderError for an embedder that cannot be had."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    parts = await _Parts.made(settings, environ)
    server = Server(path, parts.service.answer)
    await server.start()
    serving()
    async with asyncio.TaskGroup() as background:
        tasks = [background.create_task(parts.sweep()), background.create_task(parts.keep())]
        await over.wait()
        for task in tasks:
            task.cancel()
    await server.aclose()
    parts.kept()
