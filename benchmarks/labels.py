"""Coverage of intervals with human labels: few labels, samples of every kind.

    python -m benchmarks.labels few|draws [--table TABLE] [--draws N]

`few` samples rows like those of TABLE, which has human labels everywhere (columns 'person' and 'judge:NAME'), and shows
20 to 100 of the labels. `draws` simulates groups with two people, samples and deals units as `overton judge sample`
does, and corrects as a run does. `benchmarks.agreement` has the interval of people's agreement.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from overton.files.tables import read_table
from overton.judging.judged_tables import UNREAD, JudgedTable, correct
from overton.judging.label_tasks import (
    AnnotatorLabels,
    LabelDesign,
    LabelRequest,
    LabelTask,
    SavedLabels,
    choose_units,
    deal_units,
    task_of,
)
from overton.studies.judged_rows import JudgedUnitTable
from overton.studies.label_shares import shares_by_people

Array = np.ndarray[Any, Any]


NAMES = ("pro", "con", "unclear")
DESIGNS: tuple[LabelDesign, ...] = ("plain", "stratified", "whole")


def of_few(table: Path, draws: int) -> None:
    """Coverage of corrected shares of rows like those of the table, by how many labels are shown."""
    frame = read_table(table)
    people = np.array(frame["person"].cast(str).to_list())
    groups = {"pro": ["1", "2"]}
    truth = {"pro": float(np.isin(people, groups["pro"]).mean())}
    truth |= {label: float((people == label).mean()) for label in ("3", "5", "refusal")}
    random = np.random.default_rng(3)
    for shown in (20, 30, 50, 100):
        for column in (one for one in frame.columns if one.startswith("judge:")):
            judged = np.array([one or UNREAD for one in frame[column].cast(str).to_list()])
            held = Counter[str]()
            for _ in range(draws):
                rows, known = random.integers(0, len(people), len(people)), random.permutation(len(people)) < shown
                said = [label if there else None for label, there in zip(people[rows].tolist(), known, strict=True)]
                table = JudgedTable(judged[rows].tolist(), said, groups=_known(groups, judged[rows], said))
                shares = {row.label: row.number.corrected for row in correct(table).rows}
                for name, value in truth.items():
                    held[name] += name in shares and shares[name].low <= value <= shares[name].high
            print(shown, column, {name: round(100 * held[name] / draws, 1) for name in truth}, flush=True)


def _known(groups: dict[str, list[str]], judged: Array, said: Sequence[str | None]) -> dict[str, list[str]]:
    there = {*judged.tolist(), *said}
    return {name: [label for label in labels if label in there] for name, labels in groups.items()}


def _world(random: np.random.Generator, groups: int = 120, rows: int = 8) -> Array:
    """One row each: its group, the judge's label, and the labels of two people."""
    made = []
    for group in range(groups):
        shares = random.dirichlet([1.6, 1.2, 0.3])
        for _ in range(rows):
            truth = random.choice(3, p=shares)
            judged = truth if random.random() < 0.85 else random.choice(3, p=[0.6, 0.3, 0.1])
            said = [truth if random.random() < 0.9 else random.integers(3) for _ in range(2)]
            made.append((group, judged, *said))
    return np.array(made)


def of_draws(draws: int) -> None:
    """Coverage of shares corrected by two people with equal weights, by how rows were drawn."""
    random = np.random.default_rng(2)
    many = np.concatenate([_world(random, 400) for _ in range(10)])
    truth = {name: float((many[:, 2:] == kind).mean()) for kind, name in enumerate(NAMES)}
    off = {name: round(float((many[:, 1] == kind).mean()) - truth[name], 4) for kind, name in enumerate(NAMES)}
    print(truth, "the judge is off by", off)
    for design in DESIGNS:
        held, alone, moved = Counter[str](), Counter[str](), dict.fromkeys(NAMES, 0.0)
        for seed in range(draws):
            shares = shares_by_people(*_labelled(_world(random), design, seed), "run", "labels").shares
            for name, value in truth.items():
                one, other = shares[name].corrected, shares[name].labelled
                held[name] += one.low <= value <= one.high
                alone[name] += other.low <= value <= other.high
                moved[name] += (one.value - value) / draws
        for name in NAMES:
            print(design, name, f"{100 * held[name] / draws:.1f} alone {100 * alone[name] / draws:.1f}", end=" ")
            print(f"off by {moved[name]:.4f}", flush=True)


def _labelled(world: Array, design: LabelDesign, seed: int) -> tuple[SavedLabels, JudgedUnitTable]:
    given = [NAMES[label] for label in world[:, 1]]
    groups = [f"g{group:03}" for group in world[:, 0]]
    taken = choose_units(given, groups, size=120, seed=seed, design=design)
    rows = tuple(LabelRequest(str(place), given[place], groups[place], chance) for place, chance in taken)
    pages = deal_units([row.group for row in rows], people=2, shared=60, seed=seed, whole=design == "whole")
    labels, population = dict.fromkeys(NAMES, ""), {name: given.count(name) for name in NAMES}
    task = task_of(LabelTask("", "s", "stance", "j", "?", labels, seed, design, population, 120, rows, pages))
    said = tuple(
        AnnotatorLabels(task.name, page, f"p{page}", {row: NAMES[world[taken[row][0], 1 + page]] for row in asked})
        for page, asked in enumerate(pages, 1)
    )
    return SavedLabels(task, said), JudgedUnitTable([str(place) for place in range(len(given))], given, groups)


def main() -> None:
    """Read the arguments and print the figures."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("what", choices=("few", "draws"))
    reader.add_argument("--table", type=Path)
    reader.add_argument("--draws", type=int, default=400)
    told = reader.parse_args()
    if told.what == "few":
        if told.table is None:
            reader.error("few needs --table")
        of_few(told.table, told.draws)
    else:
        of_draws(told.draws)


if __name__ == "__main__":
    main()
