"""How far a node must have come, as one gateway knows it and as several tell each other."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.progress import Progress, State


def known(rate: float = 1000.0) -> Progress:
    """A node that computes so many tokens in a second, and has computed one prompt by 0 s."""
    progress = Progress()
    call = progress.sent(10_000, -10_000 / rate)
    progress.took(10_000, progress.over(call, 0.0))
    return progress


def test_nothing_is_said_of_a_node_whose_rate_is_unknown() -> None:
    progress = Progress()
    progress.sent(5000, 0.0)

    assert progress.computed(100.0) == 0


def test_the_first_prompt_that_waits_is_computed_at_the_rate_of_those_before() -> None:
    progress = known()
    progress.sent(5000, 1.0)
    progress.sent(5000, 2.0)

    assert [progress.computed(at) for at in (1.0, 3.0, 6.0, 60.0)] == [0, 2000, 5000, 5000]


def test_the_next_one_begins_when_the_first_byte_of_the_one_before_came() -> None:
    progress = known()
    first, _ = progress.sent(5000, 1.0), progress.sent(5000, 2.0)
    assert progress.over(first, 7.0) == 6.0

    assert progress.computed(9.0) == 2000


def test_what_lacks_nothing_is_in_nobodys_way() -> None:
    """A long answer to a prompt that the node holds, or a call without any."""
    progress = known()
    first, _, third = progress.sent(0, 1.0), progress.sent(5000, 1.0), progress.sent(0, 1.0)
    assert progress.state(2.0).first == 5000
    assert progress.over(third, 3.0) == 2.0

    assert progress.computed(4.0) == 3000
    assert progress.over(first, 5.0) == 4.0


def test_nothing_is_computed_where_nothing_waits() -> None:
    assert known().computed(100.0) == 0


def test_short_prompts_say_nothing_of_the_rate() -> None:
    progress = known()
    progress.took(100, 10.0)
    progress.took(10_000, 0.0)
    progress.sent(5000, 0.0)

    assert progress.computed(1.0) == 1000


def test_the_rate_follows_what_prompts_take() -> None:
    progress = known()
    for _ in range(30):
        progress.took(10_000, 5.0)
    progress.sent(50_000, 0.0)

    assert 1950 < progress.computed(1.0) <= 2000


def test_a_node_is_at_what_another_gateway_sent_before() -> None:
    """And of that it computes no more than there is."""
    progress = known()
    progress.sent(9000, 5.0)
    progress.hear([State(oldest=4.0, first=1500.0), State()], 6.0)

    assert [progress.computed(at) for at in (3.0, 8.0)] == [1000, 1500]


def test_it_began_when_the_last_first_byte_came_anywhere() -> None:
    progress = known()
    call = progress.sent(9000, 5.0)
    progress.hear([State(last=2.0), State(last=8.0)], 9.0)

    assert progress.computed(9.0) == 2000
    progress.hear([], 9.5)
    assert progress.computed(10.0) == 3000
    assert progress.over(call, 11.0) == 4.0


def test_what_others_have_no_longer_waiting_is_forgotten() -> None:
    progress = known()
    progress.hear([State(oldest=4.0, first=1500.0)], 6.0)
    progress.hear([State(last=1.0)], 7.0)

    assert progress.computed(8.0) == 0


def test_a_gateway_tells_what_it_has_waiting() -> None:
    progress = Progress()
    assert progress.state(5.0) == State(0.0, 0.0, inf)
    call, _ = progress.sent(700, 6.0), progress.sent(800, 7.0)
    assert progress.state(8.0) == State(2.0, 700, inf)
    progress.over(call, 9.0)
    assert progress.state(10.0) == State(3.0, 800, 1.0)


steps = st.lists(
    st.tuples(st.sampled_from(["sent", "over", "hear"]), st.floats(0, 10), st.floats(0, 1e5)),
    max_size=30,
)


@given(steps)
def test_never_more_than_what_waits_is_computed(how: list[tuple[str, float, float]]) -> None:
    """In whatever order the first bytes come."""
    progress, now, elsewhere = known(), 0.0, 0.0
    waiting: dict[int, float] = {}
    for step, passed, tokens in how:
        now += passed
        match step:
            case "sent":
                waiting[progress.sent(tokens, now)] = tokens
            case "over":
                if not waiting:
                    continue
                call = list(waiting)[int(tokens) % len(waiting)]
                assert 0 <= progress.over(call, now) <= now
                del waiting[call]
            case _:
                elsewhere = tokens
                progress.hear([State(passed, tokens, inf)], now)

        assert 0 <= progress.computed(now) <= max(sum(waiting.values()), elsewhere)
