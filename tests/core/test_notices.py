"""What the log says of events, and what of a client's words it leaves."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import events
from proxy.core.notices import TOLD, notice, safe
from tests.samples import sample

PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-?")


@pytest.mark.parametrize("kind", get_args(events.Event))
def test_what_is_told_has_a_line_and_nothing_else_has(kind: type[msgspec.Struct]) -> None:
    told = notice(sample(kind))

    assert bool(told) == (kind in TOLD)
    assert not told or isinstance(told["event"], str)


def test_a_label_can_be_read_by_what_calibrates() -> None:
    told = notice(events.MeaningJudged("semantic", True, 0.971234, "m/zh"))

    assert told == {
        "event": "semantic_label",
        "kind": "semantic",
        "wrong": True,
        "similarity": 0.9712,
        "group": "m/zh",
    }


@given(st.text(max_size=200), st.text(max_size=200))
def test_what_clients_choose_is_cut_and_plain(identity: str, model: str) -> None:
    """A model's name may be anything, a prompt too."""
    shown = safe(events.Served(request_id=identity, model=model, method="PÖST"))

    assert len(shown.request_id) <= 64
    assert set(shown.request_id) | set(shown.model) | set(shown.method) <= PLAIN
    assert shown.model in (model, "?")


def test_what_is_plain_already_stays_as_it_is() -> None:
    event = events.Served(request_id="req_1", model="org/model-7b:free")

    assert safe(event) is event


def test_a_group_whose_model_is_no_name_tells_no_more_than_its_language() -> None:
    told = notice(events.MeaningJudged("semantic", True, 0.9, "what my doctor said/en"))

    assert told["group"] == "?/en"


def test_a_line_of_a_schedule_that_is_no_request_is_told_with_its_number() -> None:
    told = notice(events.ScheduleUnread("f", "", 2, 7, "not a request"))

    assert {"lines": 2, "line": 7, "why": "not a request"}.items() <= told.items()
    assert "line" not in notice(events.ScheduleUnread("f", "OSError"))
