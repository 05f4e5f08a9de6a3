"""Limits of tenants: at hand in one gateway, agreed on between several."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import bucket
from proxy.core.entry import Tenant
from proxy.core.errors import RefusedError
from proxy.core.events import Event, Limited
from proxy.core.quota import Quota
from proxy.ports import StoreError
from proxy.quotas import Quotas
from tests.fakes import FakeClock, settle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.core.bucket import Bucket, Spent

A, B = Tenant(b"a" * 16), Tenant(b"b" * 16)


class Shared:
    """Buckets that several gateways take from. It works, or it does not."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.buckets: dict[bytes, Bucket] = {}
        self.told: list[Mapping[bytes, Spent]] = []
        self.working = True
        self.deaf: set[bytes] = set()

    async def sync(self, spent: Mapping[bytes, Spent]) -> dict[bytes, float]:
        self.told.append(dict(spent))
        if not self.working:
            raise StoreError("shared", "away")
        now, levels = self._clock.mono(), {}
        for name in spent.keys() - self.deaf:
            one = spent[name]
            held = self.buckets.get(name) or bucket.full(one.rate, now)
            self.buckets[name] = bucket.taken(held, one.rate, one.amount, now)
            levels[name] = self.buckets[name].level
        return levels


def quotas(
    clock: FakeClock,
    requests: int = 0,
    tokens: int = 0,
    *,
    events: list[Event] | None = None,
    tenants: int = 10,
) -> Quotas:
    events = [] if events is None else events
    return Quotas(Quota(requests, tokens), {}, clock=clock, emit=events.append, tenants=tenants)


def passed(limits: Quotas, tenant: Tenant, asked: int) -> int:
    """How many of so many requests are let through."""
    return sum(limits.take(tenant) for _ in range(asked))


def refused(limits: Quotas, tenant: Tenant = A) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        limits.ask(tenant)
    return caught.value


def left(limits: Quotas, kind: str, tenant: Tenant = A) -> int:
    return int(dict(limits.told(tenant))[f"x-ratelimit-remaining-{kind}"])


def test_without_limits_nobody_is_asked_anything() -> None:
    limits = quotas(FakeClock())

    assert passed(limits, A, 1000) == 1000
    assert limits.told(A) == ()
    assert limits.reserve(A, 10**9) == 0
    assert not limits.limited


def test_a_tenant_may_ask_so_often_in_a_minute_and_then_as_it_flows_in() -> None:
    clock = FakeClock()
    limits = quotas(clock, 60)

    assert passed(limits, A, 100) == 60
    clock.advance(2.5)
    assert passed(limits, A, 100) == 2


def test_tenants_do_not_pay_for_each_other() -> None:
    limits = quotas(FakeClock(), 5)

    assert passed(limits, A, 10) == 5
    assert passed(limits, B, 10) == 5


def test_a_named_tenant_has_its_own_limits() -> None:
    limits = Quotas(Quota(5), {A: Quota(7), B: Quota()}, clock=FakeClock(), emit=lambda _: None)

    assert passed(limits, A, 10) == 7
    assert passed(limits, B, 10) == 10
    assert limits.limited


def test_a_refusal_says_what_is_left_and_when_to_come_again() -> None:
    events: list[Event] = []
    limits = quotas(FakeClock(), 60, 1000, events=events)
    passed(limits, A, 60)
    error = refused(limits)

    assert (error.status, error.code, error.kind) == (429, "rate_limit_exceeded", "requests")
    assert error.headers == (
        ("retry-after", "1"),
        ("retry-after-ms", "1000"),
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "1m0s"),
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "1000"),
        ("x-ratelimit-reset-tokens", "0ms"),
    )
    assert events == [Limited("requests")]


def test_who_comes_when_told_to_is_let_through() -> None:
    clock = FakeClock()
    limits = quotas(clock, 7)
    passed(limits, A, 7)
    clock.advance(int(dict(refused(limits).headers)["retry-after-ms"]) / 1000)

    assert limits.take(A)


def test_a_refused_request_costs_nothing() -> None:
    clock = FakeClock()
    limits = quotas(clock, 60)
    passed(limits, A, 1000)
    clock.advance(1)

    assert limits.take(A)


def test_what_was_not_used_is_given_back() -> None:
    limits = quotas(FakeClock(), tokens=1000)
    reserved = limits.reserve(A, 800)
    limits.settle(A, reserved, 100)

    assert left(limits, "tokens") == 900


def test_what_was_used_beyond_the_estimate_is_a_debt() -> None:
    clock, events = FakeClock(), list[Event]()
    limits = quotas(clock, tokens=600, events=events)
    limits.settle(A, limits.reserve(A, 100), 700)

    with pytest.raises(RefusedError) as caught:
        limits.reserve(A, 50)
    assert caught.value.kind == "tokens"
    assert dict(caught.value.headers)["retry-after"] == "15"
    assert events == [Limited("tokens")]
    clock.advance(15)
    assert limits.reserve(A, 50) == 50


def test_an_estimate_above_the_limit_takes_a_bucketful_and_no_more() -> None:
    """Otherwise it could never be sent; or who names a vast length would be given all of it back,
    more than it had."""
    limits = quotas(FakeClock(), tokens=1000)
    reserved = limits.reserve(A, 10**7)
    limits.settle(A, reserved, 400)

    assert (reserved, left(limits, "tokens")) == (1000, 600)


