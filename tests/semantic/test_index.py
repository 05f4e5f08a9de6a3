"""What each vector index promises, whatever engine is behind it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import pytest
from blake3 import blake3

from semantic.index.local import Local
from semantic.index.port import IndexUnavailableError
from semantic.index.redis import VectorSets
from tests.redis_server import RedisServer, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from semantic.index.port import Evicted, Index
    from semantic.vector import Vector, Vectors

    Make = Callable[..., Index]

DIMENSION = 64
TAG = "fake:1:64"
SPACE = blake2b(TAG.encode(), digest_size=8).hexdigest()
ONE, OTHER = b"1" * 32, b"2" * 32


def keys(count: int, start: int = 0) -> list[bytes]:
    return [blake3(str(number).encode()).digest() for number in range(start, start + count)]


def vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def near(vector: Vector, seed: int = 7) -> Vector:
    """A vector at a cosine of about 0.93 to it."""
    moved = vector + 0.4 * vectors(1, seed)[0]
    unit: Vector = moved / np.linalg.norm(moved)
    return unit


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that knows vector sets."""
    with RedisServer(tmp_path_factory.mktemp("vectors"), vectors=True) as started:
        yield started


@pytest.fixture(params=["local", "threaded", "noquant", "q8"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    """Makes an empty index, with the bounds given."""
    made: list[Index] = []

    def index(
        most: int = 1000, scopes: int = 1000, evicted: Evicted = lambda scope, gone: None
    ) -> Index:
        threaded = {"local": 10_000, "threaded": 0}.get(request.param)
        if threaded is not None:
            made.append(
                Local(
                    DIMENSION,
                    max_entries_per_scope=most,
                    max_scopes=scopes,
                    threaded=threaded,
                    evicted=evicted,
                )
            )
        else:
            engine: RedisServer = request.getfixturevalue("engine")
            with engine.client() as client:
                client.flushall()
            made.append(
                VectorSets(
                    engine.url,
                    DIMENSION,
                    tag=TAG,
                    max_entries_per_scope=most,
                    max_scopes=scopes,
                    precision="NOQUANT" if request.param == "noquant" else "Q8",
                    timeout=5.0,
                    evicted=evicted,
                )
            )
        return made[-1]

    yield index
    for one in made:
        await one.aclose()


async def test_the_nearest_come_first_with_their_cosines(make: Make) -> None:
    index, rows, names = make(), vectors(200), keys(200)
    await index.add(ONE, names, rows)
    wanted = near(rows[17])
    found = await index.search(ONE, wanted, 5)

    cosines = rows @ wanted
    best = np.argsort(-cosines)[:5]
    assert [one.key for one in found] == [names[row] for row in best]
    assert [one.similarity for one in found] == pytest.approx(cosines[best].tolist(), abs=0.01)
    assert index.figures()[:2] == (200, 1)


async def test_a_vector_is_at_no_distance_from_itself(make: Make) -> None:
    index, rows = make(), vectors(1)
    await index.add(ONE, keys(1), rows)
    (found,) = await index.search(ONE, rows[0], 5)

    assert found.similarity == pytest.approx(1.0, abs=0.001)
    assert found.similarity <= 1.0


async def test_a_key_that_comes_again_has_the_new_vector_alone(make: Make) -> None:
    index, rows, names = make(), vectors(3), keys(2)
    await index.add(ONE, names, rows[:2])
    await index.add(ONE, names[:1], rows[2:])
    await index.add(ONE, [names[1]] * 2, np.stack([rows[0], rows[1]]))
    found = await index.search(ONE, rows[2], 10)
    again = await index.search(ONE, rows[1], 10)

    assert [one.key for one in found] == names
    assert found[0].similarity == pytest.approx(1.0, abs=0.01)
    assert again[0].key == names[1]
    assert again[0].similarity == pytest.approx(1.0, abs=0.01)
    assert index.figures().rows == 2


async def test_what_was_removed_is_not_found(make: Make) -> None:
    """However many there are, and in whatever order they go."""
    index, rows, names = make(), vectors(300), keys(300)
    await index.add(ONE, names, rows)
    for start in range(0, 300, 2):
        await index.remove(ONE, [names[start], keys(1, 5000)[0]])
    found = await index.search(ONE, rows[10], 300)

    assert {one.key for one in found} == set(names[1::2])
    assert len(await index.search(ONE, rows[10], 5)) == 5
    assert index.figures().rows == 150


@pytest.mark.parametrize("gone", [1, 30, 100])
async def test_what_was_removed_takes_no_place_from_the_next(make: Make, gone: int) -> None:
    index, rows, names = make(), vectors(120), keys(120)
    await index.add(ONE, names, rows)
    cosines = rows @ rows[0]
    order = np.argsort(-cosines)
    for row in order[:gone]:
        await index.remove(ONE, [names[row]])
    found = await index.search(ONE, rows[0], 3)

    assert {one.key for one in found} <= {names[row] for row in order[gone:]}
    best = cosines[order[gone : gone + 3]].tolist()
    assert [one.similarity for one in found] == pytest.approx(best, abs=0.01)


async def test_a_scope_that_was_dropped_is_empty(make: Make) -> None:
    index, rows, names = make(), vectors(4), keys(4)
    await index.add(ONE, names, rows)
    await index.add(OTHER, names[:1], rows[:1])
    await index.drop(ONE)
    await index.drop(b"3" * 32)

    assert await index.search(ONE, rows[0], 5) == []
    assert len(await index.search(OTHER, rows[0], 5)) == 1
    assert index.figures()[:2] == (1, 1)


async def test_a_scope_whose_last_key_went_is_none(make: Make) -> None:
    index = make()
    await index.add(ONE, keys(2), vectors(2))
    await index.remove(ONE, keys(2))
    await index.remove(ONE, keys(2))

    assert index.figures() == (0, 0, 0)
    assert await index.search(ONE, vectors(1)[0], 5) == []


async def test_no_other_scope_is_ever_found(make: Make) -> None:
    index, rows, names = make(), vectors(20), keys(20)
    await index.add(ONE, names[:10], rows[:10])
    await index.add(OTHER, names[10:], rows[10:])
    found = await index.search(ONE, rows[15], 20)

    assert {one.key for one in found} == set(names[:10])


async def test_an_empty_index_finds_nothing(make: Make) -> None:
    index = make()
    await index.add(ONE, [], np.zeros((0, DIMENSION), dtype=np.float32))

    assert await index.search(ONE, vectors(1)[0], 5) == []


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((1, DIMENSION + 1), dtype=np.float32),
        np.ones((2, DIMENSION), dtype=np.float32),
        np.zeros((1, DIMENSION), dtype=np.float32),
        np.full((1, DIMENSION), np.nan, dtype=np.float32),
    ],
    ids=["dimension", "count", "zero", "nan"],
)
async def test_what_is_no_vector_of_this_index_is_refused(make: Make, rows: Vectors) -> None:
    index = make()
    with pytest.raises(ValueError, match="expected"):
        await index.add(ONE, keys(1), rows)

    assert index.figures().rows == 0


