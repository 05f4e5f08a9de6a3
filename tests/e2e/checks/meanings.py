"""What is answered by meaning, and what never is."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests import answers
from tests.e2e import meaning
from tests.e2e.checks.clients import kept
from tests.e2e.checks.registry import case
from tests.e2e.checks.stored import far_only
from tests.e2e.meaning import MEANT, SAID
from tests.e2e.stores import purge
from tests.gateway import ROOT
from tests.reply import body, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.steps import Answer, Run, Step
    from tests.gateway import Settings
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

NEAR = (
    "how do I remove a red wine stain from a white shirt",
    "how do I get rid of a red wine stain on a white shirt",
)
"""Two questions of which the embedder has to say that they are one."""
NEW = ("cache-control", "no-cache")


def at(threshold: str) -> Callable[[list[Step]], None]:
    """The steps, with that least similarity."""

    def change(steps: list[Step]) -> None:
        for step in steps:
            step["headers"] = {"x-cache-threshold": threshold}

    return change


def spoken(*texts: str) -> Callable[[list[Step]], None]:
    """The steps, with these words instead: the case's own are not compared with any."""

    def change(steps: list[Step]) -> None:
        asking = [step for step in steps if step["do"] == "chat"]
        for step, text in zip(asking, texts, strict=True):
            step["body"]["messages"][-1]["content"] = text

    return change


def why(answer: Answer) -> str:
    """What kept an answer from being another's."""
    return (answer.head.get("cache-status") or "").partition("detail=")[2]


