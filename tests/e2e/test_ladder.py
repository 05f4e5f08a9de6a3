"""An upstream in trouble as the official SDKs see it: a stale answer, a configured text, an error.

Every answer is read by the SDK of its API, so that a text of our own is one that it understands.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI
from pydantic import BaseModel

from tests import answers
from tests.client import post
from tests.e2e import crowd
from tests.gateway import Gateway
from tests.reply import Reply, body, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.gateway import Settings
    from tests.upstream import Channel, Server

SORRY, ZH = "Sorry, too busy.", "抱歉,请稍后再试。"
SETTINGS: Settings = {
    "static": [{"text": SORRY, "text_zh": ZH}],
    "cache": {"jitter": 0.0, "stale_while_revalidate": "0s"},
    # One upstream for all these tests: none is to open a breaker for the others.
    "breaker": {"min_calls": 1_000_000},
}
SHORT = {"x-cache-ttl": "1"}
UNWELL = body(answers.error("engine dead", "server_error"), ("Retry-After", "2"), status=503)
LIMITS = (("Retry-After", "3"), ("X-RateLimit-Remaining-Tokens", "0"))
LIMITED = body(answers.error("slow down", "rate_limit_error"), *LIMITS, status=429)


@pytest.fixture(scope="module")
def spoken(mock: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a text of its own for when the upstream says nothing."""
    one = Gateway(tmp_path_factory.mktemp("spoken"), mock.url, SETTINGS)
    one.start()
    yield one
    one.stop()
    assert "Traceback (most recent call last)" not in one.stderr()


@dataclass(frozen=True)
class Said:
    """What an SDK made of an answer."""

    text: str
    headers: Mapping[str, str]

    @property
    def outcome(self) -> str:
        return self.headers["x-cache"]


class Clients:
    """Both SDKs, as one client of the gateway."""

    def __init__(self, gateway: Gateway, key: str) -> None:
        base = gateway.base_url
        self.openai = OpenAI(api_key=key, base_url=base, max_retries=0)
        root = base.removesuffix("/v1")
        self.anthropic = Anthropic(api_key=key, base_url=root, max_retries=0)

    def close(self) -> None:
        self.openai.close()
        self.anthropic.close()

    def chat(self, text: str, headers: dict[str, str], *, stream: bool) -> Said:
        create: Any = self.openai.chat.completions.with_raw_response.create
        asked = [{"role": "user", "content": text}]
        raw = create(model="m-small", messages=asked, stream=stream, extra_headers=headers)
        if not stream:
            return Said(raw.parse().choices[0].message.content, raw.headers)
        chunks = list(raw.parse())
        assert chunks[-1].choices[0].finish_reason == "stop"
        parts = [chunk.choices[0].delta.content or "" for chunk in chunks]
        return Said("".join(parts), raw.headers)

    def completion(self, text: str, headers: dict[str, str], *, stream: bool) -> Said:
        create: Any = self.openai.completions.with_raw_response.create
        raw = create(model="m-small", prompt=text, stream=stream, extra_headers=headers)
        parts = list(raw.parse()) if stream else [raw.parse()]
        assert parts[-1].choices[0].finish_reason == "stop"
        return Said("".join(part.choices[0].text for part in parts), raw.headers)

    def response(self, text: str, headers: dict[str, str], *, stream: bool) -> Said:
        create: Any = self.openai.responses.with_raw_response.create
        raw = create(model="m-small", input=text, store=False, stream=stream, extra_headers=headers)
        if not stream:
            return Said(raw.parse().output_text, raw.headers)
        events = list(raw.parse())
        assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
        parts = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert events[-1].response.output_text == "".join(parts)
        return Said("".join(parts), raw.headers)

    def message(self, text: str, headers: dict[str, str], *, stream: bool) -> Said:
        create: Any = self.anthropic.messages.with_raw_response.create
        asked = [{"role": "user", "content": text}]
        raw = create(
            model="m-small", max_tokens=99, messages=asked, stream=stream, extra_headers=headers
        )
        if not stream:
            return Said(raw.parse().content[0].text, raw.headers)
        events = list(raw.parse())
        assert (events[0].type, events[-1].type) == ("message_start", "message_stop")
        parts = [event.delta.text for event in events if event.type == "content_block_delta"]
        return Said("".join(parts), raw.headers)


@pytest.fixture
def clients(spoken: Gateway, upstream: Channel) -> Iterator[Clients]:
    one = Clients(spoken, upstream.key)
    yield one
    one.close()


DIALECTS = ("chat", "completion", "response", "message")
VARIANTS = [(dialect, stream) for dialect in DIALECTS for stream in (False, True)]