async def test_a_question_of_another_dimension_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="expected vectors of 64 numbers"):
        await make().search(ONE, np.ones(3, dtype=np.float32), 5)


async def test_a_scope_has_no_more_than_its_bound_and_tells_what_went(make: Make) -> None:
    gone: list[bytes] = []
    index = make(most=10, evicted=lambda scope, names: gone.extend(names))
    rows, names = vectors(30), keys(30)
    for start in range(0, 30, 3):
        await index.add(ONE, names[start : start + 3], rows[start : start + 3])
    found = await index.search(ONE, rows[0], 30)

    assert len(found) == 10 == index.figures().rows
    assert {one.key for one in found}.isdisjoint(gone)
    assert {one.key for one in found} | set(gone) == set(names)


async def test_more_than_the_bound_at_once_is_cut_to_it_and_tells_what_went(make: Make) -> None:
    gone: list[bytes] = []
    index, names = make(most=10, evicted=lambda scope, names: gone.extend(names)), keys(30)
    await index.add(ONE, names[:3], vectors(3))
    await index.add(ONE, names, vectors(30))
    found = await index.search(ONE, vectors(1)[0], 30)

    assert len(found) == 10 == index.figures().rows
    assert {one.key for one in found} == set(names) - set(gone)
    assert len(gone) == 20


async def test_adding_removing_and_searching_at_once_never_finds_a_stranger(make: Make) -> None:
    """Each key found has been added with the vector that it is found for."""
    index, rows, names = make(), vectors(160), keys(160)
    lasting = range(0, 160, 4)
    await index.add(ONE, [names[row] for row in lasting], rows[lasting])

    async def churn(start: int) -> None:
        for row in range(start, 160, 4):
            await index.add(ONE, [names[row]], rows[row : row + 1])
            await asyncio.sleep(0)
            await index.remove(ONE, [names[row]])

    async def look() -> None:
        for row in lasting:
            first, *rest = await index.search(ONE, rows[row], 5)
            assert first.key == names[row]
            for one in rest:
                true = float(rows[names.index(one.key)] @ rows[row])
                assert one.similarity == pytest.approx(true, abs=0.02)

    await asyncio.gather(churn(1), churn(2), churn(3), look(), look())
    left = await index.search(ONE, rows[0], 160)

    assert {one.key for one in left} == {names[row] for row in lasting}


