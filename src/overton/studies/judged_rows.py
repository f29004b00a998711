"""The judged units of a run, with one row for each label, and the human labels for some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from overton.errors import InputError, Problem, quoted
from overton.judging.label_tasks import LabelDesign, LabelTask, SavedLabels
from overton.studies.options import option_place
from overton.studies.questions import Material, Question, Questions
from overton.studies.sections import Cell, Column, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.misclassification import LabelCount
    from overton.studies.results import Results


@dataclass(frozen=True)
class QuestionRows:
    """All things about which a judge was asked one question, in some results."""

    question: Question[Any]
    results: Results

    @cached_property
    def things(self) -> pl.DataFrame:
        """One row for each thing: see `Question.rows`."""
        return self.question.rows(self.results)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row for each label, with the columns `thing`, `id`, `label`, `group`, and `whole`, `model` and `row` if
        known.

        `thing` is the index of the row in `things`. If `things` have lists of labels, a missing list gives no rows.
        """
        import polars as pl

        names = [name for name in _NAMES if name in self.things.columns]
        rows = self.things.select(names).with_row_index("thing")
        if isinstance(rows.schema["label"], pl.List):
            rows = rows.filter(pl.col("label").is_not_null()).explode("row", "label")
        return rows.with_columns(id=pl.format("{}/{}", "id", "row")) if "row" in names else rows

    @cached_property
    def given(self) -> list[str | None]:
        """The label of each row, None for a row without a label."""
        return self.rows["label"].to_list()

    def units(self, design: LabelDesign) -> JudgedUnitTable:
        """The rows with a label; `group` is the unit of sampling if whole groups are sampled."""
        labelled = self.rows.drop_nulls("label")
        group = "whole" if design == "whole" and "whole" in labelled.columns else "group"
        return JudgedUnitTable(
            id=labelled["id"].to_list(),
            label=labelled["label"].to_list(),
            group=labelled[group].to_list(),
            model=labelled["model"].to_list() if "model" in labelled.columns else None,
            unlabelled=self.rows.height - labelled.height,
            alike=labelled["group"].to_list(),
        )

    @property
    def judge(self) -> str:
        """The judge of the labels."""
        judges = ", ".join(judge.name for judge in self.results.answering(self.question.role))
        return self.question.labeller(self.results) or judges

    def drawn(self, places: Sequence[int]) -> pl.DataFrame:
        """Some of the rows, with the texts that annotators see."""
        rows = self.rows[list(places)]
        things = self.things[rows["thing"]].drop(set(rows.columns) & set(self.things.columns))
        return self.question.texts(self.results, rows.drop("thing").hstack(things))

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The things about which the judge was asked, with or without a label."""
        return self.things.filter("asked") if "asked" in self.things.columns else self.things

    def materials(self, places: Sequence[int]) -> Sequence[Material]:
        """The materials of some of the things in `asked`."""
        return self.question.material(self.results, self.asked[list(places)])

    @cached_property
    def is_labelled(self) -> list[bool]:
        """For each thing in `asked`, whether the judge gave it at least one label."""
        import polars as pl

        label = self.asked["label"]
        if isinstance(label.dtype, pl.List):
            label = label.list.drop_nulls().list.first()
        return label.is_not_null().to_list()

    def labels(self, place: int) -> dict[str, str | None]:
        """The labels of one of the things in `asked`. The keys are the rows' ids without the thing's id."""
        thing = self.asked.select(name for name in ("row", "label") if name in self.asked.columns).row(
            place, named=True
        )
        row, label = thing.get("row", ""), thing["label"]
        if isinstance(row, str):
            return {row: label}
        return dict(zip(row, label, strict=True)) if label is not None else dict.fromkeys(row)


_NAMES = ("id", "label", "group", "whole", "model", "row")


def rows_of(questions: Questions, results: Results, key: str | None = None) -> QuestionRows:
    """All rows of one question in some results, by default of the first question with labels.

    Raises:
        InputError: there is no such question.
    """
    asked = questions.in_runs(results)
    if key is not None:
        if key not in asked.keys:
            raise InputError([Problem(option_place("what"), key, f"must be {' or '.join(asked.keys)}")])
        return QuestionRows(asked.question(key), results)
    every = [QuestionRows(question, results) for question in asked]
    return next((rows for rows in every if rows.rows["label"].count()), every[0])


def plans_table(
    measure: str, width: float, labelled: int, names: tuple[str, str], plans: Sequence[LabelCount]
) -> Table:
    """The table of the numbers of labels that would give a measure's interval a certain width. `names` are the words
    for a row and for a group."""
    row, group = names
    columns = [Column("Units to label"), Column("Labels", "count"), Column("Width with these labels", "value")]
    columns += [Column("Width if all are labelled", "value"), Column("Why not")]
    rows: list[list[Cell]] = [
        [
            f"single {row}s" if plan.unit == "rows" else f"whole {group}s ({plan.units:,})",
            None if plan.why else plan.labels,
            None if plan.why else plan.width,
            plan.least,
            plan.why,
        ]
        for plan in plans
    ]
    note = (
        f"The plan is based on {labelled:,} labels so far. It assumes that the judge errs as often on the other units"
        " as on the labelled ones."
    )
    return Table(f"Labels for {measure}, an interval {width:g} wide", columns, rows, note=note)


@dataclass(frozen=True)
class JudgedUnitTable:
    """The units that a judge labelled, one row each: the study's id, the judge's label, the group, and the model.

    `group` is the unit of sampling if whole groups are sampled. `alike` is a wider group of similar rows (all
    conditions of one thread), if there is one. `model` is None if units belong to several models. The units without a
    judge's label are not among the rows; `unlabelled` counts them.
    """

    id: Sequence[str]
    label: Sequence[str]
    group: Sequence[str]
    model: Sequence[str | None] | None = None
    unlabelled: int = 0
    alike: Sequence[str] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each unit, by its id."""
        return {name: place for place, name in enumerate(self.id)}


