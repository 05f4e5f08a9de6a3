"""Which answers are kept: errors, tools, the Responses API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests import answers, sse
from tests.e2e.checks.registry import case
from tests.reply import JSON_TYPE, Reply, Seen, body, events, numbered

if TYPE_CHECKING:
    from tests.e2e.steps import Run
    from tests.upstream import Channel


def prompt(seen: Seen) -> str:
    return str(seen.json()["messages"][-1]["content"])


def in_turn(*values: Any) -> Any:
    """A script of JSON answers by call; afterwards numbered ones."""

    def script(upstream: Channel) -> None:
        upstream.reply(*(body(value) for value in values))

    return script


EMPTY = {**answers.chat(""), "choices": []}


@case(
    "er-200-with-error-body",
    script=in_turn({"error": {"message": "overloaded", "code": 529}}, EMPTY),
)
async def a_200_that_is_no_answer_is_not_kept(run: Run) -> None:
    assert run.calls == 2
    assert [(await run.chat("g")).text for _ in range(2)] == ["#3", "#3"]


@case("er-length-cut", script=in_turn(answers.chat("and then", finish="length")))
async def a_cut_answer_is_kept_only_if_the_request_set_the_limit(run: Run) -> None:
    assert run.texts == ["and then", "#2"]
    run.upstream.reply(body(answers.chat("short", finish="length")))
    limited = [await run.chat("long answer please", max_tokens=3) for _ in range(2)]
    assert [answer.text for answer in limited] == ["short", "short"]


@case("er-content-filter", script=in_turn(answers.chat("", finish="content_filter")))
async def a_filtered_answer_passes_and_is_not_kept(run: Run) -> None:
    first, second = run.answers
    assert first.json()["choices"][0]["finish_reason"] == "content_filter"
    assert second.text == "#2"


CALL = {"id": "c1", "type": "function", "function": {"name": "save", "arguments": "{}"}}
TOOL_CALL = answers.chat(None, finish="tool_calls", tool_calls=[CALL])


def empty_or_tool(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        if prompt(seen) == "tool only":
            return body(TOOL_CALL)
        return body(answers.chat("" if seen.number == 1 else "ok"))

    upstream.default = script


@case("er-empty-answer", script=empty_or_tool)
async def nothing_said_is_not_kept_but_a_tool_call_is_something(run: Run) -> None:
    assert run.texts[:2] == ["", "ok"]
    assert [prompt(seen) for seen in run.upstream.seen] == ["em", "em", "tool only"]
    assert run.answers[3].json() == TOOL_CALL


@case("er-retry-hits-own-bad-entry", script=in_turn(*[answers.chat("", finish="length")] * 2))
async def a_retry_reaches_the_upstream(run: Run) -> None:
    assert run.texts == ["", "", "#3"]


PLAIN = {
    "plain429": (429, "text/plain", b"Too Many Requests"),
    "html502": (502, "text/html", b"<h1>Bad Gateway</h1>"),
    "empty503": (503, "text/plain", b""),
}


def plain_errors(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        status, kind, text = PLAIN[prompt(seen)]
        return Reply((text,), status=status, headers=(("Content-Type", kind),))

    upstream.default = script


@case("er-status-passthrough", script=plain_errors)
async def errors_that_are_not_json_pass_as_they_are(run: Run) -> None:
    """The report wants them wrapped in JSON; here an upstream's error is never rewritten."""
    for answer, (status, kind, text) in zip(run.answers, PLAIN.values(), strict=True):
        assert (answer.status, answer.head.get("content-type"), answer.body) == (
            status,
            kind,
            text,
        )


def one_too_long(upstream: Channel) -> None:
    data = answers.dumps(answers.chat("whole"))
    length = (JSON_TYPE, ("Content-Length", str(len(data) + 1)))
    upstream.default = Reply((data,), headers=length, framing="given", ending="fin")


@case("er-upstream-wrong-length", script=one_too_long)
async def an_answer_shorter_than_it_says_is_a_bad_gateway(run: Run) -> None:
    for answer in run.answers:
        assert answer.status == 502
        assert answer.json()["error"]["message"]
    assert run.calls == 2


def tools_when_allowed(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        asked = seen.json()
        allowed = asked.get("tools") and asked.get("tool_choice") != "none"
        return body(TOOL_CALL) if allowed else numbered(seen)

    upstream.default = script


@case("tl-choice-none", script=tools_when_allowed)
async def a_tool_call_never_answers_who_forbids_it(run: Run) -> None:
    said = [answer.json()["choices"][0]["message"] for answer in run.answers]
    assert said[0]["tool_calls"] == [CALL]
    assert [message["content"] for message in said[1:]] == ["#2", "#3"]


@case("tl-schema-drift", semantic=True)
async def tools_and_their_schemas_are_keyed(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3"]


def opened(index: int, name: str) -> answers.Json:
    function = {"name": name, "arguments": ""}
    call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
    return {"tool_calls": [call]}


def alternating(upstream: Channel) -> None:
    parts: list[answers.Json] = [{"role": "assistant", "content": None}]
    parts += [opened(1, "clock"), opened(0, "weather")]
    for one, zero in (('{"zone', '{"pla'), ('":"CET"}', 'ce":"Bergen"}')):
        for index, piece in ((1, one), (0, zero)):
            part = {"index": index, "function": {"arguments": piece}}
            parts.append({"tool_calls": [part]})
    usage = answers.USAGE
    upstream.default = events(answers.deltas(parts, finish="tool_calls", usage=usage))


@case("tl-sparse-index", script=alternating)
async def tool_calls_are_put_together_by_index(run: Run) -> None:
    miss, hit, whole = run.answers
    message = whole.json()["choices"][0]["message"]
    for calls in (
        *(sse.joined(one.body)["tool_calls"] for one in (miss, hit)),
        message["tool_calls"],
    ):
        assert [(call["id"], call["function"]["name"]) for call in calls] == [
            ("call_0", "weather"),
            ("call_1", "clock"),
        ]
        given = [json.loads(call["function"]["arguments"]) for call in calls]
        assert given == [{"place": "Bergen"}, {"zone": "CET"}]
    assert whole.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert message["content"] is None
    assert run.calls == 1


@case("tl-structured-output-hits", script=in_turn(answers.chat('{"t":1.5}')))
async def structured_outputs_hit(run: Run) -> None:
    assert run.texts == ['{"t":1.5}'] * 2
    assert run.calls == 1


def conversations(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        if seen.json().get("previous_response_id") == "resp_missing":
            return body(answers.error("no such response", code="not_found"), status=404)
        return numbered(seen)

    upstream.default = script


@case("ra-previous-id", script=conversations)
async def state_at_the_provider_is_never_cached(run: Run) -> None:
    assert [answer.status for answer in run.answers] == [200, 200, 404, 200, 200]
    assert {answer.x_cache for answer in run.answers} == {"BYPASS"}
    assert run.calls == 5


@case("ra-stream-cached")
async def a_streamed_response_is_replayed_event_by_event(run: Run) -> None:
    miss, hit = run.answers
    assert miss.body == hit.body
    assert hit.x_cache == "HIT"
    told = sse.chunks(hit.body)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert (told[0]["type"], told[-1]["type"]) == ("response.created", "response.completed")
    assert told[-1]["response"]["usage"]["total_tokens"] == 18
    assert run.calls == 1