async def test_one_who_leaves_while_adding_leaves_nothing_half_done() -> None:
    index, rows, names = Local(DIMENSION, threaded=0), vectors(50), keys(50)
    async with aclosing(index):
        tasks = [
            asyncio.create_task(index.add(ONE, [name], rows[row : row + 1]))
            for row, name in enumerate(names)
        ]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        found = await index.search(ONE, rows[0], 50)

    assert len(found) == index.figures().rows == 50


async def test_the_scope_that_was_used_longest_ago_goes_first() -> None:
    gone: list[tuple[bytes, int]] = []
    index = Local(
        DIMENSION, max_scopes=2, evicted=lambda scope, names: gone.append((scope, len(names)))
    )
    async with aclosing(index):
        await index.add(ONE, keys(3), vectors(3))
        await index.add(OTHER, keys(2), vectors(2))
        await index.search(ONE, vectors(1)[0], 1)
        await index.add(b"3" * 32, keys(1), vectors(1))

    assert gone == [(OTHER, 2)]
    assert index.figures()[:2] == (4, 2)


async def test_the_vector_that_was_used_longest_ago_goes_first() -> None:
    """Used is what was added, or found first."""
    gone: list[bytes] = []
    index = Local(
        DIMENSION, max_entries_per_scope=3, evicted=lambda scope, names: gone.extend(names)
    )
    rows, names = vectors(5), keys(5)
    async with aclosing(index):
        await index.add(ONE, names[:3], rows[:3])
        await index.search(ONE, rows[0], 3)
        await index.add(ONE, names[3:4], rows[3:4])
        await index.add(ONE, names[1:2], rows[1:2])

    assert gone == [names[1], names[2]]


async def test_all_scopes_together_take_no_more_than_their_bytes() -> None:
    gone: list[bytes] = []
    index = Local(DIMENSION, max_bytes=40_000, evicted=lambda scope, names: gone.append(scope[:1]))
    async with aclosing(index):
        for number in range(9):
            await index.add(str(number).encode() * 32, keys(10, number * 10), vectors(10))
            assert index.figures().bytes <= 40_000

    assert gone[0] == b"0"
    assert index.figures().rows > 10


async def test_engines_agree_on_the_cosine(engine: RedisServer) -> None:
    rows, names = vectors(100), keys(100)
    local = Local(DIMENSION)
    sets = VectorSets(engine.url, DIMENSION, tag=TAG, prefix="agree:", timeout=5.0)
    async with aclosing(local), aclosing(sets):
        found = []
        for index in (local, sets):
            await index.add(ONE, names, rows)
            near = await index.search(ONE, rows[3], 100)
            found.append({one.key: one.similarity for one in near})

    assert found[0] == pytest.approx(found[1], abs=0.01)


async def test_another_embedders_vectors_are_not_found(engine: RedisServer) -> None:
    """Be they as long: one Redis is searched by machines that are changed one after the other."""
    (row,), (before,) = vectors(1), keys(1)
    sets, other = (
        VectorSets(engine.url, DIMENSION, tag=tag, prefix="mixed:", timeout=5.0)
        for tag in (TAG, "fake:2:64")
    )
    async with aclosing(sets), aclosing(other):
        await sets.add(ONE, [before], row[None])

        assert await other.search(ONE, row, 1) == []
        assert [one.key for one in await sets.search(ONE, row, 1)] == [before]


async def test_what_a_machine_left_is_gone_for_it_alone(make: Make) -> None:
    index, rows, names = make(), vectors(3), keys(3)
    await index.add(ONE, names, rows)
    await index.leave(ONE, names[:1])
    await index.keep({ONE: names, OTHER: names})
    await index.keep({})
    found = {one.key for one in await index.search(ONE, rows[0], 5)}

    assert found == set(names[1:] if isinstance(index, Local) else names)
    assert await index.search(OTHER, rows[0], 5) == []


class Shared:
    """Two machines over one engine, which takes a vector for unwanted after an hour."""

    def __init__(self, engine: RedisServer, prefix: str) -> None:
        self.engine, self.prefix = engine, prefix
        self.one, self.other = self._made(), self._made()

    def _made(self) -> VectorSets:
        return VectorSets(
            self.engine.url, DIMENSION, tag=TAG, prefix=self.prefix, wanted=3600.0, timeout=5.0
        )

    def age(self, seconds: float, scope: bytes = ONE) -> None:
        """As if all that was said had been said so much earlier."""
        name = f"{self.prefix}{SPACE}:{DIMENSION}:noquant:{scope.hex()}:wanted"
        with self.engine.client() as client:
            for key in client.zrange(name, 0, -1):
                client.zincrby(name, -seconds, key)

    async def found(self) -> set[bytes]:
        return {one.key for one in await self.other.search(ONE, vectors(1)[0], 9)}

    async def aclose(self) -> None:
        await self.one.aclose()
        await self.other.aclose()


