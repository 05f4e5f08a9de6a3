"""A steady stream of requests to several gateways, whose answers tell whose they are."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from tests import answers, sse
from tests.client import Connection, answer, spelled
from tests.reply import JSON_TYPE, body, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.client import Got
    from tests.gateway import Gateway, Settings
    from tests.reply import Reply, Seen

FORGETFUL: Settings = {"cache": {"memory": {"max_bytes": 0}, "disk": {"path": "off"}}}
"""A gateway that keeps nothing itself: whatever it has, it has from farther away."""
KNOWN = 20
"""Questions that are asked again and again."""
_LONGEST = 20.0
"""Seconds after which an answer is taken for lost."""


class Outcome(NamedTuple):
    """What one request got; times are seconds."""

    at: float
    """When it was sent; by `time.monotonic`."""
    seconds: float
    status: int
    """0: no whole answer."""
    right: bool
    """Whether it says what this tenant's question is to be answered with."""
    cache: str
    tier: str
    overhead: float
    """The gateway's own time before the first byte, as it says."""


def said(credential: str, text: str) -> str:
    """The upstream's answer: a function of the tenant and the question."""
    return f"<{credential}> was asked <{text}>"


def truly(seen: Seen) -> Reply:
    """Answers so, in the form that is asked for."""
    asked = seen.json()
    credential = str(seen.get("authorization")).removeprefix("Bearer ")
    text = said(credential, asked["messages"][-1]["content"])
    if asked.get("stream"):
        return events(answers.chat_events([text[:9], text[9:]], usage=answers.USAGE))
    return body(answers.chat(text))


class Steady:
    """Half of the questions are new, the others known; two tenants ask the same ones, some as
    streams. Nobody waits for an answer before asking on."""

    def __init__(
        self, gateways: Sequence[Gateway], key: str, rate: float = 60, *, known: bool = False
    ) -> None:
        """`key`: the credential of a tenant, and the beginning of the other one's. `known`: only
        such questions."""
        self.gateways = gateways
        self.outcomes: list[Outcome] = []
        self._every = 1 / rate
        self._known = known
        self.tenant = key
        self._tenants = (self.tenant, f"{self.tenant}-other")
        self._numbers = itertools.count(time.time_ns() // 1000)
        self._free: dict[int, list[Connection]] = {gateway.port: [] for gateway in gateways}
        self._asking: set[asyncio.Task[Outcome]] = set()

    @property
    def wrong(self) -> list[Outcome]:
        """Those that are not what the upstream would have answered."""
        return [one for one in self.outcomes if one.status != 200 or not one.right]

    def since(self, moment: float) -> list[Outcome]:
        """Those of requests that were sent later."""
        return [one for one in self.outcomes if one.at >= moment]

    def tiers(self, moment: float = 0.0) -> dict[str, int]:
        """How many hits came from where."""
        hits = [one.tier for one in self.since(moment) if one.tier]
        return {tier: hits.count(tier) for tier in sorted(set(hits))}

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        """Meanwhile it flows; afterwards all answers are there."""
        flow = asyncio.get_running_loop().create_task(self._flow())
        try:
            yield
        finally:
            flow.cancel()
            with suppress(asyncio.CancelledError):
                await flow
            await self.over()

    async def over(self) -> None:
        """All answers are there, and all connections closed."""
        if self._asking:
            await asyncio.wait(self._asking)
        for free in self._free.values():
            while free:
                await free.pop().close()

    async def until(self, tier: str = "redis", seconds: float = 20.0) -> None:
        """Until each gateway has from this tier what the other one stored just now."""
        async with asyncio.timeout(seconds):
            while not await self._shared(tier):  # noqa: ASYNC110  # what other processes do
                await asyncio.sleep(0.1)

    async def _shared(self, tier: str) -> bool:
        for first, second in itertools.permutations(self.gateways[:2]):
            text = f"shared {next(self._numbers)}"
            await self.ask(first, self.tenant, text)
            found = await self.ask(second, self.tenant, text)
            if found.tier != tier:
                return False
        return True

    async def _flow(self) -> None:
        start, loop = time.monotonic(), asyncio.get_running_loop()
        for number in itertools.count():
            await asyncio.sleep(start + number * self._every - time.monotonic())
            gateway = self.gateways[number % len(self.gateways)]
            known = self._known or number // 2 % 2 == 0
            text = f"known {number // 4 % KNOWN}" if known else f"new {next(self._numbers)}"
            tenant, stream = self._tenants[number // 3 % 2], number % 5 == 0
            task = loop.create_task(self.ask(gateway, tenant, text, stream=stream))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def ask(
        self, gateway: Gateway, tenant: str, text: str, *, stream: bool = False
    ) -> Outcome:
        """One request; whatever becomes of it is noted."""
        at, got = time.monotonic(), None
        with suppress(OSError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_LONGEST):
                got = await self._exchanged(gateway.port, _request(tenant, text, stream=stream))
        outcome = _outcome(at, got, said(tenant, text), stream=stream)
        self.outcomes.append(outcome)
        return outcome

    async def _exchanged(self, port: int, request: bytes) -> Got:
        free = self._free[port]
        connection = free.pop() if free else await Connection.to(port)
        try:
            await connection.send(request)
            got = await answer(connection)
        except BaseException:
            await connection.close()
            raise
        free.append(connection)
        return got


def _outcome(at: float, got: Got | None, wanted: str, *, stream: bool) -> Outcome:
    seconds = time.monotonic() - at
    if got is None or not got.complete:
        return Outcome(at, seconds, 0, False, "", "", 0.0)
    told = got.get("x-cache") or "", got.get("x-cache-tier") or ""
    overhead = float(got.get("x-overhead-ms") or 0.0) / 1000
    right = got.status == 200 and _text(got, stream) == wanted
    return Outcome(at, seconds, got.status, right, *told, overhead)


def _text(got: Got, stream: bool) -> str:
    if stream:
        return str(sse.joined(got.body).get("content"))
    return str(got.json()["choices"][0]["message"]["content"])


def _request(tenant: str, text: str, *, stream: bool) -> bytes:
    asked = {"model": "m-small", "messages": [{"role": "user", "content": text}]}
    sent = json.dumps({**asked, "stream": True} if stream else asked).encode()
    return spelled(
        "POST", "/v1/chat/completions", [("Authorization", f"Bearer {tenant}"), JSON_TYPE], sent
    )


def quiet(gateway: Gateway, most: int = 20) -> None:
    """Check that a gateway has little to say besides its request log."""
    told = [line for line in gateway.log() if line["event"] != "request"]
    assert len(told) < most, told
