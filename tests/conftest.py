"""Fixtures for every test that needs an upstream on a real socket, or a real Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.redis_server import RedisServer
from tests.upstream import Channel, Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import redis as driver

_REAL = (
    "e2e",
    "calendars",
    "disk_shared",
    "leases",
    "objects",
    "peers",
    "redis",
    "supervisor",
    "vault",
)
"""What of a test's path says that it plays with real processes, time and networks."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Where a machine that others use too stands still for a second, a real process looks frozen,
    and rightly so: such a test is told to have failed only if it fails again."""
    for item in items:
        if any(word in f"{item.path.parent.name}/{item.path.name}" for word in _REAL):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def mock() -> Iterator[Server]:
    """The mock upstream, one for all tests."""
    server = Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def upstream(mock: Server) -> Channel:
    """This test's channel to the mock: own credential, own script, own count of calls."""
    return mock.channel()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis, one for the tests of a module."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture
def client(server: RedisServer) -> Iterator[driver.Redis]:
    """A client of that Redis, which has been emptied."""
    with server.client() as connected:
        connected.flushall()
        yield connected
