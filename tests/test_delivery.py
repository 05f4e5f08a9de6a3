"""What each reader sees of an arriving answer: its form, its coding, its usage, its end."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import orjson
import pytest

from proxy.core.errors import RefusedError
from proxy.ports import UpstreamError
from tests import answers
from tests.asking import chat
from tests.fakes import JSON, Answer, settle
from tests.staged import METERED, STREAM, Got, Stage, broken, header, said, streamed, streaming

TAKES_GZIP = ("accept-encoding", "gzip")
GZIPPED = ("content-encoding", "gzip")
PLAIN = chat()
OFF = ("x-cache", "off")


def told(body: bytes) -> str:
    """What the deltas of a chat stream say together."""
    events = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: {")]
    choices = [choice for event in events for choice in orjson.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def zipped(answer: Answer, *, cut: int = 0) -> Answer:
    """The same answer compressed, without its last `cut` bytes."""
    plain = b"".join(piece for piece in answer.pieces if isinstance(piece, bytes))
    data = gzip.compress(plain, mtime=0)
    pieces = (data[:20], data[20 : len(data) - cut])
    return Answer(pieces, answer.status, (*answer.headers, GZIPPED), answer.door)


async def together(stage: Stage, door: asyncio.Event, *asked: Any) -> list[Got]:
    """The responses to requests that came while the first one's call was on its way."""
    asking = []
    for one in asked:
        body, *headers = one if isinstance(one, tuple) else (one,)
        asking.append(stage.asking(body, *headers))
        await settle()
    door.set()
    return [await one for one in asking]


async def test_who_wants_json_reads_a_running_stream_as_json() -> None:
    door = asyncio.Event()
    stage = Stage(streaming(door=door))
    _, got = await together(stage, door, STREAM, PLAIN)

    assert (got.outcome, await got.text()) == ("COLLAPSED", "hi")
    assert header(got.head.headers, "content-type") == ["application/json"]
    assert stage.calls == 1


async def test_who_wants_a_stream_reads_a_running_json_answer_as_one() -> None:
    door = asyncio.Event()
    stage = Stage(said("hi", door=door))
    _, got = await together(stage, door, PLAIN, STREAM)
    body = await got.body()

    assert (got.outcome, told(body)) == ("COLLAPSED", "hi")
    assert body.endswith(b"data: [DONE]\n\n")
    assert header(got.head.headers, "content-type") == ["text/event-stream; charset=utf-8"]


async def test_who_waited_for_an_answer_without_its_form_asks_for_itself() -> None:
    """An error inside a 200, say: what the upstream would have streamed is not known by it."""
    door = asyncio.Event()
    stage = Stage(Answer((answers.error("no"),), door=door), streaming())
    _, got = await together(stage, door, PLAIN, STREAM)

    assert await got.body() == b"".join(streamed())
    assert got.outcome == "BYPASS"


async def test_a_stored_stream_and_its_live_transcript_are_the_same() -> None:
    stage = Stage(streaming())
    live = await (await stage.ask(METERED)).body()
    await settle()
    again = await stage.ask(METERED)

    assert again.outcome == "HIT"
    assert await again.body() == live == b"".join(streamed())


async def test_usage_is_seen_only_by_who_asked_though_both_read_one_call() -> None:
    door = asyncio.Event()
    stage = Stage(streaming(door=door))
    plain, metered = await together(stage, door, STREAM, METERED)
    hidden, seen = await plain.body(), await metered.body()

    assert b"usage" not in hidden
    assert seen == b"".join(streamed())
    assert told(hidden) == told(seen) == "hi"


async def test_who_wants_usage_asks_for_itself_where_the_running_call_has_none() -> None:
    door = asyncio.Event()
    stage = Stage(streaming(answers.chat_events(["hi"]), door=door), streaming())
    stage.node.ask_usage = False
    _, got = await together(stage, door, STREAM, METERED)

    assert (got.outcome, await got.body()) == ("BYPASS", b"".join(streamed()))


