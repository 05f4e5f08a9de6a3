"""What machines tell each other of stored answers and errors, over a real Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proxy.adapters.redis.meanings import Meanings
from proxy.core.entry import Question
from proxy.ports import StoreError
from semantic.ledger import MAX_NAMES
from tests.fakes import AwayStore, FakeClock, FakeStore
from tests.scripted import PREFIX, Direct
from tests.stored import NOW, alias, entry, key

if TYPE_CHECKING:
    import redis as driver


KEYS, LESSONS = f"{PREFIX}{{meaning}}:k", f"{PREFIX}{{meaning}}:l"
ASKED = Question(key("scope"), "how do I get a refund")


class Machine:
    """One of a fleet that shares a store."""

    def __init__(self, client: driver.Redis, store: FakeStore, name: str) -> None:
        self.link = Direct(client)
        self.meanings = Meanings(self.link, store.get, name.encode(), FakeClock(NOW))


async def test_others_hear_of_an_answer_and_who_told_does_not(client: driver.Redis) -> None:
    store = FakeStore()
    here, there = Machine(client, store, "a"), Machine(client, store, "b")
    stored = entry("one", question=ASKED)
    await store.put(stored, NOW)
    await here.meanings.stored(stored.key)

    assert await there.meanings.heard() == ([stored], [], False)
    assert await there.meanings.heard() == ([], [], False)
    assert await here.meanings.heard() == ([], [], False)


async def test_lessons_travel_as_they_are(client: driver.Redis) -> None:
    here, there = (Machine(client, FakeStore(), name) for name in "ab")
    await here.meanings.learnt(b"\x00a lesson\xff")

    assert await there.meanings.heard() == ([], [b"\x00a lesson\xff"], False)


async def test_who_begins_anew_hears_what_it_told_itself_once(client: driver.Redis) -> None:
    """What somebody called wrong is not served again after the semantic process died."""
    here = Machine(client, FakeStore(), "a")
    await here.meanings.learnt(b"a lesson")
    assert await here.meanings.heard() == ([], [], False)
    here.meanings.again()

    assert await here.meanings.heard() == ([], [b"a lesson"], False)
    await here.meanings.learnt(b"another")
    assert await here.meanings.heard() == ([], [], False)


async def test_what_could_not_be_read_to_the_end_is_heard_again(client: driver.Redis) -> None:
    away = AwayStore()
    away.away = True
    here, there = Machine(client, away, "a"), Machine(client, away, "b")
    await here.meanings.stored(key("one"))
    await here.meanings.learnt(b"a lesson")
    with pytest.raises(StoreError):
        await there.meanings.heard()
    away.away = False

    assert await there.meanings.heard() == ([], [b"a lesson"], False)


async def test_who_begins_anew_hears_all_again(client: driver.Redis) -> None:
    store = FakeStore()
    here, there = Machine(client, store, "a"), Machine(client, store, "b")
    stored = entry("one", question=ASKED)
    await store.put(stored, NOW)
    await here.meanings.stored(stored.key)
    await there.meanings.heard()
    there.meanings.again()

    assert (await there.meanings.heard())[0] == [stored]


async def test_many_come_in_portions(client: driver.Redis) -> None:
    store = FakeStore()
    here, there = Machine(client, store, "a"), Machine(client, store, "b")
    for number in range(300):
        await store.put(entry(number, question=ASKED), NOW)
        await here.meanings.stored(key(number))

    first, _, more = await there.meanings.heard()
    rest, _, end = await there.meanings.heard()

    assert (len(first), more, len(rest), end) == (256, True, 44, False)


async def test_no_more_lessons_are_heard_again_than_are_known_to_have_been_counted(
    client: driver.Redis,
) -> None:
    """Else each start would count them once more, and a threshold would open on half of the
    evidence that it takes."""
    here = Machine(client, FakeStore(), "a")
    pipe = client.pipeline(transaction=False)
    for number in range(MAX_NAMES):
        pipe.xadd(LESSONS, {"b": f"{number}"})
    pipe.execute()
    await here.meanings.learnt(b"the last")

    assert client.xlen(LESSONS) < MAX_NAMES - 1000


async def test_what_is_gone_or_no_entry_with_a_question_is_left_out(client: driver.Redis) -> None:
    store = FakeStore()
    here, there = Machine(client, store, "a"), Machine(client, store, "b")
    for one in (entry("plain"), alias("alias", "plain")):
        await store.put(one, NOW)
    for name in ("plain", "alias", "gone"):
        await here.meanings.stored(key(name))

    assert await there.meanings.heard() == ([], [], False)


async def test_what_no_gateway_wrote_is_passed_over(client: driver.Redis) -> None:
    there = Machine(client, FakeStore(), "b")
    client.xadd(KEYS, {"x": "short"})
    client.xadd(LESSONS, {"x": ""})

    entries, lessons, _ = await there.meanings.heard()

    assert entries == []
    assert lessons == [b""]


async def test_a_redis_that_is_away_costs_nothing_but_what_is_not_heard(
    client: driver.Redis,
) -> None:
    here = Machine(client, FakeStore(), "a")
    here.link.down = True
    await here.meanings.stored(key("one"))

    with pytest.raises(StoreError):
        await here.meanings.heard()


async def test_every_key_expires(client: driver.Redis) -> None:
    here = Machine(client, FakeStore(), "a")
    await here.meanings.stored(key("one"))
    await here.meanings.learnt(b"x")

    for name in (KEYS, LESSONS):
        assert 0 < int(str(client.pttl(name))) <= 30 * 86_400_000
