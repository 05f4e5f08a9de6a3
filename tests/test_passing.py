"""Operations that are none of the cache's, and bodies that are too large to be read."""

from __future__ import annotations

import msgspec
import pytest

from proxy.config import parse
from proxy.core.errors import RefusedError
from proxy.core.message import Call
from proxy.core.rules import rules
from proxy.passing import Passing
from proxy.response import Report
from tests.fakes import settle
from tests.staged import Stage, header, said

TENANTS = rules(
    parse(
        '[[tenant]]\nname = "all"\nkey_env = "A"\n'
        '[[tenant]]\nname = "some"\nkey_env = "B"\nmodels = ["small*"]\nupstream_key_env = "U"\n'
    ),
    {"A": "key-a", "B": "key-b", "U": "key-u"},
)
CALL = Call("POST", "/v1/files", "", (("Authorization", "Bearer key-b"), ("x-cache", "off")), b"x")


def passing(stage: Stage) -> Passing:
    return Passing(TENANTS, stage.pipeline.origin, stage.quotas)


def report(stage: Stage) -> Report:
    return Report("POST", "other", "req_1", stage.clock, stage.events.append)


async def test_another_operation_is_passed_on_with_the_credential_that_is_meant_for_it() -> None:
    stage = Stage(said(), rules=TENANTS)
    response = await passing(stage).forward(CALL, report(stage))
    (call,) = stage.upstream.calls

    assert "x-cache: BYPASS" in response.lines
    assert header(call.headers, "authorization") == ["Bearer key-u"]
    assert header(call.headers, "x-cache") == ["off"]


async def test_a_stranger_is_refused_at_every_operation() -> None:
    stage = Stage(said(), rules=TENANTS)
    unknown = msgspec.structs.replace(CALL, headers=(("Authorization", "Bearer other"),))
    with pytest.raises(RefusedError) as refused:
        await passing(stage).forward(unknown, report(stage))

    assert (refused.value.status, stage.calls) == (401, 0)


async def test_a_body_that_was_not_read_is_refused_to_who_may_not_use_every_model() -> None:
    """Its model is not known, and padding must not be a way around a limit."""
    stage = Stage(said(), rules=TENANTS)
    with pytest.raises(RefusedError) as refused:
        await passing(stage).unread(CALL, report(stage))
    await settle()

    assert (refused.value.status, stage.calls) == (403, 0)


async def test_a_body_that_was_not_read_goes_on_without_what_steers_the_cache() -> None:
    stage = Stage(said(), rules=TENANTS)
    free = (("x-cache", "off"), ("Authorization", "Bearer key-a"))
    await passing(stage).unread(msgspec.structs.replace(CALL, headers=free), report(stage))
    (call,) = stage.upstream.calls

    assert header(call.headers, "x-cache") == []


@pytest.mark.parametrize(("key", "status"), [("key-a", 200), ("key-b", 403)])
async def test_another_spelling_of_a_path_is_no_way_around_a_limit(key: str, status: int) -> None:
    stage = Stage(said(), rules=TENANTS)
    headers = (("Authorization", f"Bearer {key}"),)
    call = msgspec.structs.replace(CALL, path="//v1/chat/completions", headers=headers)
    try:
        got = (await passing(stage).forward(call, report(stage))).head.status
    except RefusedError as refused:
        got = refused.status

    assert (got, stage.calls) == (status, 1 if status == 200 else 0)
