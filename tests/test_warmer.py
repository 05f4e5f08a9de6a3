"""What is warmed unasked, when, and at whose expense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from proxy.core.events import Warmed
from proxy.core.health import Health
from proxy.core.table import News
from proxy.warmer import Errand
from tests.asking import K1, arrival, configured
from tests.fakes import Answer, FakeClock, FakeLeases, FakeUpstream, settle
from tests.hearth import Hearth, conversation, telling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.message import Arrival

ON = '[warming]\nmode = "on"\n'
OK = Answer((b"{}",))
SECRET = "the question of one client"


async def used(hearth: Hearth, times: int = 3, pause: float = 0.0, **more: Any) -> None:
    """By as many clients, each with a question of its own."""
    for number in range(times):
        hearth.clock.advance(pause)
        await hearth.asked(conversation(f"{SECRET} {number}", **more))


async def test_what_many_prompts_begin_with_is_warmed_where_a_node_lost_it() -> None:
    """And no more than they have in common is sent, or kept."""
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth)
    await hearth.look(2)
    before = len(hearth.upstreams[0].calls)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(2)
    shadows = hearth.sent()[before:]
    task.cancel()

    assert before == 3
    assert shadows == [conversation(".", max_tokens=1)]
    assert hearth.outcomes() == ["warmed"]
    assert SECRET.encode() not in b"".join(
        habit.target.arrival.body for habit in hearth.warmer.habits.frequent() if habit.target
    )


async def test_the_next_request_finds_it() -> None:
    hearth = Hearth(FakeUpstream(OK), FakeUpstream(OK), settings=ON)
    task = hearth.running()
    await used(hearth)
    for node in hearth.nodes:
        hearth.router.lost(node)
    await hearth.look(3)
    _, reason, cached = await hearth.asked(conversation("another"))
    task.cancel()

    assert reason == "hit"
    assert cached >= 3000


async def test_what_a_node_lost_by_its_own_words_is_warmed_anew() -> None:
    """Two requests find nothing of what was thought to be there, after a refused connection: what
    others ask often is computed again before they do."""
    upstream = FakeUpstream(*[telling(2900, 3000)] * 6, *[telling(0, 9000)] * 2, telling(0, 3000))
    hearth = Hearth(upstream, settings=ON)
    task = hearth.running()
    long = conversation("another", system="another " * 4000)
    for _ in range(3):
        await hearth.asked(long)
    await used(hearth)
    await hearth.look(2)
    hearth.router.lost(hearth.nodes[0])
    hearth.nodes[0].running = 1
    for _ in range(2):
        await hearth.asked(long)
    hearth.nodes[0].running = 0
    await hearth.look(2)
    task.cancel()

    assert hearth.outcomes() == ["warmed"]
    assert hearth.sent()[-1] == conversation(".", max_tokens=1)


@pytest.mark.parametrize(
    ("told", "epoch"), [(telling(3000, 3003), 0), (telling(0, 3003), 1), (OK, 1)]
)
async def test_whether_a_node_began_anew_is_asked_by_a_shadow_call(
    told: Answer, epoch: int
) -> None:
    """It is no request that finds out; and whatever the answer is, then there is no doubt."""
    upstream = FakeUpstream(*[telling(2900, 3000)] * 3, told)
    hearth = Hearth(upstream, settings=ON)
    task = hearth.running()
    await used(hearth)
    await hearth.look(2)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(8)
    task.cancel()

    assert not hearth.router.prefixes.restarts("a").doubted
    assert hearth.router.prefixes.epoch("a") == epoch
    assert len(hearth.outcomes()) <= 2
    assert hearth.shadows.held(hearth.nodes[0], _target(hearth)) >= 3000


async def test_what_another_gateway_knows_to_be_lost_is_warmed_anew() -> None:
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth)
    await hearth.look(2)
    hearth.router.gossip.hear([News("a", None, epoch=1)])
    await hearth.look(2)
    task.cancel()

    assert hearth.outcomes() == ["warmed"]


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_what_is_used_less_often_is_not(times: int) -> None:
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth, times)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(3)
    task.cancel()

    assert hearth.outcomes() == []


async def test_off_nothing_is_kept_and_nothing_is_sent() -> None:
    hearth = Hearth()
    task = hearth.running()
    await used(hearth, 5)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(3)
    task.cancel()

    assert (hearth.outcomes(), len(hearth.warmer.habits)) == ([], 0)


async def test_a_short_beginning_is_not_worth_it() -> None:
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth, 5, system="Be careful.")
    await hearth.look(2)
    task.cancel()

    assert len(hearth.warmer.habits) == 0


async def test_examples_before_the_question_are_common_too() -> None:
    """Turns that every client sends first, as few-shot prompts do."""
    shots = [
        {"role": "user", "content": "an example " * 300},
        {"role": "assistant", "content": "its answer " * 300},
    ]
    hearth = Hearth(settings=ON)
    task = hearth.running()
    for number in range(3):
        question = {"role": "user", "content": f"{SECRET} {number}"}
        await hearth.asked({"model": "m", "messages": [*shots, question]})
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(3)
    task.cancel()

    shadow = hearth.sent()[-1]
    assert shadow["messages"] == [*shots, {"role": "user", "content": "."}]


async def test_with_two_copies_a_second_node_holds_it_before_the_first_fails() -> None:
    hearth = Hearth(FakeUpstream(OK), FakeUpstream(OK), settings=ON + "copies = 2\n")
    task = hearth.running()
    await used(hearth)
    await hearth.look(3)
    task.cancel()

    held = [hearth.shadows.held(node, _target(hearth)) for node in hearth.nodes]
    assert min(held) >= 3000
    assert hearth.outcomes() == ["warmed"]


def _target(hearth: Hearth) -> Any:
    (habit,) = hearth.warmer.habits.frequent()
    assert habit.target is not None
    return habit.target


async def test_what_a_node_holds_that_is_out_counts_for_nothing() -> None:
    hearth = Hearth(FakeUpstream(OK), FakeUpstream(OK), settings=ON)
    task = hearth.running()
    await used(hearth)
    home = next(node for node in hearth.nodes if hearth.upstreams["ab".index(node.name)].calls)
    home.health = Health(probed=True)
    for _ in range(2):
        home.health.probe("silent", mono=0.0, heard=0)
    await hearth.look(3)
    task.cancel()

    assert hearth.outcomes() == ["warmed"]
    assert [event.node for event in hearth.told(Warmed)] != [home.name]


async def test_a_node_of_another_zone_is_left_alone() -> None:
    hearth = Hearth(FakeUpstream(OK), FakeUpstream(OK), settings=ON + "copies = 2\n")
    hearth.nodes[1].zone = hearth.nodes[0].zone = "far"
    task = hearth.running()
    await used(hearth)
    for node in hearth.nodes:
        hearth.router.lost(node)
    await hearth.look(3)
    task.cancel()

    assert hearth.outcomes() == []


async def test_a_standby_zone_is_kept_warm_where_that_is_wanted() -> None:
    """One node of it, as told, beside the one here that has it anyway."""
    settings = ON + "standby = 1\n"
    hearth = Hearth(*(FakeUpstream(OK) for _ in range(3)), settings=settings)
    for node in hearth.nodes[1:]:
        node.zone = "far"
    task = hearth.running()
    hearth.nodes[1].queued = hearth.nodes[2].queued = 1e9
    await used(hearth)
    hearth.nodes[1].queued = hearth.nodes[2].queued = 0.0
    await hearth.look(4)
    task.cancel()

    assert len(hearth.upstreams[0].calls) == 3
    assert hearth.outcomes() == ["warmed"]
    assert sum(len(one.calls) for one in hearth.upstreams[1:]) == 1


async def test_what_nobody_will_ask_for_is_let_go() -> None:
    """Three uses in a minute, and then none for half a day."""
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth, pause=20.0)
    await hearth.look()
    hearth.clock.advance(12 * 3600)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(3)
    task.cancel()

    assert hearth.outcomes() == []


@pytest.mark.parametrize(
    ("minutes", "purged", "lost", "expected"),
    [
        (50, True, True, ["warmed"]),
        (50, False, True, []),
        (50, True, False, []),
        (70, True, True, []),
    ],
)
async def test_what_stored_answers_spared_is_prepared_for_when_they_are_void(
    minutes: float, purged: bool, lost: bool, expected: list[str]
) -> None:
    """Their questions come again, and no node holds their prompts any more. What had ended by
    itself is left, and so is what a node still holds."""
    hearth = Hearth(settings=ON)
    task = hearth.running()
    await used(hearth)
    await hearth.look()
    hearth.clock.advance(minutes * 60)
    if lost:
        hearth.router.void(hearth.nodes[0], tell=True)
    await hearth.look(3)
    early = hearth.outcomes()
    hearth.epoch += purged
    await hearth.look(3)
    task.cancel()

    assert early == []
    assert hearth.outcomes() == expected


async def test_the_usual_hour_is_prepared_for() -> None:
    """For a week many uses from nine on; a node loses it in the night."""
    clock = FakeClock(now=20_000 * 86400.0 + 9 * 3600)
    hearth = Hearth(settings=ON, clock=clock)
    for _ in range(7):
        await used(hearth, 60, pause=10.0)
        clock.advance(86400 - 600)
    await hearth.warmer.habits.learn()
    hearth.router.lost(hearth.nodes[0])
    planned = []
    for ahead in (6 * 3600, 30):
        clock.advance(86400 - ahead - (clock.now() - 9 * 3600) % 86400)
        planned.append(len(hearth.warmer.planned()))

    assert planned == [0, 1]


async def test_what_is_larger_than_the_room_is_not_kept() -> None:
    hearth = Hearth(settings=ON + "max_bytes = 2000\n")
    task = hearth.running()
    await used(hearth, 5)
    await hearth.look(2)
    task.cancel()

    assert len(hearth.warmer.habits) == 0
    assert repr(hearth.warmer.habits).endswith(" 0 bytes>")


async def test_the_prompts_kept_are_bounded_and_the_latest_stay() -> None:
    hearth = Hearth(settings=ON + 'max_bytes = "64KiB"\n')
    for number in range(8):
        await used(hearth, 3, pause=1.0, system=f"{number} is the number. " * 900)
        await hearth.warmer.habits.learn()
    kept = [habit.target.arrival.body for habit in hearth.warmer.habits.frequent() if habit.target]

    assert 2 <= len(kept) <= 4
    assert sum(map(len, kept)) <= 65536
    assert any(b"7 is the number" in body for body in kept)


async def test_a_prompt_that_a_node_refuses_is_not_sent_again() -> None:
    hearth = Hearth(FakeUpstream(OK, OK, OK, Answer((b"no",), status=400)), settings=ON)
    task = hearth.running()
    await used(hearth)
    hearth.router.lost(hearth.nodes[0])
    await hearth.look(6)
    task.cancel()

    assert hearth.outcomes() == ["refused"]


async def test_kept_headers_say_whose_it_is_and_no_more() -> None:
    hearth = Hearth(settings=ON)
    for number in range(3):
        body = conversation(f"{SECRET} {number}")
        cookie, beta = ("cookie", "session=1"), ("anthropic-beta", "x")
        await hearth.asked(body, cookie, beta, ("x-request-id", "r1"), ("accept-encoding", "gzip"))
    await hearth.warmer.habits.learn()
    headers = dict(_target(hearth).arrival.headers)

    assert headers == {"content-type": "application/json", K1[0]: K1[1], "anthropic-beta": "x"}


CLAUDE = """
[[provider]]
name = "anthropic"
price = 10.0
min_tokens = 1024
[warming]
mode = "on"
paid = true
money_per_day = 5.0
"""


def marked(question: str) -> Any:
    made = conversation(question)
    made["messages"][0]["cache_control"] = {"type": "ephemeral"}
    return made


async def renewed(hearth: Hearth, times: int = 6) -> list[float]:
    """What calls cost that were made unasked, after so many uses ten seconds apart."""
    task = hearth.running()
    for number in range(times):
        hearth.clock.advance(10.0)
        await hearth.asked(marked(f"{SECRET} {number}"))
        await settle()
    for _ in range(70):
        hearth.clock.advance(5.0)
        await settle()
    task.cancel()
    return [event.money for event in hearth.told(Warmed)]


async def test_what_a_paid_provider_keeps_is_renewed_before_it_is_forgotten() -> None:
    """3000 tokens read at a tenth of 10 for a million, once: by then too few uses are expected."""
    upstream = FakeUpstream(telling(2990, 3000))
    spent = await renewed(
        Hearth(upstream, settings=CLAUDE, urls="https://api.anthropic.com", credentials="sk-ours")
    )

    assert len(spent) == 1
    assert spent[0] == pytest.approx(0.003, rel=0.1)


@pytest.mark.parametrize("credentials", [None, "sk-ours"])
async def test_nobody_elses_account_is_used_unasked(credentials: str | None) -> None:
    """Neither a client's own key nor what a tenant has upstream."""
    tenant = '[[tenant]]\nname = "t"\nkey_env = "K"\nupstream_key_env = "U"\n'
    rules = configured(tenant if credentials else "", K="K1", U="sk-theirs")
    hearth = Hearth(
        settings=CLAUDE, urls="https://api.anthropic.com", credentials=credentials, rules=rules
    )

    assert await renewed(hearth) == []


