"""Calls go where their prompts are kept, as far as the load allows; wrong knowledge is mended."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from proxy.config import Routing
from proxy.core.context import Hints
from proxy.core.events import NodeVoid, PrefixReported, Routed
from proxy.core.limiter import Limiter
from proxy.core.message import Call
from proxy.core.prefix import Prompt, chained
from proxy.core.providers import Rule
from proxy.core.restart import DOUBTED, LOST
from proxy.fleet import Fleet
from proxy.holders import Holder, holders
from proxy.node import Node
from proxy.ports import UpstreamError
from proxy.router import Router
from proxy.wish import Pick, Wish
from tests.fakes import Answer, FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from proxy.answering import Answering
    from proxy.core.events import Event

CALL = Call("POST", "/v1/chat/completions", "", (), b"{}")


def turns(*texts: str) -> Prompt:
    """The prompt of a conversation."""
    made = chained((b"tenant",), [(b"user", text.encode()) for text in texts])
    assert made is not None
    return made


def long(name: str) -> str:
    return name * (8000 // len(name))


def telling(cached: int, of: int = 1000) -> Answer:
    """An answer of a node that had kept so much."""
    details = {"cached_tokens": cached}
    usage = {"prompt_tokens": of, "prompt_tokens_details": details}
    return Answer((orjson.dumps({"choices": [], "usage": usage}),))


def ruled(least: int = 0, ttl: float = 0.0) -> Rule:
    """A provider's rule: what is shorter is not kept, and nothing for longer."""
    return Rule(provider="p", as_of="", min_tokens=least, ttl=ttl)


