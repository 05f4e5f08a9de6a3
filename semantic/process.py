"""The semantic process: its parts put together, from the start to the end."""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
import sys
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from semantic import pulse, trim
from semantic.budget import Budget
from semantic.embed.batch import Batcher
from semantic.embed.choose import REMOTE, embedder
from semantic.embed.port import EmbedderError
from semantic.embed.waiting import SETTING, patient
from semantic.entry_policy import EntryPolicy
from semantic.forgetting import Forgetting
from semantic.index.local import Local
from semantic.kept import Kept
from semantic.lessons import Lessons
from semantic.lookup import Lookup
from semantic.memory import Memory
from semantic.policy import basis
from semantic.server import Server
from semantic.service import Service
from semantic.space import Space

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping
    from pathlib import Path

    from semantic.embed.port import Embedder
    from semantic.index.port import Evicted, Index
    from semantic.judge import Judge
    from semantic.policy import Policy
    from semantic.settings import Settings

_SWEEP_EVERY: Final = 10.0
"""Seconds between two searches for questions whose answers have expired."""
_QUEUE: Final = 32
"""Questions that wait for the embedder: as many as are embedded within a request's time."""
_ANSWERS: Final = 8
"""Answers that wait to be compared: as many as are embedded within a comparison's time."""
_MOST: Final = 200_000
"""Questions that are remembered."""


async def run(settings: Settings, path: Path, tell: int, environ: Mapping[str, str]) -> None:
    """Serve the workers of this machine on a Unix socket until SIGTERM. `tell`: the descriptor on
    which its parent hears that it is well.

    Raises: EmbedderError for an embedder that cannot be had.
    """
    # Before there is anything to keep, the signal ends it at once: an embedder may hang.
    chosen = await _embedder(settings.embedder, environ)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    memory = Memory(_MOST)
    index = _index(settings, chosen, lambda scope, keys: forgetting.crowded_out(keys))
    behind = chosen.aside()
    space = _space(chosen, behind, index)
    async with _judging(settings) as judge:
        lessons = _lessons(settings, judge, space)
        kept = Kept(settings.state, lessons)
        kept.load()
        lookup = Lookup(settings, memory, space, lessons, time.time)
        forgetting = Forgetting(memory, space, lessons, time.time)
        parts = (settings, memory, space, lookup, lessons, forgetting)
        server = Server(path, Service(*parts, time.time).answer)
        await server.start()
        async with asyncio.TaskGroup() as background:
            loops = (*_loops(space, memory, forgetting, tell), kept.run())
            tasks = [background.create_task(loop) for loop in loops]
            await over.wait()
            await server.aclose()
            for task in tasks:
                task.cancel()
        await kept.save()
    for part in (index, behind, chosen):
        await part.aclose()


def _loops(
    space: Space, memory: Memory, forgetting: Forgetting, tell: int
) -> tuple[Coroutine[None, None, None], ...]:
    """What runs beside the answers until the end."""
    well = pulse.beat(tell, lambda: space.vectors.flown < pulse.LONGEST)
    given = trim.run(lambda: memory.mark, trim.giving())
    return space.vectors.run(), space.answers.run(), _swept(forgetting), given, well


def _space(chosen: Embedder, behind: Embedder, index: Index) -> Space:
    answers = Batcher(behind, limit=_ANSWERS, batch=1, memo=_ANSWERS)
    return Space(chosen, Batcher(chosen, limit=_QUEUE), answers, index)


async def _embedder(spec: str, environ: Mapping[str, str]) -> Embedder:
    """It, as soon as it answers if it is behind a URL. Raises: EmbedderError, with what to tell the
    operator."""
    try:
        if spec.startswith(REMOTE):
            return await patient(partial(embedder, spec, environ), _say, asyncio.sleep)
        return await embedder(spec, environ)
    except (ValueError, EmbedderError) as error:
        raise EmbedderError(f"{error} - at `{SETTING}`") from error


def _say(words: str) -> None:
    sys.stderr.write(f"hotprefix: {words}\n")
    sys.stderr.flush()


def _lessons(settings: Settings, judge: Judge | None, space: Space) -> Lessons:
    by = basis(settings, space.embedder.tag)
    made = EntryPolicy if settings.policy == "entry" else Budget
    policy: Policy = made(settings, by)
    chance = random.SystemRandom().random
    name = partial(secrets.token_bytes, 16)
    return Lessons(settings, policy, judge, space.similarity, chance, name, basis=by)


@asynccontextmanager
async def _judging(settings: Settings) -> AsyncIterator[Judge | None]:
    if settings.judge.mode == "off":
        yield None
        return
    import aiohttp  # which takes memory, and is for who asks a judge

    from semantic.judge import Judge

    async with aiohttp.ClientSession() as session:
        yield Judge(settings.judge, session)


def _index(settings: Settings, chosen: Embedder, evicted: Evicted) -> Index:
    if settings.index:
        from semantic.index.redis import VectorSets  # whose driver nobody else needs here

        return VectorSets(
            settings.index,
            chosen.dimension,
            tag=chosen.tag,
            max_scopes=settings.max_scopes,
            max_entries_per_scope=settings.max_entries_per_scope,
            evicted=evicted,
        )
    return Local(
        chosen.dimension,
        max_scopes=settings.max_scopes,
        max_entries_per_scope=settings.max_entries_per_scope,
        max_bytes=settings.max_bytes,
        evicted=evicted,
    )


async def _swept(forgetting: Forgetting) -> None:
    while True:
        await asyncio.sleep(_SWEEP_EVERY)
        await forgetting.sweep()
