"""Many at once, slow ones among them, and answers that arrive too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests import answers
from tests.e2e.checks.registry import case
from tests.reply import body, events, numbered

if TYPE_CHECKING:
    from tests.e2e.steps import Run
    from tests.gateway import Settings
    from tests.reply import Reply, Seen
    from tests.upstream import Channel


def fails_once(upstream: Channel) -> None:
    upstream.reply(body(answers.error("broken", "server_error"), status=500, hold=0.5))


@case("sf-error-not-kept", script=fails_once)
async def an_error_reaches_those_who_wait_and_no_one_else(run: Run) -> None:
    *together, last = run.answers
    assert len(together) == 10
    assert {answer.status for answer in together} == {500}
    assert last.text == "#2"
    assert run.calls == 2


def slowly(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        if "ttl zero" in seen.body.decode():
            return body(answers.chat(f"#{seen.number}", finish="length"), hold=0.5)
        return numbered(seen).but(hold=0.5)

    upstream.default = script


@case("sf-uncacheable-serialised", script=slowly)
async def what_is_not_stored_does_not_queue(run: Run) -> None:
    """Half a second each: twenty in a row would take ten."""
    assert max(answer.seconds for answer in run.answers) < 3
    assert len({answer.text for answer in run.answers[:20]}) == 20
    assert {answer.status for answer in run.answers} == {200}


BIG = answers.chat_events(["x" * 20_000] * 100, usage=answers.USAGE)


def big(upstream: Channel) -> None:
    upstream.default = events(BIG)


@case("sf-slow-reader", script=big)
async def a_slow_reader_slows_nobody(run: Run) -> None:
    assert len(run.answers) == 5
    for answer in run.answers:
        assert answer.text == "x" * 2_000_000
        assert answer.seconds < 5
    assert run.calls == 1


def old_then_new(upstream: Channel) -> None:
    upstream.reply(body(answers.chat("OLD"), hold=2.0), body(answers.chat("NEW"), hold=0.03))


def finishing(upstream: Channel) -> Settings:
    return {"cache": {"finish_abandoned": True}}


@case("sf-superseded-fill", script=old_then_new, settings=finishing, scale=0.25)
async def a_late_answer_does_not_replace_a_newer_one(run: Run) -> None:
    """A quarter of the times; the abandoned call is let run on, else it could not come late."""
    assert run.answers[0].status == 0
    assert [answer.text for answer in run.answers[1:]] == ["NEW", "NEW"]
    assert run.calls == 2
