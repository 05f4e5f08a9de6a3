"""A calibration: what each threshold serves and gets wrong, on pairs with known labels."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from semantic.bound import upper
from semantic.evidence import STEPS, byte, shown, step, threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from semantic.protocol import Kind

Score: TypeAlias = "Callable[[str, str], tuple[Kind, float, str]]"
"""How two questions meet: by what, how near, and which guard refused it (empty: none)."""

THRESHOLDS: Final = tuple(round(0.8 + 0.01 * number, 2) for number in range(21))
_TEXTS: Final = (
    ("a", "b"),
    ("question1", "question2"),
    ("question_1", "question_2"),
    ("q1", "q2"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
)
_LABELS: Final = ("same_answer", "is_duplicate", "duplicate", "same", "label")
_TRUE: Final = ("true", "yes", "1", "1.0")
_FALSE: Final = ("false", "no", "0", "0.0")


class LineError(ValueError):
    """A line that is neither a labelled pair nor a logged sample."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number}: {reason}")
        self.number = number
        self.reason = reason


class PlotError(RuntimeError):
    """There is nothing to draw with."""


class Sample(NamedTuple):
    """A pair of questions, as it met and as it ought to."""

    kind: Kind
    similarity: float
    wrong: bool
    refused: bool


class Row(NamedTuple):
    """What one threshold does."""

    threshold: float
    hits: int
    served: float
    """Share of the pairs with the same answer that are hits."""
    errors: int
    error: float
    """Share of the hits that are wrong."""
    bound: float
    """What the error does not exceed, at 95 % confidence."""
    hit_rate: float
    """Share of all pairs that are hits."""


class Table(NamedTuple):
    """All thresholds. Where half of a file are traps, traffic of which a hundredth are has a far
    lower error than its rows say; samples of one's own traffic have just its error."""

    rows: tuple[Row, ...]
    """Of nearest neighbours."""
    canonical: Row
    """Of canonical questions, which have no threshold."""
    pairs: int
    refused: int
    """Pairs that a guard refused."""
    budget: float
    recommended: float | None
    """The least `min_similarity` that is shown to keep the budget; `None`: none is."""

    def text(self) -> str:
        """The table for a terminal."""
        head = (
            f"{'threshold':>9} {'hits':>7} {'served':>8} {'errors':>7} {'error':>8} "
            f"{'bound':>8} {'hit rate':>9}"
        )
        lines = [head, _line("canonical", self.canonical)]
        lines += [_line(f"{row.threshold:.3f}", row) for row in self.rows]
        lines.append(f"{self.pairs} pairs, {self.refused} of them refused by a guard")
        if self.recommended is None:
            lines.append(f"no threshold is shown to keep an error below {self.budget:.2%}")
        else:
            lines.append(f"min_similarity = {self.recommended} keeps {self.budget:.2%}")
        return "\n".join(lines) + "\n"


def calibrate(
    lines: Iterable[str], *, score: Score, budget: float, group: str = "", chance: float = 0.05
) -> Table:
    """The table of a file: one JSON object a line, of labelled pairs (`a`, `b`, `same_answer`) or
    of samples that were logged in shadow mode (`similarity`, `wrong`, `kind`, `group`).

    `group`: of which samples are taken; empty: all. `chance`: that the recommendation breaks the
    budget all the same.

    Raises:
        LineError: a line is neither.
    """
    samples = list(_samples(lines, score, group))
    near = [one for one in samples if one.kind == "semantic" and not one.refused]
    same = [one for one in samples if one.kind == "canonical" and not one.refused]
    numbered = [(step(sample.similarity), sample.wrong) for sample in near]
    labels = bytes(byte(number, wrong=wrong) for number, wrong in numbered if number >= 0)
    found = shown(labels, 0, budget, chance)
    return Table(
        tuple(
            _row(least, [one for one in near if one.similarity >= least], samples)
            for least in THRESHOLDS
        ),
        _row(0.0, same, samples),
        len(samples),
        sum(sample.refused for sample in samples),
        budget,
        None if found == STEPS else threshold(found),
    )


def _row(least: float, hits: list[Sample], samples: list[Sample]) -> Row:
    errors, count = sum(sample.wrong for sample in hits), len(hits)
    same = sum(not sample.wrong for sample in samples)
    return Row(
        least,
        count,
        (count - errors) / max(1, same),
        errors,
        errors / max(1, count),
        upper(errors, count),
        count / max(1, len(samples)),
    )


def drawable() -> None:
    """Whether `plot` can draw: to be asked before all the work that there is to draw of.

    Raises:
        PlotError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        said = "to draw, install the extra: pip install 'hotprefix[plot]'"
        clone = ".venv/bin/pip install -c constraints.txt -e '.[plot]'"
        raise PlotError(f"{said}, in a clone {clone}")


def plot(table: Table, path: Path) -> None:
    """Draw hit rate, error and its bound over the threshold, as a PNG; only what is `drawable`."""
    # Heavy, and only of the extra: nobody else has to have it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    across = [row.threshold for row in table.rows]
    axes.plot(across, [100 * row.hit_rate for row in table.rows], label="hit rate")
    axes.plot(across, [100 * row.error for row in table.rows], label="error of the hits")
    axes.plot(across, [100 * row.bound for row in table.rows], "--", label="its bound, 95 %")
    axes.axhline(100 * table.budget, color="grey", linewidth=1, label="budget")
    if table.recommended is not None:
        axes.axvline(table.recommended, color="green", linewidth=1, label="recommended")
    axes.set(xlabel="threshold", ylabel="%", xlim=(across[0], across[-1]), ylim=(0, 100))
    axes.legend()
    figure.savefig(path, format="png")


def _samples(lines: Iterable[str], score: Score, group: str) -> Iterator[Sample]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeEncodeError):
            raise LineError(number, "not a JSON object") from None
        if "similarity" in fields:
            if not group or fields.get("group") == group:
                yield _logged(number, fields)
        else:
            yield _scored(number, fields, score)


def _logged(number: int, fields: dict[str, Any]) -> Sample:
    kind, similarity = fields.get("kind", "semantic"), fields["similarity"]
    if kind not in ("canonical", "semantic"):
        raise LineError(number, "`kind` has to be canonical or semantic")
    if not isinstance(similarity, int | float) or isinstance(similarity, bool):
        raise LineError(number, "`similarity` has to be a number")
    wrong = _truth(number, "wrong", fields.get("wrong"))
    return Sample(kind, float(similarity), wrong, refused=False)


def _scored(number: int, fields: dict[str, Any], score: Score) -> Sample:
    texts = next(
        ((fields[a], fields[b]) for a, b in _TEXTS if a in fields and b in fields), (None, None)
    )
    name = next((name for name in _LABELS if name in fields), "")
    if not (isinstance(texts[0], str) and isinstance(texts[1], str) and name):
        raise LineError(number, "needs `a`, `b` and `same_answer`, or `similarity` and `wrong`")
    same = _truth(number, name, fields[name])
    kind, similarity, refusal = score(texts[0], texts[1])
    return Sample(kind, similarity, not same, bool(refusal))


def _truth(number: int, name: str, value: object) -> bool:
    said = str(value).strip().casefold()
    if said not in _TRUE + _FALSE:
        raise LineError(number, f"`{name}` has to be true or false")
    return said in _TRUE


def _line(name: str, row: Row) -> str:
    return (
        f"{name:>9} {row.hits:>7} {row.served:>8.1%} {row.errors:>7} {row.error:>8.2%} "
        f"{row.bound:>8.2%} {row.hit_rate:>9.1%}"
    )
