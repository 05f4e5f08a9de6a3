"""How a threshold falls and rises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semantic.evidence import STEPS
from semantic.track import Track, window

RATE = 0.05
events = st.lists(
    st.tuples(
        st.integers(0, STEPS - 1), st.sampled_from([False] * 30 + [True]), st.integers(1, 60)
    ),
    max_size=40,
)


def taught(track: Track, number: int, count: int, *, wrong: bool = False) -> Track:
    """The track after so many labels of a step."""
    for _ in range(count):
        track.learn(number, wrong=wrong)
    return track


def test_it_starts_closed() -> None:
    assert Track(RATE, 0, trusted=False).opened == STEPS


def test_a_trusted_one_starts_at_its_floor() -> None:
    assert Track(RATE, 30, trusted=True).opened == 30


def test_labels_open_it_where_they_lie() -> None:
    assert taught(Track(RATE, 0, trusted=False), 30, 300).opened == 30


def test_a_wrong_label_on_thin_evidence_closes_it_at_once() -> None:
    track = Track(RATE, 0, trusted=False)
    while track.opened == STEPS:
        taught(track, 30, 1)
    taught(track, 30, 1, wrong=True)

    assert track.opened == STEPS


def test_a_wrong_label_below_raises_it_to_what_is_still_borne() -> None:
    track = Track(RATE, 0, trusted=False)
    for _ in range(400):
        track.learn(38, wrong=False)
        track.learn(30, wrong=False)
    assert track.opened == 30
    while track.opened == 30:
        track.learn(30, wrong=True)

    assert track.opened == 38


def test_after_closing_wrong_labels_are_kept_and_right_ones_start_afresh() -> None:
    track = taught(Track(RATE, 0, trusted=False), 30, 150)
    while track.opened < STEPS:
        track.learn(30, wrong=True)

    assert track.waiting
    assert all(label & 1 for label in track.waiting)


def test_it_opens_again_once_it_is_shown_again() -> None:
    track = taught(Track(RATE, 0, trusted=False), 30, 150)
    while track.opened < STEPS:
        track.learn(30, wrong=True)
    taught(track, 30, 1500)

    assert track.opened == 30


def test_evidence_below_opens_more_on_its_own_account_only() -> None:
    """However much is right above, what lies below has to show it itself."""
    track = taught(Track(RATE, 0, trusted=False), 38, 400)
    taught(track, 30, 40)
    assert track.opened == 38
    taught(track, 30, 400)

    assert track.opened == 30


def test_one_wrong_label_does_not_refute_the_operator_but_many_do() -> None:
    track = taught(Track(RATE, 30, trusted=True), 30, 40)
    taught(track, 30, 1, wrong=True)
    assert track.opened == 30
    taught(track, 30, 10, wrong=True)

    assert track.opened == STEPS
    assert track.refuted


def test_old_labels_fade() -> None:
    """A bad time that is long over does not keep it closed."""
    track = taught(Track(RATE, 0, trusted=False), 30, 200, wrong=True)
    taught(track, 30, 2 * window(RATE))

    assert track.opened == 30


def test_a_wrong_label_opens_nothing_even_where_a_look_is_due() -> None:
    track = Track(RATE, 0, trusted=False)
    track.ahead = 1000
    taught(track, 30, 400)
    track.ahead = 1
    taught(track, 10, 1, wrong=True)
    assert track.opened == STEPS
    taught(track, 30, 1)

    assert track.opened < STEPS


def test_each_look_takes_more_evidence_than_the_one_before() -> None:
    """All looks share one chance to err, so that looking often does not open it by luck."""
    needed = []
    for looks in (0, 1, 5, 50):
        track, count = Track(RATE, 0, trusted=False), 0
        track.looks = looks
        while track.opened == STEPS:
            taught(track, 30, 1)
            count += 1
        needed.append(count)

    assert needed == sorted(set(needed))


def test_each_label_counts_on_one_side_of_the_threshold() -> None:
    track = Track(RATE, 0, trusted=False)
    for _ in range(300):
        track.learn(38, wrong=False)
        track.learn(30, wrong=True)

    assert track.opened == 38
    assert all(label >= 2 * 38 for label in track.served)
    assert all(label < 2 * 38 for label in track.waiting)
    assert len(track.served) == 300


@given(events)
def test_a_wrong_label_never_lowers_the_threshold(learnt: list[tuple[int, bool, int]]) -> None:
    track = Track(0.2, 0, trusted=False)
    for number, wrong, count in learnt:
        before = track.opened
        taught(track, number, 1 if wrong else count, wrong=wrong)

        assert not wrong or track.opened >= before


@given(events, st.booleans())
def test_it_is_bounded_and_never_below_its_floor(
    learnt: list[tuple[int, bool, int]], trusted: bool
) -> None:
    track = Track(RATE, 10, trusted=trusted)
    for number, wrong, count in learnt:
        taught(track, number, count, wrong=wrong)

    assert 10 <= track.opened <= STEPS
    assert max(len(track.served), len(track.waiting)) <= window(RATE)
