"""What a judge was asked about in a run, one row for each label, and which of these people labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from overton.calls import Ask, Draw
from overton.errors import InputError, Problem, quoted
from overton.judging.label_tasks import LabelDesign, LabelTask, SavedLabels
from overton.studies.options import option_place
from overton.studies.questions import LabelPlans, Material, Question, Questions, controls_of
from overton.studies.sections import Cell, Column, Table

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

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


def rows_of(questions: Questions, results: Results, key: str) -> QuestionRows:
    """Everything that one question was asked about in some results."""
    return QuestionRows(questions.question(key), results)


@dataclass(frozen=True)
class JudgedRows:
    """The rows that a judge labelled.

    `given` has the label of every unit, `drawn` the units at some places: `id`, `label`, `group` (units of one group
    are alike), `model` if each unit is one model's, and the columns `shown` to a person. `labels` are the values that a
    label can have, `judge` gave them.

    The rest is for pages on which people label, and may be left out. `question` is what they are asked: its first
    paragraph is shown beside each row, the others say how to decide. `definitions` says what each label means, in the
    judge's own words (`definitions_in`), so that people and judge answer the same question. `seen` has all that the
    judge saw of a row, mapping a heading to its column of `drawn`; by default what is `shown`. `row` and `group` are
    the names of one row and one group in a sentence. If `drawn` has a column `whole`, that is what rows are drawn with
    when whole groups are drawn. `units()` gives the columns of `drawn` except what is shown, for all labelled units in
    the order of `given`, if that costs less than drawing them all.
    """

    given: Sequence[str | None]
    drawn: Callable[[Sequence[int]], pl.DataFrame]
    shown: Sequence[str]
    labels: Sequence[str]
    judge: str
    question: str = ""
    definitions: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)
    row: str = "row"
    group: str = "group"
    units: Callable[[], pl.DataFrame] | None = None


@dataclass(frozen=True)
class JudgedOnce:
    """One request to a judge, with all that is needed to ask about it again.

    `labels` has what it said of each row, by what follows `id` and a slash in the row's id, '' if the row has the same
    id; None if it gave no label. Units of one `group` are alike. `material` can be written as JSON.
    """

    id: str
    group: str
    labels: Mapping[str, str | None]
    material: Mapping[str, Any]


@dataclass(frozen=True)
class JudgedUnits:
    """Everything that a judge was asked about, including what it gave no label to, in order: each one's id, its
    condition, and whether the judge labelled any of its rows; `drawn(places)` lays out some of them."""

    ids: Sequence[str]
    conditions: Sequence[str]
    labelled: Sequence[bool]
    drawn: Callable[[Sequence[int]], Sequence[JudgedOnce]]


@dataclass(frozen=True)
class JudgedAgain:
    """How a study's judge is asked again about what it judged: what `overton judge again` needs from a study.

    `role` answers. `units(results, what)` are those of one run; it raises `InputError` if `what` is not a judgement.
    `ask(ask, what, material, draw, speaker)` asks as the study itself does: without `draw` word for word as before,
    with it with labels or materials in another order; it gives the rows' labels as in `JudgedOnce`, and leaves out
    those that could not be read. `item(material)` is the study's item behind it, for simulated judges who know theirs.
    `controls()` finds the file of texts whose label is beyond doubt, one per line of JSON
    (`overton.studies.judge_checks.controls.ControlText`), on which a judge is tried. `manner(results)` is what all
    materials of a run share, such as whether the label was requested before its reason: its judge is tried in that way,
    too. `own_controls(results)` gives the `ControlText`s of a run whose question is its own.
    """

    role: str
    units: Callable[[Results, str], JudgedUnits]
    ask: Callable[[Ask, str, Mapping[str, Any], Draw | None, str | None], Awaitable[Mapping[str, str | None]]]
    item: Callable[[Mapping[str, Any]], Any] | None = None
    controls: Callable[[], Traversable] | None = None
    manner: Callable[[Results], Mapping[str, Any]] | None = None
    own_controls: Callable[[Results], Sequence[Any]] | None = None


@dataclass(frozen=True)
class Sheet:
    """Which labels people can check: `rows(results, what)` lays out those of the kind `what`, one of `whats`.

    The first of `whats` that the results contain is the default; `usual(results)` names it. `size` is how many rows a
    sheet has by default. `again` says how the judge is asked again, if it can be, and `plans` how many labels the
    measures of many of them need. Labels named in `whole` are drawn for pages in whole groups by default: the measures
    of many of them are then corrected without assumptions about the judge's errors. `questions` are those that the
    labels answer, if the study declares them.
    """

    whats: tuple[str, ...]
    rows: Callable[[Results, str], JudgedRows]
    size: int
    usual: Callable[[Results], str] | None = None
    again: JudgedAgain | None = None
    plans: LabelPlans | None = None
    whole: tuple[str, ...] = ()
    questions: tuple[Question[Any], ...] = ()


def sheet_of(questions: Questions) -> Sheet:
    """The labels of these questions that people can check, and how the judge is asked for them again."""

    def rows(results: Results, what: str) -> JudgedRows:
        question, judged = questions.question(what), rows_of(questions, results, what)
        names = [name for name in ("id", "label", "group", "whole", "model") if name in judged.rows.columns]
        return JudgedRows(
            judged.rows["label"].to_list(),
            judged.drawn,
            question.sheet or tuple(question.shown.values()),
            question.labels,
            judged.judge,
            question=question.asks,
            definitions=question.meanings(),
            seen=question.shown,
            row=question.row,
            group=question.group,
            units=lambda: judged.rows.select(names).drop_nulls("label"),
        )

    def units(results: Results, what: str) -> JudgedUnits:
        question, judged = questions.question(what), rows_of(questions, results, what)
        if reason := question.unasked(results):
            raise InputError([Problem(option_place("what"), what, reason)])
        shared = questions.manner(results)

        def drawn(places: Sequence[int]) -> list[JudgedOnce]:
            named = judged.asked[list(places)].select("id", "group").rows()
            return [
                JudgedOnce(name, group, judged.labels(place), {**material, **shared})
                for place, (name, group), material in zip(places, named, judged.materials(places), strict=True)
            ]

        return JudgedUnits(judged.asked["id"].to_list(), judged.asked["condition"].to_list(), judged.is_labelled, drawn)

    def usual(results: Results) -> str:
        labelled = (key for key in questions.keys if rows_of(questions, results, key).rows["label"].count())
        return next(labelled, questions.first.key)

    controls = partial(controls_of, questions.controls) if questions.controls else None
    again = JudgedAgain(questions.role, units, questions.ask_again, questions.item, controls, questions.manner)
    whole = tuple(question.key for question in questions if question.whole)
    return Sheet(
        questions.keys, rows, questions.size, usual, again, questions.plans, whole, questions=questions.questions
    )


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


_UNITS_AT_ONCE = 10_000
"""Units that are laid out at a time, texts and all, when only their names are needed."""


def units_of(judged: JudgedRows, design: LabelDesign) -> JudgedUnitTable:
    """Everything that a judge labelled, in order; `group` is what rows are drawn with if whole groups are drawn."""
    import polars as pl

    given = [place for place, label in enumerate(judged.given) if label is not None]
    missing = len(judged.given) - len(given)
    if not given:
        return JudgedUnitTable((), (), (), unlabelled=missing)
    table = judged.units() if judged.units else pl.concat(_unit_names(judged, given))
    group = "whole" if design == "whole" and "whole" in table.columns else "group"
    ids, labels, groups = (table[name].cast(pl.String).to_list() for name in ("id", "label", group))
    model = table["model"].to_list() if "model" in table.columns else None
    return JudgedUnitTable(ids, labels, groups, model, missing, table["group"].to_list())


def _unit_names(judged: JudgedRows, places: Sequence[int]) -> Iterator[pl.DataFrame]:
    """The columns that name the units at some places; the texts are laid out part by part, and dropped."""
    for start in range(0, len(places), _UNITS_AT_ONCE):
        part = judged.drawn(places[start : start + _UNITS_AT_ONCE])
        yield part.select(name for name in ("id", "label", "group", "whole", "model") if name in part.columns)


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
