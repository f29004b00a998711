"""The questions to a judge: their declaration, and which rows were labelled.

A `Question` is declared once. From a study's `Questions` follow the requests to its judge, the columns of its labels,
the sheets and pages on which annotators label the same rows, and second labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from overton.calls import Ask, Draw, Form, Message, Settings
from overton.errors import InputError, Problem, quoted
from overton.judging import Reading
from overton.judging.label_tasks import LabelDesign, LabelTask, SavedLabels
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import (
    ReadableReply,
    ReadableRequest,
    ask_all_until_read,
    failure_in,
    start_of,
    unless_refused,
)
from overton.studies.sections import Cell, Column, Table

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import polars as pl

    from overton.statistics.misclassification import LabelCount
    from overton.studies.results import Results

Material: TypeAlias = Mapping[str, Any]
"""The parts of one thing that a judge is shown, by name. They can be written as JSON."""

Order = Literal["own", "other"]
"""As the study asks, or with the labels or the materials in another order."""


@dataclass(frozen=True)
class Question:
    """A judge's question: how it is asked, which columns of records have its labels, and how people answer the same.

    `key` is the kind of label: the name of its sheet, of its label tasks, and of its controls.

    The judge of `role` is sent `messages(material, order)` with the published words, and its reply has the `form`.
    `read(text, labels)` finds one of the `labels` in a reply's text. In the other order a label has the meaning that
    `swap` gives; labels that `swap` leaves out mean the same.

    `columns` maps each column of records that has a label to the column for the same thing's label in the other order.
    `repeated` is the column that says whether this second label was requested, '' if it always is. Labels are `stored`
    in columns as other values where that maps them. The probabilities of all labels are in the column that
    `probability_columns` gives for a label's column, by default in p_COLUMN.

    `rows(results)` has one row for each thing that the judge was asked about: `id`, `label` (null if it gave none),
    `group` (rows of one group are alike), `model`, `condition`, and the columns that are needed next. `material` names
    the column of each part of the material, or several that become a list.

    People are asked `asks`. `meanings()` says what each label means, in the judge's own words. `shown` maps headings to
    columns, with all that the judge saw. `row` and `group` name one row and one group in a sentence.
    """

    key: str
    labels: tuple[str, ...]
    messages: Callable[[Material, Order], tuple[Message, ...]]
    read: Callable[[str, Sequence[str]], Reading[str]]
    form: Form
    columns: Mapping[str, str]
    rows: Callable[[Results], pl.DataFrame]
    material: Mapping[str, str | tuple[str, ...]]
    asks: str
    meanings: Callable[[], Mapping[str, str]]
    shown: Mapping[str, str]
    row: str
    group: str
    swap: Mapping[str, str] = field(default_factory=dict)
    repeated: str = ""
    stored: Mapping[str, Any] = field(default_factory=dict)
    probability_columns: Mapping[str, str] = field(default_factory=dict)
    role: str = "judge"

    def request(
        self, material: Material, speaker: str | None = None, *, order: Order = "own", probabilities: bool = False
    ) -> ReadableRequest[str]:
        """The request for the label of one thing, and for the `probabilities` of all labels."""
        read = unless_refused(partial(self.read_label, order=order))
        choice = OptionChoice(self.labels) if probabilities else None
        return ReadableRequest(self.role, self.messages(material, order), read, self.form, speaker, choice=choice)

    def read_label(self, text: str, order: Order = "own") -> Reading[str]:
        """The label that a reply in this order names, with its meaning in the study's own order."""
        reading = self.read(text, self.labels)
        if order == "own" or reading.value is None:
            return reading
        return replace(reading, value=self.swap.get(reading.value, reading.value))

    async def sample(self, ask: Ask, material: Material, count: int, place: str = "") -> tuple[str, ...] | None:
        """Single answers about one thing at temperature 1, to calibrate its probabilities; None if `count` is 0.

        They are the values of columns as texts, `NO_LABEL` for a reply that names no label. If a trial has several such
        things each has its `place`.
        """
        from overton.studies.probabilities import NO_LABEL, sampled_replies

        if not count:
            return None
        messages, at_one = self.messages(material, "own"), Settings(temperature=1.0)
        replies = await sampled_replies(ask, self.role, messages, self.form, count, at_one, place=place)
        labels = [self.read_label(reply.text).value for reply in replies]
        return tuple([NO_LABEL if label is None else str(self.value(label)) for label in labels])

    def order_of(self, column: str) -> Order:
        """The order in which the judge is asked for the label of a column."""
        return "own" if column in self.columns else "other"

    def value(self, label: str | None) -> Any:
        """The value that a column has for a label; None for none."""
        return None if label is None else self.stored.get(label, label)

    def probabilities(self, reply: ReadableReply[str], order: Order) -> tuple[float, ...] | None:
        """P of each of `labels` by its meaning in the study's own order; None if not requested or not returned."""
        found = reply.chances
        if found is None or order == "own":
            return found
        by_meaning = {self.swap.get(label, label): chance for label, chance in zip(self.labels, found, strict=True)}
        return tuple([by_meaning[label] for label in self.labels])

    def record_values(self, column: str, reply: ReadableReply[str]) -> dict[str, Any]:
        """The columns of a record that follow from the reply to the request for a column's label."""
        found = {column: self.value(reply.value)}
        if reply.choice is not None:
            found[self.probability_column(column)] = self.probabilities(reply, self.order_of(column))
        return found

    def probability_column(self, column: str) -> str:
        """The column of records with the probabilities of all labels, by the column of the label."""
        return self.probability_columns.get(column, f"p_{column}")

    def label(self, column: str) -> pl.Expr:
        """The label behind the values of a column of records; null for none."""
        import polars as pl

        labels = {self.value(label): label for label in self.labels}
        return pl.col(column).replace_strict(labels, default=None, return_dtype=pl.String)

    def put(self, records: pl.DataFrame, label: str) -> pl.DataFrame:
        """Records as if everything had been given this label, in both orders, and no probabilities."""
        import polars as pl

        columns = [column for both in self.columns.items() for column in both]
        stored = pl.lit(self.value(label))
        chances = {self.probability_column(column) for column in columns} & set(records.columns)
        return records.with_columns(
            *(stored.cast(records.schema[column]).alias(column) for column in columns),
            *(pl.lit(None, records.schema[column]).alias(column) for column in chances),
        )

    def material_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The material of one of `rows`."""
        return {
            name: row[columns] if isinstance(columns, str) else [row[column] for column in columns]
            for name, columns in self.material.items()
        }


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
class LabelPlans:
    """How many labels by people the measures of many labels together need.

    `measures` rest on labels of the kind `what`, and `of(results, people, measure, width)` says how many bring the
    interval of one to a width, from the labels so far (`people_table`); GROUP/MEASURE names one of a condition if the
    measures are by condition.
    """

    what: str
    measures: tuple[str, ...]
    of: Callable[[Results, pl.DataFrame, str, float], Sequence[LabelCount]]


@dataclass(frozen=True)
class Sheet:
    """Which labels people can check: `rows(results, what)` lays out those of the kind `what`, one of `whats`.

    The first of `whats` that the results contain is the default; `usual(results)` names it. `size` is how many rows a
    sheet has by default. `again` says how the judge is asked again, if it can be, and `plans` how many labels the
    measures of many of them need. Labels named in `whole` are drawn for pages in whole groups by default: the measures
    of many of them are then corrected without assumptions about the judge's errors.
    """

    whats: tuple[str, ...]
    rows: Callable[[Results, str], JudgedRows]
    size: int
    usual: Callable[[Results], str] | None = None
    again: JudgedAgain | None = None
    plans: LabelPlans | None = None
    whole: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True)
class JudgedLabels:
    """A judge's labels for one record.

    `columns` are those of the labels and of the probabilities that were requested. `unread` counts labels that no reply
    names. `failure` is the first call that failed permanently ('judge: kind: message').
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    unread: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class Questions:
    """All questions that one study's judge is asked, with what follows from them together.

    A reply that cannot be read is requested again with `complaint(problem)`, up to `attempts` times in all; the judge
    then reads its last reply as `repeated` gives it. `controls` is the package with the file `controls.jsonl`, texts
    whose label is beyond doubt; '' if there are none.
    """

    questions: tuple[Question, ...]
    complaint: Callable[[str], str]
    repeated: Callable[[str], str] = start_of
    attempts: int = 3
    controls: str = ""

    def __iter__(self) -> Iterator[Question]:
        """The questions, in order."""
        return iter(self.questions)

    @property
    def first(self) -> Question:
        """The first question, on whose labels headlines rest."""
        return self.questions[0]

    @property
    def role(self) -> str:
        """Who answers all of them."""
        return self.first.role

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of records with the labels that the judge is asked for in every trial."""
        return tuple(
            column
            for question in self.questions
            for column in (*question.columns, *(() if question.repeated else question.columns.values()))
        )

    @property
    def repeat_columns(self) -> tuple[str, ...]:
        """The columns of records with the second labels that the judge is asked for in some trials only."""
        return tuple(column for question in self.questions if question.repeated for column in question.columns.values())

    def question_of(self, column: str) -> Question:
        """The question that a column has labels of."""
        return self._by_column[column]

    def in_other_order(self, materials: Mapping[str, Material]) -> dict[str, Material]:
        """The same materials, for the columns of their labels in the other order."""
        return {self.question_of(column).columns[column]: material for column, material in materials.items()}

    async def ask(
        self, ask: Ask, materials: Mapping[str, Material], speaker: str | None = None, *, probabilities: bool = False
    ) -> JudgedLabels:
        """Ask for the labels of these columns side by side, each about its material; never raising CallFailed."""
        asked = {column: self.question_of(column) for column in materials}
        requests = [
            question.request(materials[column], speaker, order=question.order_of(column), probabilities=probabilities)
            for column, question in asked.items()
        ]
        replies = await self._ask_until_read(ask, requests)
        columns: dict[str, Any] = {}
        for (column, question), reply in zip(asked.items(), replies, strict=True):
            columns |= question.record_values(column, reply)
        unread = sum(reply.value is None and reply.failure is None for reply in replies)
        return JudgedLabels(columns, unread, failure_in(self.role, replies))

    def sheet(self, size: int) -> Sheet:
        """The labels of these questions that people can check, and how the judge is asked for them again.

        The first question is the default.
        """

        def rows(results: Results, what: str) -> JudgedRows:
            question = self._by_key[what]
            table = question.rows(results)
            return JudgedRows(
                table["label"].to_list(),
                lambda places: table[list(places)],
                tuple(question.shown.values()),
                question.labels,
                ", ".join(judge.name for judge in results.answering(question.role)),
                question=question.asks,
                definitions=question.meanings(),
                seen=question.shown,
                row=question.row,
                group=question.group,
                units=lambda: table.select("id", "label", "group", "model").drop_nulls("label"),
            )

        return Sheet(tuple(self._by_key), rows, size=size, again=self._again(), questions=self.questions)

    def _again(self) -> JudgedAgain:
        def units(results: Results, what: str) -> JudgedUnits:
            question = self._by_key[what]
            rows = question.rows(results)

            def drawn(places: Sequence[int]) -> list[JudgedOnce]:
                return [
                    JudgedOnce(row["id"], row["group"], {"": row["label"]}, question.material_of(row))
                    for row in rows[list(places)].iter_rows(named=True)
                ]

            labelled = rows["label"].is_not_null().to_list()
            return JudgedUnits(rows["id"].to_list(), rows["condition"].to_list(), labelled, drawn)

        async def ask_again(
            ask: Ask, what: str, material: Material, draw: Draw | None, speaker: str | None
        ) -> dict[str, str | None]:
            request = self._by_key[what].request(material, speaker, order="own" if draw is None else "other")
            (reply,) = await self._ask_until_read(ask, [request])
            return {"": reply.value}

        controls = partial(controls_of, self.controls) if self.controls else None
        return JudgedAgain(self.role, units, ask_again, controls=controls)

    async def _ask_until_read(self, ask: Ask, requests: Sequence[ReadableRequest[str]]) -> list[ReadableReply[str]]:
        return await ask_all_until_read(
            ask, requests, attempts=self.attempts, complaint=self.complaint, repeated=self.repeated
        )

    @cached_property
    def _by_key(self) -> dict[str, Question]:
        return {question.key: question for question in self.questions}

    @cached_property
    def _by_column(self) -> dict[str, Question]:
        return {column: question for question in self.questions for both in question.columns.items() for column in both}


def controls_of(package: str) -> Traversable:
    """The file of a package with texts whose label is beyond doubt, for `JudgedAgain.controls`."""
    return files(package) / "controls.jsonl"


def definitions_in(prompt: str, labels: Sequence[str]) -> dict[str, str]:
    """The meaning of each label, word for word from a judge's prompt.

    A line 'LABEL: ...' or '(LABEL) ...' says it; if several lines do, the last.

    Raises:
        ValueError: the prompt has no such line for a label.
    """
    lines = [line.strip() for line in prompt.splitlines()]
    found = {
        label: line.removeprefix(start).strip()
        for label in labels
        for start in (f"{label}: ", f"({label}) ")
        for line in lines
        if line.startswith(start)
    }
    if missing := [label for label in labels if label not in found]:
        raise ValueError(f"the prompt does not say in a line of its own what {missing[0]!r} means")
    return found


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