@pytest.fixture
async def shared(engine: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[Shared]:
    made = Shared(engine, f"{request.node.name}:")
    yield made
    await made.aclose()


async def test_in_redis_a_vector_stays_while_any_machine_wants_it(shared: Shared) -> None:
    """What one has lost another may have on its disk."""
    names = keys(4)
    await shared.one.add(ONE, names, vectors(4))
    await shared.one.leave(ONE, names[:2])
    for _ in range(5):
        shared.age(1800.0)
        await shared.one.keep({ONE: names[2:]})
        await shared.other.keep({ONE: names[1:2]})

    assert await shared.found() == set(names[1:])
    assert shared.one.figures().rows == 3


async def test_in_redis_who_says_that_it_wants_what_went_does_not_bring_it_back(
    shared: Shared,
) -> None:
    """A time beside no vector would be looked at for ever."""
    await shared.one.add(ONE, keys(2), vectors(2))
    await shared.one.remove(ONE, keys(1))
    await shared.other.keep({ONE: keys(2)})
    with shared.engine.client() as client:
        told = client.zrange(
            f"{shared.prefix}{SPACE}:{DIMENSION}:noquant:{ONE.hex()}:wanted", 0, -1
        )

    assert told == keys(2)[1:]


async def test_in_redis_what_comes_again_is_wanted_anew(shared: Shared) -> None:
    await shared.one.add(ONE, keys(1), vectors(1))
    shared.age(7200.0)
    await shared.one.add(ONE, keys(1), vectors(1))
    await shared.other.keep({ONE: keys(1, 77)})

    assert await shared.found() == set(keys(1))


async def test_a_scope_in_redis_that_was_dropped_leaves_nothing(shared: Shared) -> None:
    await shared.one.add(ONE, keys(3), vectors(3))
    await shared.one.drop(ONE)
    with shared.engine.client() as client:
        left = list(client.scan_iter(match=f"{shared.prefix}*"))

    assert left == []


async def test_a_scope_in_redis_does_not_live_for_ever(engine: RedisServer) -> None:
    """And its name has the prefix, the dimension and the precision in it."""
    sets = VectorSets(engine.url, DIMENSION, tag=TAG, prefix="lives:", wanted=60.0, timeout=5.0)
    async with aclosing(sets):
        await sets.add(ONE, keys(1), vectors(1))
    name = f"lives:{SPACE}:{DIMENSION}:noquant:{ONE.hex()}"
    with engine.client() as client:
        left = [client.pttl(one) for one in (name, f"{name}:wanted")]

    assert all(0 < one <= 60_000 for one in left)


async def test_a_redis_that_is_not_there_is_unavailable() -> None:
    sets = VectorSets(f"redis://127.0.0.1:{free_port()}", DIMENSION, tag=TAG)
    async with aclosing(sets):
        with pytest.raises(IndexUnavailableError):
            await sets.search(ONE, vectors(1)[0], 5)


async def test_a_redis_that_says_nothing_is_unavailable_and_then_right(
    engine: RedisServer,
) -> None:
    """The answer to a question that was given up is not taken for that to the next."""
    rows, names = vectors(2), keys(2)
    sets = VectorSets(engine.url, DIMENSION, tag=TAG, prefix="silent:", timeout=1.0)
    async with aclosing(sets):
        await sets.add(ONE, names, rows)
        engine.freeze()
        try:
            with pytest.raises(IndexUnavailableError):
                await sets.search(ONE, rows[0], 1)
        finally:
            engine.thaw()
        (found,) = await sets.search(ONE, rows[1], 1)

    assert found.key == names[1]


async def test_a_redis_that_does_not_know_vectors_is_unavailable(engine: RedisServer) -> None:
    """As is one where something else has the name."""
    with engine.client() as client:
        client.set(f"taken:{SPACE}:{DIMENSION}:noquant:{ONE.hex()}", "text")
    sets = VectorSets(engine.url, DIMENSION, tag=TAG, prefix="taken:", timeout=5.0)
    async with aclosing(sets):
        with pytest.raises(IndexUnavailableError, match="ResponseError"):
            await sets.add(ONE, keys(1), vectors(1))
