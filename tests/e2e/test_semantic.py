"""Hits by meaning through real gateways, with the real embedder in its own process."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openai import OpenAI

from tests import answers
from tests.e2e import fleet
from tests.e2e.meaning import (
    ON,
    PATIENT,
    answer,
    ask,
    entries,
    held,
    operate,
    ready,
    semantic,
    store,
    until,
)
from tests.gateway import Gateway, merged
from tests.reply import body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Settings
    from tests.redis_server import RedisServer
    from tests.reply import Reply, Seen
    from tests.upstream import Channel, Server

pytestmark = pytest.mark.timeout(90)

SETTINGS = merged(ON, PATIENT)


@pytest.fixture(scope="module")
def comparing(mock: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway of two workers; tests keep apart by their credentials."""
    settings = merged(SETTINGS, {"server": {"workers": 2}})
    gateway = Gateway(tmp_path_factory.mktemp("comparing"), mock.url, settings)
    gateway.start()
    yield gateway
    gateway.stop()
    assert "Traceback" not in gateway.stderr()


@pytest.fixture
async def gateway(comparing: Gateway) -> Gateway:
    await ready(comparing)
    return comparing


FIRST = "What documents do I need to open a bank account in Germany as a foreigner?"
NEAR = "What documents must I bring to open a bank account in Germany as a foreigner?"
"""Questions that are near, and of no one form."""

SAME = [
    ("怎么退货", "退货流程"),
    ("how do I get a refund", "refund process"),
    ("怎么饲养鼯鼠", "如何饲养鼯鼠"),  # which has a letter that the embedder does not know
]


@pytest.mark.parametrize(("stored", "meant"), SAME)
async def test_the_pairs_that_everybody_tries_first_hit(
    gateway: Gateway, upstream: Channel, stored: str, meant: str
) -> None:
    await store(gateway, upstream, stored)

    got = await ask(gateway, upstream, meant)

    assert answer(got) == "#1"
    assert got.get("x-cache") == "HIT"
    assert got.get("x-cache-kind") in ("canonical", "semantic")
    assert upstream.calls == 1


OTHERS = {
    "怎么退货": [
        "怎么换货",
        "不能退货吗",
        "怎么退货到上海",
        "怎么退3件货",
        "how do I return goods",
    ],
    "how do I get a refund": [
        "how do I avoid a refund",
        "how do I get an exchange",
        "how do I get 2 refunds",
        "how do I get a refund in Paris",
        "why do I get a refund",
        "怎么退款",
    ],
}


@pytest.mark.parametrize("stored", OTHERS)
async def test_their_opposites_and_variations_miss(
    gateway: Gateway, upstream: Channel, stored: str
) -> None:
    await store(gateway, upstream, stored)

    for text in OTHERS[stored]:
        got = await ask(gateway, upstream, text)

        assert got.get("x-cache") == "MISS", text
        assert "detail=" in str(got.get("cache-status"))


async def test_a_neighbour_is_served_with_its_similarity(
    gateway: Gateway, upstream: Channel
) -> None:
    await store(gateway, upstream, FIRST)

    got = await ask(
        gateway,
        upstream,
        NEAR,
    )

    assert answer(got) == "#1"
    assert float(str(got.get("x-cache-similarity"))) >= 0.95


async def test_another_tenant_or_conversation_or_parameter_misses(
    gateway: Gateway, upstream: Channel
) -> None:
    await store(gateway, upstream, "怎么退货")

    texts = {
        answer(await ask(gateway, upstream, "退货流程", temperature=0.5)),
        answer(await ask(gateway, upstream, "退货流程", model="m-large")),
        answer(await ask(gateway, upstream, "退货流程", ("x-cache-namespace", "other"))),
    }

    assert len(texts) == 3
    assert "#1" not in texts


async def test_an_sdk_is_served_a_stream_from_a_whole_answer(
    gateway: Gateway, upstream: Channel
) -> None:
    await store(gateway, upstream, "怎么退货")
    client = OpenAI(base_url=gateway.base_url, api_key=upstream.key, max_retries=0)

    def streamed() -> str:
        pieces = client.chat.completions.create(
            model="m-small", messages=[{"role": "user", "content": "退货流程"}], stream=True
        )
        return "".join(piece.choices[0].delta.content or "" for piece in pieces)

    assert await asyncio.to_thread(streamed) == "#1"
    assert upstream.calls == 1


async def test_feedback_ends_a_wrong_hit(gateway: Gateway, upstream: Channel) -> None:
    await store(gateway, upstream, "怎么退货")
    hit = await ask(gateway, upstream, "退货流程")
    assert answer(hit) == "#1"

    told = await operate(gateway, "/admin/feedback", {"request_id": hit.get("x-request-id")})
    after = await ask(gateway, upstream, "退货流程")

    assert told == 200
    assert answer(after) == "#2"
    assert await operate(gateway, "/admin/feedback", {"request_id": "req_unknown"}) == 404


