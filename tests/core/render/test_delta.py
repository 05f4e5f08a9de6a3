"""Deltas become the whole, whatever fields they have."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.render.delta import merge, update

HM = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}


@pytest.mark.parametrize(
    ("deltas", "whole"),
    [
        ([{"content": "a"}, {"content": "b"}], {"content": "ab"}),
        ([{"unheard_of": "a"}, {"unheard_of": "b"}], {"unheard_of": "ab"}),
        ([{"role": "assistant"}, {"role": "assistant"}], {"role": "assistant"}),
        ([{"id": ""}, {"id": "call_1"}, {"id": "call_1"}], {"id": "call_1"}),
        ([{"name": "get_"}, {"name": "weather"}], {"name": "get_weather"}),
        ([{"name": "f"}, {"name": "f"}, {"name": ""}], {"name": "f"}),
        ([{"content": None}, {"content": "a"}, {"content": None}], {"content": "a"}),
        (
            [{"content": ""}, {"content": [HM]}, {"content": "4"}, {"content": "2"}],
            {"content": [HM, {"type": "text", "text": "42"}]},
        ),
        (
            [{"content": "4"}, {"content": [HM]}, {"content": ""}],
            {"content": [{"type": "text", "text": "4"}, HM]},
        ),
        ([{"content": None}, {}], {"content": None}),
        ([{"n": 1, "b": True}, {"n": 2, "b": False}], {"n": 2, "b": False}),
        ([{"tokens": [1, 2]}, {"tokens": [3]}], {"tokens": [1, 2, 3]}),
        ([{"notes": [{"a": 1}]}, {"notes": [{"a": 1}]}], {"notes": [{"a": 1}, {"a": 1}]}),
        (
            [{"audio": {"data": "x"}}, {"audio": {"data": "y", "id": 1}}],
            {"audio": {"data": "xy", "id": 1}},
        ),
        ([{"notes": []}, {"notes": None}], {"notes": []}),
        ([{"x": "a"}, {"x": 1}], {"x": 1}),
    ],
)
def test_merge(deltas: list[dict[str, Any]], whole: dict[str, Any]) -> None:
    merged: dict[str, Any] = {}
    for delta in deltas:
        merge(merged, delta)

    assert merged == whole


def test_indexed_objects_meet_by_index_and_stand_in_its_order() -> None:
    merged: dict[str, Any] = {}
    for index, text in [(2, "a"), (0, "x"), (2, "b"), (0, "y")]:
        merge(merged, {"parts": [{"index": index, "text": text}]})

    assert merged == {"parts": [{"index": 0, "text": "xy"}, {"index": 2, "text": "ab"}]}


def test_fragments_of_one_object_in_one_delta_are_merged() -> None:
    merged: dict[str, Any] = {}
    merge(merged, {"parts": [{"index": 0, "text": "a"}, {"index": 0, "text": "b"}]})

    assert merged == {"parts": [{"index": 0, "text": "ab"}]}


def test_what_is_restated_replaces_and_lists_go_on() -> None:
    choice: dict[str, Any] = {"finish_reason": None, "ids": [1], "filter": {"hate": {"level": "a"}}}
    update(choice, {"finish_reason": "stop", "ids": [2], "filter": {"self": {}}, "x": None})
    update(choice, {"finish_reason": None, "filter": {"hate": {"level": "b"}}})

    assert choice == {
        "finish_reason": "stop",
        "ids": [1, 2],
        "filter": {"hate": {"level": "b"}, "self": {}},
        "x": None,
    }
