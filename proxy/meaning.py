"""Answers to questions that mean the same: looked for on a miss, learnt of when they are stored."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from proxy.attempts import Attempts
from proxy.core.decision import Hit, Miss, evaluate
from proxy.core.delivery import serves
from proxy.core.entry import Key
from proxy.core.events import MeaningJudged, MeaningLooked, TierLooked
from proxy.core.near import Near
from proxy.core.said import spoken
from proxy.ports import Complaints, School, Semantic, StoreError
from proxy.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.backlog import Backlog
    from proxy.core.decision import Outcome
    from proxy.core.entry import Entry, Question
    from proxy.core.events import Looked
    from proxy.core.near import Blamed, Verdict, Why
    from proxy.core.request import Lookup
    from proxy.ports import Clock, Emit
    from proxy.tiers import Tiers

TIER: Final = "semantic"
_TRIES: Final = 3
"""Candidates in a row whose answers may be gone before it is a miss."""
_BEHIND: Final = 5.0
"""Seconds for what no request waits for."""
_FAILED: Final = Near(reason="failed")
_STARTING: Final = Near(reason="starting")
_UNREAD: Final = Miss("absent", detail="unread")
"""Of a stored answer: there it may be, and be read the next time."""
_INELIGIBLE: Final = "ineligible"
_ASKED: Final = 10_000
"""Questions that were not answered from here, and whose answers are on their way."""


class Process(Semantic, School, Complaints, Protocol):
    """The semantic process: what it finds, and what it learns from."""


class Meaning:
    """The semantic tier of a worker. No failure of its is a request's: any is a miss."""

    def __init__(
        self,
        process: Process,
        tiers: Tiers,
        *,
        announce: Callable[[Key], Awaitable[None]] | None,
        epoch: Callable[[], int],
        flying: Callable[[Key], bool],
        scattered: bool,
        timeout: float,
        patience: float,
        backlog: Backlog,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`announce`: tells other machines of a stored answer. `flying`: whether the answer under
        a key is on its way. `scattered`: what another worker stored, it alone has. `timeout`:
        seconds of a look-up; `patience`: of a judge's answer that a request waits for."""
        self._process = process
        self._tiers = tiers
        self._announce = announce
        self._epoch = epoch
        self._flying = flying
        self._scattered = scattered
        self._timeout = timeout
        self._patience = patience
        self._backlog = backlog
        self._clock = clock
        self._emit = emit
        self._attempts = Attempts(TIER, clock, emit)
        self._telling = Telling(process, self._attempts)
        self._asked: OrderedDict[Key, Near] = OrderedDict()

    async def near(self, exact: Outcome, lookup: Lookup, request: str) -> Outcome:
        """In place of a miss, an answer to a question that means the same; else why not."""
        if not isinstance(exact, Miss):
            return exact
        if not lookup.request.controls.read or self._flying(lookup.key):
            return exact
        if lookup.question is None:
            return self._apart(exact, lookup.apart)
        for _ in range(_TRIES):
            near = await self._nearest(lookup)
            there: Hit | Miss | None = None
            if near.action in ("serve", "judge"):
                there = await self._alive(near, lookup)
                if there is None:  # at once: it must not be what is found again
                    await self._forgotten(near.key, "dead", self._timeout, near.mark)
                    continue
                near = await self._agreed(near, lookup, there)
            self._emit(MeaningLooked(near.reason or near.kind, near.similarity))
            if isinstance(there, Hit) and near.action == "serve":
                self._backlog.add(self._served(near, lookup.question.text, request))
                return there
            self._await(lookup.key, near)
            return replace(exact, detail=near.reason)
        return exact

    def _apart(self, exact: Miss, why: str) -> Outcome:
        if why:
            why = f"{_INELIGIBLE}:{why}"
            self._emit(MeaningLooked(why))
        return replace(exact, detail=why)

    async def _nearest(self, lookup: Lookup) -> Near:
        start = self._clock.mono()
        asking = partial(self._process.nearest, lookup, self._epoch())
        near = await self._attempts.look(asking, self._timeout)
        if near is None and self._attempts.starting:
            return _STARTING
        if near is None:
            self._emit(TierLooked(TIER, "error", self._clock.mono() - start))
            return _FAILED
        if near.vector and self._telling.due:
            self._backlog.add(self._telling.again())
        result: Looked = "hit" if near.action in ("serve", "judge") else "miss"
        self._emit(TierLooked(TIER, result, self._clock.mono() - start))
        return near

    async def _alive(self, near: Near, lookup: Lookup) -> Hit | Miss | None:
        """The stored answer as this request sees it; None: it is not there, not fresh, or not one
        to a question of this scope."""
        try:
            found = await self._tiers.certain(_sought(lookup, near), self._epoch())
        except StoreError:
            return _UNREAD
        if found is None and self._scattered:
            return _UNREAD
        asked, question = None if found is None else found.entry.question, lookup.question
        if found is None or asked is None or question is None or asked.scope != question.scope:
            return None
        if not serves(found.entry, lookup.request):
            return Miss("request")
        found = replace(found, kind=near.kind, similarity=near.similarity)
        match evaluate(found, self._clock.now(), self._epoch(), lookup.request.controls):
            case Hit() | Miss("request") as outcome:
                return outcome
            case _:
                return None

    async def _agreed(self, near: Near, lookup: Lookup, there: Hit | Miss) -> Near:
        """What becomes of it: as the request wants, and as the judge sees it where one is asked."""
        if isinstance(there, Miss):
            return replace(near, action="none", reason=there.detail or there.reason)
        if near.action != "judge":
            return near
        asking = self._consulted(near, lookup.question, there.found.entry)
        told = await self._attempts.ask("get", asking, self._patience) or _FAILED
        return replace(told, tag=near.tag, vector=near.vector, form=near.form)

    def _consulted(
        self, near: Near, question: Question | None, entry: Entry
    ) -> Callable[[], Awaitable[Near]]:
        text = "" if question is None else question.text
        return partial(self._process.consult, near, text, spoken(entry) or "")

    def _await(self, key: Key, near: Near) -> None:
        """An answer to it is on its way: to be stored with the vector, and compared."""
        self._asked.pop(key, None)
        self._asked[key] = near
        if len(self._asked) > _ASKED:
            self._asked.popitem(last=False)

    def noted(self, entry: Entry, lookup: Lookup) -> Entry:
        """The entry, with its question if it may answer others."""
        question = lookup.question
        if question is None or entry.key != lookup.key or spoken(entry) is None:
            return entry
        near = self._asked.get(entry.key, _FAILED)
        if near.reason.startswith(_INELIGIBLE) and not near.form:
            return entry  # with a form, it is only the embedder that cannot read it
        return replace(entry, question=_known(question, near))

    def stored(self, entry: Entry, lookup: Lookup) -> None:
        """It can be found from now on; and shows whether what is like it was right."""
        near = self._asked.pop(entry.key, _FAILED)
        if entry.question is not None:
            self._backlog.add(self._learnt(entry, lookup, near))

    async def _learnt(self, entry: Entry, lookup: Lookup, near: Near) -> None:
        await self._telling.tell(entry)
        if self._announce is not None:
            await self._announce(entry.key)
        if near.action in ("verify", "promote"):
            await self._compared(entry, lookup, near)

    async def _compared(self, entry: Entry, lookup: Lookup, near: Near) -> None:
        """See whether what might have been served was right, or may be served the next time."""
        held = await self._tiers.find(_sought(lookup, near), self._epoch())
        stored, answered = None if held is None else spoken(held.entry), spoken(entry)
        if held is None or stored is None or answered is None or lookup.question is None:
            return
        if near.action == "promote":
            asking = self._consulted(near, lookup.question, held.entry)
            await self._attempts.ask("put", asking, self._patience)
            return
        text = lookup.question.text
        comparing = partial(self._process.compare, near, text, stored, answered)
        self._judged(await self._attempts.ask("put", comparing, self._patience) or ())

    def _judged(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            told = (verdict.kind, verdict.wrong, verdict.similarity, verdict.group)
            self._emit(MeaningJudged(*told))

    def missed(self, entries: Sequence[Entry]) -> None:
        """The process was told of these, but has to be once more."""
        self._telling.missed(entries)

    def gone(self, key: Key) -> None:
        """There is no answer under this key any more."""
        self._backlog.add(self._forgotten(key, "purged", _BEHIND))

    async def _forgotten(self, key: Key, why: Why, seconds: float, mark: int | None = None) -> None:
        self._telling.gone(key)
        forget = partial(self._process.forget, (key,), why, mark)
        await self._attempts.ask("delete", forget, seconds)

    async def _served(self, near: Near, text: str, request: str) -> None:
        await self._attempts.ask("put", partial(self._process.served, near, text, request), _BEHIND)

    async def blame(self, request: str) -> Blamed | None:
        """See `Meanings`."""
        blamed = await self._attempts.need("get", partial(self._process.blame, request), _BEHIND)
        if blamed is not None:
            self._judged((blamed.verdict,))
        return blamed


def _known(question: Question, near: Near) -> Question:
    """With what the semantic process made of it, so that nobody has to again."""
    return replace(question, tag=near.tag, vector=near.vector, form=near.form)


def _sought(lookup: Lookup, near: Near) -> Lookup:
    """The same request, looking for that answer alone."""
    return replace(lookup, key=near.key, normalized=None, raw=Key(b""))
