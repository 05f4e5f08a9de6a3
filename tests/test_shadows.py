"""Shadow calls: once, within the budget, and second to everything that somebody waits for."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.events import UpstreamAnswered, Warmed, WarmUsed
from proxy.core.recorded import RecordError
from proxy.core.route import Load
from proxy.ports import UpstreamError
from tests.asking import K2, arrival
from tests.fakes import Answer, FakeClock, FakeLeases, FakeUpstream, settle
from tests.hearth import Hearth, conversation, telling

if TYPE_CHECKING:
    from collections.abc import Callable

OK = Answer((b"{}",))
PAID = "https://api.anthropic.com"
PRICED = '[[provider]]\nname = "anthropic"\nprice = 10.0\n'
MARKED = conversation()
MARKED["messages"][0]["cache_control"] = {"type": "ephemeral"}


def upstreams(number: int, answer: Answer = OK) -> list[FakeUpstream]:
    return [FakeUpstream(answer) for _ in range(number)]


async def test_the_first_request_finds_what_was_warmed_where_it_is_sent() -> None:
    hearth = Hearth(*upstreams(3))
    (result,) = await hearth.warm(conversation())
    node, reason, cached = await hearth.asked(conversation(max_tokens=500))

    assert (result.outcome, result.node) == ("warmed", node)
    assert reason == "hit"
    assert cached == result.tokens > 3000


async def test_it_asks_for_one_token_and_for_nothing_to_be_cached() -> None:
    hearth = Hearth()
    await hearth.warm(conversation(stream=True, max_tokens=500, cache={"ttl": 60}))
    call = hearth.upstreams[0].calls[0]

    assert hearth.sent() == [conversation(max_tokens=1)]
    assert dict(call.headers)["authorization"] == "Bearer K1"
    assert dict(call.headers)["x-cache"] == "off"


async def test_another_tenant_has_nothing_of_it() -> None:
    hearth = Hearth(*upstreams(2))
    await hearth.warm(conversation())
    _, reason, cached = await hearth.asked(conversation(), K2)

    assert (reason, cached) == ("cold", 0)


async def test_what_is_held_is_not_computed_again() -> None:
    hearth = Hearth()
    outcomes = [await hearth.warmed(conversation()) for _ in range(2)]

    assert outcomes == ["warmed", "held"]
    assert hearth.upstreams[0].calls[1:] == []


async def test_a_node_that_began_anew_is_warmed_anew() -> None:
    hearth = Hearth()
    await hearth.warm(conversation())
    hearth.router.lost(hearth.nodes[0])

    assert await hearth.warmed(conversation()) == "warmed"
    assert len(hearth.upstreams[0].calls) == 2


async def test_what_a_node_computed_before_it_began_anew_counts_for_nothing() -> None:
    door = asyncio.Event()
    hearth = Hearth(FakeUpstream(Answer((b"{}",), door=door)))
    task = asyncio.create_task(hearth.warmed(conversation()))
    await settle()
    hearth.router.lost(hearth.nodes[0])
    door.set()

    assert await task == "void"
    assert (await hearth.asked(conversation()))[2] == 0


async def test_a_long_prompt_is_computed_in_steps() -> None:
    """Each a beginning of the next; so that who comes waits for one step at most."""
    hearth = Hearth(settings="[warming]\nchunk_tokens = 1000\n")
    (result,) = await hearth.warm(conversation())
    systems = [body["messages"][0]["content"] for body in hearth.sent()]
    new = [event.tokens for event in hearth.told(Warmed)]

    assert len(systems) == 3
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(systems))
    assert hearth.sent()[-1] == conversation(max_tokens=1)
    assert max(new) <= 1256
    assert sum(new) == result.spent == result.tokens


async def test_a_step_that_is_done_is_not_done_again() -> None:
    """The call after the first one is given up; the next try goes on from there."""
    door = asyncio.Event()
    upstream = FakeUpstream(OK, Answer((b"{}",), door=door), OK)
    hearth = Hearth(upstream, settings="[warming]\nchunk_tokens = 2048\n")
    task = asyncio.create_task(hearth.warm(conversation()))
    await settle()
    await hearth.asked(conversation("other", system="x"))
    first = await task
    again = await hearth.warm(conversation())

    assert (first[0].outcome, again[0].outcome) == ("cancelled", "warmed")
    assert again[0].spent < 2048


async def given_way(hearth: Hearth, disturb: Callable[[], Any]) -> str:
    """What becomes of a shadow call that is running when this happens."""
    task = asyncio.create_task(hearth.warmed(conversation()))
    await settle()
    assert hearth.upstreams[0].answering + sum(u.answering for u in hearth.upstreams[1:]) == 1
    made = disturb()
    if asyncio.iscoroutine(made):
        await made
    await settle()
    assert task.done()
    return await task


def waiting(number: int = 1) -> Hearth:
    """Nodes whose first answer never comes."""
    never = asyncio.Event()
    return Hearth(*(FakeUpstream(Answer((b"{}",), door=never), OK) for _ in range(number)))


async def test_a_request_for_the_node_ends_it() -> None:
    hearth = waiting()
    outcome = await given_way(hearth, lambda: hearth.asked(conversation(system="another")))

    assert (outcome, hearth.upstreams[0].answering) == ("cancelled", 0)


async def test_a_request_for_the_prompt_ends_it_wherever_it_goes() -> None:
    hearth = waiting(2)
    task = asyncio.create_task(hearth.warm(conversation()))
    await settle()
    home = next(i for i, one in enumerate(hearth.upstreams) if one.answering)
    hearth.nodes[home].queued = 1e9
    hearth.upstreams[1 - home].script[:] = [OK]
    node, _, _ = await hearth.asked(conversation("another question"))
    (result,) = await task

    assert (result.outcome, result.node) == ("cancelled", "ab"[home])
    assert node == "ab"[1 - home]


async def test_a_request_of_another_gateway_ends_it() -> None:
    hearth = waiting()
    load = Load(500.0, 1)

    assert (
        await given_way(hearth, lambda: hearth.router.gossip.hear_loads([{"a": load}]))
        == "cancelled"
    )


async def test_news_of_another_node_leaves_it_alone() -> None:
    hearth = waiting()
    task = asyncio.create_task(hearth.warm(conversation()))
    await settle()
    hearth.router.gossip.hear_loads([{"b": Load(500.0, 1)}])
    await settle()

    assert not task.done()
    task.cancel()


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_node_that_has_a_request_is_left_to_it(elsewhere: bool) -> None:
    hearth = waiting()
    asked = asyncio.create_task(hearth.asked(conversation(system="another")))
    await settle()
    if elsewhere:
        asked.cancel()
        await settle()
        hearth.router.gossip.hear_loads([{"a": Load(0.0, 1)}])
    (result,) = await hearth.warm(conversation())
    asked.cancel()

    assert (result.outcome, result.again > 0) == ("busy", True)
    assert len(hearth.upstreams[0].calls) == 1


async def test_a_running_shadow_call_is_nobodys_load() -> None:
    hearth = waiting()
    task = asyncio.create_task(hearth.warm(conversation()))
    await settle()

    (told,) = hearth.router.gossip.loads().values()
    assert (hearth.nodes[0].running, hearth.nodes[0].queued) == (0, 0)
    assert (told.queued, told.running, len(told.computing)) == (0, 0, 1)
    task.cancel()


async def test_a_prompt_is_warmed_once_at_a_time() -> None:
    hearth = waiting()
    first = asyncio.create_task(hearth.warm(conversation()))
    await settle()

    assert await hearth.warmed(conversation()) in ("busy", "elsewhere")
    first.cancel()


async def test_two_gateways_warm_a_prompt_once() -> None:
    board: dict[bytes, tuple[str, float]] = {}
    clock, door = FakeClock(), asyncio.Event()
    pair = [
        Hearth(
            FakeUpstream(Answer((b"{}",), door=door)),
            leases=FakeLeases(board, address, clock, term=600.0),
            clock=clock,
        )
        for address in ("one", "other")
    ]
    first = asyncio.create_task(pair[0].warmed(conversation()))
    await settle()
    second = await pair[1].warmed(conversation())
    door.set()
    first_outcome = await first
    held = await pair[1].warmed(conversation())  # it has not heard of it yet
    clock.advance(3)
    await pair[0].shadows.tenure.settle()

    assert (first_outcome, second, held) == ("warmed", "elsewhere", "elsewhere")
    assert await pair[1].warmed(conversation()) == "warmed"


async def test_what_a_gateway_had_a_provider_keep_no_other_pays_for_again() -> None:
    """Each counts its own requests only, and would renew it once more."""
    told = PRICED.replace("10.0", "10.0\nmin_tokens = 1024")
    settings = told + "[warming]\npaid = true\nmoney_per_day = 1.0\n"
    board: dict[bytes, tuple[str, float]] = {}
    clock = FakeClock()
    pair = [
        Hearth(
            settings=settings,
            urls=PAID,
            leases=FakeLeases(board, address, clock, term=1e6),
            clock=clock,
        )
        for address in ("one", "other")
    ]
    outcomes = [await pair[0].warmed(MARKED)]
    for seconds in (100, 60):
        clock.advance(seconds)
        await pair[0].shadows.tenure.settle()
        outcomes.append(await pair[1].warmed(MARKED))

    assert outcomes == ["warmed", "elsewhere", "warmed"]


async def test_leases_fail_open() -> None:
    leases = FakeLeases({}, "one", FakeClock())
    leases.failing = True

    assert await Hearth(leases=leases).warmed(conversation()) == "warmed"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (Answer((b"no",), status=400), "refused"),
        (Answer((), status=500), "refused"),
        (UpstreamError("a", "connect", "it failed"), "failed"),
        (Answer((b"{", UpstreamError("a", "cut", "it failed"))), "failed"),
        (Answer((b"x" * (1 << 20),) * 5), "refused"),
    ],
)
async def test_what_fails_is_told_and_leaves_nothing(
    script: Answer | UpstreamError, outcome: str
) -> None:
    hearth = Hearth(FakeUpstream(script, OK))

    assert await hearth.warmed(conversation()) == outcome
    assert hearth.outcomes() == [outcome]
    assert hearth.upstreams[0].answering == 0
    assert (await hearth.asked(conversation()))[2] == 0


async def test_a_node_that_does_not_end_is_given_up_in_time() -> None:
    never = asyncio.Event()
    hearth = Hearth(FakeUpstream(Answer((b"{", never))), settings='[warming]\ntimeout = "10ms"\n')

    assert await hearth.warmed(conversation()) == "timeout"
    assert hearth.upstreams[0].answering == 0


async def test_nobody_is_told_of_an_answer() -> None:
    """It is no request: it counts for no node's answers, breaker or limit."""
    hearth = Hearth(FakeUpstream(Answer((b"no",), status=500)))
    for _ in range(30):
        await hearth.warm(conversation())

    assert hearth.told(UpstreamAnswered) == []
    assert hearth.nodes[0].health.takes
    assert hearth.fleet.well(hearth.nodes[0], "m", b"")


