"""What was learnt of errors: labels and budget, pairs that are blocked, pairs a judge allowed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from semantic import pairs, pieces
from semantic.compare import compare
from semantic.complaints import Complaints
from semantic.protocol import Found, Label, Lesson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from semantic.compare import Outcome, Word
    from semantic.judge import Judge
    from semantic.policy import Policy
    from semantic.protocol import Action, Compare, Consult, Kind
    from semantic.settings import Settings

_BLOCKED: Final = 100_000
_PROMOTED: Final = 10_000
_ARGUABLE: Final = 0.8
"""The similarity from which a judge is asked about what was not near enough."""
_VERSION: Final = 1
_NOTHING: Final = (b"", 0.0, 0.0)
EQUAL: Final = 1.0
"""The similarity of questions with one canonical form."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """What outlives the process."""

    version: int
    policy: bytes
    blocked: tuple[bytes, ...]


class Lessons:
    """Learns from answers that could be compared, from a judge, and from people."""

    def __init__(
        self,
        settings: Settings,
        policy: Policy,
        judge: Judge | None,
        similarity: Callable[[str, str], Awaitable[float | None]],
        chance: Callable[[], float],
        name: Callable[[], bytes],
        *,
        basis: bytes = b"",
    ) -> None:
        """`similarity`: of two answers; `chance`: uniform in [0, 1); `name`: 16 new bytes; `basis`:
        of the labels of neighbours here."""
        self._settings = settings
        self._policy = policy
        self._judge = judge
        self._similarity = similarity
        self._chance = chance
        self._name = name
        self._basis = basis
        self._complaints = Complaints()
        self._blocked: dict[bytes, None] = {}
        self._promoted: OrderedDict[bytes, tuple[bytes, float, float]] = OrderedDict()
        self.changed = False
        """Whether something was learnt since it was kept."""

    def verdict(
        self, group: str, kind: Kind, similarity: float, key: bytes
    ) -> tuple[Action, str, float]:
        """What is done with a neighbour that all guards let pass, why, and from which similarity
        on one is served."""
        action, reason, threshold = self._policy.verdict(
            group, kind, similarity, self._chance(), key
        )
        asks = self._settings.judge.mode
        near = kind == "semantic" or similarity < EQUAL
        if near and action == "serve" and asks == "sync":
            return "judge", reason, threshold
        if kind == "semantic" and action == "none" and asks == "async":
            return ("promote" if similarity >= _ARGUABLE else action), reason, threshold
        return action, reason, threshold

    def served(self, request: str, found: Found, text: str) -> Lesson:
        """A request was answered with it; what follows should somebody call it wrong, whenever and
        wherever: its label has its name already, so that it counts once however often it is told.
        """
        lesson = Lesson((self._label(found, wrong=True),), pairs.blocks(found, text))
        self._complaints.note(request, lesson)
        return lesson

    def blocked(self, scope: bytes, text: str, form: bytes, key: bytes) -> bool:
        """Whether somebody called that answer wrong for that question, or for one of its form."""
        return any(pairs.pair(scope, one, key) in self._blocked for one in pairs.names(text, form))

    def promoted(self, scope: bytes, text: str) -> tuple[bytes, float, float]:
        """The key of the answer that the judge allowed for this very question (empty: none), how
        near their questions are, and when that answer ends: another one under that key may be
        another."""
        return self._promoted.get(pairs.pair(scope, pairs.letters(text)), _NOTHING)

    async def compare(self, told: Compare, ends: float) -> Lesson:
        """Whether a stored answer was right for a question that was answered anew. `ends`: as of
        `consult`."""
        word, judged = await self._differs(told)
        if word != "wrong" and self._advances(told.found):
            judged = judged or await self._asked(told.text, told.stored)
            if judged == "yes":
                self._promote(told.found, told.text, ends)
        if word == "unsure" and self._open(told.found):
            return Lesson()
        given = self._label(told.found, wrong=word != "right")
        return self._taken(Lesson((given,)))

    def _open(self, found: Found) -> bool:
        """Whether such hits are served until something speaks against them, so that what is unsure
        says nothing; others are served only once something speaks for them."""
        return found.kind == "canonical" or self._settings.min_similarity > 0.0

    def _advances(self, found: Found) -> bool:
        """Whether a judge's yes opens a pair for which there is too little evidence yet."""
        waits = found.kind == "semantic" and found.reason == "budget"
        return waits and self._settings.judge.mode == "async"

    async def _differs(self, told: Compare) -> tuple[Outcome, Word | None]:
        """The cheapest word that decides, and the judge's, if it was asked."""
        judged: Word | None = None
        stored, answered, least = told.stored, told.answered, self._settings.answer_similarity
        # Not on the loop: a thousand words take some milliseconds.
        word = await asyncio.to_thread(compare, stored, answered, None, least)
        if word == "unsure":
            near = await self._similarity(stored, answered)
            word = await asyncio.to_thread(compare, stored, answered, near, least)
        if word == "unsure" and self._judge is not None:
            judged = await self._judge.ask(told.text, stored)
            word = compare(stored, answered, None, least, judged)
        return word, judged

    def _label(self, found: Found, *, wrong: bool) -> Label:
        return Label(
            name=self._name(),
            group=found.group,
            kind=found.kind,
            similarity=found.similarity,
            key=found.key,
            wrong=wrong,
            basis=b"" if found.kind == "canonical" else self._basis,
        )

    async def consult(self, told: Consult, ends: float) -> Found:
        """A hit as the judge sees it; what it allows behind an answer is served the next time.
        `ends`: when the stored answer does (unix seconds)."""
        found = told.found
        verdict = await self._asked(told.text, told.stored)
        if verdict != "yes":
            why = "judge" if verdict == "no" else "judge_unknown"
            return replace(found, action="none", reason=why)
        if found.action == "promote":
            self._promote(found, told.text, ends)
        return replace(found, action="serve", reason="")

    async def _asked(self, text: str, stored: str) -> Word:
        return "unknown" if self._judge is None else await self._judge.ask(text, stored)

    def _promote(self, found: Found, text: str, ends: float) -> None:
        self._promoted[pairs.pair(found.scope, pairs.letters(text))] = (
            found.key,
            found.similarity,
            ends,
        )
        if len(self._promoted) > _PROMOTED:
            self._promoted.popitem(last=False)

    def blame(self, request: str) -> Lesson:
        """Call the hit of a request wrong; empty: no such hit is known (any more)."""
        return self._taken(self._complaints.take(request))

    def _taken(self, lesson: Lesson) -> Lesson:
        if lesson.labels:
            self.hear(lesson)
        return lesson

    def hear(self, lesson: Lesson) -> None:
        """Count what was learnt here or by another machine; what comes twice counts once."""
        for one in lesson.labels:
            # A machine with another embedder or profile speaks of other neighbours.
            if one.kind == "canonical" or one.basis == self._basis:
                self._policy.learn(one)
        for block in lesson.blocks:
            self._blocked[block.pair] = None
            self._promoted.pop(block.asked, None)
        self._complaints.settle(lesson)
        while len(self._blocked) > _BLOCKED:
            del self._blocked[next(iter(self._blocked))]
        self.changed = True

    def forget(self, keys: Sequence[bytes]) -> None:
        """There is no entry under these any more: what their own hits showed means nothing."""
        self._policy.forget(keys)

    def groups(self) -> dict[str, dict[str, float]]:
        """Of each group of scopes: labels, errors, bound, threshold."""
        return self._policy.state()

    def closed(self, lesson: Lesson) -> bool:
        """Whether nothing of a group and kind that it has labels of is served now."""
        groups = self.groups()
        return any(
            groups.get(one.group, {}).get(f"{one.kind}_{shut}", 0.0) > 0.0
            for one in lesson.labels
            for shut in ("closed", "unopened")
        )

    def dump(self) -> Iterator[bytes]:
        """What is to outlive the process, as it is now: pieces to be put together, each made when
        it is asked for, since all of them together would take 20 ms."""
        self.changed = False
        return self._pieces(self._policy.dump(), tuple(self._blocked))

    def _pieces(self, policy: Iterable[bytes], blocked: tuple[bytes, ...]) -> Iterator[bytes]:
        """As of `_Kept`."""
        yield pieces.fields(3) + msgspec.msgpack.encode(_VERSION)
        yield from pieces.binary(policy)
        yield from pieces.array(len(blocked), pieces.parts(blocked))

    def restore(self, kept: bytes) -> None:
        """Begin with what was kept; from bytes that are something else, with nothing."""
        try:
            found = msgspec.msgpack.decode(kept, type=_Kept)
        except msgspec.MsgspecError:
            return
        if found.version == _VERSION:
            self._policy.restore(found.policy)
            self._blocked.update(dict.fromkeys(found.blocked))
