"""What each tenant may still ask for: buckets at hand here, agreed on with others behind."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.core import bucket, quota
from proxy.core.bucket import Bucket, Spent
from proxy.core.errors import RefusedError
from proxy.core.events import Limited
from proxy.core.quota import Quota
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.core.entry import Tenant
    from proxy.core.message import Headers
    from proxy.core.quota import Kind
    from proxy.ports import Clock, Emit

Sync: TypeAlias = Callable[[Mapping[bytes, Spent]], Awaitable[Mapping[bytes, float]]]
"""Takes what was spent, by bucket, out of shared ones, and tells what is in these now; those that
it leaves out it did not reach. Raises: StoreError."""

_EVERY: Final = 0.1
"""Seconds between two agreements: for so long may two together let through what one may."""
_MARKS: Final[dict[Kind, bytes]] = {"requests": b"r", "tokens": b"t"}


class Quotas:
    """The buckets of all tenants; nobody waits for the others' agreement.

    A bucket is named by its tenant and its kind. The one that was used longest ago is forgotten
    where there are too many; it is full again when it is next asked for.
    """

    def __init__(
        self,
        default: Quota,
        named: Mapping[Tenant, Quota],
        *,
        clock: Clock,
        emit: Emit,
        tenants: int = 100_000,
    ) -> None:
        """`default`: of whoever is not in `named`."""
        self._default = default
        self._named = named
        self.limited = any(one != Quota() for one in (default, *named.values()))
        """Whether anyone is."""
        self._clock = clock
        self._emit = emit
        self._most = tenants * len(_MARKS)
        self._buckets: OrderedDict[bytes, Bucket] = OrderedDict()
        self._spent: OrderedDict[bytes, Spent] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Quotas {len(self._buckets)}/{self._most}, {len(self._spent)} to tell>"

    def take(self, tenant: Tenant) -> bool:
        """Take one request; False: none is left, and none was taken."""
        return self._take("requests", tenant, 1) is None

    def ask(self, tenant: Tenant) -> None:
        """Take one request. Raises: RefusedError."""
        self._refuse("requests", tenant, self._take("requests", tenant, 1))

    def reserve(self, tenant: Tenant, tokens: int) -> int:
        """Take what an upstream call is estimated to cost, but no more than a bucketful; what was
        taken, for `settle`. Raises: RefusedError."""
        amount = min(tokens, self._limit("tokens", tenant))
        self._refuse("tokens", tenant, self._take("tokens", tenant, amount))
        return amount

    def settle(self, tenant: Tenant, reserved: int, used: int) -> None:
        """Have taken what was used, in place of what was reserved."""
        if used != reserved and (limit := self._limit("tokens", tenant)):
            self._changed(tenant + _MARKS["tokens"], limit, used - reserved)

    def told(self, tenant: Tenant) -> Headers:
        """The headers that tell a client what it has left."""
        return (*self._told("requests", tenant), *self._told("tokens", tenant))

    async def run(self, *syncs: Sync) -> None:
        """Agree with the others until cancelled: by the first of `syncs` that works."""
        while True:
            await self._clock.sleep(_EVERY)
            await self.agree(*syncs)

    async def agree(self, *syncs: Sync) -> None:
        """Tell the others what was spent since the last time, and learn what is left."""
        # What nobody could be told is told to nobody later: all at once, what a tenant spent in
        # minutes would lock it out for as many.
        spent, self._spent = self._spent, OrderedDict()
        untold: Mapping[bytes, Spent] = spent
        for sync in syncs:
            if not untold:
                return
            try:
                levels = await sync(untold)
            except StoreError:
                continue
            self._learn(levels)
            untold = {name: one for name, one in untold.items() if name not in levels}

    def _learn(self, levels: Mapping[bytes, float]) -> None:
        now = self._clock.mono()
        for name in levels.keys() & self._buckets.keys():
            since = self._spent.get(name)
            level = levels[name] - (since.amount if since else 0.0)
            self._buckets[name] = Bucket(level, now)

    def _take(self, kind: Kind, tenant: Tenant, amount: float) -> float | None:
        """Take so much if it is there; otherwise seconds until it will be."""
        if not (limit := self._limit(kind, tenant)):
            return None
        name, now = tenant + _MARKS[kind], self._clock.mono()
        held = self._buckets.get(name)
        if held is not None and (wait := bucket.wait(held, limit, amount, now)):
            self._buckets.move_to_end(name)
            self._note(name, limit, 0.0)  # the others may know better
            return wait
        self._changed(name, limit, amount)
        return None

    def _changed(self, name: bytes, limit: int, amount: float) -> None:
        now = self._clock.mono()
        held = self._buckets.pop(name, None) or bucket.full(limit, now)
        self._buckets[name] = bucket.taken(held, limit, amount, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        self._note(name, limit, amount)

    def _note(self, name: bytes, limit: int, amount: float) -> None:
        """For the others."""
        before = self._spent.get(name)
        self._spent[name] = Spent(amount + (before.amount if before else 0.0), limit)
        if len(self._spent) > self._most:
            self._spent.popitem(last=False)

    def _refuse(self, kind: Kind, tenant: Tenant, wait: float | None) -> None:
        if wait is None:
            return
        self._emit(Limited(kind))
        limit, later = self._limit(kind, tenant), quota.duration(wait)
        raise RefusedError(
            429,
            f"rate limit reached: {limit} {kind} per minute; try again in {later}",
            code="rate_limit_exceeded",
            kind=kind,
            headers=(*quota.again(wait), *self.told(tenant)),
        )

    def _told(self, kind: Kind, tenant: Tenant) -> Headers:
        if not (limit := self._limit(kind, tenant)):
            return ()
        now = self._clock.mono()
        held = self._buckets.get(tenant + _MARKS[kind]) or bucket.full(limit, now)
        wait = bucket.wait(held, limit, limit, now)
        return quota.told(kind, limit, bucket.level(held, limit, now), wait)

    def _limit(self, kind: Kind, tenant: Tenant) -> int:
        own = self._named.get(tenant, self._default)
        return own.requests if kind == "requests" else own.tokens
