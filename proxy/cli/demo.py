"""`hotprefix demo`: a labelled stand-in upstream, for trying things without a model."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

from proxy.quantity import seconds

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("demo", help="run a stand-in upstream with deterministic answers")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8082, help="0 picks a free one")
    parser.add_argument("--latency", type=seconds, default=0.0, help="before the first byte: 200ms")
    parser.add_argument("--token-delay", type=seconds, default=0.0, help="between two events: 20ms")
    parser.add_argument(
        "--remember",
        action="store_true",
        help="keep prompts as an engine does, and tell in the usage how much of one was kept",
    )
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    # uvloop and aiohttp take 0.2 s to load: only the command that serves with them pays.
    import uvloop

    return uvloop.run(_serve(args))


async def _serve(args: argparse.Namespace) -> int:
    from proxy.adapters.demo.kept import Kept
    from proxy.adapters.demo.server import Pace, start

    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    try:
        pace, kept = Pace(args.latency, args.token_delay), Kept() if args.remember else None
        runner, port = await start(args.host, args.port, pace, kept)
    except OSError as error:
        said = f"cannot listen on {args.host}:{args.port}: {error.strerror}"
        print(f"hotprefix: {said}", file=sys.stderr)
        return 1
    print(f"demo upstream (no model behind it): base_url http://{args.host}:{port}/v1", flush=True)
    if args.until_eof:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    await runner.cleanup()
    return 0
