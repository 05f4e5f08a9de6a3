"""Conversations that end alike: nothing is answered from another one, whatever it looks like."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.client import post
from tests.e2e.meaning import MEANT, SAID, answer, known, ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.client import Got
    from tests.gateway import Gateway
    from tests.upstream import Channel, Server

pytestmark = pytest.mark.timeout(60)

Turns = list[dict[str, Any]]

DATA = Path(__file__).parents[1] / "semantic/data/fow_conversations"
AT_ONCE = 16
ELSEWHERE = ("x-cache-namespace", "other")


def pairs() -> list[dict[str, Any]]:
    """All of them: most end in the same words after other ones."""
    files = sorted(DATA.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


PAIRS = pairs()
TRAPS = [pair for pair in PAIRS if not pair["same_answer"]]


@pytest.fixture
async def gateway(loose: Gateway) -> Gateway:
    await ready(loose)
    return loose


@pytest.fixture
def aside(mock: Server) -> Channel:
    return mock.channel()


async def ask(
    gateway: Gateway, upstream: Channel, bodies: Iterable[dict[str, Any]]
) -> Sequence[Got]:
    """All of it over many connections; the answers in the same order."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(body: dict[str, Any]) -> Got:
        async with free:
            got = await post(gateway.port, upstream.key, body)
        assert got.status == 200, got.body
        return got

    return await asyncio.gather(*map(one, bodies))


def chat(turns: Turns, **more: Any) -> dict[str, Any]:
    return {"model": "m-small", "messages": turns, **more}


def ending(turns: Turns, text: str) -> Turns:
    """The conversation with another last word."""
    return [*turns[:-1], {"role": "user", "content": text}]


async def test_no_answer_is_served_to_another_conversation(
    gateway: Gateway, upstream: Channel, aside: Channel
) -> None:
    """Traps, and those whose answers would be the same: how should it know?"""
    await ask(gateway, upstream, [chat(pair["a"]) for pair in PAIRS])
    await known(gateway, aside)

    got = await ask(gateway, upstream, [chat(pair["b"]) for pair in PAIRS])

    served = [
        pair["id"] for pair, one in zip(PAIRS, got, strict=True) if one.get("x-cache") != "MISS"
    ]
    assert len(TRAPS) > 60
    assert served == []


async def test_in_the_same_conversation_it_is(
    gateway: Gateway, upstream: Channel, aside: Channel
) -> None:
    """The same words for the same question hit in each conversation, and in its twin never."""
    await ask(gateway, upstream, [chat(ending(pair["a"], SAID)) for pair in TRAPS])
    await known(gateway, aside)

    here = await ask(gateway, upstream, [chat(ending(pair["a"], MEANT)) for pair in TRAPS])
    there = await ask(gateway, upstream, [chat(ending(pair["b"], MEANT)) for pair in TRAPS])

    assert {one.get("x-cache-kind") for one in here} == {"canonical"}
    # A twin is another's own conversation where they differ in nothing but the last message.
    twins = [pair for pair in TRAPS if pair["a"][:-1] != pair["b"][:-1]]
    told = [one for pair, one in zip(TRAPS, there, strict=True) if pair in twins]
    assert len(twins) > 60
    assert {one.get("x-cache") for one in told} == {"MISS"}


def tool(**function: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"order": {"type": "string"}}}
    named = {"name": "look_up", "description": "Finds an order.", "parameters": parameters}
    return {"type": "function", "function": {**named, **function}}


BEFORE: Turns = [
    {"role": "system", "content": "You are the shop's assistant."},
    {"role": "user", "content": "你好"},
    {"role": "assistant", "content": "您好, 请问有什么可以帮您?"},
]
LAST = {"role": "user", "content": MEANT}
BASE: dict[str, Any] = {"temperature": 0.5, "max_tokens": 100, "tools": [tool()]}


def said(role: str, content: str, at: int) -> dict[str, Any]:
    """The request with another turn at a place."""
    turns = [*BEFORE, LAST]
    turns[at] = {"role": role, "content": content}
    return {"messages": turns}


CHANGES: dict[str, dict[str, Any]] = {
    "system prompt": said("system", "You are the shop's assistant!", 0),
    "role of the system prompt": said("developer", "You are the shop's assistant.", 0),
    "no system prompt": {"messages": [*BEFORE[1:], LAST]},
    "earlier question": said("user", "您好", 1),
    "earlier answer": said("assistant", "您好。", 2),
    "one turn less": {"messages": [BEFORE[0], LAST]},
    "one turn more": {"messages": [*BEFORE, *BEFORE[1:], LAST]},
    "name of the asker": {"messages": [*BEFORE, {**LAST, "name": "lee"}]},
    "tool's name": {"tools": [tool(name="find")]},
    "tool's description": {"tools": [tool(description="Finds a parcel.")]},
    "tool's parameters": {"tools": [tool(parameters={"type": "object", "properties": {}})]},
    "strict tool": {"tools": [tool(strict=True)]},
    "one tool more": {"tools": [tool(), tool(name="find")]},
    "no tools": {"tools": []},
    "tool choice": {"tool_choice": "none"},
    "parallel calls": {"parallel_tool_calls": False},
    "model": {"model": "m-large"},
    "temperature": {"temperature": 0.6},
    "top_p": {"top_p": 0.9},
    "most tokens": {"max_tokens": 101},
    "stop": {"stop": ["."]},
    "seed": {"seed": 1},
    "penalty": {"presence_penalty": 0.5},
    "bias": {"logit_bias": {"50256": -100}},
    "format": {"response_format": {"type": "json_object"}},
    "effort": {"reasoning_effort": "low"},
    "unknown member": {"chat_template_kwargs": {"thinking": False}},
    "several answers": {"n": 2},
    "probabilities": {"logprobs": True},
}


async def test_whatever_else_differs_there_is_no_hit(
    gateway: Gateway, upstream: Channel, aside: Channel
) -> None:
    base = chat([*BEFORE, LAST], **BASE)
    stored = chat([*BEFORE, {"role": "user", "content": SAID}], **BASE)
    await ask(gateway, upstream, [stored])
    await known(gateway, aside)

    changed = await ask(gateway, upstream, [{**base, **change} for change in CHANGES.values()])
    others = [
        await post(gateway.port, f"{upstream.key}-other", base),
        await post(gateway.port, upstream.key, base, ELSEWHERE),
    ]
    same = await ask(gateway, upstream, [base, {**base, "stream": False, "user": "lee"}])

    hits = [
        what for what, got in zip(CHANGES, changed, strict=True) if got.get("x-cache") != "MISS"
    ]
    assert hits == []
    assert [got.get("x-cache") for got in others] == ["MISS", "MISS"]
    assert [(answer(got), got.get("x-cache-kind")) for got in same] == [("#1", "canonical")] * 2