async def test_what_was_found_warm_is_saved_once() -> None:
    hearth = Hearth(FakeUpstream(telling(0, 3000), telling(2900, 3000)))
    await hearth.warm(conversation())
    for _ in range(2):
        await hearth.asked(conversation())
    saved = [event.tokens for event in hearth.told(WarmUsed)]

    assert [event.tokens for event in hearth.told(Warmed)] == [3000]
    assert len(saved) == 1
    assert 2800 < saved[0] <= 3000


async def test_the_budget_of_a_minute_is_kept() -> None:
    hearth = Hearth(settings="[warming]\ntokens_per_minute = 7000\n")
    bodies = [conversation(system=f"{i} is the number. " * 750) for i in range(3)]
    outcomes = [await hearth.warmed(body) for body in bodies]
    again = (await hearth.warm(bodies[2]))[0].again
    hearth.clock.advance(67)

    assert outcomes == ["warmed", "warmed", "budget"]
    assert again > 0
    assert await hearth.warmed(bodies[2]) == "warmed"


class Till:
    """What all gateways may spend, as it is asked for."""

    def __init__(self, *pauses: float) -> None:
        self.pauses = list(pauses)
        """What it says, one after the other; then there is enough."""
        self.taken: list[tuple[float, float]] = []
        self.owed: list[tuple[float, float]] = []

    async def take(self, tokens: float, money: float) -> float:
        self.taken.append((tokens, money))
        return self.pauses.pop(0) if self.pauses else 0.0

    async def owe(self, tokens: float, money: float) -> None:
        self.owed.append((tokens, money))


