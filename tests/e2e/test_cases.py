"""Situations from public bug reports, replayed step by step (`cases.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e import fleet, meaning
from tests.e2e.checks import (
    clients,
    gateways,
    identity,
    meanings,
    outcomes,
    stampede,
    stored,
    streams,
)
from tests.e2e.checks.registry import CASES
from tests.e2e.steps import Run
from tests.gateway import merged

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.e2e.steps import Case
    from tests.gateway import Gateway, Settings
    from tests.upstream import Channel, Server

CHECKS = (clients, gateways, identity, meanings, outcomes, stampede, stored, streams)
"""Importing them fills `CASES`."""

LEFT_OUT = {
    "st-client-session-recycled": "needs a reload of the configuration without a restart",
}
"""Cases that this release cannot play, with the reason."""


def _rows() -> dict[str, dict[str, Any]]:
    lines = Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["id"]: row for row in rows if "id" in row}


ROWS = _rows()


def test_every_case_is_checked_or_left_out_for_a_reason() -> None:
    assert set(CASES) | set(LEFT_OUT) == set(ROWS)
    assert not set(CASES) & set(LEFT_OUT)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sorted(CASES))
async def test_case(
    name: str, request: pytest.FixtureRequest, start: Start, mock: Server, upstream: Channel
) -> None:
    case, steps = CASES[name], json.loads(json.dumps(ROWS[name]["input"]["steps"]))
    if case.change is not None:
        case.change(steps)
    if case.script is not None:
        case.script(upstream)
    found: list[Gateway]
    server = None
    if case.redis:
        server = request.getfixturevalue("redis")
        own = _settings(case, upstream)
        found = list(fleet.gateways(start, server.url, case.gateways, fleet.PATIENT, own))
    elif case.settings is None and case.gateways == 1 and (case.act is None or case.semantic):
        found = [request.getfixturevalue("loose" if case.semantic else "gateway")]
    else:
        found = _own(name, start, upstream)
    run = Run(case, found, upstream, start, server)
    if case.semantic:
        await meaning.ready(run.gateway)
        run.aside = mock.channel()

    await run.steps(steps)
    await case.check(run)


def _settings(case: Case, upstream: Channel) -> Settings:
    own = {} if case.settings is None else case.settings(upstream)
    return merged(meaning.LOOSE, own) if case.semantic else own


def _own(name: str, start: Start, upstream: Channel) -> list[Gateway]:
    """Gateways with the case's settings, on one disk if there are more."""
    case = CASES[name]
    settings = _settings(case, upstream)
    first = start(settings, {} if case.env is None else case.env(upstream))
    cache = settings.get("cache", {})
    disk = {**first.settings["cache"]["disk"], "path": str(first.disk)}
    shared = {**settings, "cache": {**cache, "disk": disk}}
    return [first, *(start(shared) for _ in range(case.gateways - 1))]