async def test_paid_providers_are_not_warmed_unless_that_is_allowed() -> None:
    settings = CLAUDE.replace("paid = true", "paid = false")
    hearth = Hearth(settings=settings, urls="https://api.anthropic.com", credentials="sk-ours")

    assert await renewed(hearth) == []


# --- schedules ---


def errand(name: bytes, *bodies: Any) -> Errand:
    async def read() -> list[Arrival]:
        return [arrival(body) for body in bodies]

    return Errand(name, read)


def agenda(*days: Sequence[Errand]) -> Callable[[], Sequence[Errand]]:
    """What is due at each look, one after the other."""
    left = list(days)
    return lambda: left.pop(0) if left else ()


def numbered(number: int) -> Any:
    return conversation(system=f"{number} is the number. " * 800)


async def test_what_is_due_is_warmed_one_after_the_other() -> None:
    due = agenda((), (errand(b"nine", numbered(0), b"not json", numbered(1)),))
    hearth = Hearth(settings=ON, due=due)
    task = hearth.running()
    await hearth.look()
    early = len(hearth.sent())
    await hearth.look(3)
    task.cancel()

    assert early == 0
    assert [body["messages"][0]["content"][0] for body in hearth.sent()] == ["0", "1"]


async def test_a_schedule_waits_for_its_budget_and_for_idle_nodes() -> None:
    due = agenda((errand(b"nine", numbered(0), numbered(1)),))
    hearth = Hearth(settings=ON + "tokens_per_minute = 5000\n", due=due)
    task = hearth.running()
    hearth.nodes[0].running = 1
    await hearth.look(3)
    busy = len(hearth.sent())
    hearth.nodes[0].running = 0
    await hearth.look(3)
    first = len(hearth.sent())
    await hearth.look(70)
    task.cancel()

    assert (busy, first, len(hearth.sent())) == (0, 1, 2)


async def test_a_schedule_gives_up_after_ten_minutes() -> None:
    hearth = Hearth(settings=ON, due=agenda((errand(b"nine", numbered(0)),)))
    task = hearth.running()
    hearth.nodes[0].running = 1
    await hearth.look(610)
    hearth.nodes[0].running = 0
    await hearth.look(3)
    task.cancel()

    assert hearth.sent() == []


async def test_a_time_of_a_schedule_is_one_gateways_alone() -> None:
    """Whichever comes first; at its next time it may be another one."""
    clock, board = FakeClock(), dict[bytes, tuple[str, float]]()
    both = [
        Hearth(
            settings=ON,
            clock=clock,
            leases=FakeLeases(board, name, clock, term=600.0),
            due=agenda((errand(b"nine", numbered(0)),), (errand(b"ten", numbered(1)),)),
        )
        for name in ("one", "other")
    ]
    tasks = [one.running() for one in both]
    await both[0].look(5)
    for task in tasks:
        task.cancel()

    assert sum(len(one.sent()) for one in both) == 2
