"""How many requests engines have, read from what real ones write and from what they should not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.route import Load
from proxy.core.workload import NOBODY, Workload, strangers, workload

VLLM = b"""\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 8.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 3.0
# HELP vllm:num_requests_waiting_by_reason Number of waiting requests by reason.
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 3.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 0.42
"""
RANKS = b"".join(
    b'vllm:num_requests_running{engine="%d",model_name="m"} 2.0\n'
    b'vllm:num_requests_waiting{engine="%d",model_name="m"} 1.0\n' % (rank, rank)
    for rank in range(4)
)
SGLANG = b"""\
# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 162.0
# HELP sglang:num_queue_reqs The number of requests in the waiting queue.
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 2826.0
"""
LLAMA = b"""\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1023
# HELP llamacpp:requests_processing Number of requests processing.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 4
# HELP llamacpp:requests_deferred Number of requests deferred.
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 2
"""
RUNNING = b"vllm:num_requests_running"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (VLLM, (8, 3)),
        (RANKS, (8, 4)),
        (SGLANG, (162, 2826)),
        (LLAMA, (4, 2)),
        (LLAMA.replace(b"\n", b"\r\n"), (4, 2)),
        (b"llamacpp:requests_processing 7", (7, 0)),
        (b"llamacpp:requests_processing\t7 1395066363000\n", (7, 0)),
        (RUNNING + rb'{model_name="a}b \" {c, 9"} 3' + b"\n", (3, 0)),
        (RUNNING + b"{} 1e3\n", (1000, 0)),
        (RUNNING + b" 1e300\n", (1e6, 0)),
        (RUNNING + b" NaN\n" + RUNNING + b" 2\n", (2, 0)),
    ],
)
def test_what_engines_write_is_read(text: bytes, told: tuple[float, float]) -> None:
    assert workload(text) == Workload(*told)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\xff\xfe",
        b"<html>404</html>",
        b"# " + RUNNING + b" 8\n",
        b'other{name="' + RUNNING + b' 8"} 1\n',
        RUNNING,
        RUNNING + b"\n8\n",
        RUNNING + b"_total 8\n",
        RUNNING + b" NaN\n",
        RUNNING + b" +Inf\n",
        RUNNING + b" -1\n",
        RUNNING + b" many\n",
        RUNNING + b'{a="b 8\n',
        RUNNING + b"{" * 10_000 + b" 8\n",
    ],
)
def test_what_cannot_be_read_says_nothing(text: bytes) -> None:
    assert workload(text) is None


def test_a_text_of_nothing_but_samples_ends_somewhere() -> None:
    assert workload(b"llamacpp:requests_processing 1\n" * 30_000) == (1024, 0)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_nothing_that_is_sent_does_any_harm(before: bytes, after: bytes) -> None:
    told = workload(before + b"\n" + RUNNING + after)

    assert told is None or 0 <= told.running <= 1e6


def test_what_is_not_of_the_gateways_is_of_others() -> None:
    found = strangers(Workload(8, 4), 6, 100.0)

    assert found.requests == 6
    assert found.load == Load(2 * 2048 + 4 * 256, 6)


@pytest.mark.parametrize(("told", "known"), [((3, 1), 4), ((3, 1), 9), ((0, 0), 0), ((0, 0), 2)])
def test_what_the_gateways_sent_is_nobody_elses(told: tuple[int, int], known: int) -> None:
    assert strangers(Workload(*told), known, 1.0).load == Load(0, 0)


def test_what_is_older_than_three_seconds_counts_for_nothing() -> None:
    found = strangers(Workload(9, 0), 0, 100.0)

    assert found.now(103.0).running == 9
    assert found.now(103.1) == NOBODY.now(0.0) == Load(0, 0)
