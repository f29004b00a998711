"""Coverage of corrected numbers for those of human labels of all rows, and their width compared with labels alone.

    python -m benchmarks.judge_correction TABLE --label COLUMN --names NAME [NAME ...] [...]
    python -m benchmarks.judge_correction [--draws 2000] [--quick]

TABLE has human labels of every row and columns 'judge:NAME'. In each draw a number of labels is shown and the others
hidden; each judge corrects with the same draws. `--group pro=1,2`, `--value 1=1` as for `overton judge correct`. It is
compared with ppi-python (Angelopoulos et al.) if installed, which describes rows like these and so covers more.

Without a table, rows of known truth are simulated, and labels sampled from them in every way that Overton allows. These
are equal probabilities, label by label, and other unequal probabilities. `--quick` simulates the cells in which labels
are sampled with unequal probabilities, and fails unless they cover the truth as they should.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.label_draws import SETTINGS, UNEQUAL, Found, measured

from overton.errors import InputError
from overton.files.tables import read_table
from overton.judging.judged_tables import UNREAD, CorrectedNumber, JudgedResult, JudgedTable, correct
from overton.key_values import pair_of

try:
    from ppi_py import ppi_mean_ci
except ImportError:
    ppi_mean_ci = None

_JUDGE = "judge:"
Flags = np.ndarray[Any, Any]


@dataclass
class Cell:
    """The results for one interval: how often it covered the truth, its width, and how often there was none."""

    held: int = 0
    width: float = 0.0
    made: int = 0
    none: int = 0

    def add(self, low: float, high: float, truth: float) -> None:
        """Count one interval."""
        if np.isnan(low):
            self.none += 1
            return
        self.made += 1
        self.held += low - 1e-9 <= truth <= high + 1e-9
        self.width += high - low

    @property
    def coverage(self) -> float:
        """Of a hundred intervals so many hold the truth."""
        return 100 * self.held / max(self.made, 1)

    @property
    def mean_width(self) -> float:
        """Over all intervals."""
        return self.width / max(self.made, 1)


Key = tuple[str, str, str]
"""Judge, number, and which of its intervals: 'corrected', 'labelled', 'ppi-python'."""


def numbers_of(found: JudgedResult, names: Sequence[str]) -> Iterator[tuple[str, CorrectedNumber]]:
    """The named proportions and the mean of all rows, and between groups."""
    for row in found.rows:
        if row.group is None and (row.label is None or row.label in names):
            yield row.label or "mean", row.number
        if row.against is not None and row.label in names:
            yield f"{row.label}: {row.group} - {row.against}", row.number


def truths(label: np.ndarray[Any, Any], by: np.ndarray[Any, Any] | None, asked: argparse.Namespace) -> dict[str, float]:
    """The numbers by human labels of all rows."""
    found: dict[str, float] = {}
    groups = dict(asked.group)
    for name in asked.names:
        given = np.isin(label, groups.get(name, [name]))
        found[name] = float(given.mean())
        for a, b in combinations(sorted({one for one in by.tolist() if one}) if by is not None else [], 2):
            found[f"{name}: {a} - {b}"] = float(given[by == a].mean() - given[by == b].mean())
    if asked.value:
        numbers = dict(asked.value)
        found["mean"] = float(np.mean([numbers[one] for one in label.tolist() if one in numbers]))
    return found


def ppi(people: Flags, judged: Flags, shown: Flags) -> tuple[float, float]:
    """ppi-python's interval of a mean, NaN where it is not installed."""
    if ppi_mean_ci is None:
        return np.nan, np.nan
    low, high = ppi_mean_ci(people[shown], judged[shown], judged[~shown], alpha=0.05)
    return float(np.squeeze(low)), float(np.squeeze(high))


def simulated(draws: int, *, quick: bool) -> None:
    """Print how often intervals of simulated proportions cover the truth, their widths, and those of their errors.

    Raises:
        SystemExit: with `quick`, a cell's coverage or width is not what docs/judge-reference.md says.
    """
    sizes = (100, 300) if quick else (50, 100, 300)
    print(f"| draw and judge | {' | '.join(f'{size} labels' for size in sizes)} | labels alone, {sizes[-1]} |")
    print(f"|---|{'--:|' * (len(sizes) + 1)}")
    failed = []
    for name, setting in (WITH_WIDTHS if quick else SETTINGS).items():
        said = []
        for size in sizes:
            found, alone = measured(setting, size, draws)
            said.append(str(found))
            failed += check_cell(name, size, found, draws) if quick else []
        print(f"| {name} | {' | '.join(said)} | {alone} |", flush=True)
    if failed:
        raise SystemExit("\n".join(failed))


def check_cell(name: str, labels: int, found: Found, draws: int) -> Iterator[str]:
    """The problems of a cell beyond chance."""
    widest = WIDEST[name][labels]
    off = 3 * 100 * (0.05 * 0.95 / draws) ** 0.5
    if not 93 - off <= found.coverage <= 97 + off:
        yield f"{name}, {labels} labels: {found.coverage:.1f}% of the intervals cover the truth"
    if found.width > widest:
        yield f"{name}, {labels} labels: intervals are {found.width:.3f} wide on average, not {widest}"