def test_requests_and_tokens_are_counted_apart() -> None:
    limits = quotas(FakeClock(), 5, 100)
    limits.reserve(A, 100)

    assert limits.take(A)
    assert (left(limits, "requests"), left(limits, "tokens")) == (4, 0)


def test_of_too_many_tenants_the_one_that_asked_longest_ago_is_forgotten() -> None:
    clock = FakeClock()
    limits = quotas(clock, 1, tenants=10)
    many = [Tenant(n.to_bytes(16, "big")) for n in range(21)]  # twice ten: two kinds each
    for tenant in (*many[:20], many[0], many[20]):
        limits.take(tenant)

    assert repr(limits) == "<Quotas 20/20, 20 to tell>"
    assert [limits.take(tenant) for tenant in (many[20], many[2], many[1])] == [False, False, True]


async def test_two_gateways_together_let_through_what_one_would() -> None:
    clock = FakeClock()
    shared, one, two = Shared(clock), quotas(clock, 600), quotas(clock, 600)
    total = 0
    for _ in range(600):
        total += passed(one, A, 2) + passed(two, A, 3)
        await one.agree(shared.sync)
        await two.agree(shared.sync)
        clock.advance(0.1)

    assert 1190 <= total <= 1215  # a full bucket, and a minute's inflow


async def test_what_is_spent_during_an_agreement_is_not_forgotten() -> None:
    clock = FakeClock()
    limits, shared = quotas(clock, 10), Shared(clock)
    door = asyncio.Event()

    async def slow(spent: Mapping[bytes, Spent]) -> Mapping[bytes, float]:
        levels = await shared.sync(spent)
        await door.wait()
        return levels

    passed(limits, A, 4)
    agreeing = asyncio.get_running_loop().create_task(limits.agree(slow))
    await settle()
    passed(limits, A, 3)
    door.set()
    await agreeing

    assert left(limits, "requests") == 3
    await limits.agree(shared.sync)
    assert left(limits, "requests") == 3


async def test_with_the_others_away_each_goes_on_alone() -> None:
    clock = FakeClock()
    limits, shared = quotas(clock, 10), Shared(clock)
    shared.working = False
    passed(limits, A, 4)
    await limits.agree(shared.sync)

    assert passed(limits, A, 10) == 6


async def test_an_outage_is_not_paid_for_afterwards() -> None:
    clock = FakeClock()
    limits, shared = quotas(clock, 600), Shared(clock)
    shared.working = False
    for _ in range(600):
        passed(limits, A, 1)
        clock.advance(0.1)
        await limits.agree(shared.sync)
    shared.working = True
    passed(limits, A, 1)
    await limits.agree(shared.sync)

    assert shared.buckets[A + b"r"].level == 599


async def test_where_the_first_does_not_work_the_next_is_asked() -> None:
    clock = FakeClock()
    limits, far, near = quotas(clock, 10, 100), Shared(clock), Shared(clock)
    far.deaf = {A + b"t"}
    passed(limits, A, 4)
    limits.reserve(A, 10)
    await limits.agree(far.sync, near.sync)

    assert [sorted(one) for one in near.told] == [[A + b"t"]]
    far.working = False
    passed(limits, A, 1)
    await limits.agree(far.sync, near.sync)
    assert sorted(near.told[-1]) == [A + b"r"]


async def test_who_was_refused_learns_what_the_others_gave_back() -> None:
    clock = FakeClock()
    one, two, shared = quotas(clock, tokens=1000), quotas(clock, tokens=1000), Shared(clock)
    reserved = one.reserve(A, 1000)
    await one.agree(shared.sync)
    two.reserve(A, 1)
    await two.agree(shared.sync)
    with pytest.raises(RefusedError):
        two.reserve(A, 100)
    one.settle(A, reserved, 10)
    await one.agree(shared.sync)
    await two.agree(shared.sync)

    assert two.reserve(A, 100) == 100


async def test_who_asks_nothing_is_not_talked_about() -> None:
    clock = FakeClock()
    limits, shared = quotas(clock, 10), Shared(clock)
    passed(limits, A, 1)
    await limits.agree(shared.sync)
    await limits.agree(shared.sync)

    assert len(shared.told) == 1


async def test_it_agrees_ten_times_a_second_until_it_is_ended() -> None:
    clock = FakeClock()
    limits, shared = quotas(clock, 100), Shared(clock)
    running = asyncio.get_running_loop().create_task(limits.run(shared.sync))
    for _ in range(8):
        await settle()
        passed(limits, A, 1)
        clock.advance(0.125)
    await settle()
    running.cancel()
    await asyncio.wait([running])

    assert [told[A + b"r"].amount for told in shared.told] == [1] * 8


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["take", "agree", "wait"])))


@given(STEPS)
async def test_never_more_than_the_limit_and_what_was_not_yet_agreed(
    steps: list[tuple[int, str]],
) -> None:
    """Each gateway may be ahead of the others by what it let through since they agreed."""
    clock = FakeClock()
    shared, gateways = Shared(clock), [quotas(clock, 6) for _ in range(3)]
    start, total, ahead = clock.mono(), 0, 0
    for which, step in steps:
        if step == "take":
            taken = passed(gateways[which], A, 1)
            total, ahead = total + taken, ahead + taken
        elif step == "wait":
            clock.advance(which)
        else:
            for gateway in gateways:
                await gateway.agree(shared.sync)
            ahead = 0

        assert total <= 6 * 3 + 3 * 6 * (clock.mono() - start) / 60 + ahead
