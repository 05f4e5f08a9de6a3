"""The policy by entry: what records say, and that the budget is kept."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.entry_policy import LONGEST, MAX_ENTRIES, SHORTEST, EntryPolicy, confidence, grade
from semantic.evidence import STEPS, byte, step
from semantic.protocol import Label
from semantic.settings import Settings
from tests.semantic.streams import (
    SETS,
    Hit,
    dumped,
    label,
    pairs,
    policy,
    run,
    simulated,
    stream,
)

KEY, OTHER = bytes(32), bytes([1]) * 32
ON = Settings(mode="on", policy="entry", max_error_rate=0.05)
RIGHT = bytes([byte(30, wrong=False)])
WRONG = bytes([byte(30, wrong=True)])

records = st.lists(st.integers(0, 2 * STEPS - 1), min_size=1, max_size=LONGEST).map(bytes)


def taught(settings: Settings, right: int, *, key: bytes = KEY, at: float = 0.95) -> EntryPolicy:
    """A policy after right labels of one entry."""
    found = EntryPolicy(settings)
    for number in range(right):
        found.learn(label(number, at, wrong=False, key=key))
    return found


def said(found: EntryPolicy, key: bytes = KEY, at: float = 0.95, draw: float = 0.5) -> str:
    """Action and reason."""
    verdict = found.verdict("model en", "semantic", at, draw, key)
    return f"{verdict.action} {verdict.reason}".strip()


@given(records, st.integers(0, STEPS - 1))
def test_a_confidence_is_a_chance_and_grows_with_similarity(record: bytes, number: int) -> None:
    low, high = confidence(record, number), confidence(record, STEPS - 1)

    assert 0.0 <= low <= high <= 1.0


@given(st.integers(SHORTEST, LONGEST - 1))
def test_each_right_label_adds_to_it_and_a_wrong_one_takes_it(length: int) -> None:
    before = confidence(RIGHT * length, 30)

    assert confidence(RIGHT * (length + 1), 30) >= before
    assert confidence(RIGHT * length + WRONG, 30) < before


def test_wrong_labels_far_below_do_not_matter_where_right_ones_are() -> None:
    """That is what a threshold of its own is."""
    far = bytes([byte(step(0.82), wrong=True)])

    assert confidence(RIGHT * 20 + far * 10, 36) > 0.8
    assert confidence(RIGHT * 20 + far * 10, step(0.82)) < 0.3


def test_a_short_record_says_nothing() -> None:
    assert grade(RIGHT * (SHORTEST - 1), 30) == -1
    assert grade(RIGHT * SHORTEST, 30) > 0


def test_an_unknown_entry_is_explored() -> None:
    assert said(EntryPolicy(ON)) == "verify budget"


def test_once_the_group_bears_it_an_entry_with_a_good_record_is_served() -> None:
    found = taught(ON, 300)

    assert said(found) == "serve"
    assert said(found, draw=0.01) == "verify sampled"
    assert said(found, OTHER) == "verify budget"
    assert said(found, at=0.79) == "none below_threshold"


def test_one_wrong_label_takes_an_entry_out_at_once_and_no_other() -> None:
    found = taught(ON, 400)
    for number in range(64):
        found.learn(label(1000 + number, 0.95, wrong=False, key=OTHER))
    found.learn(label(2000, 0.95, wrong=True))

    assert said(found) == "verify budget"
    assert said(found, OTHER) == "serve"


def test_while_closed_an_entry_that_was_wrong_still_counts_for_its_best_record() -> None:
    """Else the evidence would come from entries without the bad ones."""
    found = taught(ON, 20)
    before = found.state()["model en"]["semantic_labels"]
    found.learn(label(100, 0.95, wrong=True))
    found.learn(label(101, 0.95, wrong=True))
    figures = found.state()["model en"]

    assert before == 20 - SHORTEST
    assert (figures["semantic_labels"], figures["semantic_errors"]) == (before + 2, 2)


def test_once_open_an_entry_that_is_not_served_says_nothing_of_those_that_are() -> None:
    found = taught(ON, 300)
    for number in range(64):
        found.learn(label(1000 + number, 0.95, wrong=False, key=OTHER))
    found.learn(label(2000, 0.95, wrong=True, key=OTHER))
    before = found.state()
    for number in range(20):
        found.learn(label(3000 + number, 0.95, wrong=True, key=OTHER))

    assert found.state() == before
    assert said(found) == "serve"


def test_entries_that_were_wrong_lately_do_not_open_a_group() -> None:
    """However often they were right since: they are few now and will be more."""
    found = EntryPolicy(ON)
    for number in range(80):
        key = number.to_bytes(32, "big")
        found.learn(label(100 * number, 0.95, wrong=True, key=key))
        for more in range(1, 12):
            found.learn(label(100 * number + more, 0.95, wrong=False, key=key))

    assert said(found, (0).to_bytes(32, "big")) == "verify budget"


def test_the_operators_least_similarity_bounds_it() -> None:
    found = EntryPolicy(Settings(mode="on", policy="entry", min_similarity=0.9))

    assert said(found, at=0.89) == "none below_threshold"
    assert said(found, at=0.91) == "verify budget"


def test_in_shadow_nothing_is_served() -> None:
    assert said(taught(Settings(policy="entry", max_error_rate=0.05), 400)) == "verify shadow"


def test_a_canonical_question_needs_no_record() -> None:
    found = EntryPolicy(ON)
    assert found.verdict("model en", "canonical", 1.0, 0.5, KEY).action == "serve"
    for number in range(10):
        name = number.to_bytes(16, "big")
        found.learn(Label(name, "model en", "canonical", 1.0, KEY, True))

    assert found.verdict("model en", "canonical", 1.0, 0.5, KEY).action == "verify"
    assert found.state()["model en"]["canonical_closed"] == 1.0


def test_the_state_says_from_which_confidence_on_it_serves() -> None:
    figures = taught(ON, 300).state()["model en"]

    assert 0.6 < figures["semantic_threshold"] < 1.0
    assert figures["semantic_errors"] == 0
    assert taught(ON, 20).state()["model en"]["semantic_threshold"] == 1.0


def test_an_entry_that_left_begins_anew_and_what_its_group_learnt_stays() -> None:
    """Else an answer that comes back is served by what another one's hits have shown."""
    found = taught(ON, 300)
    before = found.state()
    assert said(found) == "serve"
    found.forget([KEY, OTHER])

    assert said(found) == "verify budget"
    assert found.state() == before
    assert len(dumped(found)) < len(dumped(taught(ON, 300)))


