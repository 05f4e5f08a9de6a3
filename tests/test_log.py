"""What is told of requests, and what never is."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from proxy.adapters.log import MAX_WAITING, QUIET_SECONDS, Log
from proxy.core import events

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = 1_700_000_000.25


class Told:
    """A log that writes to a file, with a clock that is set by hand."""

    def __init__(self, descriptor: int, *, requests: bool = True) -> None:
        self.time = NOON
        self._descriptor = descriptor
        self.log = Log(descriptor, lambda: self.time, requests=requests)

    def lines(self) -> list[dict[str, Any]]:
        self.log.flush()
        return [orjson.loads(line) for line in self.text().splitlines()]

    def text(self) -> bytes:
        return os.pread(self._descriptor, 2**24, 0)


@pytest.fixture
def told() -> Iterator[Told]:
    with tempfile.TemporaryFile() as file:
        yield Told(file.fileno())


def test_a_request_is_one_line(told: Told) -> None:
    told.log(
        events.Served(
            endpoint="chat/completions",
            outcome="HIT",
            kind="exact",
            tier="memory",
            model="gpt-4o",
            fingerprint="0a1b2c3d",
            seconds=0.5,
            bytes_out=7,
        )
    )
    (line,) = told.lines()

    assert line["time"] == "2023-11-14T22:13:20.250Z"
    assert (line["event"], line["outcome"], line["tier"]) == ("request", "HIT", "memory")
    assert (line["model"], line["fingerprint"]) == ("gpt-4o", "0a1b2c3d")
    assert (line["seconds"], line["bytes_out"]) == (0.5, 7)


def test_the_fields_of_a_request_line_are_these(told: Told) -> None:
    """A new field of the event shows up here, so that somebody thinks about what it may hold."""
    told.log(events.Served())
    (line,) = told.lines()

    assert " ".join(line) == (
        "time event endpoint method status outcome kind tier reason tenant_name model node"
        " fingerprint request_id stream collapsed complete seconds first_byte_seconds"
        " overhead_seconds age bytes_in bytes_out tokens_in tokens_out"
    )


@pytest.mark.parametrize("chosen", ["x" * 500, "tell me a secret\n", "退款", "\ud800"])
def test_what_is_no_name_of_a_model_is_not_told(told: Told, chosen: str) -> None:
    told.log(events.Served(model=chosen))
    (line,) = told.lines()

    assert line["model"] == "?"


@pytest.mark.parametrize("field", ["request_id", "method"])
@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ("meta-llama/Llama-3.1:8b@q4", "meta-llama/Llama-3.1:8b@q4"),
        ("x" * 500, "x" * 64),
        ("tell me a secret\n", "tell?me?a?secret?"),
        ('","event":"forged', "???event?:?forged"),
        ("退款", "??"),
        ("\ud800", "?"),
    ],
)
def test_text_that_clients_choose_is_cut_to_a_name(
    told: Told, field: str, chosen: str, shown: str
) -> None:
    told.log(events.Served(**{field: chosen}))  # type: ignore[arg-type]  # one of three strings
    (line,) = told.lines()

    assert line[field] == shown


def test_a_key_is_never_shown_whole(told: Told) -> None:
    told.log(events.Served(fingerprint="0123456789abcdef" * 4))

    assert told.lines()[0]["fingerprint"] == "01234567"


def test_time_goes_on(told: Told) -> None:
    told.log(events.Served())
    told.time += 61.5
    told.log(events.Served())

    assert told.lines()[1]["time"] == "2023-11-14T22:14:21.750Z"


def test_request_lines_can_be_switched_off() -> None:
    with tempfile.TemporaryFile() as file:
        told = Told(file.fileno(), requests=False)
        told.log(events.Served())
        told.log(events.StoreReset("disk", "corrupt"))

        assert [line["event"] for line in told.lines()] == ["store_reset"]


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            events.TierFailed("disk", "get", "MapFullError"),
            {"event": "tier_failed", "tier": "disk", "operation": "get", "error": "MapFullError"},
        ),
        (
            events.UpstreamFailed("n", "cut"),
            {"event": "upstream_failed", "node": "n", "kind": "cut"},
        ),
        (
            events.UpstreamFailed("n", "connect", "no route to host"),
            {
                "event": "upstream_failed",
                "node": "n",
                "kind": "connect",
                "why": "no route to host",
            },
        ),
        (events.WorkerStarted(0, 7), {"event": "worker_started", "slot": 0, "pid": 7}),
        (
            events.WorkerDied(0, 7, -9, 1.25),
            {"event": "worker_died", "slot": 0, "pid": 7, "code": -9, "seconds": 1.25},
        ),
        (
            events.WorkerDied(0, 7, 0, 1.25, asked=True),
            {"event": "worker_ended", "slot": 0, "pid": 7, "code": 0, "seconds": 1.25},
        ),
        (events.WorkerSilent(2, 7), {"event": "worker_silent", "slot": 2, "pid": 7}),
        (events.WorkersGaveUp(5), {"event": "workers_gave_up", "deaths": 5}),
    ],
)
def test_what_an_operator_should_see_is_told(
    told: Told, event: events.Event, shown: dict[str, object]
) -> None:
    told.log(event)
    (line,) = told.lines()
    line.pop("time")

    assert line == shown


@pytest.mark.parametrize(
    "event",
    [
        events.TierLooked("memory", "hit", 0.1),
        events.FlightStarted(),
        events.Evicted("disk", "size"),
    ],
)
def test_what_is_only_counted_is_not_told(told: Told, event: events.Event) -> None:
    told.log(event)

    assert told.lines() == []


def test_trouble_that_repeats_is_told_once_in_a_while(told: Told) -> None:
    for _ in range(1000):
        told.log(events.TierFailed("disk", "get", "Error"))
    told.log(events.TierFailed("disk", "put", "Error"))
    told.time += QUIET_SECONDS
    told.log(events.TierFailed("disk", "get", "Error"))

    assert [(line["operation"], line.get("repeated")) for line in told.lines()] == [
        ("get", None),
        ("put", None),
        ("get", 999),
    ]


def test_each_death_of_a_worker_is_told(told: Told) -> None:
    for _ in range(3):
        told.log(events.WorkerDied(0, 7, -9, 1.0))

    assert len(told.lines()) == 3


def test_a_reader_that_is_stuck_holds_nobody_up() -> None:
    """Requests go on, memory stays bounded, and what was dropped is told once there is room."""
    read, write = os.pipe()
    log = Log(write, lambda: NOON)
    log.start()
    for _ in range(3 * MAX_WAITING):
        log(events.Served())
    with open(read, "rb") as pipe, ThreadPoolExecutor(1) as reader:
        lines = reader.submit(pipe.readlines)
        log.close(timeout=10)
        log(events.Served())
        log.flush()
        os.close(write)

    told = [orjson.loads(line) for line in lines.result()]
    dropped = sum(line["lines"] for line in told if line["event"] == "log_dropped")
    kept = sum(line["event"] == "request" for line in told)
    assert dropped > 0
    assert kept + dropped == 3 * MAX_WAITING + 1


def test_lines_in_a_pipe_stay_whole() -> None:
    """Several workers write to one pipe, which keeps only writes up to its limit together."""
    read, write = os.pipe2(os.O_DIRECT)  # each read returns one write, cut at that limit
    log = Log(write, lambda: NOON)
    for _ in range(40):
        log(events.Served())
    log.flush()
    os.close(write)
    with open(read, "rb", buffering=0) as pipe:
        writes = list(iter(lambda: pipe.read(65536), b""))

    assert sum(one.count(b"\n") for one in writes) == 40
    assert all(one.endswith(b"}\n") for one in writes)


def test_the_end_writes_what_is_left(told: Told) -> None:
    told.log.start()
    told.log(events.Served())
    told.log.close()

    assert told.text().count(b"\n") == 1


def test_a_log_nobody_reads_any_more_fails_no_request() -> None:
    read, write = os.pipe()
    os.close(read)
    log = Log(write, lambda: NOON)
    log(events.Served())
    log.flush()
    os.close(write)