async def test_what_the_gateways_may_spend_together_is_asked_before_each_call() -> None:
    """And is told what a call cost beyond that. What was refused there costs nothing here."""
    till = Till(6.0)
    settings = "[warming]\ntokens_per_minute = 4000\n"
    hearth = Hearth(FakeUpstream(telling(0, 3500)), settings=settings, common=till)
    (refused,) = await hearth.warm(conversation())
    (warmed,) = await hearth.warm(conversation())

    assert (refused.outcome, refused.again, warmed.outcome) == ("budget", 6.0, "warmed")
    assert till.taken == [(warmed.tokens, 0.0)] * 2
    assert till.owed == [(3500 - warmed.tokens, 0.0)]


async def test_what_this_gateway_may_not_spend_is_left_to_the_others() -> None:
    till = Till()
    hearth = Hearth(settings="[warming]\ntokens_per_minute = 1000\n", common=till)

    assert [await hearth.warmed(conversation()) for _ in range(3)] == ["budget"] * 3
    assert till.taken == [(744, 0.0)]


async def test_a_request_that_comes_while_the_others_are_asked_goes_first() -> None:
    class Slow(Till):
        async def take(self, tokens: float, money: float) -> float:
            hearth.nodes[0].running = 1
            return 0.0

    hearth = Hearth(common=Slow())

    assert await hearth.warmed(conversation()) == "busy"
    assert hearth.upstreams[0].calls == []


