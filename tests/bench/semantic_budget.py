"""Does the error budget hold? Simulated traffic through the policies that decide in production.

    python -m tests.bench.semantic_budget                       # about half an hour on two cores
    python -m tests.bench.semantic_budget --seeds 20 --policy threshold
    python -m tests.bench.semantic_budget --write               # cosines.json anew

Each line: a policy, a set of pairs, a budget, and the share of wrong ones among would-be hits, as a
multiple of the budget; then in how many seeds the error among what was served kept the budget
(nothing served keeps it), and which share of the would-be hits was served, on average. A seed is
one run of `--length` would-be hits that starts knowing nothing; guards are not asked, so that the
traps among the pairs all count.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tests.semantic.streams import DATA, SETS, pairs, policy, run, stream

if TYPE_CHECKING:
    from tests.semantic.streams import Run

BUDGETS: Final = (0.01, 0.02, 0.05)
BASES: Final = (0.1, 0.3, 0.8, 1.0, 1.5, 3.0, 10.0)
LEAST: Final = 0.8
FRIENDLY: Final = "banking77_2000"


def main(arguments: list[str]) -> int:
    """Run all, and fail where a budget was broken in more than 5 of 100 seeds."""
    options = _options(arguments)
    if options.write:
        _write()
        return 0
    broken = False
    print("policy set budget base kept share", flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in options.policy:
            for data in options.sets:
                for budget in BUDGETS:
                    for base in options.bases:
                        asked = [
                            (name, data, budget, base, options.length, seed)
                            for seed in range(options.seeds)
                        ]
                        runs = list(pool.map(_seed, asked, chunksize=5))
                        kept = sum(one.kept(budget) for one in runs)
                        share = sum(one.served / one.hits for one in runs) / len(runs)
                        broken |= kept < 0.95 * len(runs)
                        print(
                            f"{name:9} {data:14} {budget:.2f} {base:5.1f} "
                            f"{kept:3d}/{len(runs)} {share:5.1%}",
                            flush=True,
                        )
    return int(broken)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--length", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--policy", nargs="+", default=["threshold", "entry"])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--bases", nargs="+", type=float, default=BASES)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(arguments)


def _seed(asked: tuple[str, str, float, float, int, int]) -> Run:
    name, data, budget, base, length, seed = asked
    hits = stream(pairs(data), min(1.0, budget * base), length, seed)
    return run(policy(name, budget), hits, seed, count())


def _write() -> None:
    """Compute the cosines of all sets with the bundled embedder."""
    from semantic.embed.use import Use  # loads a model: only where one is asked

    model = Use()
    sets: dict[str, list[tuple[float, int, int]]] = {}
    for name in SETS:
        if name == FRIENDLY:
            sets[name] = _nearest(model)
            continue
        lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        near = (
            _vectors(model, [row["a"] for row in rows])
            * _vectors(model, [row["b"] for row in rows])
        ).sum(1)
        sets[name] = [
            (round(float(cosine), 4), int(not row["same_answer"]), number)
            for number, (cosine, row) in enumerate(zip(near, rows, strict=True))
            if cosine >= LEAST
        ]
    lines = [f'  "{name}": {json.dumps(rows)}' for name, rows in sets.items()]
    (DATA / "cosines.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _nearest(model: Any) -> list[tuple[float, int, int]]:
    """Each query with the nearest other one: wrong where that has another intent."""
    with (DATA / f"{FRIENDLY}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    vectors = _vectors(model, [row["text"] for row in rows])
    near = vectors @ vectors.T
    np.fill_diagonal(near, -1.0)
    return [
        (
            round(float(near[own, other]), 4),
            int(rows[own]["category"] != rows[other]["category"]),
            int(other),
        )
        for own, other in enumerate(near.argmax(1))
        if near[own, other] >= LEAST
    ]


def _vectors(model: Any, texts: list[str]) -> Any:
    """float32 (n, 512), rows of length 1."""
    made = np.vstack([model.encode(texts[at : at + 64]) for at in range(0, len(texts), 64)])
    return made / np.linalg.norm(made, axis=1, keepdims=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
