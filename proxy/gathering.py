"""The semantic process told of what it cannot know: what is stored already, and by others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from proxy.core.events import MeaningForgotten, MeaningMeasured, TierFailed, TierKnown, TierTurned
from proxy.ports import SemanticError, StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from proxy.core.entry import Entry, Key
    from proxy.ports import Clock, Emit

    Source = Callable[[float], AsyncIterator[list[Entry]]]

TIER: Final = "semantic"
_EVERY: Final = 0.25
"""Seconds between two looks at the process, and at what others told."""
_PART: Final = 2000
"""Entries that are told at once; about 3 MB."""
_LATER: Final = 5.0
"""Seconds until all is told again after that went wrong: it is read from the disk each time."""
_PATIENCE: Final = 10.0
"""Seconds for a portion."""
_EACH: Final = 0.5
"""Seconds for each answer of it: after a change of the embedder they wait for vectors, which may
be made far away, and what comes too late makes it begin from the start."""

_FORGOTTEN: Final = "forgotten_"
"""Stands before a reason in the name of a figure: how many were forgotten for it."""

_FIGURES: Final = ("labels", "errors", "bound", "closed", "unopened")


class Process(Protocol):
    """The semantic process. All methods raise SemanticError."""

    async def learn(self, entries: Sequence[Entry]) -> Sequence[Key]: ...

    async def hear(self, news: bytes) -> None: ...

    async def state(self) -> tuple[Mapping[str, float], Mapping[str, Mapping[str, float]]]: ...


class Fleet(Protocol):
    """What other machines tell. Raises: StoreError."""

    def again(self) -> None: ...

    async def heard(self) -> tuple[Sequence[Entry], Sequence[bytes], bool]: ...


class Gathering:
    """Tells a semantic process that has just begun what there is, and any of it what is new."""

    def __init__(
        self,
        process: Process,
        source: Source | None,
        fleet: Fleet | None,
        clock: Clock,
        emit: Emit,
        *,
        missed: Callable[[Sequence[Entry]], None],
        counts: bool = True,
    ) -> None:
        """`source`: the entries with questions of a tier, at a time (unix seconds). `missed`: is
        given those that have to be told again. `counts`: whether this one tells what was forgotten,
        where there are several."""
        self._process = process
        self._source = source
        self._fleet = fleet
        self._clock = clock
        self._emit = emit
        self._missed = missed
        self._counts = counts
        self._forgotten: dict[str, float] | None = None
        """As last seen, by reason; None: not seen yet."""
        self._born = 0.0
        self._known = False
        """Whether it was told if the process works."""
        self._turned = False
        """Whether it was told that it works no more."""
        self._pause = _EVERY

    async def run(self) -> None:
        """Until cancelled; while the process is away, it waits."""
        while True:
            try:
                await self.round()
            except (SemanticError, StoreError, TimeoutError) as error:
                if self._born:  # before it has come up, nothing is wrong yet
                    self._emit(TierFailed(TIER, "sweep", type(error).__name__))
                elif not self._known:
                    self._emit(TierKnown(TIER, False))
                self._known = True
                if not isinstance(error, StoreError):
                    self._lost(error)
            await self._clock.sleep(self._pause)

    def _lost(self, error: Exception) -> None:
        if self._born:
            self._born, self._turned = 0.0, True
            self._emit(TierTurned(TIER, False, type(error).__name__))

    async def round(self) -> None:
        """Once. Raises: SemanticError, StoreError, TimeoutError."""
        async with asyncio.timeout(_PATIENCE):
            figures, groups = await self._process.state()
        self._emit(_measured(figures, groups))
        if self._counts:
            self._count(figures)
        if figures["born"] != self._born:
            self._pause = _LATER
            await self._begin()
            self._born, self._pause = figures["born"], _EVERY
            self._emit(TierTurned(TIER, True) if self._turned else TierKnown(TIER))
            self._turned = False
        if self._fleet is not None:
            while await self._heard(self._fleet):
                pass

    def _count(self, figures: Mapping[str, float]) -> None:
        """Tell what was forgotten since the last time: by a process that began anew, all it has."""
        there = {
            name.removeprefix(_FORGOTTEN): value
            for name, value in figures.items()
            if name.startswith(_FORGOTTEN)
        }
        before = there if self._forgotten is None else self._forgotten
        self._forgotten = there
        for reason, value in there.items():
            old = before.get(reason, 0.0)
            if more := int(value - old if value >= old else value):
                self._emit(MeaningForgotten(reason, more))

    async def _heard(self, fleet: Fleet) -> bool:
        """Pass on what others told; whether there may be more."""
        entries, lessons, more = await fleet.heard()
        await self._learn(entries)
        for lesson in lessons:
            await self._process.hear(lesson)
        return more

    async def _begin(self) -> None:
        """It knows nothing: tell it all."""
        if self._source is not None:
            parts = _together(self._source(self._clock.now()))
            some = await _next(parts)
            while some is not None:  # the next are read while these are learnt
                some, _ = await asyncio.gather(_next(parts), self._learn(some))
        if self._fleet is not None:
            self._fleet.again()

    async def _learn(self, entries: Sequence[Entry]) -> None:
        if entries:
            async with asyncio.timeout(_PATIENCE + _EACH * len(entries)):
                missed = frozenset(await self._process.learn(entries))
            self._missed([one for one in entries if one.key in missed])


async def _together(portions: AsyncIterator[list[Entry]]) -> AsyncIterator[list[Entry]]:
    """Several portions at once: those of one scope cost less together."""
    some: list[Entry] = []
    async for portion in portions:
        some += portion
        if len(some) >= _PART:
            yield some
            some = []
    if some:
        yield some


async def _next(parts: AsyncIterator[list[Entry]]) -> list[Entry] | None:
    return await anext(parts, None)


def _measured(
    figures: Mapping[str, float], groups: Mapping[str, Mapping[str, float]]
) -> MeaningMeasured:
    kinds = [
        {figure: group.get(f"{kind}_{figure}", 0.0) for figure in _FIGURES}
        for group in groups.values()
        for kind in ("canonical", "semantic")
        if f"{kind}_labels" in group
    ]
    serving = [kind for kind in kinds if not kind["closed"] and not kind["unopened"]]
    return MeaningMeasured(
        entries=figures["entries"],
        vectors=figures["vectors"],
        scopes=figures["scopes"],
        bytes=figures["bytes"],
        labels=sum(kind["labels"] for kind in kinds),
        errors=sum(kind["errors"] for kind in kinds),
        error_bound=max((kind["bound"] for kind in serving), default=0.0),
        closed=sum(kind["closed"] for kind in kinds),
        unopened=sum(kind["unopened"] for kind in kinds),
    )