async def test_without_a_budget_nothing_is_warmed() -> None:
    hearth = Hearth(settings="[warming]\ntokens_per_minute = 0\n")

    assert await hearth.warmed(conversation()) == "budget"
    assert hearth.upstreams[0].calls == []


async def test_what_a_node_counts_beyond_the_estimate_is_owed() -> None:
    upstream = FakeUpstream(telling(0, 9000))
    hearth = Hearth(upstream, settings="[warming]\ntokens_per_minute = 7000\n")
    await hearth.warm(conversation())

    assert await hearth.warmed(conversation(system="another " * 400)) == "budget"


@given(st.lists(st.tuples(st.integers(100, 4000), st.floats(0, 40)), max_size=12))
def test_whatever_the_order_no_minute_costs_more(asked: list[tuple[int, float]]) -> None:
    async def run() -> list[tuple[float, int]]:
        hearth = Hearth(settings="[warming]\ntokens_per_minute = 5000\nchunk_tokens = 900\n")
        spent = []
        for number, (tokens, pause) in enumerate(asked):
            hearth.clock.advance(pause)
            before = len(hearth.told(Warmed))
            await hearth.warm(conversation(system=f"{number:04}" * tokens))
            new = hearth.told(Warmed)[before:]
            spent.append((hearth.clock.mono(), sum(event.tokens for event in new)))
        return spent

    spent = asyncio.run(run())

    for start, _ in spent:
        assert sum(tokens for at, tokens in spent if start <= at <= start + 60) <= 5000


@pytest.mark.parametrize(
    ("settings", "body", "outcome"),
    [
        ("", MARKED, "paid"),
        (PRICED, MARKED, "paid"),
        ("[warming]\npaid = true\nmoney_per_day = 1.0\n", MARKED, "unpriced"),
        (PRICED + "[warming]\npaid = true\n", MARKED, "budget"),
        (PRICED + "[warming]\npaid = true\nmoney_per_day = 1.0\n", conversation(), "unmarked"),
        (PRICED + "[warming]\npaid = true\nmoney_per_day = 1.0\n", MARKED, "warmed"),
    ],
)
async def test_paid_providers_are_off_three_times(settings: str, body: Any, outcome: str) -> None:
    """Allowed, priced, and with money; and what the provider would not keep is not paid for."""
    told = settings.replace("price = 10.0", "price = 10.0\nmin_tokens = 1024")
    hearth = Hearth(settings=told, urls=PAID)

    assert await hearth.warmed(body) == outcome
    assert len(hearth.upstreams[0].calls) == (outcome == "warmed")