WIDEST = {
    "`--stratified`, share 0.08, errs 5%": {100: 0.082, 300: 0.026},
    "`--stratified`, errs 15%": {100: 0.132, 300: 0.066},
    "2:1 towards judged negatives, errs 15%": {100: 0.15, 300: 0.082},
    "10:1 at random, errs 15%": {100: 0.25, 300: 0.14},
}
"""The widths that a referee found for intervals that cover in 95%, and a twentieth more."""

WITH_WIDTHS = {name: UNEQUAL[name] for name in WIDEST}


def main() -> None:
    asked = arguments()
    if asked.table is None:
        simulated(300 if asked.quick else asked.draws, quick=asked.quick)
        return
    table = read_table(asked.table)
    label = table[asked.label].to_numpy().astype(str)
    by = None if asked.by is None else table[asked.by].fill_null("").to_numpy().astype(str)
    groups, values = dict(asked.group), dict(asked.value)
    judged = {
        name: table[name].fill_null(UNREAD).to_numpy().astype(str) for name in table.columns if name.startswith(_JUDGE)
    }

    def given(labels: Any, number: str) -> Flags:
        return np.isin(labels, groups.get(number, [number])).astype(float)

    told = [given(label, number) for number in asked.names]
    said = {name: [given(labels, number) for number in asked.names] for name, labels in judged.items()}
    known, rows = truths(label, by, asked), len(label)
    of_group = None if by is None else [one or None for one in by.tolist()]
    cells: dict[Key, Cell] = defaultdict(Cell)
    random = np.random.default_rng(asked.seed)
    for _ in range(asked.draws):
        shown = np.zeros(rows, bool)
        shown[random.choice(rows, asked.labels, replace=False)] = True
        people = [one if seen else None for one, seen in zip(label.tolist(), shown.tolist(), strict=True)]
        for name, labels in judged.items():
            drawn = JudgedTable(labels.tolist(), people, of_group, groups=groups, values=values)
            found = correct(drawn, these=asked.population == "these")
            for number, three in numbers_of(found, asked.names):
                for way in ("corrected", "labelled"):
                    one = getattr(three, way)
                    cells[name, number, way].add(one.low, one.high, known[number])
            for number, truth, answer in zip(asked.names, told, said[name], strict=True):
                cells[name, number, "ppi-python"].add(*ppi(truth, answer, shown), known[number])
    report(cells, list(judged), list(known))


def report(cells: dict[Key, Cell], judges: Sequence[str], numbers: Sequence[str]) -> None:
    """Print one table; differences between groups, of which there are many, are summarised at its end."""
    print("| judge | number | corrected | labels alone | width | ppi-python | its width |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for judge in judges:
        for number in (one for one in numbers if ": " not in one):
            line([cells[judge, number, way] for way in ("corrected", "labelled", "ppi-python")], judge, number)
        pairs = [one for one in numbers if ": " in one]
        for start in dict.fromkeys(one.partition(": ")[0] for one in pairs):
            together(cells, judge, [one for one in pairs if one.startswith(f"{start}: ")], start)


def line(found: Sequence[Cell], judge: str, number: str) -> None:
    """One number: coverages, and widths against that of labels alone."""
    corrected, alone, other = found
    beside = f"{other.coverage:.1f} | {other.mean_width / alone.mean_width:.2f}" if other.made else "- | -"
    width = corrected.mean_width / alone.mean_width
    print(f"| {judge} | {number} | {corrected.coverage:.1f} | {alone.coverage:.1f} | {width:.2f} | {beside} |")


def together(cells: dict[Key, Cell], judge: str, pairs: Sequence[str], start: str) -> None:
    """All pairs of groups: mean coverage, the least and the most of any pair."""
    made = [cells[judge, one, "corrected"] for one in pairs]
    alone = [cells[judge, one, "labelled"] for one in pairs]
    each = [one.coverage for one in made]
    width = float(np.mean([a.mean_width / b.mean_width for a, b in zip(made, alone, strict=True)]))
    said = f"{np.mean(each):.1f} ({min(each):.1f} to {max(each):.1f})"
    none = sum(one.none for one in made)
    missing = f", {none} without" if none else ""
    others = f"{np.mean([one.coverage for one in alone]):.1f}"
    print(f"| {judge} | {start}, {len(pairs)} differences{missing} | {said} | {others} | {width:.2f} | - | - |")


def arguments() -> argparse.Namespace:
    """The command line."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("table", type=Path, nargs="?")
    reader.add_argument("--quick", action="store_true", help="without a table: a few cells, which are checked")
    reader.add_argument("--label", default="label", help="column of human labels, filled in everywhere")
    reader.add_argument("--by", help="column of groups")
    reader.add_argument("--draws", type=int, default=1000)
    reader.add_argument("--labels", type=int, default=100, help="labels shown in each draw")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--population", choices=("these", "like-these"), default="these")
    reader.add_argument("--names", nargs="+", default=[], help="labels and groups whose proportions to report")
    reader.add_argument("--group", action="append", default=[], type=_group, help="NAME=LABEL,LABEL")
    reader.add_argument("--value", action="append", default=[], type=_value, help="LABEL=NUMBER")
    return reader.parse_args()


def _pair(word: str) -> tuple[str, str]:
    try:
        return pair_of(word, "option")
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _group(word: str) -> tuple[str, list[str]]:
    name, labels = _pair(word)
    return name, labels.split(",")


def _value(word: str) -> tuple[str, float]:
    label, number = _pair(word)
    return label, float(number)


if __name__ == "__main__":
    main()