async def test_a_purged_answer_is_not_found_by_meaning(gateway: Gateway, upstream: Channel) -> None:
    await store(gateway, upstream, "怎么退货")
    before = entries(gateway)

    await operate(gateway, "/admin/purge", {"scope": "all"})

    assert answer(await ask(gateway, upstream, "退货流程")) == "#2"
    await until(lambda: entries(gateway) < before + 1)


def shadowed(seen: Seen) -> Reply:
    """One answer to all questions but those about the moon."""
    moon = "moon" in str(seen.json()["messages"])
    return body(answers.chat("Cheese." if moon else "Within thirty days."))


async def test_in_shadow_the_upstream_answers_and_labels_are_counted(
    start: Start, upstream: Channel
) -> None:
    gateway = start(merged(SETTINGS, {"semantic": {"mode": "shadow"}}))
    await ready(gateway)
    upstream.default = shadowed
    await store(gateway, upstream, "怎么退货", "how do I get a refund")

    for text in ("退货流程", "refund process"):
        got = await ask(gateway, upstream, text)
        assert got.get("x-cache") == "MISS"
        assert "detail=shadow" in str(got.get("cache-status"))

    await until(lambda: gateway.total("hotprefix_semantic_labels_total", verdict="right") == 2)
    assert upstream.calls == 4


async def test_without_a_word_of_the_operators_a_neighbour_waits_for_evidence(
    start: Start, upstream: Channel
) -> None:
    gateway = start(merged(SETTINGS, {"semantic": {"min_similarity": 0.0}}))
    await ready(gateway)
    await store(
        gateway,
        upstream,
        FIRST,
    )

    got = await ask(
        gateway,
        upstream,
        NEAR,
    )

    assert got.get("x-cache") == "MISS"
    assert "detail=budget" in str(got.get("cache-status"))


@pytest.mark.parametrize("trouble", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_semantic_process_that_dies_or_freezes_costs_no_request(
    start: Start, upstream: Channel, trouble: signal.Signals
) -> None:
    gateway = start(ON)
    await ready(gateway)
    await store(gateway, upstream, "怎么退货")
    pid = semantic(gateway)
    assert pid

    os.kill(pid, trouble)
    got = [await ask(gateway, upstream, f"question number {n} of them") for n in range(20)]
    exact = await ask(gateway, upstream, "怎么退货")

    assert all(one.get("x-cache") == "MISS" for one in got)
    assert exact.get("x-cache") == "HIT"
    if trouble is signal.SIGSTOP:
        # 50 ms for each of the first five; after that it is asked once a second only.
        assert sum(slow(one) for one in got) <= 8
        os.kill(pid, signal.SIGKILL)
    await until(lambda: semantic(gateway) not in (0, pid))
    await held(gateway, upstream, "退货流程")
    assert answer(await ask(gateway, upstream, "退货流程")) == "#1"


def slow(got: Got) -> bool:
    return float(str(got.get("x-overhead-ms"))) > 40


async def test_what_is_on_the_disk_is_found_after_a_restart(
    start: Start, upstream: Channel
) -> None:
    gateway = start(SETTINGS)
    await ready(gateway)
    await store(gateway, upstream, "怎么退货")
    gateway.stop()
    gateway.start()
    await until(lambda: entries(gateway) >= 1)

    assert answer(await ask(gateway, upstream, "退货流程")) == "#1"


async def test_a_killed_run_leaves_what_was_learnt_of_errors(
    start: Start, upstream: Channel
) -> None:
    gateway = start(merged(SETTINGS, {"semantic": {"mode": "shadow"}}))
    await ready(gateway)
    upstream.default = shadowed
    await store(gateway, upstream, "怎么退货")
    await ask(gateway, upstream, "退货流程")
    await until(lambda: gateway.metrics().get("hotprefix_semantic_labels", 0.0) >= 1)
    await asyncio.sleep(3)  # it is written down every two seconds
    gateway.kill()
    gateway.start()

    await until(lambda: gateway.metrics().get("hotprefix_semantic_labels", 0.0) >= 1)


async def test_without_a_disk_what_was_learnt_outlives_the_process(
    start: Start, upstream: Channel
) -> None:
    """Else what somebody called wrong would be open again after a crash."""
    gateway = start(merged(SETTINGS, {"cache": {"disk": {"path": "off"}}}))
    await ready(gateway)
    await store(gateway, upstream, "怎么退货")
    hit = await ask(gateway, upstream, "退货流程")
    await operate(gateway, "/admin/feedback", {"request_id": hit.get("x-request-id")})
    await asyncio.sleep(3)  # it is written down every two seconds
    pid = semantic(gateway)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: semantic(gateway) not in (0, pid))

    await store(gateway, upstream, "怎么换货")
    after = await ask(gateway, upstream, "换货流程")

    assert "detail=budget" in str(after.get("cache-status"))