async def test_usage_is_asked_for_so_that_one_entry_serves_all() -> None:
    stage = Stage(streaming())
    await (await stage.ask(STREAM)).body()
    await settle()
    sent = orjson.loads(stage.upstream.calls[0].body)  # type: ignore[arg-type]  # bytes here

    assert sent == METERED
    assert b"usage" in await (await stage.ask(METERED)).body()


async def test_usage_is_not_asked_for_where_the_cache_takes_no_part() -> None:
    stage = Stage(streaming())
    got = await stage.ask(STREAM, OFF)
    sent = orjson.loads(stage.upstream.calls[0].body)  # type: ignore[arg-type]  # bytes here

    assert sent == STREAM
    assert await got.body() == b"".join(streamed())


@pytest.mark.parametrize("asked", [PLAIN, STREAM])
async def test_who_takes_the_coding_gets_the_bytes_as_they_are(asked: dict[str, Any]) -> None:
    answer = zipped(said() if asked is PLAIN else streaming(answers.chat_events(["hi"])))
    # A stream's usage must be hidden, so only who wants it can have the bytes as they are.
    body = asked if asked is PLAIN else METERED
    got = await Stage(answer).ask(body, TAKES_GZIP)

    assert header(got.head.headers, "content-encoding") == ["gzip"]
    assert await got.body() == b"".join(answer.pieces)  # type: ignore[arg-type]  # bytes here


async def test_who_joins_and_takes_the_coding_too_is_told_it() -> None:
    door = asyncio.Event()
    stage = Stage(zipped(said("hi", door=door)))
    _, got = await together(stage, door, (PLAIN, TAKES_GZIP), (PLAIN, TAKES_GZIP))

    assert header(got.head.headers, "content-encoding") == ["gzip"]
    assert b"hi" in gzip.decompress(await got.body())


async def test_who_does_not_take_the_coding_reads_a_running_json_answer_without() -> None:
    door = asyncio.Event()
    stage = Stage(zipped(said("hi", door=door)))
    _, got = await together(stage, door, (PLAIN, TAKES_GZIP), PLAIN)

    assert await got.text() == "hi"
    assert header(got.head.headers, "content-encoding") == []


@pytest.mark.parametrize("first", ["identity", "gzip"])
async def test_codings_that_are_told_in_two_lines_are_undone_both(first: str) -> None:
    """A middlebox that codes what comes adds a line of its own."""
    once = gzip.compress(answers.dumps(answers.chat("hi")))
    twice = once if first == "identity" else gzip.compress(once)
    lines = (("content-encoding", first), GZIPPED)
    stage = Stage(Answer((twice,), headers=(*JSON, *lines)))
    got = await stage.ask()
    await settle()

    assert (await got.text(), header(got.head.headers, "content-encoding")) == ("hi", [])
    assert await (await stage.ask()).text() == "hi"


async def test_of_a_crowd_each_gets_the_same_answer_as_it_wants_it() -> None:
    door = asyncio.Event()
    stage = Stage(zipped(said("hi", door=door)))
    wants = [PLAIN, (PLAIN, TAKES_GZIP), STREAM, METERED]
    got = await together(stage, door, *wants, *wants)
    seen = [(header(one.head.headers, "content-encoding"), await one.body()) for one in got]
    plain, packed, hidden, metered = seen[4:]

    assert stage.calls == 1
    assert (plain[0], orjson.loads(plain[1])["choices"][0]["message"]["content"]) == ([], "hi")
    assert (packed[0], gzip.decompress(packed[1])) == (["gzip"], plain[1])
    assert told(hidden[1]) == told(metered[1]) == "hi"
    assert (b"usage" in hidden[1], b"usage" in metered[1]) == (False, True)
    assert seen[1:4] == seen[5:]


async def test_who_does_not_take_the_coding_reads_a_running_stream_without() -> None:
    door = asyncio.Event()
    stage = Stage(zipped(streaming(door=door)))
    _, got = await together(stage, door, (METERED, TAKES_GZIP), METERED)

    assert await got.body() == b"".join(streamed())
    assert header(got.head.headers, "content-encoding") == []