def every(
    clients: Clients, text: str, headers: dict[str, str], *, stream: bool | None = None
) -> list[Said]:
    """The answers in all dialects and forms."""
    asked = [one for one in VARIANTS if stream in (None, one[1])]
    return [getattr(clients, how)(text, headers, stream=form) for how, form in asked]


def degraded(gateway: Gateway) -> dict[str, float]:
    """How often each step of the ladder was taken."""
    name = "hotprefix_degraded_total"
    return {step: gateway.total(name, step=step) for step in ("stale", "static", "error")}


async def taken(
    upstream: Channel, gateway: Gateway, before: dict[str, float], **steps: int
) -> None:
    """Until so many more of these steps were taken, and no others."""
    wanted = {step: count + steps.get(step, 0) for step, count in before.items()}
    await upstream.until(lambda: degraded(gateway) == wanted)


def status_of(headers: Mapping[str, str]) -> str:
    return headers["cache-status"].removeprefix("hotprefix; ")


@pytest.mark.timeout(60)
async def test_step_by_step_in_every_dialect(
    spoken: Gateway, clients: Clients, upstream: Channel
) -> None:
    """Old answers first, then a text, each in the form asked for; well again, nothing is left."""

    def ask(text: str, *, stream: bool | None = None) -> list[Said]:
        return every(clients, text, SHORT, stream=stream)

    # One form is stored, both are served.
    well = await asyncio.to_thread(ask, "known", stream=False)
    await asyncio.sleep(1.3)
    before = degraded(spoken)
    upstream.default = UNWELL
    old = await asyncio.to_thread(ask, "known")
    calls = upstream.calls
    spoke = await asyncio.to_thread(ask, "unknown")

    assert [one.text for one in old] == [one.text for one in well for _ in range(2)]
    assert {one.outcome for one in old} == {"STALE"}
    assert all(one.headers["age"] in "12345" for one in old)
    # Of a key that has failed a moment ago nothing is asked again.
    assert [status_of(one.headers).split("; ttl")[0] for one in old] == [
        "fwd=stale; fwd-status=503",
        "hit",
    ] * len(DIALECTS)
    assert calls == 2 * len(DIALECTS)

    assert {one.text for one in spoke} == {SORRY}
    assert {one.outcome for one in spoke} == {"STATIC"}
    assert {status_of(one.headers) for one in spoke} == {"fwd=miss; fwd-status=503; detail=status"}
    assert upstream.calls == calls + len(VARIANTS)
    await taken(upstream, spoken, before, stale=len(VARIANTS), static=len(VARIANTS))

    upstream.default = numbered
    again = await asyncio.to_thread(ask, "unknown", stream=False)
    assert {one.outcome for one in again} == {"MISS"}
    assert all(one.text.startswith("#") for one in again)
    assert SORRY.encode() not in b"".join(
        file.read_bytes() for file in spoken.disk.rglob("*") if file.is_file()
    )


@pytest.mark.timeout(60)
async def test_it_is_said_in_the_language_of_the_question(
    clients: Clients, upstream: Channel
) -> None:
    upstream.default = UNWELL
    chinese = await asyncio.to_thread(every, clients, "请问今天的天气怎么样?", {})
    english = await asyncio.to_thread(every, clients, "What does 天气 mean, please?", {})

    assert {one.text for one in chinese} == {ZH}
    assert {one.text for one in english} == {SORRY}