@case("sm-all-alike", semantic=True, change=at("0.8"))
async def different_questions_have_different_answers(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3", "#4"]


@case("sm-first-entry-wins", semantic=True, change=at("0.8"))
async def the_only_neighbour_is_not_near_for_that(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    assert why(run.answers[1]) == "below_threshold"


@case("sm-system-prompt", semantic=True)
async def who_is_told_to_be_another_answers_anew(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3"]


PAYLOAD = "仓库在周一收到了新的货架, 安装要用两天. 旧货架会捐给学校. "


def payload(steps: list[Step]) -> None:
    """The first sentence of the second is another one."""
    first = PAYLOAD * 28
    assert len(first) > 800
    for step, text in zip(steps, (first, first.replace("两天", "三天", 1)), strict=True):
        step["body"]["messages"][0]["content"] = f"请总结这段内容:{text}"


@case("sm-context-payload", semantic=True, change=payload)
async def what_is_to_be_read_belongs_to_the_question(run: Run) -> None:
    """Long payloads, which are not even looked up, and short ones."""
    for text in (PAYLOAD, PAYLOAD.replace("学校", "医院")):
        run.answers.append(await run.chat(f"请总结这段内容:{text}"))

    assert run.texts == ["#1", "#2", "#3", "#4"]
    assert [why(answer) for answer in run.answers[2:]] == ["ineligible:deictic"] * 2


BLAMED = "how do I build the project", "how can I compile the repo"
PAIRS = (
    NEAR,
    BLAMED,
    ("how can I park", "can I park there"),
    ("which bread is best for toast", "the best bread for toast"),
)
THRESHOLDS = ("0.5", "0.7", "0.9", "1.0")


def rising(steps: list[Step]) -> None:
    """All of it once for each threshold, each by itself."""
    asked = [one["step"] for one in steps]
    for step, text in ((asked[0], 0), (asked[1], 1)):
        step["headers"] = {}
        for pair in PAIRS:
            said = {**step["body"], "messages": [{"role": "user", "content": pair[text]}]}
            steps.append({"do": "chat", "key": "K1", "headers": {}, "body": said})
    firsts, seconds = [steps[0], *steps[2:6]], [steps[1], *steps[6:]]
    steps.clear()
    for threshold in THRESHOLDS:
        for step in (*firsts, *seconds):
            one = {**step.get("step", step)}
            one["headers"] = {"x-cache-threshold": threshold, "x-cache-namespace": threshold}
            steps.append({**step, "n": 5, "step": one} if step["do"] == "repeat" else one)


@case("sm-threshold-direction", semantic=True, change=rising)
async def the_higher_the_threshold_the_fewer_hits(run: Run) -> None:
    """Five numbers of the case's question, which are one by their canonical form, and pairs that
    only an embedder finds alike."""
    size = len(run.answers) // len(THRESHOLDS)
    hits = []
    for start in range(0, len(run.answers), size):
        texts = [answer.text for answer in run.answers[start : start + size]]
        firsts, seconds = texts[: size // 2], texts[size // 2 :]
        found = [one for one in zip(seconds, firsts, strict=True) if one[0] in firsts]
        assert all(second == first for second, first in found)
        hits.append(len(found))

    assert hits == sorted(hits, reverse=True)
    assert hits[0] > hits[1] > hits[-1] == 5
    refused = await run.chat("how can I park", ("x-cache-threshold", "1.5"))
    assert refused.status == 400


@case("sm-off-means-off")
async def nothing_is_compared_unless_told_so(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    assert run.gateway.total("hotprefix_semantic_lookups_total") == 0


@case("sm-no-text", semantic=True)
async def where_there_is_no_text_nothing_is_compared(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3", "#4"]
    before = await meaning.counted(run.gateway)
    said = [seen.json() for seen in run.upstream.seen]
    for one in said:
        again = {"do": "chat", "key": "K1", "body": {**one, "seed": 1}}
        run.answers += await run.step(again)

    # That they are known to be stored has one question, and so has its answer.
    entries, vectors = await meaning.counted(run.gateway)
    assert (entries - before[0], vectors - before[1]) == (len(said), len(said))
    assert run.texts[4:] == ["#5", "#6", "#7", "#8"]


def apart(steps: list[Step]) -> None:
    """With a model of their own, for an error closes a model's neighbours to all."""
    spoken(*BLAMED, BLAMED[1])(steps)
    for step in steps:
        if step["do"] == "chat":
            step["body"]["model"] = "m-blamed"


async def blamed(run: Run, step: Step) -> None:
    """The last answer is called wrong."""
    told = {"request_id": run.answers[-1].head.get("x-request-id")}
    assert await meaning.operate(run.gateway, "/admin/feedback", told) == 200


async def purged(run: Run, step: Step) -> None:
    """The answer to the only request so far is deleted, by its key as `explain` shows it."""
    sent = run.upstream.seen[0]
    headers = {"authorization": f"Bearer {run.upstream.key}"}
    request = {"path": sent.path, "headers": headers, "body": sent.json()}
    file = run.gateway.folder / "request.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    command = (sys.executable, "-m", "proxy", "explain", str(file))
    config = ("--config", str(run.gateway.file))
    shown = await asyncio.to_thread(
        subprocess.check_output, (*command, *config), cwd=ROOT, text=True
    )
    (key,) = re.findall("^key +([0-9a-f]{64})$", shown, re.MULTILINE)
    assert purge(run.gateway, {"key": key}) == 200


@case(
    "sm-remove-wrong-hit",
    semantic=True,
    act=blamed,
    change=apart,
)
async def a_wrong_hit_can_be_ended(run: Run) -> None:
    assert run.texts == ["#1", "#1", "#2"]
    assert run.answers[0].head.get("x-cache-key") == run.answers[1].head.get("x-cache-key")
    for more in ((NEW,), ()):
        assert (await run.chat(BLAMED[1], *more, model="m-blamed")).text == "#3"


@case("fa-ghost-after-delete", semantic=True, act=purged)
async def what_was_deleted_is_not_found_by_what_means_the_same(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    assert why(run.answers[1]) == "scope_empty"
    assert (await run.chat("delete me please")).text == "#2"


@case("fa-same-id-twice", semantic=True)
async def the_last_refresh_is_all_there_is(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3", "#4", "#5", "#5"]
    before = await meaning.counted(run.gateway)
    for number in range(6, 11):
        assert (await run.chat(NEAR[0], NEW)).text == f"#{number}"

    assert (await run.chat(NEAR[1])).text == "#10"
    entries, vectors = await meaning.counted(run.gateway)
    # Six more are those by which it was seen that they can be found.
    assert (entries - before[0], vectors - before[1]) == (1 + 6, 1 + 6)


UNLIKE = {*NEAR[0].split()} ^ {*NEAR[1].split()}


class Embedder:
    """An embeddings API beside the model: a text's vector depends on its words, hardly on those
    that only one of two near ones has, and on the embedder's name, which also says its length."""

    def __init__(self, upstream: Channel) -> None:
        self.calls = 0
        upstream.default = self._answer

    def _answer(self, seen: Seen) -> Reply:
        if seen.path.endswith("/embeddings"):
            return body(self._embedded(seen.json()))
        self.calls += 1
        seen.number = self.calls
        return numbered(seen)

    def _embedded(self, asked: answers.Json) -> answers.Json:
        rows = [_vector(asked["model"], text) for text in asked["input"]]
        data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
        return {"object": "list", "data": data}


def _vector(model: str, text: str) -> Sequence[float]:
    words = {*text.split()}
    most, all_ = (_drawn(model, some) for some in (words - UNLIKE, words))
    return [near + 0.01 * other for near, other in zip(most, all_, strict=True)]


def _drawn(model: str, words: set[str]) -> Sequence[float]:
    name = f"{model} {sorted(words)}".encode()
    size = int(model.rpartition("-")[2])
    return [byte / 128 - 1 for byte in hashlib.shake_256(name).digest(size)]


def embedding(model: str) -> Callable[[Channel], Settings]:
    def settings(upstream: Channel) -> Settings:
        where = f"{upstream.url}/embeddings?model={model}"
        return {"semantic": {"embedder": where, "min_similarity": 0.9}}

    return settings


def embedded(upstream: Channel) -> None:
    Embedder(upstream)


async def reembed(run: Run, step: Step) -> None:
    """Twice started with another embedder; what was stored can be found each time."""
    run.answers.append(await run.chat(NEAR[0]))
    for model in ("two-300", "three-300"):
        run.gateway.stop()
        run.gateway.settings["semantic"] |= embedding(model)(run.upstream)["semantic"]
        run.gateway.start()
        await meaning.ready(run.gateway)
        found = await run.chat(NEAR[1])
        assert (found.text, found.head.get("x-cache-kind")) == ("#2", "semantic")
        assert float(found.head.get("x-cache-similarity") or 0) > 0.999
        entries, vectors = await meaning.counted(run.gateway)
        assert entries == vectors


def keyed(upstream: Channel) -> dict[str, str]:
    return {"HOTPREFIX_EMBEDDINGS_KEY": upstream.key}


@case(
    "fa-embedder-changed",
    semantic=True,
    script=embedded,
    settings=embedding("one-200"),
    env=keyed,
    act=reembed,
)
async def vectors_of_another_embedder_are_made_anew(run: Run) -> None:
    statuses = [answer.status for answer in run.answers]
    assert statuses == [200] * len(statuses)
    asked = [answer.x_cache for answer in run.answers]
    assert asked == ["MISS", "MISS", "HIT", "MISS", "HIT"]


async def refuse(run: Run, step: Step) -> None:
    """Redis has no room, and then has some again."""
    assert run.redis is not None
    working = 'hotprefix_tier_working{tier="redis-writes"}'
    full = step["what"] != "store ok"
    with run.redis.client() as client:
        client.config_set("maxmemory", "1" if full else "0")
    if not full:
        await meaning.until(lambda: run.gateway.metrics().get(working) == 1.0)


def unsure(steps: list[Step]) -> None:
    """That it can be found is not to be seen while nothing is stored."""
    steps[:] = [{"do": "fault", "what": "unsure", "of": list(steps)}]


async def unstored(run: Run, step: Step) -> None:
    aside, run.aside = run.aside, None
    for one in step["of"]:
        if one["do"] == "fault":
            await refuse(run, one)
        else:
            run.answers += await run.step(one)
            await run.upstream.until(
                lambda: run.gateway.total("hotprefix_singleflight_flights") == 0
            )
            if len(run.answers) == 1:
                assert (await run.chat("orphan?")).text == "#2"
    run.aside = aside


@case(
    "fa-half-written",
    semantic=True,
    redis=True,
    settings=far_only,
    change=unsure,
    act=unstored,
)
async def what_could_not_be_stored_is_not_found(run: Run) -> None:
    """The second asks by its meaning for what is not there."""
    assert run.texts == ["#1", "#3", "#3"]
    entries, vectors = await meaning.counted(run.gateway)
    assert entries == vectors == 1


@case("tn-semantic-neighbour", semantic=True)
async def no_tenant_gets_anothers_answer_however_near(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    assert (await run.chat("Show us the account balance")).x_cache == "HIT"


def contract(steps: list[Step]) -> None:
    for step in steps:
        content = step["body"]["messages"][0]["content"]
        text = content.replace("<identical 1,500-word contract>", "the parties agree " * 500)
        step["body"]["messages"][0]["content"] = text


@case("tn-soft-partition", semantic=True, change=contract)
async def a_long_equal_prompt_is_still_another_tenants(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    long = "the parties agree " * 15
    for key, text in (("K1", "which clause"), ("K2", "what clause"), ("K1", "what clause")):
        message = {"role": "user", "content": f"{long} {text} limits liability?"}
        step = {"do": "chat", "key": key, "body": {"model": "m-small", "messages": [message]}}
        run.answers += await run.step(step)
    assert run.texts[2:] == ["#3", "#4", "#3"]


def alternating(steps: list[Step]) -> None:
    """Every other question is the same in other words, so that it is asked for by its meaning."""
    repeat = steps[0]
    asking = []
    for text in (SAID, MEANT):
        message = {"role": "user", "content": text}
        asking.append({**repeat["step"], "body": {"model": "m-small", "messages": [message]}})
    pause = {"do": "sleep", "s": repeat["every_s"]}
    steps[:] = [one for i in range(repeat["n"]) for one in (asking[i % 2], pause)]


@case(
    "tt-sliding-keeps-wrong-alive",
    semantic=True,
    settings=kept("1s"),
    scale=0.05,
    change=alternating,
)
async def reading_does_not_lengthen_a_life(run: Run) -> None:
    """A twentieth of the times."""
    assert 3 <= run.calls <= 5
    assert "canonical" in {answer.head.get("x-cache-kind") for answer in run.answers}


@case("cl-hit-is-marked", semantic=True)
async def every_answer_says_where_it_comes_from(run: Run) -> None:
    assert [answer.x_cache for answer in run.answers] == ["MISS", "HIT", "HIT"]
    for hit in run.answers[1:]:
        assert hit.head.get("x-cache-kind") == "exact"
        assert hit.head.get("age") is not None
    least = ("x-cache-threshold", "0.9")
    first = await run.chat(NEAR[0], least)
    near = [await run.chat(NEAR[1], least, stream=stream) for stream in (False, True)]
    same = [await run.chat(f"{NEAR[0]}?", least, stream=stream) for stream in (False, True)]
    assert first.head.get("x-cache-similarity") is None
    for hits, kind in ((near, "semantic"), (same, "canonical")):
        for hit in hits:
            assert (hit.x_cache, hit.text) == ("HIT", first.text)
            assert hit.head.get("x-cache-kind") == kind
            assert 0.8 < float(hit.head.get("x-cache-similarity") or 0) <= 1.0
            assert hit.head.get("age") is not None
