"""The ladder: a stale answer, else a configured text, else the upstream's own error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from proxy.config import Static
from proxy.core.errors import RefusedError
from proxy.core.events import Degraded
from proxy.ports import UpstreamError
from tests.asking import chat
from tests.fakes import Answer, settle
from tests.staged import STREAM, TTL, Stage, broken, failed, said, streaming

if TYPE_CHECKING:
    from tests.staged import Got

SORRY = (Static("Sorry, too busy.", text_zh="抱歉,请稍后再试。"),)
LAST = TTL + 120.0
"""Seconds after which an answer serves only where the upstream fails."""
NO_CACHE = ("cache-control", "no-cache")
ONLY = ("cache-control", "only-if-cached")
READ_ONLY = ("x-cache", "read-only")
OVERLOAD = UpstreamError("", "overload", "too much", retry_after=7.0)
RESPONSES, MESSAGES, COMPLETIONS = "/v1/responses", "/v1/messages", "/v1/completions"
EMBEDDINGS = "/v1/embeddings"
TROUBLES = pytest.mark.parametrize(
    "trouble",
    [
        *(
            pytest.param(broken(kind), id=kind)
            for kind in ("connect", "timeout", "cut", "protocol")
        ),
        *(pytest.param(failed(status), id=f"{status}") for status in (500, 502, 503, 504, 529)),
        pytest.param(Answer((b'{"half', broken())), id="half"),
        pytest.param(OVERLOAD, id="shed"),
    ],
)


def steps(stage: Stage) -> list[str]:
    """What was served in place of fresh answers."""
    return [event.step for event in stage.events if isinstance(event, Degraded)]


def told(got: Got) -> str:
    return str(got.head.get("cache-status"))


async def aged(*troubles: Answer | UpstreamError, seconds: float = LAST, **how: Any) -> Stage:
    """A gateway that stored an answer so long ago, and whose upstream is in trouble since."""
    stage = Stage(said("old"), *troubles, **how)
    await stage.ask()
    await settle()
    stage.clock.advance(seconds)
    return stage


async def error(stage: Stage, *asked: Any, **how: Any) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        await stage.ask(*asked, **how)
    return refused.value


@TROUBLES
async def test_a_stale_answer_is_better_than_a_text(trouble: Any) -> None:
    stage = await aged(trouble, statics=SORRY)
    got = await stage.ask()

    assert (got.outcome, got.status, await got.text()) == ("STALE", 200, "old")
    assert steps(stage) == ["stale"]


@TROUBLES
async def test_a_text_is_better_than_an_error(trouble: Any) -> None:
    stage = Stage(trouble, said("well again"), statics=SORRY)
    got = await stage.ask()
    await settle()

    assert (got.outcome, got.status, await got.text()) == ("STATIC", 200, "Sorry, too busy.")
    assert got.head.get("x-request-id") is not None
    assert steps(stage) == ["static"]
    assert not stage.store.data
    again = await stage.ask()
    assert (again.outcome, await again.text()) == ("MISS", "well again")


@TROUBLES
async def test_an_error_is_what_is_left(trouble: Any) -> None:
    stage = Stage(trouble)
    try:
        status = (await stage.ask()).status
    except RefusedError as refused:
        status = refused.status

    assert status >= 500
    assert steps(stage) == ["error"]


@pytest.mark.parametrize(
    ("trouble", "said_of_it"),
    [
        (failed(503), "fwd=miss; fwd-status=503; detail=status"),
        (broken("timeout"), "fwd=miss; detail=timeout"),
        (OVERLOAD, "detail=overload"),
    ],
    ids=["503", "timeout", "shed"],
)
async def test_a_text_says_what_it_stands_for(trouble: Any, said_of_it: str) -> None:
    got = await Stage(trouble, statics=SORRY).ask()

    assert told(got) == f"hotprefix; {said_of_it}"


async def test_what_no_node_was_asked_for_was_not_forwarded() -> None:
    """RFC 9211 §2.1: it is a hit, though a stale one."""
    got = await (await aged(OVERLOAD)).ask()

    assert told(got) == "hotprefix; hit; ttl=-120; detail=tier0"


async def test_who_is_shed_is_told_when_to_come_again() -> None:
    refused = await error(Stage(OVERLOAD))

    assert (refused.status, refused.code) == (503, "upstream_unavailable")
    assert refused.headers == (("retry-after", "7"),)


async def test_who_asks_too_much_is_told_so_unless_there_is_an_old_answer() -> None:
    limit = failed(429, ("retry-after", "3"), ("x-ratelimit-reset-tokens", "3s"))
    stage = Stage(limit, statics=SORRY)
    got = await stage.ask()

    assert (got.status, got.outcome, got.head.get("retry-after")) == (429, "MISS", "3")
    assert got.head.get("x-ratelimit-reset-tokens") == "3s"
    assert steps(stage) == ["error"]
    old = await (await aged(limit, statics=SORRY)).ask()
    assert (old.outcome, await old.text()) == ("STALE", "old")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422])
async def test_what_is_about_the_request_is_no_trouble_of_the_upstreams(status: int) -> None:
    stage = Stage(failed(status), statics=SORRY)
    got = await stage.ask()

    assert (got.status, got.outcome) == (status, "MISS")
    assert steps(stage) == []


async def test_all_who_waited_are_told_each_in_its_own_form() -> None:
    door = asyncio.Event()
    stage = Stage(Answer(status=503, door=door), statics=SORRY)
    asking = [stage.asking(), stage.asking(STREAM), stage.asking()]
    await settle()
    door.set()
    whole, stream, other = [await asked for asked in asking]

    assert stage.calls == 1
    assert [one.outcome for one in (whole, stream, other)] == ["STATIC"] * 3
    assert await whole.text() == await other.text() == "Sorry, too busy."
    events = await stream.body()
    assert events.endswith(b"data: [DONE]\n\n")
    assert b"Sorry, too busy." in events
    assert steps(stage) == ["static"] * 3


async def test_a_stream_that_has_begun_is_not_taken_back() -> None:
    stage = Stage(streaming([broken()]), statics=SORRY)
    got = await stage.ask(STREAM)

    assert got.outcome == "MISS"
    assert b'"error"' in await got.chunk()
    with pytest.raises(UpstreamError):
        await got.body()
    assert steps(stage) == []


async def test_it_speaks_the_language_of_who_asks() -> None:
    stage = Stage(broken(), statics=SORRY)

    assert await (await stage.ask(chat("今天天气怎么样?"))).text() == "抱歉,请稍后再试。"
    assert await (await stage.ask(chat("How are you?"))).text() == "Sorry, too busy."


SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "m", "input": "hello"}, EMBEDDINGS),
        (chat(response_format=SCHEMA), "/v1/chat/completions"),
        (
            {"model": "m", "input": "hi", "store": False, "text": {"format": {**SCHEMA, "x": 1}}},
            RESPONSES,
        ),
        (chat(max_tokens=9, output_config={"format": {"type": "json_schema"}}), MESSAGES),
    ],
    ids=["embeddings", "chat", "responses", "messages"],
)
async def test_who_cannot_read_words_is_given_the_error(body: dict[str, Any], path: str) -> None:
    stage = Stage(failed(503, ("retry-after", "2")), broken("timeout"), statics=SORRY)
    got = await stage.ask(body, path=path)

    assert (got.status, got.head.get("retry-after")) == (503, "2")
    assert (await error(stage, body, path=path)).status == 504
    assert steps(stage) == ["error", "error"]


async def test_who_wants_a_new_answer_is_not_given_an_old_one() -> None:
    stage = await aged(broken(), seconds=10.0)
    assert (await error(stage, None, NO_CACHE)).status == 502

    assert (await stage.ask()).outcome == "HIT"
    spoken = await aged(broken(), seconds=10.0, statics=SORRY)
    assert (await spoken.ask(None, NO_CACHE)).outcome == "STATIC"


async def test_who_wants_only_what_is_stored_is_given_no_text() -> None:
    stage = Stage(broken(), statics=SORRY)

    assert (await error(stage, None, ONLY)).code == "cache_miss"
    assert (stage.calls, steps(stage)) == (0, [])


@TROUBLES
async def test_who_stores_nothing_has_the_same_ladder(trouble: Any) -> None:
    stage = await aged(trouble, statics=SORRY)
    got = await stage.ask(None, READ_ONLY)
    unknown = await stage.ask(chat("unknown"), READ_ONLY)

    assert (got.outcome, await got.text()) == ("STALE", "old")
    assert (unknown.outcome, await unknown.text()) == ("STATIC", "Sorry, too busy.")
    assert steps(stage) == ["stale", "static"]


BYPASSED: dict[str, tuple[dict[str, Any] | bytes, str, tuple[tuple[str, str], ...]]] = {
    "no_store": (chat(), "/v1/chat/completions", (("cache-control", "no-store"),)),
    "web_search": (chat(web_search_options={}), "/v1/chat/completions", ()),
    "hosted_tools": (chat(tools=[{"type": "web_search_20250305"}]), MESSAGES, ()),
    "remote_media": (
        chat([{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]),
        "/v1/chat/completions",
        (),
    ),
    "off": (chat(), "/v1/chat/completions", (("x-cache", "off"),)),
    "store_true": ({"model": "m", "input": "hello"}, RESPONSES, ()),
    "stateful": ({"model": "m", "input": "hi", "previous_response_id": "r"}, RESPONSES, ()),
    "audio_output": (chat(modalities=["audio"]), "/v1/chat/completions", ()),
    "malformed": (chat(stream="yes"), "/v1/chat/completions", ()),
    "not_json": (b"{", "/v1/chat/completions", ()),
}
SPOKEN = ("no_store", "web_search", "hosted_tools", "remote_media")


@pytest.mark.parametrize("reason", BYPASSED)
@pytest.mark.parametrize("trouble", [failed(503), OVERLOAD], ids=["503", "shed"])
async def test_a_text_answers_what_it_can_of_the_requests_that_are_never_stored(
    reason: str, trouble: Any
) -> None:
    body, path, headers = BYPASSED[reason]
    stage = Stage(said("well"), trouble, statics=SORRY)
    well = await stage.ask(body, *headers, path=path)
    assert f"detail={reason}" in told(well)
    await well.close()

    try:
        outcome = (await stage.ask(body, *headers, path=path)).outcome
    except RefusedError as refused:
        assert (refused.status, trouble) == (503, OVERLOAD)
        outcome = "BYPASS"
    assert outcome == ("STATIC" if reason in SPOKEN else "BYPASS")
    assert steps(stage) == ["static" if reason in SPOKEN else "error"]
    assert stage.upstream.answering == 0 or reason not in SPOKEN
    assert not stage.store.data


async def test_a_key_whose_upstream_failed_is_given_time() -> None:
    stage = await aged(failed(503))
    got = [await stage.ask() for _ in range(20)]

    assert {one.outcome for one in got} == {"STALE"}
    assert stage.calls == 2  # the one that stored it, and the one that failed
    assert "fwd=stale; fwd-status=503" in told(got[0])
    assert "hit; ttl=" in told(got[1])
    stage.clock.advance(5.1)
    await stage.ask()
    assert stage.calls == 3


FEW = 400
"""Look-ups without a hit after which there were too few."""


async def strained(stage: Stage) -> None:
    """So many questions that nobody had asked before."""
    for number in range(FEW):
        await (await stage.ask(chat(f"unknown {number}"), READ_ONLY)).close()
    stage.events.clear()


async def test_a_saturated_upstream_is_spared_while_few_questions_are_known() -> None:
    stage = Stage(said("fresh"), statics=SORRY, below=0.9)
    await strained(stage)
    stage.saturated = True
    before = stage.calls
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("STATIC", "Sorry, too busy.")
    assert told(got) == "hotprefix; detail=saturated"
    assert (stage.calls, steps(stage)) == (before, ["static"])
    assert not stage.store.data


async def test_an_upstream_that_has_room_is_asked_however_little_is_known() -> None:
    stage = Stage(said("fresh"), statics=SORRY, below=0.9)
    await strained(stage)

    assert (await stage.ask()).outcome == "MISS"


async def test_a_saturated_upstream_is_asked_where_much_is_known() -> None:
    stage = Stage(said("fresh"), statics=SORRY, below=0.9)
    stage.saturated = True

    assert (await stage.ask()).outcome == "MISS"


async def test_an_old_answer_is_served_at_once_while_the_upstream_is_saturated() -> None:
    stage = await aged(said("new"), statics=SORRY, below=0.9)
    await strained(stage)
    stage.saturated = True
    before = stage.calls
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("STALE", "old")
    assert told(got).startswith("hotprefix; hit; ttl=-")
    assert (stage.calls, steps(stage)) == (before, ["stale"])


async def test_after_a_while_it_is_asked_again() -> None:
    stage = Stage(said("fresh"), statics=SORRY, below=0.9)
    await strained(stage)
    stage.saturated = True
    assert (await stage.ask()).outcome == "STATIC"
    stage.saturated = False
    assert (await stage.ask()).outcome == "STATIC"  # at once all would ask again
    stage.clock.advance(2.1)

    assert (await stage.ask()).outcome == "MISS"


async def test_without_a_text_a_saturated_upstream_is_asked_all_the_same() -> None:
    stage = Stage(said("fresh"), below=0.9)
    await strained(stage)
    stage.saturated = True

    assert (await stage.ask()).outcome == "MISS"


async def test_who_wants_a_new_answer_asks_a_saturated_upstream() -> None:
    stage = Stage(said("fresh"), statics=SORRY, below=0.9)
    await strained(stage)
    stage.saturated = True

    assert (await stage.ask(None, NO_CACHE)).outcome == "REFRESH"
    assert (await error(stage, chat("x"), ONLY)).code == "cache_miss"


@pytest.mark.parametrize("path", [COMPLETIONS, RESPONSES, MESSAGES])
async def test_every_dialect_has_the_ladder(path: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        COMPLETIONS: {"model": "m", "prompt": "hello"},
        RESPONSES: {"model": "m", "input": "hello", "store": False},
        MESSAGES: chat(max_tokens=5),
    }
    got = await Stage(failed(500), statics=SORRY).ask(bodies[path], path=path)

    assert (got.status, got.outcome) == (200, "STATIC")
    assert b"Sorry, too busy." in orjson.dumps(await got.json())
