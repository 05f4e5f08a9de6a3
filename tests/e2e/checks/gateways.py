"""Two or three gateways over one Redis: whose turn it is, and for how long."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from tests.e2e.checks.registry import case
from tests.e2e.stores import flying, purge
from tests.reply import numbered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.steps import Run, Step
    from tests.reply import Reply, Seen
    from tests.upstream import Channel


def at_once(*steps: Step) -> Step:
    return {"do": "parallel", "of": list(steps)}


def held(seconds: float) -> Callable[[Channel], None]:
    """Each answer takes that long."""

    def script(upstream: Channel) -> None:
        def answer(seen: Seen) -> Reply:
            return numbered(seen).but(hold=seconds)

        upstream.default = answer

    return script


def while_it_flies(steps: list[Step]) -> None:
    steps[:2] = [at_once(steps[0], steps[1])]


async def kill(run: Run, step: Step) -> None:
    await run.upstream.until(lambda: run.calls == 1)
    run.gateway.kill()


@case(
    "sf-lock-holder-dies",
    gateways=2,
    redis=True,
    script=held(0.5),
    change=while_it_flies,
    act=kill,
)
async def a_dead_owner_is_replaced(run: Run) -> None:
    """Within a lease's term of three seconds and one answer."""
    first, second, third = run.answers
    assert first.status == 0
    assert (second.text, third.text) == ("#2", "#2")
    assert second.seconds < 8
    assert (second.x_cache, third.x_cache) == ("MISS", "HIT")


def one_after_the_other(steps: list[Step]) -> None:
    """The second comes while the first one's gateway stands still, the third after that one has
    given back what it no longer has."""
    steps[1]["start_after_ms"], steps[2]["start_after_ms"] = 500, 5000
    steps[:] = [at_once(steps[0], {"do": "fault", "what": "freeze"}, *steps[1:])]


async def freeze(run: Run, step: Step) -> None:
    """Longer than a lease lasts that is not renewed, and until another has it."""
    await run.upstream.until(lambda: run.calls == 1)
    (worker,) = run.gateway.workers()
    os.kill(worker, signal.SIGSTOP)
    try:
        await run.upstream.until(lambda: run.calls == 2)
    finally:
        os.kill(worker, signal.SIGCONT)
    # A lease that is gone comes back with its owner's next renewal, so it is looked for often.
    assert run.redis is not None
    with run.redis.client() as client:
        (name,) = client.scan_iter("*:l*")
        for _ in range(200):
            run.outputs.append((client.get(name) or b"").partition(b"|")[2].decode())
            await asyncio.sleep(0.01)


@case(
    "sf-lock-owner-token",
    gateways=3,
    redis=True,
    script=held(4.0),
    change=one_after_the_other,
    act=freeze,
)
async def a_late_release_takes_nobodys_lease(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#2"]
    assert run.calls == 2
    assert len(set(run.outputs)) == 1


def one_later(steps: list[Step]) -> None:
    """One comes when a lease that nobody renewed would be over, to a gateway that followed none."""
    together = steps[0]["of"]
    together.append({**together[0]["step"], "via": "gw3", "start_after_ms": 4000})


@case(
    "sf-lock-ttl-too-short",
    gateways=3,
    redis=True,
    script=held(5.0),
    change=one_later,
)
async def a_long_answer_keeps_its_lease(run: Run) -> None:
    """Longer than a lease lasts, in place of seventy seconds."""
    assert run.texts == ["#1"] * 21
    assert run.calls == 1


@case("sf-poll-interval", gateways=2, redis=True, script=held(0.12))
async def followers_are_woken_by_the_answer(run: Run) -> None:
    """In the best of four rounds, as the machine may be busy; waiting by half a second would show
    in every one."""
    slowest = [max(answer.seconds for answer in run.answers)]
    for number in range(2, 5):
        body = {"model": "m-small", "messages": [{"role": "user", "content": f"fast {number}"}]}
        asked = {"do": "chat", "key": "K1", "body": body}
        ways = [{**asked, "via": via} for via in ("gw1", "gw2") for _ in range(10)]
        answers = await run.step(at_once(*ways))
        slowest.append(max(answer.seconds for answer in answers))
    assert min(slowest) < 0.45
    assert run.calls == 4


def purged_twice(steps: list[Step]) -> None:
    """By key and as a whole; there are no other purges."""
    asked, purging, pause, again = steps
    other = {**asked, "body": {**asked["body"], "seed": 1}}
    steps[:] = [
        at_once(asked, {**purging, "what": "key"}),
        pause,
        again,
        at_once(other, {**purging, "what": "all"}),
        pause,
        other,
    ]


async def purge_elsewhere(run: Run, step: Step) -> None:
    """Through the gateway that does not fly."""
    calls = run.calls
    await run.upstream.until(lambda: run.calls == calls + 1)
    assert run.redis is not None
    scope = {"scope": "all"} if step["what"] == "all" else {"key": flying(run.redis)}
    purge(run.gateways[1], scope)


@case(
    "iv-purge-during-fill",
    gateways=2,
    redis=True,
    script=held(1.0),
    change=purged_twice,
    act=purge_elsewhere,
    scale=0.3,
)
async def what_was_purged_while_it_came_is_not_stored(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3", "#4"]
    assert run.calls == 4
