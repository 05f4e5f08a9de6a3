"""What requests have in common, and how often: in memory only, for as long as there is room."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from proxy.core import shadow
from proxy.core.context import Hints
from proxy.core.uses import Uses
from proxy.core.warming import Target
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from proxy.config import Warming
    from proxy.core.message import Arrival
    from proxy.core.prefix import Prompt
    from proxy.core.request import Request
    from proxy.ports import Clock

    Kind: TypeAlias = Literal["opening", "earlier"]

_KNOWN: Final = 4096
"""Beginnings of prompts whose uses are counted, about 1 KiB each."""
_PENDING: Final = 64
"""Requests that may wait to be cut to what they have in common with others."""
_LOOKED_AT: Final = 128
"""Prompts that are looked at in one go."""


class Habit:
    """A beginning that several prompts may have."""

    __slots__ = ("at", "digest", "refused", "target", "tokens", "uses")

    def __init__(self, digest: bytes, tokens: int) -> None:
        self.digest, self.tokens = digest, tokens
        self.uses = Uses()
        self.at: dict[str, float] = {}
        """When it was last sent to each node; monotonic."""
        self.target: Target | None = None
        """None: it is not known by heart."""
        self.refused = False
        """Whether it cannot be warmed."""


class _Pending(NamedTuple):
    """A request that has a beginning which others had too."""

    habit: Habit
    kind: Kind
    end: int
    """Boundaries of the beginning."""
    arrival: Arrival
    request: Request
    prompt: Prompt


class Habits:
    """Those of one worker's requests, bounded in number and in bytes."""

    def __init__(
        self,
        settings: Warming,
        prompted: Callable[[bytes, Request, Hints], Prompt | None],
        plain: Callable[[Arrival, bytes], Arrival],
        clock: Clock,
    ) -> None:
        """`plain`: a request with another body, and no more than warming needs of its headers."""
        self._settings, self._prompted, self._plain = settings, prompted, plain
        self._clock = clock
        self._known: OrderedDict[bytes, Habit] = OrderedDict()
        self._ready: OrderedDict[bytes, Habit] = OrderedDict()
        """Those known by heart; the one that was looked at last is last."""
        self._bytes = 0
        self._pending: deque[_Pending] = deque(maxlen=_PENDING)

    def note(self, arrival: Arrival, request: Request, prompt: Prompt, node: str) -> None:
        """A node began to answer a request."""
        last = 0
        kinds: tuple[tuple[Kind, int], ...]
        kinds = ("opening", prompt.layers[1]), ("earlier", prompt.layers[2])
        for kind, end in kinds:
            if end <= last or prompt.chain[end - 1].tokens < self._settings.min_tokens:
                continue
            last = end
            habit = self._used(prompt.chain[end - 1].digest, prompt.chain[end - 1].tokens)
            habit.uses.note(self._clock.now())
            habit.at[node] = self._clock.mono()
            # What comes once is mostly a conversation, which is over or goes on by itself.
            if habit.target is None and habit.uses.count > 1 and not habit.refused:
                waiting = sum(len(one.arrival.body) for one in self._pending)
                if waiting + len(arrival.body) <= self._settings.max_bytes:
                    self._pending.append(_Pending(habit, kind, end, arrival, request, prompt))

    async def learn(self) -> None:
        """Keep by heart what those that wait have in common with others."""
        while self._pending:
            pending = self._pending.popleft()
            habit = pending.habit
            if habit.target is not None or self._known.get(habit.digest) is not habit:
                continue
            target = await off_loop(len(pending.arrival.body), self._cut, pending)
            if target is None or len(target.arrival.body) > self._settings.max_bytes:
                habit.refused = True
                continue
            habit.target = target
            self._keep(habit, len(target.arrival.body))

    def frequent(self) -> Iterator[Habit]:
        """Some of those that were used often enough; all of them, one look after the other."""
        for digest in list(self._ready)[:_LOOKED_AT]:
            self._ready.move_to_end(digest)
            habit = self._ready[digest]
            if habit.uses.count >= self._settings.min_uses:
                yield habit

    def again(self, within: float) -> None:
        """All stored answers are void: what they answered, those of `within` seconds, comes
        again."""
        for habit in self._ready.values():
            habit.uses.again(self._clock.now(), within)

    def get(self, digest: bytes) -> Habit | None:
        """That is known by heart."""
        return self._ready.get(digest)

    def refuse(self, habit: Habit) -> None:
        """It cannot be warmed: a node did not take it."""
        habit.refused = True
        self._forget(habit)

    def _used(self, digest: bytes, tokens: int) -> Habit:
        habit = self._known.get(digest)
        if habit is None:
            habit = self._known[digest] = Habit(digest, tokens)
            if len(self._known) > _KNOWN:
                _, gone = self._known.popitem(last=False)
                self._forget(gone)
        self._known.move_to_end(digest)
        return habit

    def _cut(self, pending: _Pending) -> Target | None:
        """What of a request others have too; None: it cannot be told apart from the rest."""
        arrival, request, chain = pending.arrival, pending.request, pending.prompt.chain
        cut = shadow.opening if pending.kind == "opening" else shadow.earlier
        body = cut(arrival.body, request.endpoint)
        made = None if body is None else self._prompted(body, request, Hints())
        if body is None or made is None:
            return None
        shared = sum(a.digest == b.digest for a, b in zip(chain, made.chain, strict=False))
        if shared < pending.end:
            return None
        prompt = made._replace(chain=chain[: pending.end], anchor=0, layers=(0, 0, 0))
        return Target(self._plain(arrival, body), request, prompt)

    def _keep(self, habit: Habit, size: int) -> None:
        self._ready[habit.digest] = habit
        self._bytes += size
        while self._bytes > self._settings.max_bytes:
            self._forget(min(self._ready.values(), key=lambda one: one.uses.last))

    def _forget(self, habit: Habit) -> None:
        if habit.target is not None and self._ready.pop(habit.digest, None) is not None:
            self._bytes -= len(habit.target.arrival.body)
        habit.target = None

    def __len__(self) -> int:
        return len(self._ready)

    def __repr__(self) -> str:
        return f"<Habits {len(self)} of {len(self._known)} by heart, {self._bytes} bytes>"
