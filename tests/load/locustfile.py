"""A load of four kinds of client against a running proxy.

    make run     # in one terminal
    make load    # in another; LOAD="-u 200 -r 50 -t 5m" for more

`HOTPREFIX_LOAD_SEED` makes two runs ask the same questions, `HOTPREFIX_LOAD_QUESTIONS` says how
many there are. The share of answers from the cache is printed at the end.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter
from typing import Any, Final

from locust import HttpUser, between, events, task

MODEL: Final = "demo-chat"
QUESTIONS: Final = int(os.environ.get("HOTPREFIX_LOAD_QUESTIONS", "2000"))
SEED: Final = os.environ.get("HOTPREFIX_LOAD_SEED") or os.urandom(4).hex()
DICE: Final = random.Random(SEED)

# Zipf: the question of rank r is asked 1/r as often as the first.
RANKS: Final = range(QUESTIONS)
WEIGHTS: Final = list(itertools.accumulate(1 / (rank + 1) for rank in RANKS))
OUTCOMES: Final[Counter[str]] = Counter()


def question() -> str:
    """One of the questions, the popular ones more often."""
    rank = DICE.choices(RANKS, cum_weights=WEIGHTS)[0]
    return f"[{SEED}] Question {rank}: how is a cache key made of its parts?"


class Client(HttpUser):
    """What all have in common: one proxy, one credential, outcomes counted."""

    abstract = True
    host = "http://127.0.0.1:8080"

    def ask(self, name: str, body: dict[str, Any]) -> str:
        """Send a chat completion, read the whole answer, return it."""
        with self.client.post(
            "/v1/chat/completions",
            json={"model": MODEL, **body},
            headers={"authorization": "Bearer load-test"},
            name=name,
            stream=bool(body.get("stream")),
            catch_response=True,
        ) as answer:
            text = str(answer.text)
            if answer.status_code != 200:
                answer.failure(f"status {answer.status_code}")
            elif body.get("stream") and not text.rstrip().endswith("data: [DONE]"):
                answer.failure("the stream has no end marker")
            OUTCOMES[answer.headers.get("x-cache", "none")] += 1
            return text


class Reader(Client):
    """Short questions by Zipf, as JSON."""

    weight = 6
    wait_time = between(0.01, 0.1)

    @task
    def short(self) -> None:
        self.ask("short", {"messages": [{"role": "user", "content": question()}]})


class Listener(Client):
    """The same questions, streamed; every other one asks for usage."""

    weight = 3
    wait_time = between(0.01, 0.1)

    @task
    def stream(self) -> None:
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": question()}],
            "stream": True,
        }
        if DICE.getrandbits(1):
            body["stream_options"] = {"include_usage": True}
        self.ask("stream", body)


class Agent(Client):
    """A conversation that grows by a tool result each turn, to some 100 kB, then starts anew."""

    weight = 2
    wait_time = between(0.1, 0.5)
    turns: list[dict[str, Any]]

    def on_start(self) -> None:
        self.begin()

    def begin(self) -> None:
        rules = "You are a coding agent. Read before you write. " * 200
        self.turns = [{"role": "system", "content": rules}]
        self.turns.append({"role": "user", "content": question()})

    @task
    def turn(self) -> None:
        tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
        self.ask("agent turn", {"messages": self.turns, "tools": tools})
        call = f"call_{len(self.turns)}"
        function = {"name": "read_file", "arguments": f'{{"path": "part{len(self.turns)}.py"}}'}
        calls = [{"id": call, "type": "function", "function": function}]
        self.turns.append({"role": "assistant", "content": None, "tool_calls": calls})
        listing = "def part(value):\n    return value + 1\n" * 100
        self.turns.append({"role": "tool", "tool_call_id": call, "content": listing})
        if len(self.turns) > 48:
            self.begin()


class Crowd(Client):
    """Clients that all ask one new question on each full second."""

    weight = 3

    def wait_time(self) -> float:
        return 1 - time.time() % 1

    @task
    def together(self) -> None:
        text = f"[{SEED}] What happened in second {round(time.time())}?"
        self.ask("stampede", {"messages": [{"role": "user", "content": text}]})


@events.quitting.add_listener
def report(**_: object) -> None:
    """Print how the cache answered."""
    total = sum(OUTCOMES.values()) or 1
    shares = (f"{name} {count / total:.1%}" for name, count in OUTCOMES.most_common())
    print(f"x-cache of {total} answers: {', '.join(shares)}")
