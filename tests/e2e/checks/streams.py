"""Streams as they come, break and are replayed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests import answers, sse
from tests.e2e.checks.registry import case
from tests.reply import EVENTS_TYPE, JSON_TYPE, Reply, Seen, body, events

if TYPE_CHECKING:
    from tests.e2e.steps import Run
    from tests.gateway import Settings
    from tests.upstream import Channel

WORDS = [f"word{i} " for i in range(12)]


def says(*pieces: bytes | float, **how: Any) -> Any:
    """A script in which every call is answered with these pieces of a stream."""

    def script(upstream: Channel) -> None:
        upstream.default = events(pieces, **how)

    return script


@case("st-replay-shape", script=says(*answers.chat_events(WORDS, usage=answers.USAGE)))
async def a_hit_is_a_stream_again(run: Run) -> None:
    for answer in run.answers:
        assert answer.head.get("content-type") == EVENTS_TYPE[1]
        *given, last = sse.parse(answer.body)
        assert last.data == "[DONE]"
        chunks = [json.loads(event.data) for event in given]
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
        assert answer.text == "".join(WORDS)
    assert run.calls == 1


@case("st-write-path")
async def a_stream_fills_the_cache_for_both_forms(run: Run) -> None:
    assert run.texts == ["#1", "#1", "#1"]
    assert run.calls == 1


FIFTY = [f"{i:03d}".ljust(50, ".") for i in range(200)]


@case("st-tee-not-drain", script=says(*answers.chat_events(FIFTY, usage=answers.USAGE)))
async def client_and_cache_both_get_everything(run: Run) -> None:
    assert run.texts == ["".join(FIFTY)] * 2
    assert run.calls == 1


def cut_twice(upstream: Channel) -> None:
    short = (JSON_TYPE, ("Content-Length", "500"))
    upstream.reply(
        events([*answers.chat_events(["a", "b", "c"])[:3], 0.05], ending="rst"),
        Reply((b'{"id":"' + b"x" * 193, 0.05), headers=short, framing="given", ending="rst"),
    )


@case("st-reset-mid-body", script=cut_twice)
async def half_an_answer_is_no_answer(run: Run) -> None:
    stream, whole = run.answers
    assert not stream.complete
    assert b"[DONE]" not in stream.body
    assert (whole.status, whole.complete) == (502, True)
    assert run.calls == 2
    assert (await run.chat("cut test")).text == "#3"


HALF: list[bytes | float] = [*answers.chat_events(["a", "b"])[:2], b'data: {"choices":[{"del', 0.05]


@case("st-error-after-partial-event", script=says(*HALF, ending="rst"))
async def the_error_is_an_event_of_its_own(run: Run) -> None:
    (answer,) = run.answers
    *_, last = sse.parse(answer.body)
    assert "error" in json.loads(last.data)


def zones(upstream: Channel) -> None:
    failed = answers.event({"error": {"message": "zone a failed", "type": "x", "code": None}})
    begun = answers.chat_events(["AAAA"] * 4)[:5]
    first = events([*begun, failed])
    other = events(answers.chat_events(["BBBB"] * 4, usage=answers.USAGE))
    upstream.reply(first)
    upstream.default = other


def nodes(upstream: Channel) -> Settings:
    """The first refuses every connection: before the first byte the next one may answer."""
    root = upstream.url.removesuffix("/v1")
    living = [{"name": zone, "url": f"{root}/{zone}/v1"} for zone in ("a", "b")]
    return {"upstream": [{"name": "dead", "url": "http://127.0.0.1:9/v1"}, *living]}


@case("st-no-splice-on-failover", settings=nodes, script=zones)
async def after_the_first_byte_no_other_node_speaks(run: Run) -> None:
    (answer,) = run.answers
    assert answer.body.count(b"AAAA") == 4
    assert b"BBBB" not in answer.body
    assert "error" in json.loads(sse.parse(answer.body)[-1].data)
    assert run.calls == 1
    again = await run.chat("splice", stream=True)
    assert again.text == "BBBB" * 4
    assert sum("role" in one["choices"][0]["delta"] for one in sse.chunks(again.body)[:-1]) == 1


THOUGHT: list[answers.Json] = [
    {"role": "assistant", "content": None, "refusal": None},
    {"reasoning_content": "Let me "},
    {"reasoning_content": "think."},
    {"content": "It is "},
    {"content": "so.", "annotations": [{"type": "url_citation", "n": 1}]},
    {"x_vendor": {"deep": [1, 2]}},
]
LOGPROBS = {"content": [{"token": "so", "logprob": -0.5, "bytes": [115], "top_logprobs": []}]}


def thinks(upstream: Channel) -> None:
    chunks = [answers.chunk(part) for part in THOUGHT]
    chunks[4]["choices"][0]["logprobs"] = LOGPROBS
    chunks += [answers.chunk({}, finish="stop"), answers.chunk(None, usage=answers.USAGE)]
    upstream.default = events([*map(answers.event, chunks), answers.event("[DONE]")])


@case("st-reasoning-kept", script=thinks)
async def every_field_survives_in_both_forms(run: Run) -> None:
    miss, hit, whole = run.answers
    assert sse.joined(miss.body) == sse.joined(hit.body)
    choice = whole.json()["choices"][0]
    message = choice["message"]
    assert message["reasoning_content"] == "Let me think."
    assert message["content"] == "It is so."
    assert message["annotations"] == [{"type": "url_citation", "n": 1}]
    assert message["x_vendor"] == {"deep": [1, 2]}
    assert choice["logprobs"]["content"] == LOGPROBS["content"]
    assert run.calls == 1


DETAILED = {
    "prompt_tokens": 11,
    "completion_tokens": 40,
    "total_tokens": 51,
    "completion_tokens_details": {"reasoning_tokens": 15},
    "prompt_tokens_details": {"cached_tokens": 8},
}


@case("st-usage-details", script=says(*answers.chat_events(["u"], usage=DETAILED)))
async def usage_is_the_original_in_every_field(run: Run) -> None:
    assert [sse.chunks(answer.body)[-1]["usage"] for answer in run.answers] == [DETAILED] * 2
    assert run.calls == 1


@case("st-usage-on-hit")
async def who_asks_for_usage_gets_it_from_the_cache(run: Run) -> None:
    first, second = run.answers
    assert all(chunk["choices"] for chunk in sse.chunks(first.body))
    *_, last, done = sse.parse(second.body)
    assert done.data == "[DONE]"
    assert json.loads(last.data)["choices"] == []
    assert json.loads(last.data)["usage"] == answers.USAGE
    assert run.calls == 1


@case("st-keepalive-blank-line", script=says(2.0, *answers.chat_events(["late"])))
async def a_late_first_token_finds_the_connection_alive(run: Run) -> None:
    """Two seconds instead of twenty."""
    assert run.texts == ["late"]


CRLF = [
    event.replace(b"data: ", b"data:").replace(b"\n", b"\r\n")
    for event in answers.chat_events(["no", "space"], usage=answers.USAGE)
]


@case("st-data-no-space", script=says(*CRLF))
async def bare_data_lines_are_events(run: Run) -> None:
    assert run.texts == ["nospace"] * 2
    assert run.calls == 1


LINES = b"".join(answers.chat_events(["across ", "reads"], usage=answers.USAGE))


@case("st-line-across-reads", script=says(*[LINES[i : i + 7] for i in range(0, len(LINES), 7)]))
async def lines_across_reads_are_whole(run: Run) -> None:
    assert run.texts == ["across reads"] * 2
    assert run.calls == 1


def long_jobs(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        if not seen.json().get("stream"):
            return body(answers.chat("late"), hold=2.2)
        given = answers.chat_events([f"{i} " for i in range(30)], usage=answers.USAGE)
        return events([piece for one in given for piece in (0.12, one)])

    upstream.default = script


def impatient(upstream: Channel) -> Settings:
    limits = {"first_byte_timeout": "3s", "idle_timeout": "1s"}
    return {"upstream": [{"name": "mock", "url": upstream.url, **limits}]}


@case(
    "st-slow-total-timeout",
    script=long_jobs,
    settings=impatient,
)
async def only_silence_is_limited(run: Run) -> None:
    """A fortieth of the times: the stream takes longer than any limit but is never silent."""
    assert run.answers[0].seconds > 3
    assert run.texts == ["".join(f"{i} " for i in range(30)), "late"]


def wrong_lengths(upstream: Channel) -> None:
    given = answers.chat_events(["c", "l"], usage=answers.USAGE)
    size = len(b"".join(given))
    wrong = (EVENTS_TYPE, ("Content-Length", str(len(given[0]))))
    right = (EVENTS_TYPE, ("Content-Length", str(size)))
    upstream.reply(
        Reply(given, headers=wrong, framing="given", ending="fin"),
        Reply(given, headers=right, framing="given"),
    )


@case("st-stale-content-length", script=wrong_lengths)
async def a_streams_length_is_not_passed_on(run: Run) -> None:
    wrong, right = run.answers
    assert b"[DONE]" not in wrong.body
    assert right.text == "cl"
    assert right.complete
    assert right.head.get("content-length") is None
    assert (await run.chat("cl", stream=True)).x_cache == "HIT"
    assert run.calls == 2
