"""Limits of tenants on the path: what takes a request, what takes tokens, what gives them back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.memory import Memory
from proxy.core.errors import RefusedError
from proxy.core.quota import Quota
from proxy.response import Report
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.fakes import settle
from tests.staged import TTL, Stage, broken, failed, said

if TYPE_CHECKING:
    from proxy.ports import UpstreamError
    from tests.fakes import Answer

LIMIT = 1000
LOOKUP = lookup(arrival(chat()))
USED = answers.USAGE["total_tokens"]


def left(stage: Stage) -> str | None:
    """Of the tokens, as a client is told."""
    told = dict(stage.quotas.told(LOOKUP.request.tenant))
    return told.get("x-ratelimit-remaining-tokens")


async def test_an_upstream_call_costs_what_was_counted_and_hits_cost_nothing() -> None:
    stage = Stage(said(), quota=Quota(tokens=LIMIT))
    await stage.ask()
    await settle()
    assert left(stage) == str(LIMIT - USED)

    assert {(await stage.ask()).outcome for _ in range(20)} == {"HIT"}
    assert left(stage) == str(LIMIT - USED)


@pytest.mark.parametrize("trouble", [failed(400), failed(429), failed(500), broken("timeout")])
async def test_a_call_without_an_answer_costs_no_tokens(trouble: Answer | UpstreamError) -> None:
    stage = Stage(trouble, quota=Quota(tokens=LIMIT))
    with suppress(RefusedError):
        await stage.ask()
    await settle()

    assert stage.calls == 1
    assert left(stage) == str(LIMIT)


async def test_who_has_no_request_left_has_none_on_the_short_way() -> None:
    stage = Stage(said(), stores=[Memory(1 << 20, ttl=TTL)], quota=Quota(requests=3))
    await stage.ask()
    await settle()
    report = Report("POST", "chat/completions", "req_1", stage.clock, stage.events.append)
    answered = [stage.pipeline.recall.at_once(LOOKUP, report) is not None for _ in range(4)]

    assert answered == [True, True, False, False]
    with pytest.raises(RefusedError):
        await stage.ask()
