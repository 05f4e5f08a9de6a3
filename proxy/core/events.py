"""What happened, as values; the log and the metrics render them, not the code that emits them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Outcome: TypeAlias = Literal[
    "HIT", "STALE", "MISS", "COLLAPSED", "BYPASS", "REFRESH", "STATIC", "ERROR"
]
"""What `x-cache` says; STATIC: a configured text; ERROR: our own words, such as a refusal."""

Kind: TypeAlias = Literal["", "exact", "normalized", "canonical", "semantic"]
Operation: TypeAlias = Literal["get", "put", "delete", "sweep", "open", "purge", "loop", "audit"]
BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
Looked: TypeAlias = Literal["hit", "miss", "error"]
Landing: TypeAlias = Literal["completed", "failed", "cancelled"]
"""How a flight ended."""


class Served(msgspec.Struct, frozen=True, gc=False):
    """A request is over. Times are seconds, sizes bytes. Strings that clients choose (`model`,
    `request_id`) are for the log alone, which cuts them; no label is made of them."""

    endpoint: str = "other"
    """The value of an `Endpoint`, or `other`."""
    method: str = "POST"
    status: int = 200
    outcome: Outcome = "BYPASS"
    kind: Kind = ""
    tier: str = ""
    """Where the answer was found; empty: not in the cache."""
    reason: str = ""
    """Why it was bypassed, missed or refused: one word of a closed set."""
    tenant_name: str = ""
    model: str = ""
    node: str = ""
    fingerprint: str = ""
    """The first 8 hex digits of the key."""
    request_id: str = ""
    stream: bool = False
    collapsed: bool = False
    complete: bool = True
    """False: the client left or the upstream broke off before the end."""
    seconds: float = 0.0
    first_byte_seconds: float = 0.0
    overhead_seconds: float = 0.0
    """What the proxy itself took before the first byte, waiting for others left out."""
    age: float | None = None
    """Age of the entry that was served; None: none was."""
    bytes_in: int = 0
    bytes_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class TierLooked(msgspec.Struct, frozen=True, gc=False):
    """A tier was asked for an entry."""

    tier: str
    result: Looked
    seconds: float


class TierFailed(msgspec.Struct, frozen=True, gc=False):
    """A tier could not do what was asked; the path went on without it."""

    tier: str
    operation: Operation
    error: str = ""
    """The error's class, never its text: texts may quote data."""


class TierMeasured(msgspec.Struct, frozen=True, gc=False):
    """How full a tier is now."""

    tier: str
    bytes: int
    entries: int
    shared: bool = False
    """Whether all workers see the same tier, so that their numbers must not be added up."""


class StoreSkipped(msgspec.Struct, frozen=True, gc=False):
    """An answer was not stored."""

    reason: str


class Evicted(msgspec.Struct, frozen=True, gc=False):
    """Entries were dropped by a tier itself. `reason`: size, expired or purge."""

    tier: str
    reason: str
    count: int = 1


class StoreReset(msgspec.Struct, frozen=True, gc=False):
    """A tier began anew, empty. `reason`: corrupt, foreign, version, size, or
    encryption: it was switched on or off."""

    tier: str
    reason: str


class FlightStarted(msgspec.Struct, frozen=True, gc=False):
    """An upstream call began that others may join."""


class FlightJoined(msgspec.Struct, frozen=True, gc=False):
    """A further reader waits for a flight."""


class FlightLeft(msgspec.Struct, frozen=True, gc=False):
    """A reader that had joined is done, or gave up."""


class FlightEnded(msgspec.Struct, frozen=True, gc=False):
    """The upstream call that others could join is over."""

    outcome: Landing


class UpstreamAnswered(msgspec.Struct, frozen=True, gc=False):
    """A node answered; told once a call, whoever read it and however far."""

    node: str
    status: int
    first_byte_seconds: float
    seconds: float
    tokens_in: int = 0
    tokens_out: int = 0


