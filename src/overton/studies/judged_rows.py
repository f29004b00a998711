"""What a judge was asked about in a run, one row for each label, and which of these people labelled."""

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
    """Everything that a judge was asked about by one question in some results."""

    question: Question[Any]
    results: Results

    @cached_property
    def things(self) -> pl.DataFrame:
        """One row for each thing: see `Question.rows`."""
        return self.question.rows(self.results)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row for each label: `thing` (its place), `id`, `label`, `group`, and `whole`, `model` and `row` if known.

        A thing with several labels has none of these rows if the judge gave it none of them.
        """
        import polars as pl

        names = [name for name in _NAMES if name in self.things.columns]
        rows = self.things.select(names).with_row_index("thing")
        if isinstance(rows.schema["label"], pl.List):
            rows = rows.filter(pl.col("label").is_not_null()).explode("row", "label")
        return rows.with_columns(id=pl.format("{}/{}", "id", "row")) if "row" in names else rows

    @cached_property
    def given(self) -> list[str | None]:
        """The label of each of the rows; None for none."""
        return self.rows["label"].to_list()

    def units(self, design: LabelDesign) -> JudgedUnitTable:
        """The rows with a label; `group` is what rows are drawn with if whole groups are drawn."""
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
        """Who labelled."""
        judges = ", ".join(judge.name for judge in self.results.answering(self.question.role))
        return self.question.labeller(self.results) or judges

    def drawn(self, places: Sequence[int]) -> pl.DataFrame:
        """Some of the rows, with the texts that people are shown."""
        rows = self.rows[list(places)]
        things = self.things[rows["thing"]].drop(set(rows.columns) & set(self.things.columns))
        return self.question.texts(self.results, rows.drop("thing").hstack(things))

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The things that a judge was asked about, whether it gave a label or not."""
        return self.things.filter("asked") if "asked" in self.things.columns else self.things

    def materials(self, places: Sequence[int]) -> Sequence[Material]:
        """The materials of some of the things `asked` about."""
        return self.question.material(self.results, self.asked[list(places)])

    @cached_property
    def is_labelled(self) -> list[bool]:
        """Whether the judge gave any label to each of the things `asked` about."""
        import polars as pl

        label = self.asked["label"]
        if isinstance(label.dtype, pl.List):
            label = label.list.drop_nulls().list.first()
        return label.is_not_null().to_list()

    def labels(self, place: int) -> dict[str, str | None]:
        """The labels of one of the things `asked` about, by what follows its id in the ids of rows."""
        thing = self.asked.select(name for name in ("row", "label") if name in self.asked.columns).row(
            place, named=True
        )
        row, label = thing.get("row", ""), thing["label"]
        if isinstance(row, str):
            return {row: label}
        return dict(zip(row, label, strict=True)) if label is not None else dict.fromkeys(row)


_NAMES = ("id", "label", "group", "whole", "model", "row")


def rows_of(questions: Questions, results: Results, key: str | None = None) -> QuestionRows:
    """Everything that one question was asked about in some results: by default the first one with labels.

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
    """How many labels bring a measure's interval to a width; `names` are those of a row and of a group."""
    row, group = names
    columns = [Column("What is labelled"), Column("Labels", "count"), Column("Width that they give", "value")]
    columns += [Column("Width that labelling all leaves", "value"), Column("Why not")]
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
    note = f"From {labelled:,} labels so far: valid as far as the judge errs elsewhere as it does in these."
    return Table(f"Labels for {measure}, an interval {width:g} wide", columns, rows, note=note)


@dataclass(frozen=True)
class JudgedUnitTable:
    """The units that a judge labelled, one row each: the study's id, the judge's label, the group, and whose it is.

    `group` is what rows are drawn with if whole groups are drawn, and `alike` the wider group of rows that are alike
    (all conditions of one thread), if there is one. `model` is None if units are no single model's. The `unlabelled`
    units to which the judge gave no label are not among these.
    """

    id: Sequence[str]
    label: Sequence[str]
    group: Sequence[str]
    model: Sequence[str | None] | None = None
    unlabelled: int = 0
    alike: Sequence[str] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each unit."""
        return {name: place for place, name in enumerate(self.id)}


def usable_shares(labels: SavedLabels) -> dict[int, Mapping[str, float]]:
    """People's shares of each row; if whole groups were drawn, only of groups that are completely labelled, since a
    person who stops has labelled the start of one, which is like no other part of it."""
    said = labels.shares()
    if labels.task.design != "whole":
        return said
    unfinished = {row.group for place, row in enumerate(labels.task.rows) if place not in said}
    return {place: shares for place, shares in said.items() if labels.task.rows[place].group not in unfinished}


def check(task: LabelTask, units: JudgedUnitTable, place: str) -> None:
    """Check that the rows of a task that was read at `place` are units of this run.

    Raises:
        InputError: a labelled unit is not among the units, or the judge gave it another label.
    """
    problems = []
    for number, row in enumerate(task.rows):
        at = units.places.get(row.id)
        if at is None:
            reason = f"{quoted(row.id)} is no unit of this run: name the run that these labels belong to"
            problems.append(Problem(place, f"rows[{number}].id", reason))
        elif (units.label[at], units.group[at]) != (row.judged, row.group):
            reason = f"the run's judge calls {quoted(row.id)} {quoted(units.label[at])}, not {quoted(row.judged)}"
            problems.append(Problem(place, f"rows[{number}].judged", f"{reason}: draw again"))
    if problems:
        raise InputError(problems[:20])


def why_uncorrected(task: LabelTask, units: JudgedUnitTable, labelled: int) -> str:
    """Why these labels correct nothing, or ''."""
    if not labelled:
        return "nobody has labelled a whole group" if task.design == "whole" else "nobody has labelled anything"
    drawn_from = {label: count for label, count in task.population.items() if count}
    if drawn_from != Counter(units.label):
        before, now = sum(drawn_from.values()), len(units.id)
        return f"people's units were drawn from {before:,}, and the run now has {now:,}: draw again to correct it"
    return ""
