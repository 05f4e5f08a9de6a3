"""Runs the steps of a case from a bug report against a gateway and its mock upstream."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tests import sse
from tests.client import NOTHING, Connection, CutError, Head, spelled
from tests.e2e import meaning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

Step: TypeAlias = dict[str, Any]

_PATHS = {"chat": "chat/completions", "embeddings": "embeddings", "responses": "responses"}
_HUGE = "<200 MB body>"
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper")


@dataclass
class Answer:
    """What one request of a case got."""

    head: Head
    body: bytes
    complete: bool
    seconds: float = 0.0
    id: str = ""

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def x_cache(self) -> str | None:
        return self.head.get("x-cache")

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """What the model says, of a chat answer in whatever form."""
        if (self.head.get("content-type") or "").startswith("text/event-stream"):
            return sse.text(self.body)
        return str(self.json()["choices"][0]["message"]["content"])


@dataclass
class Case:
    """How a case is run and what must come of it."""

    check: Callable[[Run], Awaitable[None]]
    script: Callable[[Channel], None] | None = None
    settings: Callable[[Channel], Settings] | None = None
    """For a gateway of its own; None: the shared one."""
    env: Callable[[Channel], dict[str, str]] | None = None
    gateways: int = 1
    """More than one share a disk and are named gw1, gw2, … in `via`."""
    redis: bool = False
    """Each has a disk of its own, and they share a Redis."""
    semantic: bool = False
    """They compare questions, as loosely as they can be set to."""
    act: Callable[[Run, Step], Awaitable[None]] | None = None
    """What `admin` and `fault` steps mean here."""
    scale: float = 1.0
    """Factor on all times in the steps."""
    change: Callable[[list[Step]], None] | None = None
    """Makes a step say what it stands for, in this product's words."""


@dataclass
class Run:
    """A case under way."""

    case: Case
    gateways: list[Gateway]
    upstream: Channel
    start: Start
    redis: RedisServer | None = None
    aside: Channel | None = None
    """Where questions are compared: for those that show that earlier ones can be found."""
    answers: list[Answer] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    """What `act` saw, for the check to look into."""
    began: float = 0.0

    @property
    def gateway(self) -> Gateway:
        return self.gateways[0]

    @property
    def calls(self) -> int:
        return self.upstream.calls

    @property
    def texts(self) -> list[str]:
        return [answer.text for answer in self.answers]

    def credential(self, name: str) -> str:
        """The client credential that stands for a name like `K1` in this run."""
        return self.upstream.key if name == "K1" else f"{self.upstream.key}-{name}"

    async def steps(self, steps: list[Step]) -> None:
        """Run them in order, collecting their answers."""
        self.began = time.monotonic()
        for step in steps:
            self.answers += await self.step(step)

    async def step(self, step: Step) -> list[Answer]:
        match step["do"]:
            case "parallel":
                return await self._parallel(step["of"])
            case "repeat":
                return await self._repeat(step)
            case "sleep":
                await asyncio.sleep(step["s"] * self.case.scale)
                return []
            case "admin" | "fault":
                assert self.case.act is not None, f"what is {step['what']!r} here?"
                await self.case.act(self, step)
                return []
            case _:
                return [await self._request(step) for _ in range(step.get("times", 1))]

    async def chat(self, text: str, *headers: tuple[str, str], **body: Any) -> Answer:
        """One more chat request, as the cases have them."""
        message = {"role": "user", "content": text}
        asked = {"model": "m-small", "messages": [message], "temperature": 0, **body}
        step = {"do": "chat", "key": "K1", "body": asked, "headers": dict(headers)}
        return (await self.step(step))[0]

    async def _repeat(self, step: Step) -> list[Answer]:
        answers = []
        for i in range(step["n"]):
            answers += await self.step(_filled(step["step"], i))
            await asyncio.sleep(step.get("every_s", 0) * self.case.scale)
        return answers

    async def _parallel(self, steps: list[Step]) -> list[Answer]:
        """All at once, copies of a repeat too; a slow reader reads until the others are done."""
        plain: list[asyncio.Task[list[Answer]]] = []
        slow: list[asyncio.Task[list[Answer]]] = []
        for step in steps:
            copies = step.get("n", 1) if step["do"] == "repeat" else 1
            inner = step["step"] if step["do"] == "repeat" else step
            for i in range(copies):
                kind = slow if "read_rate" in inner else plain
                kind.append(asyncio.create_task(self.step(_filled(inner, i))))
        done = await asyncio.gather(*plain)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return [answer for answers in done for answer in answers]

    async def _request(self, step: Step) -> Answer:
        wait = self.began + step.get("start_after_ms", 0) / 1000 * self.case.scale
        await asyncio.sleep(max(0.0, wait - time.monotonic()))
        limit = step.get("client_timeout_s")
        began = time.monotonic()
        try:
            async with asyncio.timeout(None if limit is None else limit * self.case.scale):
                answer = await self._exchange(step)
        except TimeoutError:
            answer = Answer(NOTHING, b"", complete=False)
        answer.seconds = time.monotonic() - began
        answer.id = step.get("id", "")
        if self.aside is not None:
            await meaning.known(self.gateway, self.aside)
        return answer

    async def _exchange(self, step: Step) -> Answer:
        via = step.get("via", "gw1")
        gateway = self.gateways[int(via.removeprefix("gw")) - 1]
        async with await Connection.to(gateway.port) as connection:
            await connection.send(self._spelled(step))
            try:
                head = await connection.head()
            except (ConnectionError, asyncio.IncompleteReadError):
                return Answer(NOTHING, b"", complete=False)  # the gateway died
            rate = 1024 / self.case.scale if "read_rate" in step else 0.0
            try:
                return Answer(head, await _read(connection, rate), complete=True)
            except CutError as error:
                return Answer(head, error.body, complete=False)

    def _spelled(self, step: Step) -> bytes:
        headers = dict(step.get("headers", {}))
        if step["do"] == "http":
            name = headers.pop("authorization").removeprefix("Bearer ")
            headers["authorization"] = f"Bearer {self.credential(name)}"
            if step["raw"] == _HUGE:
                headers["content-length"] = str(200 << 20)
                return spelled(step["method"], step["path"], headers.items()) + bytes(1 << 20)
            return spelled(step["method"], step["path"], headers.items(), step["raw"].encode())
        headers["authorization"] = f"Bearer {self.credential(step['key'])}"
        headers["content-type"] = "application/json"
        body = json.dumps(step["body"], ensure_ascii=False).encode()
        return spelled("POST", f"/v1/{_PATHS[step['do']]}", headers.items(), body)


async def _read(connection: Connection, rate: float) -> bytes:
    if not rate:
        return await connection.rest()
    data = b""
    while piece := await connection.piece():
        data += piece
        await asyncio.sleep(len(piece) / rate)
    return data


def _filled(step: Step, i: int) -> Step:
    """The step with the counters of its repetition put in."""
    text = json.dumps(step).replace("{i}", str(i)).replace("{word_i}", WORDS[i % len(WORDS)])
    filled: Step = json.loads(text)
    return filled