async def test_money_is_spent_by_the_rules_and_never_twice() -> None:
    """3000 tokens at 1.25 x 10 for a million are 0.0375."""
    told = PRICED.replace("10.0", "10.0\nmin_tokens = 1024")
    settings = told + "[warming]\npaid = true\nmoney_per_day = 0.05\n"
    hearth = Hearth(FakeUpstream(telling(0, 3000)), settings=settings, urls=PAID)
    outcomes = [await hearth.warmed(MARKED)]
    hearth.clock.advance(3600)
    outcomes.append(await hearth.warmed(MARKED))
    hearth.clock.advance(27 * 3600)
    outcomes.append(await hearth.warmed(MARKED))

    assert outcomes == ["warmed", "budget", "warmed"]
    assert [event.money for event in hearth.told(Warmed)] == pytest.approx([0.0375, 0.0, 0.0375])


async def test_a_paid_provider_has_room_for_a_shadow_call_beside_requests() -> None:
    """It has no queue that anybody would wait in; and its prompt is written in one go."""
    told = PRICED.replace("10.0", "10.0\nmin_tokens = 1024")
    settings = told + "[warming]\npaid = true\nmoney_per_day = 1.0\nchunk_tokens = 1000\n"
    never = asyncio.Event()
    hearth = Hearth(FakeUpstream(Answer((b"{}", never)), OK), settings=settings, urls=PAID)
    asked = asyncio.create_task(hearth.asked(conversation(system="another")))
    await settle()

    assert await hearth.warmed(MARKED) == "warmed"
    assert len(hearth.upstreams[0].calls) == 2
    asked.cancel()


async def test_at_the_end_nobody_waits_for_a_shadow_call() -> None:
    hearth = waiting()
    run = hearth.running()
    task = asyncio.create_task(hearth.warmed(conversation()))
    await settle()
    run.cancel()
    await settle()

    assert task.done()
    assert await hearth.warmed(conversation()) == "busy"
    assert hearth.upstreams[0].answering == 0


async def test_a_node_is_named_or_all_are_warmed() -> None:
    hearth = Hearth(*upstreams(3))
    named = await hearth.warm(conversation(), node="b")
    every = await hearth.warm(conversation(), everywhere=True)

    assert [(one.node, one.outcome) for one in named] == [("b", "warmed")]
    assert [(one.node, one.outcome) for one in every] == [
        ("a", "warmed"),
        ("b", "held"),
        ("c", "warmed"),
    ]


@pytest.mark.parametrize(
    ("body", "node", "message"),
    [
        (conversation(), "x", "no such node"),
        ({"model": "m", "messages": []}, "", "no prompt"),
        (b"not json", "", "no prompt"),
    ],
)
async def test_what_cannot_be_warmed_is_told(body: Any, node: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        await Hearth().warm(body, node=node)


async def test_several_prompts_at_once_are_not_warmed() -> None:
    asked = msgspec.structs.replace(
        arrival({"model": "m", "prompt": ["a" * 9000, "b" * 9000]}), path="/v1/completions"
    )
    with pytest.raises(RecordError, match="several prompts"):
        await Hearth().warmer.demand(asked)


async def test_a_prompt_of_tokens_is_warmed_in_steps() -> None:
    hearth = Hearth(settings="[warming]\nchunk_tokens = 1000\n")
    body = {"model": "m", "prompt": list(range(1000, 3000))}
    asked = msgspec.structs.replace(arrival(body), path="/v1/completions")
    (result,) = await hearth.warmer.demand(asked)
    sent = [body["prompt"] for body in hearth.sent()]

    assert result.outcome == "warmed"
    assert len(sent) > 1
    assert all(one == body["prompt"][: len(one)] for one in sent)
    assert sent[-1] == body["prompt"]