@pytest.mark.parametrize("asked", [(PLAIN,), (STREAM, ("accept-encoding", "dcb"))])
async def test_who_cannot_read_the_coding_of_anothers_answer_asks_for_itself(asked: Any) -> None:
    """Nor can we, so that it can be given to nobody who does not take it, nor in another form."""
    door = asyncio.Event()
    coded = Answer((b"\x0b",), headers=(*JSON, ("content-encoding", "dcb")), door=door)
    stage = Stage(coded, said("own"))
    _, got = await together(stage, door, (PLAIN, ("accept-encoding", "dcb")), asked)

    assert (got.outcome, await got.text()) == ("BYPASS", "own")


async def test_usage_is_hidden_in_an_encoded_stream_as_well() -> None:
    got = await Stage(zipped(streaming())).ask(STREAM, TAKES_GZIP)
    body = await got.body()

    assert told(body) == "hi"
    assert b"usage" not in body


async def test_an_encoded_answer_is_stored_without_its_coding() -> None:
    stage = Stage(zipped(said("hi")))
    await stage.ask(PLAIN, TAKES_GZIP)
    await settle()
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("HIT", "hi")


@pytest.mark.parametrize("asked", [PLAIN, STREAM], ids=["in the same form", "in the other form"])
async def test_an_encoded_answer_that_breaks_off_is_the_upstreams_failure(
    asked: dict[str, Any],
) -> None:
    door = asyncio.Event()
    stage = Stage(zipped(said("hi", ("transfer-encoding", "chunked"), door=door), cut=9))
    first = stage.asking(PLAIN, TAKES_GZIP)
    await settle()
    second = stage.asking(asked)
    await settle()
    door.set()
    await first

    with pytest.raises(RefusedError) as refused:
        await second
    assert refused.value.status == 502


async def read_to_the_cut(got: Got) -> bytes:
    """All that came before the cut; the test fails where there is none."""
    seen = b""
    with pytest.raises(UpstreamError):
        while chunk := await got.chunk():
            seen += chunk
    await got.close()
    return seen


@pytest.mark.parametrize("asked", [STREAM, METERED])
async def test_a_stream_that_breaks_off_ends_with_an_error_and_is_cut(
    asked: dict[str, Any],
) -> None:
    """Never with an end marker that the upstream did not send."""
    whole = answers.chat_events(["hi"])
    stage = Stage(streaming((*whole[:2], broken())))
    seen = await read_to_the_cut(await stage.ask(asked))
    *before, last = seen.removesuffix(b"\n\n").split(b"\n\n")

    assert [event + b"\n\n" for event in before] == whole[:2]
    assert orjson.loads(last.removeprefix(b"data: "))["error"]["code"] == "upstream_error"
    assert b"[DONE]" not in seen


async def test_an_event_cut_in_the_middle_does_not_swallow_the_error() -> None:
    whole = answers.chat_events(["hi"])
    stage = Stage(streaming((whole[0], whole[1][:30], broken())))
    seen = await read_to_the_cut(await stage.ask(METERED))
    last = seen.removesuffix(b"\n\n").split(b"\n\n")[-1]

    assert orjson.loads(last.removeprefix(b"data: "))["error"]["code"] == "upstream_error"


async def test_an_event_cut_in_the_middle_is_not_taken_for_what_it_was_to_become() -> None:
    stage = Stage(streaming((b'data: {"a":1}\n\n', b"event: message_stop\ndata: ", broken())))
    seen = await read_to_the_cut(await stage.ask(METERED))

    assert b"event: message_stop\ndata: \nevent: error\n\n" in seen


@pytest.mark.parametrize("half", [b'{"choices": [{"mess', b""])
async def test_json_that_ends_too_soon_is_no_answer_where_nothing_says_how_long_it_is(
    half: bytes,
) -> None:
    """Its end looks like that of a connection whose node died."""
    with pytest.raises(RefusedError) as refused:
        await Stage(Answer((half,), headers=JSON)).ask(PLAIN)

    assert refused.value.status == 502