def usable_shares(labels: SavedLabels) -> dict[int, Mapping[str, float]]:
    """The proportions of human labels for each labelled row. If whole groups were sampled, only completely labelled
    groups count. A person who stops early has labelled only the start of a group, which may differ from the rest."""
    said = labels.shares()
    if labels.task.design != "whole":
        return said
    unfinished = {row.group for place, row in enumerate(labels.task.rows) if place not in said}
    return {place: shares for place, shares in said.items() if labels.task.rows[place].group not in unfinished}


def check(task: LabelTask, units: JudgedUnitTable, place: str) -> None:
    """Check that the task's rows are units of this run. `place` is the source of the task, for messages.

    Raises:
        InputError: a labelled unit is not among the units, or the judge gave it another label.
    """
    problems = []
    for number, row in enumerate(task.rows):
        at = units.places.get(row.id)
        if at is None:
            reason = f"{quoted(row.id)} is not a unit of this run; name the run that these labels belong to"
            problems.append(Problem(place, f"rows[{number}].id", reason))
        elif (units.label[at], units.group[at]) != (row.judged, row.group):
            reason = f"the run's judge labels {quoted(row.id)} {quoted(units.label[at])}, not {quoted(row.judged)}"
            problems.append(Problem(place, f"rows[{number}].judged", f"{reason}; draw a new sample"))
    if problems:
        raise InputError(problems[:20])


def why_uncorrected(task: LabelTask, units: JudgedUnitTable, labelled: int) -> str:
    """The reason why these labels cannot correct numbers, '' if they can."""
    if not labelled:
        return "no group is completely labelled" if task.design == "whole" else "there are no labels yet"
    drawn_from = {label: count for label, count in task.population.items() if count}
    if drawn_from != Counter(units.label):
        before, now = sum(drawn_from.values()), len(units.id)
        return (
            f"the labelled units were sampled from {before:,} units, but the run now has {now:,}; draw a new sample to"
            " correct its numbers"
        )
    return ""