class UpstreamFailed(msgspec.Struct, frozen=True, gc=False):
    """A node gave no whole answer. `kind`: connect, timeout, protocol or cut. `why`: of connect."""

    node: str
    kind: str
    why: str = ""


class BreakerMoved(msgspec.Struct, frozen=True, gc=False):
    """A node's breaker for one model changed its state."""

    node: str
    model: str
    """For the log alone; no label is made of it."""
    state: BreakerState


class NodeMeasured(msgspec.Struct, frozen=True, gc=False):
    """How many calls a node may have and has now, and how many requests wait for it."""

    node: str
    limit: int
    running: int
    waiting: int
    open: int
    """Breakers that let nothing pass."""


class NodeTurned(msgspec.Struct, frozen=True, gc=False):
    """A node is left out, on trial, or in again. `state`: out, trial, in."""

    node: str
    state: str


class NodeSuspected(msgspec.Struct, frozen=True, gc=False):
    """A node's first byte was late and nothing else came of it, so it is probed at once."""

    node: str


class NodeVoid(msgspec.Struct, frozen=True, gc=False):
    """By a node's own words, what was known of it holds no longer. `reason`: of its events restart,
    cleared, lost; usage: of its answers' usage."""

    node: str
    reason: str


class BlocksTold(msgspec.Struct, frozen=True, gc=False):
    """An engine told of blocks that it `stored` or `removed`, or its events were out of order:
    `kind` is one word of a closed set."""

    node: str
    kind: str
    count: int = 1


class BlocksHeld(msgspec.Struct, frozen=True, gc=False):
    """Tokens that an engine holds, and has room for, by its own count; 0: unknown."""

    node: str
    tokens: int
    room: int


class EngineAsked(msgspec.Struct, frozen=True, gc=False):
    """An engine was asked for its load. `result`: ok, failed, unreadable, too_large."""

    node: str
    result: str


class EngineLoaded(msgspec.Struct, frozen=True, gc=False):
    """Requests that an engine has, by its own count, and of others than the gateways."""

    node: str
    running: float
    waiting: float
    others: float


class Routed(msgspec.Struct, frozen=True, gc=False):
    """A node was chosen out of several. `reason`: hit, spill, cold, ring, least, random."""

    node: str
    reason: str


class PrefixReported(msgspec.Struct, frozen=True, gc=False):
    """A node told how much of a prompt it had kept. Tokens, as estimated here."""

    node: str
    predicted: int
    reported: int
    prompt: int


class RowsMoved(msgspec.Struct, frozen=True, gc=False):
    """Rows of the table of what nodes hold that was shared. `way`: written, or read."""

    way: str
    rows: int


class Warmed(msgspec.Struct, frozen=True, gc=False):
    """A shadow call is over, or was not made. `outcome`: one word of a closed set. `tokens`:
    computed for it; `money`: spent on it, by the provider's rules."""

    node: str
    outcome: str
    tokens: int = 0
    money: float = 0.0


class ScheduleUnread(msgspec.Struct, frozen=True, gc=False):
    """A schedule's file could not be read, or some of its lines are no requests."""

    file: str
    """As it is configured."""
    error: str
    """The class of the error; empty where the file could be read."""
    lines: int = 0
    """That are no requests."""
    line: int = 0
    """The number of the first of them, from 1 on."""
    why: str = ""
    """What is wrong with it."""


class WarmUsed(msgspec.Struct, frozen=True, gc=False):
    """The first request found what was warmed: tokens that it need not wait for."""

    node: str
    tokens: int


class Retried(msgspec.Struct, frozen=True, gc=False):
    """A request goes to a further node; `allowed` False: there was no budget for that."""

    allowed: bool


class Shed(msgspec.Struct, frozen=True, gc=False):
    """A request that was not sent upstream. `reason`: queue_full, queue_timeout, breaker."""

    reason: str


class Degraded(msgspec.Struct, frozen=True, gc=False):
    """A request got less than a fresh answer. `step`: stale, static or error."""

    step: str


