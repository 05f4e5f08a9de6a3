"""Deliberate breakages, one at a time: does a test notice each of them?

    python -m tests.bench.mutants            # all of mutations.toml, a few minutes
    python -m tests.bench.mutants --list     # what is broken, and what that would do to a user
    python -m tests.bench.mutants --only 7

Works on a copy of the tree. Ends with an error if one survived, or could not be tried: then its
text in the table has to follow the code.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).parent.parent.parent
TABLE: Final = Path(__file__).with_name("mutations.toml")
COPIED: Final = ("proxy", "semantic", "tests")
PATIENCE: Final = 120.0
"""Seconds for one run; each single test has its own, shorter limit."""
FIRST: Final = 600.0
"""The same for the run of all without a breakage."""

AT_ONCE: Final = 2
"""Runs side by side. More of them would make tests fail that look at real time."""

# What pytest ends with: all passed, or a test failed. Anything else is no verdict on the code.
_PASSED: Final = 0
_FAILED: Final = 1
_NOTICED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One breakage."""

    name: str
    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    harm: str
    """What it would do to a user."""
    tests: tuple[str, ...]
    """The files of which a test must fail; of a slow one, the test."""


class UntriedError(Exception):
    """A breakage that could not be tried, so that nothing is known of its tests."""


class Ended(NamedTuple):
    """A run of tests that came to a verdict."""

    passed: bool
    noticed: str
    """The first test that failed."""


def mutations() -> list[Mutation]:
    """The table. Raises: msgspec.ValidationError."""
    given = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutation"]
    return msgspec.convert(given, list[Mutation])


def copied(root: Path) -> None:
    """Put what the tests need into `root`, a new folder."""
    for folder in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    for file in ("pyproject.toml", "config.example.toml"):
        shutil.copy(ROOT / file, root)


@contextmanager
def broken(root: Path, mutation: Mutation) -> Iterator[None]:
    """The copy in `root` with this one breakage. Raises: UntriedError."""
    path = root / mutation.file
    sound = path.read_text(encoding="utf-8")
    if (count := sound.count(mutation.old)) != 1:
        raise UntriedError(f"expected its text once in {mutation.file}, found it {count} times")
    text = sound.replace(mutation.old, mutation.new)
    try:
        compile(text, mutation.file, "exec")
    except SyntaxError as error:
        raise UntriedError(f"what it makes of {mutation.file} is no Python: {error}") from error
    path.write_text(text, encoding="utf-8")
    # Compiled files are known by size and second: one of the sound text could pass for this one.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)
    try:
        yield
    finally:
        path.write_text(sound, encoding="utf-8")


def run(root: Path, tests: Iterable[str], *, first: bool = False) -> Ended:
    """Run these tests of the copy until one fails. `first`: all of them, and keep what Python
    compiles.

    Raises: UntriedError where there is no verdict.
    """
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    # The copy alone: an inherited path might lead to the tree that it was made from.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {} if first else {"PYTHONDONTWRITEBYTECODE": "1"}
    patience = FIRST if first else PATIENCE
    try:
        done = subprocess.run(
            [*argv, *tests], cwd=root, env=env, capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired as error:
        raise UntriedError(f"no verdict within {patience:.0f} seconds") from error
    noticed = _NOTICED.search(done.stdout)
    if done.returncode == _FAILED and noticed is not None:
        return Ended(passed=False, noticed=noticed[1])
    if done.returncode != _PASSED:
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise UntriedError(f"pytest ended with {done.returncode}: {' / '.join(last)}")
    return Ended(passed=True, noticed="")


def tried(root: Path, mutation: Mutation) -> tuple[bool, str]:
    """Whether the breakage is caught, and the verdict in words."""
    try:
        with broken(root, mutation):
            ended = run(root, mutation.tests)
    except UntriedError as error:
        return False, f"UNTRIED   {mutation.name}: {error}"
    if ended.passed:
        return False, f"SURVIVED  {mutation.name}: {', '.join(mutation.tests)}"
    return True, f"CAUGHT    {mutation.name}: {ended.noticed}"


def verdicts(root: Path, chosen: Iterable[Mutation]) -> Iterator[tuple[bool, str]]:
    """What `tried` says of each, in order. Some run at once, each in a copy of its own."""
    copies: SimpleQueue[Path] = SimpleQueue()
    copies.put(root)
    for number in range(1, AT_ONCE):
        copies.put(shutil.copytree(root, root.with_name(str(number))))

    def verdict(mutation: Mutation) -> tuple[bool, str]:
        free = copies.get()
        try:
            return tried(free, mutation)
        finally:
            copies.put(free)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(verdict, chosen)


def check(chosen: dict[int, Mutation]) -> bool:
    """Try them all, in copies of the tree; whether each is caught."""
    with tempfile.TemporaryDirectory() as directory:
        root, start = Path(directory, "0"), time.monotonic()
        copied(root)
        tests = sorted({test for mutation in chosen.values() for test in mutation.tests})
        try:
            ended = run(root, tests, first=True)
        except UntriedError as error:
            print(f"without a breakage: {error}")
            return False
        if not ended.passed:
            print(f"without a breakage fails {ended.noticed}")
            return False
        print(f"without a breakage all of {len(tests)} files and tests pass", flush=True)
        caught = 0
        for number, (well, words) in zip(chosen, verdicts(root, chosen.values()), strict=True):
            caught += well
            print(f"{number:3} {words}", flush=True)
        seconds = time.monotonic() - start
    print(f"{caught} of {len(chosen)} caught, {seconds:.0f} seconds")
    return caught == len(chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", type=int, metavar="N", help="only this one, by its number")
    parser.add_argument("--list", action="store_true", help="show the table and try nothing")
    options = parser.parse_args()
    chosen = dict(enumerate(mutations(), start=1))
    if options.only is not None:
        if options.only not in chosen:
            parser.error(f"expected a number from 1 to {len(chosen)}")
        chosen = {options.only: chosen[options.only]}
    if options.list:
        for number, mutation in chosen.items():
            print(f"{number:3} {mutation.file}: {mutation.name}\n    {mutation.harm}")
        return 0
    return 0 if check(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