async def test_machines_hear_of_each_others_answers_and_errors(
    start: Start, upstream: Channel, redis: RedisServer
) -> None:
    there: Sequence[Gateway] = fleet.gateways(start, redis.url, 2, fleet.PATIENT, SETTINGS)
    for one in there:
        await ready(one)
    here, other = there
    await store(here, upstream, "怎么退货")
    await until(lambda: entries(other) >= 1)

    hit = await ask(other, upstream, "退货流程")
    assert answer(hit) == "#1"

    await operate(other, "/admin/feedback", {"request_id": hit.get("x-request-id")})
    await until(lambda: here.metrics().get("hotprefix_semantic_errors", 0.0) >= 1)
    await until(lambda: entries(here) == 0)

    assert answer(await ask(here, upstream, "退货流程")) == "#2"


async def test_any_gateway_of_a_fleet_can_be_told_that_a_hit_was_wrong(
    start: Start, upstream: Channel, redis: RedisServer
) -> None:
    """Behind a balancer nobody can choose the one that served it, nor one of its workers."""
    workers: Settings = {"server": {"workers": 2}}
    made = fleet.gateways(start, redis.url, 2, fleet.PATIENT, SETTINGS, workers)
    there: Sequence[Gateway] = made
    for one in there:
        await ready(one)
    here, other = there
    await store(here, upstream, "怎么退货")
    await until(lambda: entries(other) >= 1)
    hits = [await ask(here, upstream, "退货流程") for _ in range(4)]
    assert {answer(hit) for hit in hits} == {"#1"}
    ids = [{"request_id": hit.get("x-request-id")} for hit in hits]

    assert await operate(other, "/admin/feedback", ids[0]) == 200
    assert await operate(other, "/admin/feedback", ids[0]) == 404
    for one in there:
        await until(partial(_wrong, one, 1))
        await until(partial(_empty, one))
        assert answer(await ask(one, upstream, "退货流程")) == "#2"

    assert await operate(here, "/admin/feedback", ids[0]) == 404
    assert await operate(other, "/admin/feedback", {"request_id": "req_unknown"}) == 404
    assert [await operate(there[n % 2], "/admin/feedback", ids[n]) for n in (1, 2, 3)] == [200] * 3
    for one in there:
        await until(partial(_wrong, one, 4))
        await asyncio.sleep(1)  # which is four times as long as it takes to hear it twice
        assert one.metrics()["hotprefix_semantic_errors"] == 4


def _wrong(gateway: Gateway, least: int) -> bool:
    return gateway.metrics().get("hotprefix_semantic_errors", 0.0) >= least


def _empty(gateway: Gateway) -> bool:
    return entries(gateway) == 0


async def test_a_machine_that_starts_later_knows_what_the_fleet_has(
    start: Start, upstream: Channel, redis: RedisServer
) -> None:
    (first,) = fleet.gateways(start, redis.url, 1, fleet.PATIENT, SETTINGS)
    await ready(first)
    await store(first, upstream, "怎么退货")
    (later,) = fleet.gateways(start, redis.url, 1, fleet.PATIENT, SETTINGS)
    await until(lambda: entries(later) >= 1)

    assert answer(await ask(later, upstream, "退货流程")) == "#1"


async def test_workers_load_no_model_and_no_numpy(gateway: Gateway) -> None:
    """They start in under a second, and there may be many of them."""
    for pid in gateway.workers():
        maps = await asyncio.to_thread(Path(f"/proc/{pid}/maps").read_text)
        assert "numpy" not in maps
        assert "faiss" not in maps


def judged(seen: Seen) -> Reply:
    """A judge that finds an answer about days right for all questions, and the upstream besides."""
    if seen.json()["model"] == "judge":
        return body(answers.chat("yes" if "thirty days" in str(seen.json()) else "no"))
    return body(answers.chat("Within thirty days."))


async def test_a_judge_is_asked_before_a_neighbour_is_served(
    start: Start, upstream: Channel
) -> None:
    judge = {"mode": "sync", "url": upstream.url, "model": "judge", "key_env": "JUDGE_KEY"}
    settings = merged(SETTINGS, {"semantic": {"judge": judge, "profile": "balanced"}})
    gateway = start(settings, {"JUDGE_KEY": upstream.key})
    await ready(gateway)
    upstream.default = judged
    await store(gateway, upstream, FIRST)

    got = await ask(
        gateway,
        upstream,
        NEAR,
    )

    assert got.get("x-cache-kind") == "semantic"
    assert [seen.json()["model"] for seen in upstream.seen] == ["m-small", "judge"]
