"""What workers and the semantic process say to each other: a length, then one message."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["canonical", "semantic"]
"""Found by the canonical question, or as the nearest neighbour."""

Action: TypeAlias = Literal["serve", "verify", "judge", "promote", "none"]
"""Serve the stored answer; ask upstream and compare; serve it if the judge agrees; ask upstream,
and the judge behind it, for the next time; or there is none."""

Why: TypeAlias = Literal["purged", "wrong", "dead", "evicted", "expired", "void", "bound"]
"""Why a question is forgotten: its answer was purged; somebody called a hit on it wrong; a request
met that it is gone; no tier holds it any more; its time is over; everything from before an epoch is
void; or there is room for no more questions."""

LENGTH: Final = 4
"""Bytes, big-endian, before each message."""
LARGEST: Final = 1 << 24
FORGOTTEN: Final = "forgotten_"


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stored question."""

    key: bytes
    """32 bytes: the key of its answer."""
    scope: bytes
    """32 bytes: the fingerprint of everything but the question."""
    text: str
    expires: float
    """Unix seconds."""
    epoch: int = 0
    """Known when the answer was asked for: what is older than a later one is void."""
    tag: str = ""
    """Of the embedder that made the vector; empty: there is none yet."""
    vector: bytes = b""
    """Half-precision little-endian numbers, length 1."""
    form: bytes = b""
    """Of the canonical question, as `Found` had it; empty: not known."""
    ttl: float = math.inf
    """Seconds that the answer lives, from its beginning on."""


class Label(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Whether a stored answer would have been right for a new question."""

    name: bytes
    """16 bytes, another one each time: a label that comes twice counts once."""
    group: str
    """Of scopes whose errors are counted together: model and language."""
    kind: Kind
    similarity: float
    key: bytes
    wrong: bool
    basis: bytes = b""
    """Of a neighbour: what its similarity was measured by, see `policy.basis`."""


class Block(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A pair that somebody said was wrong: never again. In digests, since no text is to travel."""

    pair: bytes
    """16 bytes for scope, question and answer."""
    asked: bytes
    """The same for scope and question."""
    key: bytes


class Nearest(msgspec.Struct, frozen=True, tag="nearest"):
    """Is there a stored answer to a question that means the same?"""

    scope: bytes
    group: str
    text: str
    ttl: float
    """Seconds that an answer to it would live."""
    epoch: int = 0
    threshold: float = 0.0
    """The least similarity that this request takes; it can only raise the general one."""


class Found(msgspec.Struct, frozen=True, tag="found"):
    """The answer to `Nearest`."""

    action: Action = "none"
    key: bytes = b""
    scope: bytes = b""
    kind: Kind = "semantic"
    similarity: float = 0.0
    threshold: float = 0.0
    reason: str = ""
    """Why it is not served: scope_empty, below_threshold, guard:NAME, ineligible:WHY, budget,
    sampled, shadow, judge (it said no), judge_unknown (it said nothing)."""
    group: str = ""
    """The one asked for, with the question's language."""
    tag: str = ""
    vector: bytes = b""
    """Of the question asked, where it was embedded: to be stored with the answer to it."""
    form: bytes = b""
    """Of the canonical question, to be stored likewise."""
    mark: int = 0
    """To be told if it turns out that the answer is gone."""


class Learn(msgspec.Struct, frozen=True, tag="learn"):
    """Remember these stored questions; one of the same key is replaced."""

    records: tuple[Record, ...]


class Forget(msgspec.Struct, frozen=True, tag="forget"):
    """The answers under these keys are gone."""

    keys: tuple[bytes, ...]
    why: Why = "purged"
    mark: int | None = None
    """Of the message that had them looked for: what was learnt since then stays."""


class Review(msgspec.Struct, frozen=True, tag="review"):
    """Of which stored questions are the answers to be looked for next? Each time others, until all
    had their turn."""

    most: int


class Reviewed(msgspec.Struct, frozen=True, tag="reviewed"):
    """The answer to `Review`."""

    keys: tuple[bytes, ...]
    mark: int
    """To be told with those that are found to be gone."""


class Compare(msgspec.Struct, frozen=True, tag="compare"):
    """A stored answer and the one that the upstream gave now: was the stored one right?"""

    found: Found
    text: str
    stored: str
    answered: str


class Consult(msgspec.Struct, frozen=True, tag="consult"):
    """Does a stored answer answer this question? Answered by `Found`: to be served, or not."""

    found: Found
    text: str
    stored: str


class Served(msgspec.Struct, frozen=True, tag="served"):
    """A request was answered with what was found: somebody may call that wrong later, by its id. A
    look-up alone says nothing: the answer may be gone, or the judge against it. Answered by the
    `Lesson` that would follow, for who is told of it on another machine."""

    found: Found
    text: str
    request: str


class Blame(msgspec.Struct, frozen=True, tag="blame"):
    """The hit that this request was served was wrong, somebody says."""

    request: str


class Lesson(msgspec.Struct, frozen=True, tag="lesson"):
    """What was learnt of errors: the answer to `Compare`, and news of other machines, to which the
    answer is `Blamed`. Empty where nothing could be said."""

    labels: tuple[Label, ...] = ()
    blocks: tuple[Block, ...] = ()


class Blamed(msgspec.Struct, frozen=True, tag="blamed"):
    """The answer to `Blame`, and to a `Lesson`: what follows; nothing where no such hit is known
    (any more)."""

    lesson: Lesson
    closed: bool = False
    """Whether hits of its group and kind are not served now, however near."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The answer to `Learn` and `Forget`."""

    count: int = 0
    missed: tuple[bytes, ...] = ()
    """Keys of what was learnt without the vector that it could have."""


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """What is the state of it?"""


class State(msgspec.Struct, frozen=True, tag="state"):
    """The answer to `Ask`; figures by name, and the groups with threshold and bound. Of what was
    forgotten by reason, `FORGOTTEN` stands before the reason's name."""

    figures: dict[str, float]
    groups: dict[str, dict[str, float]]


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """It could not be done: busy, or whatever the embedder or the index met."""

    reason: str


Message: TypeAlias = (
    Nearest
    | Found
    | Learn
    | Forget
    | Review
    | Reviewed
    | Compare
    | Consult
    | Served
    | Blame
    | Blamed
    | Lesson
    | Done
    | Ask
    | State
    | Failed
)


class Framed(msgspec.Struct, frozen=True, array_like=True):
    """A message with the number that its answer bears."""

    number: int
    message: Message