TROUBLES = {
    "500": body(answers.error("oops", "server_error"), status=500),
    "529": body(answers.error("overloaded", "overloaded_error"), status=529),
    "html": Reply((b"<h1>Bad Gateway</h1>",), status=502, headers=(("Content-Type", "text/html"),)),
    "silent": Reply(silent=True, ending="fin"),
    "reset": Reply(silent=True, ending="rst"),
    "half": Reply((b'{"id":"chatcmpl-1","choices":[',), framing="chunked", ending="fin"),
    "garbage": Reply((b"\x00\xff no HTTP\r\n\r\n",), silent=True, ending="fin"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_whatever_goes_wrong_the_client_reads_an_answer(
    clients: Clients, upstream: Channel, trouble: str
) -> None:
    upstream.default = TROUBLES[trouble]
    said = await asyncio.to_thread(every, clients, f"anything {trouble}", {}, stream=False)

    assert {(one.text, one.outcome) for one in said} == {(SORRY, "STATIC")}


class Colour(BaseModel):
    name: str


def embeddings(clients: Clients) -> object:
    return clients.openai.embeddings.create(model="m-small", input=["one", "two"])


def parsed(clients: Clients) -> object:
    return clients.openai.chat.completions.parse(
        model="m-small",
        messages=[{"role": "user", "content": "a colour"}],
        response_format=Colour,
    )


def parsed_response(clients: Clients) -> object:
    return clients.openai.responses.parse(
        model="m-small", input="a colour", text_format=Colour, store=False
    )


def stored_there(clients: Clients) -> object:
    return clients.openai.responses.create(model="m-small", input="hi")


@pytest.mark.parametrize(
    "asking", [embeddings, parsed, parsed_response, stored_there], ids=lambda one: one.__name__
)
async def test_what_no_text_answers_is_given_the_upstreams_error(
    spoken: Gateway, clients: Clients, upstream: Channel, asking: Callable[[Clients], object]
) -> None:
    """Vectors, JSON by a schema, and a response that the upstream is to remember."""
    upstream.default, before = UNWELL, degraded(spoken)
    with pytest.raises(openai.InternalServerError) as caught:
        await asyncio.to_thread(asking, clients)

    assert caught.value.status_code == 503
    assert caught.value.response.headers["retry-after"] == "2"
    assert "engine dead" in str(caught.value)
    await taken(upstream, spoken, before, error=1)


async def test_who_asks_too_much_is_told_so_by_both_sdks(
    spoken: Gateway, clients: Clients, upstream: Channel
) -> None:
    upstream.default, before = LIMITED, degraded(spoken)
    with pytest.raises(openai.RateLimitError) as caught:
        await asyncio.to_thread(clients.chat, "too much", {}, stream=False)
    with pytest.raises(anthropic.RateLimitError) as other:
        await asyncio.to_thread(clients.message, "too much", {}, stream=True)

    for one in (caught.value, other.value):
        assert one.response.headers["retry-after"] == "3"
        assert one.response.headers["x-ratelimit-remaining-tokens"] == "0"
        assert one.response.headers["x-cache"] == "MISS"
    await taken(upstream, spoken, before, error=2)


async def test_without_a_text_both_sdks_raise_the_upstreams_error(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.default = UNWELL
    clients = Clients(gateway, upstream.key)
    with pytest.raises(openai.InternalServerError) as caught:
        await asyncio.to_thread(clients.chat, "unknown", {}, stream=True)
    with pytest.raises(anthropic.APIStatusError) as other:
        await asyncio.to_thread(clients.message, "unknown", {}, stream=True)
    clients.close()

    assert caught.value.status_code == other.value.status_code == 503
    assert caught.value.response.headers["retry-after"] == "2"


async def test_what_a_request_says_of_the_cache_counts_on_the_ladder_too(
    spoken: Gateway, clients: Clients, upstream: Channel
) -> None:
    def ask(text: str, control: str) -> Said:
        return clients.chat(text, {"cache-control": control, **SHORT}, stream=False)

    first = await asyncio.to_thread(ask, "steered", "max-age=60")
    upstream.default, before = UNWELL, degraded(spoken)
    anew = await asyncio.to_thread(ask, "steered", "no-cache")
    untraced = await asyncio.to_thread(ask, "steered", "no-store")
    with pytest.raises(openai.InternalServerError) as caught:
        await asyncio.to_thread(ask, "never asked", "only-if-cached")
    await asyncio.sleep(1.3)
    read_only = {**SHORT, "x-cache": "read-only"}
    kept = await asyncio.to_thread(clients.chat, "steered", read_only, stream=False)

    # What is stored is not what they want, and the text does not say that it is new.
    assert (anew.outcome, untraced.outcome) == ("STATIC", "STATIC")
    assert caught.value.status_code == 504
    assert caught.value.code == "cache_miss"
    assert (kept.outcome, kept.text) == ("STALE", first.text)
    await taken(upstream, spoken, before, static=2, stale=1)


@pytest.mark.timeout(60)
async def test_a_crowd_that_shared_a_call_shares_its_failure_not_its_form(
    spoken: Gateway, upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.default = UNWELL.but(hold=gate)
    members = await crowd.gather(spoken, upstream, 20)
    await crowd.waiting(spoken, upstream, 20)
    gate.open()
    await crowd.over(members)

    assert upstream.calls == 1
    assert {member.got.get("x-cache") for member in members} == {"STATIC"}
    assert {member.text for member in members} == {SORRY}
    media = {member.stream: member.got.get("content-type") for member in members}
    assert media == {False: "application/json", True: "text/event-stream; charset=utf-8"}


async def test_hosted_tools_are_answered_by_a_text_too(spoken: Gateway, upstream: Channel) -> None:
    upstream.default = UNWELL
    asked = {**crowd.ASKED, "web_search_options": {}}
    got = await post(spoken.port, upstream.key, asked)

    assert (got.status, got.get("x-cache")) == (200, "STATIC")
    assert got.json()["choices"][0]["message"]["content"] == SORRY