async def test_a_stream_that_broke_off_is_not_kept() -> None:
    stage = Stage(streaming((*answers.chat_events(["hi"]), broken())))
    await read_to_the_cut(await stage.ask(METERED))
    await settle()

    assert not stage.store.data


async def test_a_stream_that_broke_off_is_cut_for_all_who_read_it() -> None:
    door = asyncio.Event()
    stage = Stage(streaming((*answers.chat_events(["hi"])[:2], broken()), door=door))
    got = await together(stage, door, METERED, METERED, STREAM)
    seen = [await read_to_the_cut(one) for one in got]

    assert all(b"upstream_error" in one for one in seen)


async def test_an_encoded_stream_that_breaks_off_is_cut_for_who_reads_it_decoded() -> None:
    door = asyncio.Event()
    stage = Stage(zipped(streaming(door=door), cut=9))
    _, got = await together(stage, door, (METERED, TAKES_GZIP), METERED)

    assert b"upstream_error" in await read_to_the_cut(got)


async def test_an_encoded_stream_that_is_not_what_it_says_is_cut() -> None:
    stage = Stage(streaming((b"not gzip at all",), GZIPPED))

    assert b"upstream_error" in await read_to_the_cut(await stage.ask(METERED))


async def test_half_a_json_answer_is_an_error_and_not_half_an_answer() -> None:
    stage = Stage(Answer((b'{"half', broken())))

    with pytest.raises(RefusedError) as refused:
        await stage.ask()
    assert (refused.value.status, refused.value.code) == (502, "upstream_error")


async def test_half_a_json_answer_is_an_error_too_where_the_cache_takes_no_part() -> None:
    stage = Stage(Answer((b'{"half', broken())))

    with pytest.raises(RefusedError) as refused:
        await stage.ask(None, OFF)
    assert refused.value.status == 502
    assert (stage.upstream.answering, stage.node.running) == (0, 0)


async def test_blanks_that_keep_a_slow_answer_alive_are_passed_on_at_once() -> None:
    gate = asyncio.Event()
    stage = Stage(Answer((b"\n", gate, b"\n", *said("hi").pieces)))
    got = await stage.ask()

    assert await got.chunk() == b"\n"
    gate.set()
    assert await got.text() == "hi"


async def test_an_answer_kept_alive_by_blanks_is_stored() -> None:
    stage = Stage(Answer((b"\n", b"\n", *said("hi").pieces)))
    await (await stage.ask()).body()
    await settle()

    assert (await stage.ask()).outcome == "HIT"


async def test_an_answer_of_another_kind_is_passed_on_as_it_comes() -> None:
    gate = asyncio.Event()
    page = Answer((b"<p>", gate, b"</p>"), 200, (("content-type", "text/html"),))
    stage = Stage(page)
    got = await stage.ask()

    assert await got.chunk() == b"<p>"
    gate.set()
    assert await got.body() == b"</p>"


async def test_headers_of_the_upstreams_connection_stay_there() -> None:
    stage = Stage(said("hi", ("connection", "x-own"), ("x-own", "1"), ("x-kept", "2")))
    names = [name for name, _ in (await stage.ask()).head.headers]

    assert "x-kept" in names
    assert not {"connection", "x-own"} & set(names)


async def test_a_hit_is_read_by_everyone_in_their_own_way() -> None:
    """One entry serves both forms, with and without usage."""
    stage = Stage(streaming())
    await (await stage.ask(METERED)).body()
    await settle()
    json, plain = await stage.ask(PLAIN), await stage.ask(STREAM)

    assert (json.outcome, await json.text()) == ("HIT", "hi")
    assert (plain.outcome, told(await plain.body())) == ("HIT", "hi")
    assert header(json.head.headers, "content-type") == [JSON[0][1]]