def test_entries_are_bounded() -> None:
    """What learnt nothing for longest goes."""
    found = EntryPolicy(ON)
    for number in range(MAX_ENTRIES + 1):
        key = number.to_bytes(32, "big")
        found.learn(Label(key, "model en", "semantic", 0.95, key, False))

    assert len(dumped(found)) < MAX_ENTRIES * 60 + 32_768 * 40


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0.0, 1.0), st.booleans()), max_size=60))
def test_labels_that_come_twice_count_once_and_a_dump_is_restored(
    learnt: list[tuple[int, float, bool]],
) -> None:
    once, twice, other = (EntryPolicy(ON) for _ in range(3))
    for number, similarity, wrong in learnt:
        key = bytes([number % 3]) * 32
        once.learn(label(number, similarity, wrong=wrong, key=key))
        for _ in range(2):
            twice.learn(label(number, similarity, wrong=wrong, key=key))
    other.restore(dumped(once))

    assert dumped(once) == dumped(twice) == dumped(other)


def test_records_of_another_embedder_say_nothing() -> None:
    found, other = EntryPolicy(ON, b"use"), EntryPolicy(ON, b"e5")
    for number in range(20):
        found.learn(label(number, 0.95, wrong=False))
    other.restore(dumped(found))
    again = EntryPolicy(ON, b"use")
    again.restore(dumped(found))

    assert other.state() == {}
    assert b"model en" not in dumped(other)
    assert dumped(again) == dumped(found)


@given(st.binary(max_size=100))
def test_foreign_bytes_are_no_error(data: bytes) -> None:
    found = taught(ON, 20)
    found.restore(data)

    assert dumped(found) == dumped(EntryPolicy(ON))


@pytest.mark.parametrize(("budget", "base"), [(0.01, 1.5), (0.05, 3.0)])
@pytest.mark.parametrize("name", SETS[:3])
def test_what_is_served_is_within_the_budget(name: str, budget: float, base: float) -> None:
    """In all but one of eight runs of 5,000 would-be hits, more of them wrong than it allows."""
    hits = pairs(name)
    runs = [simulated("entry", hits, budget, base * budget, seed) for seed in range(8)]

    assert sum(one.kept(budget) for one in runs) >= 7


def test_it_serves_where_no_single_threshold_can() -> None:
    """Half of the entries are always right, one in ten always wrong, as near as each other."""
    hits = [Hit(0.95, number % 10 == 0, number) for number in range(100)]
    by_entry = [simulated("entry", hits, 0.02, 0.1, seed) for seed in range(3)]
    by_threshold = simulated("threshold", hits, 0.02, 0.1, 0)

    assert sum(one.served for one in by_entry) > 0.4 * sum(one.hits for one in by_entry)
    assert by_threshold.served == 0


def test_an_entry_that_goes_bad_is_no_longer_served() -> None:
    good = [Hit(0.95, False, number) for number in range(20)]
    found, names = policy("entry", 0.05), count()
    run(found, stream(good, 0.0, 3000, 1), 1, names)
    bad = [Hit(0.95, number < 5, number) for number in range(20)]
    run(found, stream(bad, 0.25, 5000, 2), 2, names)

    assert run(found, stream(bad, 0.25, 1000, 3), 3, names).wrong == 0
