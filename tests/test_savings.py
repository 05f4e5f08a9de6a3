"""What is saved by warming, counted by whichever worker's request finds it, and once."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.pages.savings import Savings
from proxy.core.chain import Boundary
from proxy.core.events import WarmUsed
from tests.fakes import FakeUpstream
from tests.hearth import Hearth, conversation, telling

if TYPE_CHECKING:
    from pathlib import Path


def boundary(name: str, tokens: int) -> Boundary:
    return Boundary(name.encode().ljust(16, b"."), tokens)


CHAIN = boundary("a", 1000), boundary("b", 3000), boundary("c", 3100)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "savings"


async def test_a_request_that_another_worker_is_asked_counts_what_it_was_spared(
    path: Path,
) -> None:
    one, other = (
        Hearth(FakeUpstream(answer), savings=Savings(path))
        for answer in (telling(0, 3000), telling(2900, 3000))
    )
    await one.warm(conversation())
    for worker in (other, one):
        await worker.asked(conversation(max_tokens=500))

    assert [len(worker.told(WarmUsed)) for worker in (one, other)] == [0, 1]
    assert 2800 < other.told(WarmUsed)[0].tokens <= 3000


@pytest.mark.parametrize(("told", "saved"), [(0, 0), (500, 500), (3000, 2000)])
def test_no_more_is_saved_than_was_computed_or_found(path: Path, told: int, saved: int) -> None:
    workers = Savings(path), Savings(path)
    workers[0].await_("gpu", CHAIN[1].digest, 2000)

    assert workers[1].found("other", CHAIN, 3000) == 0
    assert workers[1].found("gpu", CHAIN[:1], 3000) == 0
    assert [worker.found("gpu", CHAIN, told) for worker in workers] == [saved, 0]


def test_whoever_is_just_writing_is_not_waited_for(path: Path) -> None:
    savings = Savings(path)
    savings.await_("gpu", CHAIN[1].digest, 2000)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        savings.await_("gpu", CHAIN[0].digest, 1000)
        assert savings.found("gpu", CHAIN, 3000) == 0

    assert savings.found("gpu", CHAIN, 3000) == 2000
    assert savings.found("gpu", CHAIN, 3000) == 0


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=40, unique=True))
def test_with_few_slots_less_is_counted_and_nothing_twice(
    tmp_path_factory: pytest.TempPathFactory, digests: list[bytes]
) -> None:
    savings = Savings(tmp_path_factory.mktemp("s") / "savings", slots=4)
    for digest in digests:
        savings.await_("gpu", digest, 7)
    chain = [Boundary(digest, 100) for digest in digests]
    found = [savings.found("gpu", chain, 100) for _ in digests]

    assert set(found) <= {0, 7}
    assert 1 <= found.count(7) <= 4
