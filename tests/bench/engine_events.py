"""What a real engine's cache events are good for: it is emptied, killed, and what it says is lost.

    python -m tests.bench.engine_events --model NAME
        --engine URL --events ADDRESS --replay ADDRESS
        --engine URL --events ADDRESS --replay ADDRESS [--restart COMMAND] [--fill TOKENS]

Two engines that run already and publish their events (vLLM with VLLM_SERVER_DEV_MODE=1, for
`/reset_prefix_cache`; URL ends in /v1). Hotprefix before them sends them no probes here, so that
nothing but events can tell it what became of them. Where batches are to be lost, they come to it by
a relay. COMMAND is a shell's: it kills the engine of port `{port}`, starts it again, and is over
when that answers. TOKENS: so many at most are computed until an engine has to remove some.

One prompt is asked again after each of these. A line tells what its node was thought to have kept
of it (ours: bytes / 4), what the engine says that it had (by its own count), and what was heard
until then. vLLM says nothing between its steps, so in some lines another prompt is sent there
first, past Hotprefix. Exit code 1: a line came out otherwise than it should.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import zmq

from tests.bench.engine_chat import asked, opening, question
from tests.bench.engine_route import decided
from tests.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES: Final = ("a", "b")
_PATIENCE: Final = 5.0
"""Seconds that news may take."""
_SETTLED: Final = 0.3
"""Seconds after which all that was published has come."""
_KINDS: Final = ("stored", "removed", "cleared", "restart", "gap", "lost", "silent", "garbled")


class Relay:
    """Passes on what a publisher says, or loses it."""

    def __init__(self, source: str) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._near, self._far = context.socket(zmq.SUB), context.socket(zmq.PUB)
        self._near.subscribe(b"")
        self._near.connect(source)
        port = self._far.bind_to_random_port("tcp://127.0.0.1")
        self.url = f"tcp://127.0.0.1:{port}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.losing = False
        self.lost: list[list[bytes]] = []

    def _run(self) -> None:
        while not self._over.is_set():
            if self._near.poll(50):
                frames = self._near.recv_multipart()
                if self.losing:
                    self.lost.append(frames)
                else:
                    self._far.send_multipart(frames)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for one in (self._near, self._far):
            one.close(linger=0)


class Trial:
    """A prompt, and the node that it lies at."""

    def __init__(self, before: Gateway, options: argparse.Namespace) -> None:
        self._before, self._options = before, options
        self._chance = random.Random()
        self._talk = [*opening(self._chance, 900), question(self._chance, 0)]
        self._heard = self._sums()
        self.at = 0
        """Its place among the engines."""
        self.well = True

    @property
    def _engine(self) -> str:
        return str(self._options.engine[self.at])

    def ask(self, what: str, *, thought: bool, kept: bool) -> None:
        """Ask the prompt by Hotprefix. `thought`, `kept`: whether it should be at its node."""
        said = asked(self._before.base_url, self._options.model, self._talk)
        made, believed = decided(self._before), int(said.headers.get("x-upstream-cached", 0))
        self.at = NAMES.index(str(made["node"]))
        good = (believed > 0, said.cached > 0) == (thought, kept)
        self.well = self.well and good
        time.sleep(_SETTLED)
        heard, before = self._sums(), self._heard
        self._heard = heard
        news = [f"{kind} {heard[kind] - before[kind]:.0f}" for kind in heard]
        shown = f"{believed:5} of {made['tokens']}  {said.cached:5} of {said.tokens}  "
        told = " ".join(one for one in news if not one.endswith(" 0"))
        mark = "" if good else "   NOT AS IT SHOULD BE"
        print(f"{what:43} {made['node']} {made['reason']:5} {shown} {told}{mark}", flush=True)

    def step(self) -> None:
        """Let its engine do something else, and so say what it has to say."""
        talk = [*opening(self._chance, 150), question(self._chance, 1)]
        asked(self._engine, self._options.model, talk)

    def until(self, kind: str) -> None:
        """Until that was heard, or not in time."""
        ends = time.monotonic() + _PATIENCE
        while self._sums()[kind] == self._heard[kind] and time.monotonic() < ends:
            time.sleep(0.05)

    def clear(self) -> None:
        url = self._engine.removesuffix("/v1") + "/reset_prefix_cache"
        with urllib.request.urlopen(urllib.request.Request(url, method="POST")) as answer:
            answer.read()

    def restart(self) -> None:
        port = str(urlsplit(self._engine).port)
        command = self._options.restart.replace("{port}", port)
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)

    def lose(self, relays: Sequence[Relay]) -> None:
        """A batch of its engine; the next one shows it."""
        relays[self.at].losing = True
        self.step()
        time.sleep(_SETTLED)
        relays[self.at].losing = False
        self.step()
        self.until("gap")
        time.sleep(_SETTLED)

    def fill(self) -> None:
        """Have its engine compute until it removes blocks; and what is known of its room then."""
        left = self._options.fill
        while left > 0 and self._sums()["removed"] == self._heard["removed"]:
            left -= asked(self._engine, self._options.model, opening(self._chance, 4000)).tokens
        time.sleep(_SETTLED)
        held, room = (
            self._before.total("hotprefix_engine_tokens", node=NAMES[self.at], kind=kind)
            for kind in ("held", "room")
        )
        self.well = self.well and room > 0
        print(f"it holds {held:.0f} tokens, and has room for {room:.0f}, by its events", flush=True)

    def _sums(self) -> dict[str, float]:
        name = "hotprefix_engine_events_total"
        return {kind: self._before.total(name, kind=kind) for kind in _KINDS}


def heard(trial: Trial, options: argparse.Namespace) -> None:
    """What happens to an engine, told by its events."""
    trial.ask("a new prompt", thought=False, kept=False)
    trial.ask("again", thought=True, kept=True)
    trial.clear()
    trial.step()
    trial.until("cleared")
    trial.ask("emptied, and another prompt since", thought=False, kept=False)
    trial.ask("again", thought=True, kept=True)
    trial.clear()
    trial.ask("emptied, and no step since", thought=True, kept=False)
    trial.ask("again", thought=True, kept=True)
    if options.restart:
        trial.restart()
        trial.until("restart")
        trial.ask("killed and started, and no step since", thought=False, kept=False)
        trial.ask("again", thought=True, kept=True)
    if options.fill:
        trial.fill()


def missed(trial: Trial, relays: Sequence[Relay], *, replay: bool) -> None:
    """Batches that were lost on the way."""
    trial.ask("a new prompt, by a relay", thought=False, kept=False)
    trial.ask("again", thought=True, kept=True)
    trial.lose(relays)
    what = "a batch lost, had from the replay" if replay else "a batch lost, and no replay"
    trial.ask(what, thought=replay, kept=True)
    trial.ask("again", thought=True, kept=True)


def gateway(
    folder: Path, options: argparse.Namespace, events: Sequence[str], *, replay: bool = True
) -> Gateway:
    nodes = []
    for at, name in enumerate(NAMES):
        node = {"name": name, "url": options.engine[at], "probe": "", "events": events[at]}
        nodes.append(node | ({"events_replay": options.replay[at]} if replay else {}))
    return Gateway(folder, "", {"upstream": nodes, "log": {"requests": False}})


def run(options: argparse.Namespace) -> bool:
    """Whether all lines are as they should be."""
    print(f"{'':43} node    thought         kept           heard since the line before")
    well = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        relays = [stack.enter_context(Relay(one)) for one in options.events]
        far = [relay.url for relay in relays]
        for name, events, replay in (
            ("direct", options.events, True),
            ("relayed", far, True),
            ("alone", far, False),
        ):
            before = gateway(folder / name, options, events, replay=replay)
            before.start()
            stack.callback(before.stop)
            time.sleep(_SETTLED)
            trial = Trial(before, options)
            if name == "direct":
                heard(trial, options)
            else:
                missed(trial, relays, replay=replay)
            well = well and trial.well
    return well


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.engine_events",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in ("engine", "events", "replay"):
        parser.add_argument(f"--{name}", action="append", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--restart", default="")
    parser.add_argument("--fill", type=int, default=0)
    return 0 if run(parser.parse_args()) else 1


if __name__ == "__main__":
    sys.exit(main())
