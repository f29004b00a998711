"""Do corrected shares of a judged table cover the truth, and how much narrower are they than those of labels alone?

    python -m benchmarks.judged_texts [--draws 200] [--labels 60] [--quick]

The 200 fictional letters of `benchmarks.letters` have known labels. `overton judge table` has `simulated/word-judge`
label them, which errs in 15%. People, who know, label 60 of them, drawn singly or in whole groups, 200 times. For
'exactly these' letters the truth is the share among the 200, and letters and judge stay the same. For letters 'like
these' each draw has 200 new letters, whose labels are equally likely, and a new judge.

Cells are over the three labels. The first two have the percentage of 95% intervals that cover the truth, for corrected
shares and for those of the labelled letters alone. 'Width' is the mean width of the former divided by that of the
latter. `--quick` fails unless single letters cover in 93 to 97%, at most 0.9 times as wide.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.letters import COLUMNS, LABELS, letters

import overton
from overton.analysis.results import results_of
from overton.judging.label_tasks import (
    AnnotatorLabels,
    LabelDesign,
    LabelRequest,
    LabelTask,
    SavedLabels,
    choose_units,
    task_of,
)
from overton.studies.judged_rows import rows_of
from overton.studies.label_shares import shares_by_people
from overton.studies.registry import study_named
from overton.studies.results import Results

ERRS = 0.15
QUESTION = Path(__file__).parents[1] / "examples" / "letters" / "question.toml"
DESIGNS: tuple[LabelDesign, ...] = ("plain", "whole")


@dataclass
class Cell:
    """Numbers so far: how many intervals there are and how many cover the truth, and the sums of their widths."""

    made: int = 0
    held: int = 0
    held_alone: int = 0
    width: float = 0.0
    width_alone: float = 0.0

    @property
    def coverage(self) -> float:
        """Of a hundred corrected intervals so many cover the truth."""
        return 100 * self.held / self.made

    @property
    def ratio(self) -> float:
        """The mean width of corrected intervals divided by that of intervals of labelled letters alone."""
        return self.width / self.width_alone

    def __str__(self) -> str:
        return f"{self.coverage:.1f} | {100 * self.held_alone / self.made:.1f} | {self.ratio:.2f}"


def judged_letters(folder: Path, errs: float = ERRS) -> Results:
    """The run over the 200 letters, as its numbers are made of it."""
    table = folder / "letters.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *letters()])
    judge = "simulated/word-judge"
    arguments = {judge: {"errs": str(errs)}}
    run = overton.judge.table(table, question=QUESTION, judge=judge, model_args=arguments, out=folder / "run")
    return results_of([run])


def new_letters(results: Results, seed: int) -> tuple[Results, dict[str, str]]:
    """As many letters whose labels are equally likely, with a new judge's labels; and the known labels by id."""
    random = np.random.default_rng(seed)
    known = random.integers(0, len(LABELS), results.records.height)
    wrong = (known + random.integers(1, len(LABELS), len(known))) % len(LABELS)
    given = np.where(random.random(len(known)) < ERRS, wrong, known)
    records = results.records.with_columns(label=pl.Series([LABELS[label] for label in given.tolist()]))
    names = results.records["trial"].to_list()
    truth = {name: LABELS[label] for name, label in zip(names, known.tolist(), strict=True)}
    return Results(records, results.items, results.models, results.runs), truth


def label(results: Results, known: dict[str, str], design: LabelDesign, labels: int, seed: int) -> Any:
    """The proportions corrected by the labels of one person, who knows; the arguments of `shares_by_people`."""
    questions = study_named("table").questions
    assert questions is not None
    units = rows_of(questions, results, "label").units(design)
    drawn = choose_units(units.label, units.group, size=labels, seed=seed, design=design)
    rows = tuple(
        LabelRequest(units.id[place], units.label[place], units.group[place], chance) for place, chance in drawn
    )
    population = {name: list(units.label).count(name) for name in LABELS}
    meanings = dict.fromkeys(LABELS, "")
    task = task_of(
        LabelTask("", "table", "label", "j", "?", meanings, seed, design, population, len(set(units.group)), rows, ())
    )
    said = AnnotatorLabels(task.name, 1, "ada", {number: known[row.id] for number, row in enumerate(rows)})
    return SavedLabels(task, (said,)), units


def simulated(results: Results, these: bool, design: LabelDesign, labels: int, draws: int) -> Cell:
    """One row of the table."""
    fixed = {letter.id: letter.known for letter in letters()}
    truths = {name: list(fixed.values()).count(name) / len(fixed) if these else 1 / len(LABELS) for name in LABELS}
    cell = Cell()
    for seed in range(draws):
        drawn, known = (results, fixed) if these else new_letters(results, seed)
        saved, units = label(drawn, known, design, labels, seed)
        shares = shares_by_people(saved, units, "run", "labels", these=these).shares
        for name, truth in truths.items():
            corrected, alone = shares[name].corrected, shares[name].labelled
            if isnan(corrected.low) or isnan(alone.low):
                continue
            cell.made += 1
            cell.held += corrected.low <= truth <= corrected.high
            cell.held_alone += alone.low <= truth <= alone.high
            cell.width += corrected.high - corrected.low
            cell.width_alone += alone.high - alone.low
    return cell


def rows(results: Results, labels: int, draws: int, designs: tuple[LabelDesign, ...]) -> Iterator[tuple[str, Cell]]:
    """The table, row by row."""
    print("| shares describe | drawn | corrected, covered % | labels alone, covered % | width |")
    print("|---|---|--:|--:|--:|")
    for these in (True, False):
        for design in designs:
            cell = simulated(results, these, design, labels, draws)
            name = f"{'exactly these' if these else 'letters like these'} | {'single' if design == 'plain' else design}"
            print(f"| {name} | {cell} |", flush=True)
            yield name, cell


def main() -> None:
    """Run as the module says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(
            rows(judged_letters(Path(folder)), asked.labels, asked.draws, DESIGNS[:1] if asked.quick else DESIGNS)
        )
    failed = [
        f"{name}: {cell}"
        for name, cell in found
        if asked.quick and not (93 <= cell.coverage <= 97 and cell.ratio <= 0.9)
    ]
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
