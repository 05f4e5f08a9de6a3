"""Fixtures for every test that needs an upstream on a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.upstream import Channel, Server

if TYPE_CHECKING:
    from collections.abc import Iterator


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