class Depot:
    """Nodes a, b, c … behind a fleet that routes."""

    def __init__(
        self,
        *upstreams: FakeUpstream,
        zones: str = "",
        limit: int = 1000,
        settings: Routing | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.clock = FakeClock()
        self.nodes = [
            Node(name, upstream, zone=zones[at : at + 1] or "l", limiter=Limiter(limit))
            for at, (name, upstream) in enumerate(zip("abcdefgh", upstreams, strict=False))
        ]
        self.router = Router(
            self.nodes, self.clock, self.events.append, settings=settings, zone="l", chance=self._at
        )
        self.fleet = Fleet(self.nodes, self.clock, self.events.append, router=self.router)
        self.chance = 0.0

    def _at(self) -> float:
        return self.chance

    async def send(self, prompt: Prompt | None) -> Answering:
        return await self.fleet.send("m", lambda _: CALL, prompt=prompt)

    async def ask(self, *texts: str) -> tuple[str, str, int]:
        """Who answers a conversation, why, and how much it was thought to have kept."""
        answer = await self.send(turns(*texts))
        try:
            async for _ in answer:
                pass
        finally:
            await answer.aclose()
        return answer.node, answer.why.reason, answer.why.cached

    def queued(self) -> list[float]:
        return [node.queued for node in self.nodes]


def depot(size: int, answer: Answer | None = None, *, zones: str = "", limit: int = 1000) -> Depot:
    upstreams = (FakeUpstream(answer or Answer((b"ok",))) for _ in range(size))
    return Depot(*upstreams, zones=zones, limit=limit)


async def test_a_conversation_stays_where_it_began() -> None:
    fleet = depot(4)
    first = await fleet.ask(long("a"))
    second = await fleet.ask(long("a"), "and then?")

    assert first[1:] == ("cold", 0)
    assert second == (first[0], "hit", 2000)


@pytest.mark.parametrize(("stream", "rate"), [(True, 200), (False, 0)])
async def test_only_a_stream_shows_how_fast_its_node_computed(stream: bool, rate: int) -> None:
    """Of any other answer the first byte comes with the last one."""
    door = asyncio.Event()
    fleet = depot(2, Answer(telling(0).pieces, door=door))
    prompt = turns(long("a"), long("b"), long("c"))
    asking = asyncio.create_task(
        fleet.fleet.send("m", lambda _: CALL, prompt=prompt, stream=stream)
    )
    await settle()
    fleet.clock.advance(30.0)
    door.set()
    answer = await asking
    async for _ in answer:
        pass
    await answer.aclose()
    progress = next(node.progress for node in fleet.nodes if node.name == answer.node)
    progress.sent(10_000, fleet.clock.mono())

    assert progress.computed(fleet.clock.mono() + 1.0) == rate


async def test_conversations_are_spread() -> None:
    fleet = depot(4)
    homes = [(await fleet.ask("the same system prompt", long(f"{i:04}")))[0] for i in range(200)]

    assert all(25 <= homes.count(name) <= 85 for name in "abcd")


async def test_what_is_yet_to_be_computed_there_is_weighed() -> None:
    """A prefix is left for a node that is done so much sooner, and from then on kept at both."""
    fleet = depot(2)
    home, _, _ = await fleet.ask(long("a"))
    at = "ab".index(home)
    fleet.nodes[at].queued = 6500.0
    spilled = await fleet.ask(long("a"), "x")
    fleet.nodes[at].queued = 5500.0
    stayed = await fleet.ask(long("a"), long("y"))

    assert spilled[:2] == ("ab"[1 - at], "spill")
    assert stayed[1] == "hit"


async def test_a_call_counts_as_load_until_its_first_byte() -> None:
    door = asyncio.Event()
    fleet = depot(2, Answer((door, b"o", b"k")))
    sending = asyncio.create_task(fleet.send(turns(long("a"))))
    await settle()
    before = sum(fleet.queued())
    door.set()
    answer = await sending
    after = sum(fleet.queued())
    await answer.aclose()

    assert (before, after, sum(fleet.queued())) == (2000, 0, 0)


async def test_what_a_node_has_computed_meanwhile_waits_there_no_longer() -> None:
    """Once it has told of a prompt how much of it it had to compute, and in what time."""
    fleet = depot(2)
    node, router, prompt = fleet.nodes[0], fleet.router, turns("x" * 40_000)
    wish, total = Wish(tuple(fleet.nodes), "m", b"", sticky=False, prompt=prompt), prompt.tokens

    def seen() -> int:
        return router.pick(fleet.nodes, wish).considered[0].queued

    first = router.begin(Pick(node, "cold", prompt), wish)
    fleet.clock.advance(2.0)
    assert seen() == total
    first.computed()
    first.report(0, total)
    second = router.begin(Pick(node, "cold", turns("y" * 40_000)), wish)
    fleet.clock.advance(1.5)

    assert seen() == total - round(1.5 * total / 2)
    second.computed()
    assert seen() == 0


@pytest.mark.parametrize("how", ["left", "failed", "cancelled", "cut"])
async def test_no_load_is_left_behind(how: str) -> None:
    door = asyncio.Event()
    script: dict[str, Answer | UpstreamError] = {
        "left": Answer((door,)),
        "failed": UpstreamError("a", "connect", "it failed"),
        "cancelled": Answer((b"ok",), door=door),
        "cut": Answer((UpstreamError("a", "cut", "it failed"),)),
    }
    fleet = Depot(*(FakeUpstream(script[how]) for _ in range(3)))
    task = asyncio.create_task(fleet.ask(long("a")))
    await settle()
    task.cancel()
    with pytest.raises((asyncio.CancelledError, UpstreamError)):
        await task

    assert fleet.queued() == [0, 0, 0]
    assert [node.running for node in fleet.nodes] == [0, 0, 0]


async def test_what_a_node_reports_replaces_what_was_thought() -> None:
    """Again and again nothing where much was thought to be there: the node was restarted."""
    fleet = depot(1, telling(0))
    thought = []
    for texts in ("b", *["a"] * (LOST + 1), "ax", "b"):
        _, _, cached = await fleet.ask(*(long(text) for text in texts))
        thought.append(cached)
    told = [event for event in fleet.events if isinstance(event, PrefixReported)]

    assert thought == [0, 0, *[2000] * LOST, 2000, 0]
    assert [event.reported for event in told] == [0] * len(thought)
    assert [event.predicted for event in told] == thought


@pytest.mark.parametrize(("least", "thought"), [(1024, 2000), (1000, 0)])
async def test_nothing_kept_of_what_is_too_short_to_be_kept_says_nothing(
    least: int, thought: int
) -> None:
    fleet = depot(1, telling(0))
    fleet.router.rule = lambda node, model: ruled(least if (node, model) == ("a", "m") else 0)
    seen = [await fleet.ask(long(text)) for text in ("b", *["a"] * (LOST + 1), "b")]

    assert seen[-1][2] == thought


async def test_a_report_that_confirms_leaves_the_rest_as_it_is() -> None:
    fleet = depot(1, telling(900))
    seen = [await fleet.ask(long(text)) for text in "baab"]

    assert [(why, cached) for _, why, cached in seen] == [("only", n) for n in (0, 0, 2000, 2000)]
    assert [one.reported for one, _ in fleet.router.diary.decisions()] == [1800] * 4


@pytest.mark.parametrize(("coding", "told"), [("", 500), ("gzip", 500), ("dcb", None)])
async def test_a_stream_tells_too_in_any_coding_that_is_known(
    coding: str, told: int | None
) -> None:
    usage = b'data: {"usage":{"prompt_tokens":4,"prompt_cache_hit_tokens":1}}\n\n'
    pieces = [b"data: " + b"x" * 20_000 + b"\n\n", usage, b"data: [DONE]\n\n"]
    if coding == "gzip":
        pieces = [gzip.compress(piece) for piece in pieces]
    fleet = depot(2, Answer(pieces, headers=(("content-encoding", coding),) if coding else ()))
    await fleet.ask(long("a"))

    assert fleet.router.diary.decisions()[0][0].reported == told


@pytest.mark.parametrize("last", [True, False])
async def test_what_is_said_at_either_end_of_a_long_stream_is_heard(last: bool) -> None:
    usage = b'data: {"usage":{"prompt_tokens":4,"prompt_cache_hit_tokens":1}}\n\n'
    filling = [b"data: " + b"x" * 6000 + b"\n\n"] * 6
    fleet = depot(2, Answer((*filling, usage) if last else (usage, *filling)))
    await fleet.ask(long("a"))

    assert fleet.router.diary.decisions()[0][0].reported == 500


EVENT = b'data: {"type":"message_start","message":{"usage":{"input_tokens":100,%s}}}\n\n'


@pytest.mark.parametrize(
    ("pieces", "reported"),
    [
        (telling(900).pieces, 1800),
        (telling(0).pieces, 0),
        ((b'{"choices":[],', b'"usage":{"prompt_tokens":10,"prompt_cache_hit_tokens":5}}'), None),
        ((b'{"choices":[]}',), None),
        ((EVENT % b'"cache_read_input_tokens":300', b"data: more\n\n"), 1500),
        ((EVENT % b'"output_tokens":1', b"data: more\n\n"), None),
    ],
)
async def test_what_the_beginning_of_an_answer_says_of_what_was_kept_is_told_with_its_head(
    pieces: tuple[bytes, ...], reported: int | None
) -> None:
    fleet = Depot(*(FakeUpstream(Answer(pieces)) for _ in range(2)))
    answer = await fleet.send(turns(long("a")))
    said = answer.why.reported
    body = b"".join([chunk async for chunk in answer])
    await answer.aclose()

    assert said == reported
    assert body == b"".join(pieces)


async def test_what_was_kept_of_several_prompts_says_nothing_of_one() -> None:
    """But all of them are work that waits."""
    fleet = depot(1, telling(0, 90_000))
    capacity = fleet.router.prefixes.stats("a")[2]
    waits = []
    for _ in range(LOST + 2):
        answer = await fleet.send(turns(long("a"))._replace(beside=50_000))
        waits += fleet.queued()
        assert [chunk async for chunk in answer]
        await answer.aclose()
    fleet.nodes[0].upstream = FakeUpstream(Answer((b"ok",)))

    assert waits == [52_000] + [50_000] * (LOST + 1)
    assert fleet.router.prefixes.stats("a")[2] == capacity
    assert (await fleet.ask(long("a"), "b"))[2] == 2000


async def refused(fleet: Depot, *texts: str) -> None:
    """The one node cannot be reached, once."""
    upstream = fleet.nodes[0].upstream
    assert isinstance(upstream, FakeUpstream)
    script, upstream.script = upstream.script, [UpstreamError("a", "connect", "it failed")]
    with pytest.raises(UpstreamError):
        await fleet.ask(*texts)
    upstream.script = script


async def test_what_a_silent_node_held_is_forgotten_when_it_cannot_be_reached() -> None:
    """It would never tell."""
    fleet = depot(1)
    await fleet.ask(long("a"))
    await refused(fleet, long("a"))

    assert (await fleet.ask(long("a")))[2] == 0


async def test_a_refused_connection_is_no_proof_where_the_node_will_tell() -> None:
    """It may be the way there, or a full queue: then all is as it was."""
    fleet = depot(1, telling(1000))
    for name in "ab":
        await fleet.ask(long(name))
    await refused(fleet, long("a"))
    seen = [(await fleet.ask(long(name)))[2] for name in "ab"]

    assert seen == [2000, 2000]
    assert fleet.router.prefixes.epoch("a") == 0


async def test_after_a_refusal_little_proves_that_it_began_anew_and_the_others_are_told() -> None:
    fleet = depot(1, telling(0))
    for name in "bcdefghijk":
        await fleet.ask(long(name))
    fleet.router.gossip.share()
    await refused(fleet, long("b"))
    told = [news.node for news in fleet.router.gossip.told() if news.chain is None]
    seen = [(await fleet.ask(long(name)))[2] for name in "bcdefghijk"]
    news = fleet.router.gossip.told()

    assert told == []
    assert seen == [2000] * DOUBTED + [0] * (10 - DOUBTED)
    assert [one.node for one in news if one.chain is None] == ["a"]
    assert [event.reason for event in fleet.events if isinstance(event, NodeVoid)] == ["usage"]
    at = next(at for at, one in enumerate(news) if one.chain is None)
    assert news[at + 1].chain == turns(long("c")).chain


async def test_a_node_that_cannot_be_reached_holds_nothing_when_it_is_back() -> None:
    fleet = depot(2)
    homes = {name: (await fleet.ask(long(name)))[0] for name in "stuvwxyz"}
    lost, kept = homes["s"], "ba"["ab".index(homes["s"])]
    upstream = fleet.nodes["ab".index(lost)].upstream
    assert isinstance(upstream, FakeUpstream)
    assert set(homes.values()) == {"a", "b"}
    upstream.script = [UpstreamError(lost, "connect", "it failed")]
    away = await fleet.ask(long("s"), "and then?")
    upstream.script = [Answer((b"ok",))]
    again = {name: (await fleet.ask(long(name)))[1:] for name in homes if name != "s"}

    assert away[:2] == (kept, "failover")
    assert again == {name: ("hit", 2000) if homes[name] == kept else ("cold", 0) for name in again}


async def test_a_node_without_room_is_passed_over_for_that_call() -> None:
    door = asyncio.Event()
    fleet = depot(2, Answer((b"o", door, b"k")), limit=1)
    first = await fleet.send(turns(long("a")))
    second = await fleet.send(turns(long("a"), "x"))

    assert (first.why.reason, second.why.reason) == ("cold", "spill")
    assert first.node != second.node
    for answer in (first, second):
        await answer.aclose()


@pytest.mark.parametrize("policy", ["ring", "least", "random", "prefix"])
async def test_the_own_zone_comes_first_whatever_the_policy(policy: Any) -> None:
    """And for what has no prompt; another zone is asked where the own one has no room."""
    upstreams = [FakeUpstream(Answer((b"ok",))) for _ in range(4)]
    fleet = Depot(*upstreams, zones="xlxl", limit=1, settings=Routing(policy=policy))
    prompts = [None if policy == "prefix" else turns(str(at)) for at in range(12)]
    asked = []
    for at, prompt in enumerate(prompts):
        fleet.chance = at / 12
        answer = await fleet.send(prompt)
        asked.append(answer.node)
        await answer.aclose()
    busy = [await fleet.send(turns(str(at))) for at in range(3)]
    for answer in busy:
        await answer.aclose()

    assert set(asked) <= {"b", "d"}
    assert {one.node for one in busy[:2]} == {"b", "d"}
    assert busy[2].node in "ac"


async def test_other_zones_are_asked_when_that_is_worth_it() -> None:
    fleet = depot(2, zones="lf")
    near = [(await fleet.ask(long(f"{i}")))[0] for i in range(20)]
    fleet.nodes[0].queued = 21_000.0
    far = (await fleet.ask(long("z")))[0]

    assert set(near) == {"a"}
    assert far == "b"


@pytest.mark.parametrize(("policy", "nodes"), [("random", 3), ("least", 1), ("ring", 1)])
async def test_other_policies_are_at_hand(policy: str, nodes: int) -> None:
    settings = Routing(policy=policy)  # type: ignore[arg-type]
    fleet = Depot(*(FakeUpstream(Answer((b"ok",))) for _ in range(3)), settings=settings)
    asked = []
    for chance in (0.1, 0.5, 0.9):
        fleet.chance = chance
        node, reason, _ = await fleet.ask(long("a"))
        asked.append(node)
        assert reason == policy

    assert len(set(asked)) == nodes
    assert [event.reason for event in fleet.events if isinstance(event, Routed)] == [policy] * 3


async def test_decisions_tell_every_candidates_cost() -> None:
    fleet = depot(2)
    home, _, _ = await fleet.ask(long("a"))
    await fleet.ask(long("a"), "four")
    (last, _), (first, _) = fleet.router.diary.decisions()
    costs = {one.node: one.cost for one in last.considered}

    assert costs == {home: 3.0, "ba"["ab".index(home)]: 6003.0}
    assert (first.reason, last.reason, last.node, last.tokens) == ("cold", "hit", home, 2001)
    assert (first.model, len(first.prefix)) == ("m", 8)
    assert first.prefix == last.prefix


async def test_a_session_that_is_named_stays_together_where_nodes_are_equal() -> None:
    fleet = depot(4)
    homes: dict[str, set[str]] = {}
    for session in "abcdefgh":
        for i in range(5):
            prompt = turns(f"{session} {i}")._replace(hints=Hints(session=session))
            answer = await fleet.send(prompt)
            await answer.aclose()
            homes.setdefault(session, set()).add(answer.node)

    assert {len(nodes) for nodes in homes.values()} == {1}
    assert len(set.union(*homes.values())) > 1


async def test_the_prompt_of_a_decision_is_found_by_its_request() -> None:
    fleet = depot(2)
    for name in ("req_1", "req_2"):
        answer = await fleet.send(turns(long(name))._replace(hints=Hints(request=name)))
        await answer.aclose()
    found = fleet.router.diary.find("req_1")
    assert found is not None

    assert found[1].chain == turns(long("req_1")).chain
    assert found[0].request == "req_1"
    assert fleet.router.diary.find("req_3") is None


async def test_what_each_node_has_of_a_prompt_is_shown() -> None:
    door = asyncio.Event()
    fleet = depot(2, Answer((door, b"ok")), zones="lz")
    fleet.router.rule = lambda node, _: ruled(ttl=300.0 if node == "a" else 0.0)
    asked = asyncio.create_task(fleet.ask(long("x")))
    await settle()
    prompt = turns(long("x"))
    fleet.clock.advance(20)
    assert holders(fleet.router, prompt, "m")[0].status == "WARMING"
    door.set()
    await asked
    first, second = holders(fleet.router, prompt, "m")
    fleet.router.void(fleet.nodes[1], tell=True)

    whole = len(prompt.chain)
    assert first == Holder("a", "p", "l", "HOT", whole, 2000, 0, 280.0)
    assert second == Holder("b", "p", "z", "COLD", 0, 0, 0, None)
    assert [one.epoch for one in holders(fleet.router, prompt, "m")] == [0, 1]


async def test_what_is_computed_just_now_is_warming() -> None:
    door = asyncio.Event()
    fleet = depot(2, Answer((door, b"ok")))
    asked = asyncio.create_task(fleet.ask(long("x") * 2))
    await settle()
    during = {one.status for one in holders(fleet.router, turns(long("x") * 2), "m")}
    door.set()
    await asked
    after = {one.status for one in holders(fleet.router, turns(long("x") * 2), "m")}

    assert (during, after) == ({"WARMING", "COLD"}, {"HOT", "COLD"})


async def test_a_provider_that_forgets_holds_nothing_after_its_time() -> None:
    """Counted from the last use on."""
    fleet = depot(2)
    fleet.router.rule = lambda _node, model: ruled(ttl=300.0 if model == "m" else 0.0)
    seen = [await fleet.ask(long("x"))]
    for seconds in (299, 299, 301):
        fleet.clock.advance(seconds)
        seen.append(await fleet.ask(long("x")))

    assert [(why, cached) for _, why, cached in seen] == [
        ("cold", 0),
        ("hit", 2000),
        ("hit", 2000),
        ("cold", 0),
    ]


@pytest.mark.parametrize(("least", "why"), [(2000, "hit"), (2001, "cold")])
async def test_a_provider_keeps_no_prompt_that_is_too_short(least: int, why: str) -> None:
    fleet = depot(2)
    fleet.router.rule = lambda _node, _model: ruled(least)
    await fleet.ask(long("x"))

    assert (await fleet.ask(long("x"), "more"))[1] == why


async def test_the_prompt_of_a_decision_is_found_by_the_id_of_its_answer() -> None:
    """The client may know no other."""
    long_id = "x" * 300
    named = [Answer((b"ok",), headers=(("x-request-id", one),)) for one in ("up_1", long_id)]
    fleet = Depot(FakeUpstream(*named), FakeUpstream(Answer((b"ok",))), zones="lz")
    for name in ("req_1", "req_2"):
        answer = await fleet.send(turns(name)._replace(hints=Hints(request=name)))
        await answer.aclose()
    found = fleet.router.diary.find("up_1")

    assert found is not None
    assert found[0].request == "req_1"
    assert [one.answer for one, _ in fleet.router.diary.decisions()] == ["x" * 256, "up_1"]


async def test_decisions_are_bounded() -> None:
    settings = Routing(decisions=3)
    fleet = Depot(*(FakeUpstream(Answer((b"ok",))) for _ in range(2)), settings=settings)
    for i in range(9):
        await fleet.ask(str(i))

    assert len(fleet.router.diary.decisions()) == 3


async def test_news_is_told_once_and_bounded_while_nobody_takes_it() -> None:
    fleet = depot(2)
    assert fleet.router.gossip.told() == []
    fleet.router.gossip.share()
    for i in range(200):
        await fleet.ask(str(i))
    told = fleet.router.gossip.told()

    assert len(told) == 128
    assert told[-1].chain == turns("199").chain
    assert fleet.router.gossip.told() == []


async def test_a_node_that_began_anew_while_it_answered_holds_what_it_answered() -> None:
    """Nothing is made of what it says it had kept: that was another life."""
    door = asyncio.Event()
    fleet = Depot(FakeUpstream(telling(0)), FakeUpstream(telling(0)))
    home, _, _ = await fleet.ask(long("a"))
    at = "ab".index(home)
    capacity = fleet.router.prefixes.stats(home)[2]
    fleet.nodes[at].upstream = FakeUpstream(Answer((door, *telling(0).pieces)))
    task = asyncio.create_task(fleet.ask(long("a"), "b"))
    await settle()
    fleet.router.void(fleet.nodes[at], tell=True)
    assert fleet.router.prefixes.stats(home)[0] == 0
    door.set()
    await task

    assert fleet.router.prefixes.stats(home)[2] == capacity
    assert await fleet.ask(long("a"), "b", "c") == (home, "hit", 2001)
