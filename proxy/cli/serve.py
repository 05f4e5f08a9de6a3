"""`hotprefix serve`: the proxy."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proxy.config import Config, ConfigError, Disk, Objects, Redis, Upstream
from proxy.environment import located

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser("serve", help="run the proxy")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: HOTPREFIX_CONFIG")
    parser.add_argument(
        "--demo",
        action="store_true",
        help="serve the built-in demo upstream, whatever is configured",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    # The gateway's libraries take 0.3 s to load: no other command pays for them.
    from proxy.app import serve

    try:
        with ExitStack() as stack:
            config = stack.enter_context(located(args.config, os.environ))
            demo = args.demo or not config.upstream
            if demo:
                url = stack.enter_context(_demo())
                config = _demonstrating(config, url)

            def opened(port: int, admin_port: int) -> None:
                print(_welcome(config, port, admin_port, demo=demo), file=sys.stderr, flush=True)

            return serve(config, os.environ, opened)
    except ConfigError as error:
        print(f"hotprefix: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"hotprefix: {error.strerror or error}", file=sys.stderr)
        return 1


def _demonstrating(config: Config, url: str) -> Config:
    """With the demo as the only upstream. What it answers stays in memory: kept anywhere else, it
    would be a hit for the same question once there is a real upstream."""
    cache = msgspec.structs.replace(
        config.cache, disk=Disk(path="off"), redis=Redis(), objects=Objects()
    )
    node = Upstream(name="demo", url=url)
    return msgspec.structs.replace(config, upstream=(node,), cache=cache)


def _welcome(config: Config, port: int, admin_port: int, *, demo: bool) -> str:
    """What a newcomer needs."""
    base = f"http://{_named(config.server.host)}:{port}/v1"
    model = "demo-chat" if demo else "MODEL"
    body = f'{{"model":"{model}","messages":[{{"role":"user","content":"Hello!"}}]}}'
    label = "  (demo upstream: no model behind it)" if demo else ""
    given = f"-H 'content-type: application/json' -d '{body}'"
    return (
        f"base_url  {base}{label}\n"
        f"try       curl -i {base}/chat/completions {given}\n"
        f"metrics   http://{_named(config.admin.host)}:{admin_port}/metrics"
    )


def _named(host: str) -> str:
    """As it is written in a URL that reaches it from this machine."""
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


@contextmanager
def _demo() -> Iterator[str]:
    """The demo upstream in a process of its own, which ends when this one does: its base URL."""
    command = [sys.executable, "-m", "proxy", "demo", "--port", "0", "--until-eof"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        if "http" not in line:
            raise OSError("the demo upstream did not start")
        try:
            yield line.split()[-1]
        finally:
            child.terminate()
