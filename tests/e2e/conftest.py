"""Fixtures that run the gateway as a real process between a client and the mock upstream."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.e2e import fleet
from tests.e2e.meaning import LOOSE
from tests.gateway import Gateway
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.gateway import Settings
    from tests.upstream import Server


class Start(Protocol):
    def __call__(
        self, settings: Settings | None = None, env: dict[str, str] | None = None
    ) -> Gateway: ...


@pytest.fixture(scope="session")
def shared(mock: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway with default settings; tests keep apart by their credentials. They share a node
    and its models, so what one has it fail at must not open a breaker for the others."""
    settings: Settings = {"breaker": {"min_calls": 1_000_000}}
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), mock.url, settings)
    gateway.start()
    yield gateway
    gateway.stop()
    _no_traceback(gateway.stderr())


@pytest.fixture
def gateway(shared: Gateway) -> Iterator[Gateway]:
    """The shared gateway; fails the test in which a traceback shows up."""
    before = len(shared.stderr())
    yield shared
    _no_traceback(shared.stderr()[before:])


@pytest.fixture(scope="session")
def loose(mock: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway that compares questions as loosely as it can be set to."""
    gateway = Gateway(tmp_path_factory.mktemp("loose"), mock.url, LOOSE)
    gateway.start()
    yield gateway
    gateway.stop()
    _no_traceback(gateway.stderr())


@pytest.fixture
def start(mock: Server, tmp_path: Path) -> Iterator[Start]:
    """Starts gateways with settings of their own and ends them after the test."""
    started: list[Gateway] = []
    numbers = itertools.count()

    def run(settings: Settings | None = None, env: dict[str, str] | None = None) -> Gateway:
        one = Gateway(tmp_path / f"gateway{next(numbers)}", mock.url, settings or {}, env)
        started.append(one)
        one.start()
        return one

    yield run
    for one in started:
        one.stop()
    for one in started:
        _no_traceback(one.stderr())


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of the test's own."""
    with RedisServer(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def gateways(start: Start, redis: RedisServer) -> Sequence[Gateway]:
    """Three, over that Redis."""
    return fleet.gateways(start, redis.url, 3, fleet.PATIENT)


def _no_traceback(text: str) -> None:
    assert "Traceback (most recent call last)" not in text, text