class Limited(msgspec.Struct, frozen=True, gc=False):
    """A tenant has used up what it may ask for. `kind`: requests or tokens."""

    kind: str


class Refreshed(msgspec.Struct, frozen=True, gc=False):
    """A flight was started behind an answer. `reason`: stale or early."""

    reason: str


class TierTurned(msgspec.Struct, frozen=True, gc=False):
    """A tier stopped or began to work; told once a change."""

    tier: str
    working: bool
    error: str = ""
    """The class of the last error."""


class TierKnown(msgspec.Struct, frozen=True, gc=False):
    """A tier works, as was to be expected, or is not there yet; told once, so that the metrics show
    it from then on."""

    tier: str
    working: bool = True


class TierSpared(msgspec.Struct, frozen=True, gc=False):
    """A look-up that was not made: the tier does not have the key."""

    tier: str


class MeaningLooked(msgspec.Struct, frozen=True, gc=False):
    """An answer to a question that means the same was looked for. `result`: canonical, semantic, or
    why there is none; one word of a closed set, after a colon a second one."""

    result: str
    similarity: float = 0.0
    """Of the best candidate; 0: there was none."""


class MeaningJudged(msgspec.Struct, frozen=True, gc=False):
    """A stored answer was compared with the upstream's, or called wrong by somebody."""

    kind: str
    wrong: bool
    similarity: float = 0.0
    """Of the two questions."""
    group: str = ""
    """Model and language; for the log alone."""


class MeaningForgotten(msgspec.Struct, frozen=True, gc=False):
    """The semantic process has forgotten stored questions. `reason`: one word of a closed set."""

    reason: str
    count: int


class MeaningMeasured(msgspec.Struct, frozen=True, gc=False):
    """What the semantic process holds, and what it knows of its errors."""

    entries: float
    vectors: float
    scopes: float
    bytes: float
    labels: float
    errors: float
    error_bound: float
    """The highest of all groups of scopes that serve neighbours; an upper bound."""
    closed: float
    """Groups that serve none, by what was wrong."""
    unopened: float
    """Groups that serve none yet: nothing was wrong, but too few were compared."""


class BacklogFull(msgspec.Struct, frozen=True, gc=False):
    """Work behind an answer was dropped."""


class WorkerStarted(msgspec.Struct, frozen=True, gc=False):
    """The supervisor forked a worker; `slot` counts from 0 and outlives its workers."""

    slot: int
    pid: int


class WorkerDied(msgspec.Struct, frozen=True, gc=False):
    """A worker ended. `code`: its exit code, or minus the signal that killed it."""

    slot: int
    pid: int
    code: int
    seconds: float
    """How long it lived."""
    asked: bool = False
    """Whether it was told to end."""


class WorkerSilent(msgspec.Struct, frozen=True, gc=False):
    """A process that helps the workers said no more that it is well, and is killed."""

    slot: int
    pid: int


class WorkersGaveUp(msgspec.Struct, frozen=True, gc=False):
    """No worker ever served, so none is started any more."""

    deaths: int


Event: TypeAlias = (
    Served
    | TierLooked
    | TierFailed
    | TierMeasured
    | StoreSkipped
    | Evicted
    | StoreReset
    | FlightStarted
    | FlightJoined
    | FlightLeft
    | FlightEnded
    | UpstreamAnswered
    | UpstreamFailed
    | BreakerMoved
    | NodeMeasured
    | NodeTurned
    | NodeSuspected
    | NodeVoid
    | BlocksTold
    | BlocksHeld
    | EngineAsked
    | EngineLoaded
    | Routed
    | PrefixReported
    | RowsMoved
    | Warmed
    | WarmUsed
    | ScheduleUnread
    | Retried
    | Shed
    | Degraded
    | Limited
    | Refreshed
    | TierTurned
    | TierKnown
    | TierSpared
    | MeaningLooked
    | MeaningJudged
    | MeaningForgotten
    | MeaningMeasured
    | BacklogFull
    | WorkerStarted
    | WorkerDied
    | WorkerSilent
    | WorkersGaveUp
)
