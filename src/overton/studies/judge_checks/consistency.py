"""A derived study that measures whether a judge is consistent. It asks another study's judge the same questions again,
or asks a second judge these questions.

Two annotators are compared on the same rows. If either annotator gave a row no label, `same` and `kappa` leave the row
out. `same_at_least` counts such a row as a disagreement, so that refusals do not raise agreement. Rows with human
labels have the weight 1 / chance, where chance is the row's sampling probability. The other rows are a simple random
sample. Rows of one group form one cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import msgspec

from overton.calls import Answerer, Ask, Conduct, Reply, Trial
from overton.errors import CallFailed, InputError, Problem
from overton.judging.annotators import RowWeights, judge_agreement, mean_gap, mean_of
from overton.statistics import Estimate
from overton.statistics.prediction_powered import difference
from overton.studies.items import Items
from overton.studies.measurement import How, Measuring
from overton.studies.questions import Questions
from overton.studies.results import Results
from overton.studies.sections import Callout, Cell, Column, Exhibit, Exhibits, Prose, Section, Table
from overton.studies.self_agreement import retest_speaker
from overton.studies.study import INTERFACE, AnyStudy, Simulated, Study
from overton.studies.tables import means

if TYPE_CHECKING:
    import polars as pl


Readings = Literal["as configured", "in another order"]
"""The way to ask the judge: word for word as in the run, or with labels or materials in another order."""

READINGS: tuple[Readings, ...] = ("as configured", "in another order")


class JudgedLabel(msgspec.Struct, frozen=True):
    """One label of the run's judge (None if missing), and the sampling probability of its row, in (0, 1]. For rows with
    human labels, `people` has the proportion of each human label."""

    judged: str | None
    chance: float = 1.0
    people: dict[str, float] = {}


class JudgedUnit(msgspec.Struct, frozen=True):
    """A unit that the judge labels in one request. `unit` is the unit's id in the run.

    `rows` has the label of each row. Its keys are the rows' ids without the unit's id. `what` is the kind of label, and
    `judge` the judge that gave the labels. `conditions` has two counts for each condition of the run: units that the
    run's judge was asked to label, and units without a label. All units of a run have the same `conditions`.
    """

    id: str
    run: str
    unit: str
    group: str
    condition: str
    what: str
    judge: str
    rows: dict[str, JudgedLabel]
    conditions: dict[str, tuple[int, int]]
    material: dict[str, Any]


class RepeatedLabel(msgspec.Struct, frozen=True):
    """One judge's label for one row, with labels and materials in one order. A further column `model`, before these
    columns, names the judge."""

    row_key: ClassVar[tuple[str, ...]] = ("id", "row", "reading")

    id: Annotated[str, means("the unit's id among the items")]
    row: Annotated[str, means("the part of the row's id after the unit's id, '' if the two ids are the same")]
    reading: Annotated[Readings, means("'as configured', or 'in another order'")]
    label: Annotated[str | None, means("the judge's label, None if there is no usable one")]
    replies: Annotated[int, means("number of replies requested from the judge until a reply was usable")]
    refused: Annotated[bool, means("whether the endpoint flagged the last reply as a refusal")]
    failure: Annotated[
        str | None, means("reason why a call failed permanently ('kind: message'), None if every call succeeded")
    ]
    said: Annotated[str, means("the last reply, shortened, if it has no usable label; otherwise ''")]


_MAX_REPLY_CHARACTERS = 2_000


class UnitTrial(Trial, frozen=True):
    """A trial about one unit."""

    unit: JudgedUnit


def trials(units: Sequence[JudgedUnit], options: Any, seed: int) -> Iterator[UnitTrial]:
    """One trial for each unit."""
    for unit in units:
        yield UnitTrial(f"{unit.id}/again", unit.id, seed, unit=unit)


def conduct_of(questions: Questions) -> Conduct:
    """The trial protocol, with the study's own way of asking its judge."""

    async def conduct(trial: UnitTrial, ask: Ask) -> list[RepeatedLabel]:
        rows: list[RepeatedLabel] = []
        for reading, draw, speaker in zip(
            READINGS, (None, trial.draw("order")), (None, retest_speaker(questions.role)), strict=True
        ):
            recorder = _ReplyRecorder(ask)
            try:
                labels = await questions.ask_again(recorder, trial.unit.what, trial.unit.material, draw, speaker)
            except CallFailed:
                labels = {}
            rows += _repeated_labels(trial.unit, reading, labels, recorder)
        return rows

    return conduct


def _repeated_labels(
    unit: JudgedUnit, reading: Readings, labels: Mapping[str, str | None], recorder: _ReplyRecorder
) -> Iterator[RepeatedLabel]:
    for row in unit.rows:
        label = labels.get(row)
        said = "" if label is not None or recorder.last is None else recorder.last.text[:_MAX_REPLY_CHARACTERS]
        refused = recorder.last is not None and recorder.last.refused
        yield RepeatedLabel(unit.id, row, reading, label, recorder.replies, refused, recorder.failure, said)


class _ReplyRecorder:
    """An `Ask` that also records the number of replies, the last reply and a failure."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.replies = 0
        self.last: Reply | None = None
        self.failure: str | None = None

    async def __call__(self, role: str, messages: Any, **how: Any) -> Reply:
        """Ask, and record the reply. Trials never share a call, because each judge must answer by itself."""
        try:
            reply = await self._ask(role, messages, **{**how, "shared": False})
        except CallFailed as failed:
            self.failure = str(failed)
            raise
        self.replies += 1
        self.last = reply
        return reply

    async def all(self, questions: Any) -> list[Reply]:
        """Ask one question after another, and return the replies in order."""
        return [
            await self(
                question.role,
                question.messages,
                speaker=question.speaker,
                form=question.form,
                settings=question.settings,
            )
            for question in questions
        ]


RUN, PEOPLE = "the run's judge", "people"
AGAIN, ORDER = READINGS
_MAX_SHOWN_UNITS = 20

_LabelWeights = Mapping[str, float]


class Compared(msgspec.Struct, frozen=True):
    """The agreement of two annotators on the same rows. `rows` counts rows that both annotators labelled, and
    `without` counts the other rows.

    `same` is the proportion of equal labels, and `kappa` Cohen's kappa. `same_at_least` is the proportion of equal
    labels if every missing label counts as different.
    """

    a: str
    b: str
    rows: int
    without: int
    same: Estimate
    kappa: Estimate
    same_at_least: Estimate


class Without(msgspec.Struct, frozen=True):
    """Counts of missing labels in one condition. `units` counts the run's units. `by_run` counts the units without a
    label by the run's own judge. `asked` counts the labels that were requested again, and `unlabelled` the missing ones
    among them. Three fields count these missing labels by reason: `refused` (flagged by the endpoint), `failed` (the
    call failed) and `unread` (the reply could not be parsed)."""

    condition: str
    units: int
    by_run: int
    asked: int
    unlabelled: int
    refused: int
    failed: int
    unread: int


class Unlabelled(msgspec.Struct, frozen=True):
    """A repeated request without a label: its unit, the reason, and the last reply (shortened)."""

    unit: str
    condition: str
    reading: str
    why: str
    said: str


class Steady(msgspec.Struct, frozen=True):
    """The consistency of one judge on one run's units. The field `of` names the run's judge. The field `by` names the
    judge that labels again, which may be the same judge.

    `shares` has each label's proportion by each annotator. Proportions are over the rows with a label both from the run
    and from the repetition. Human proportions leave out rows without a human label. `first_unlabelled` lists at most 20
    units without a label from the repetition.
    """

    run: str
    what: str
    of: str
    by: str
    units: int
    rows: int
    by_people: int
    compared: tuple[Compared, ...]
    shares: dict[str, dict[str, Estimate]]
    without: tuple[Without, ...]
    first_unlabelled: tuple[Unlabelled, ...]


class Between(msgspec.Struct, frozen=True):
    """The difference between two runs in the proportion of one label (run `b` minus run `a`). `by_own` uses the labels
    of each run's own judge. `by_one` uses one judge's labels for both runs. `drift`, the part due to the judges, is
    `by_own` minus `by_one`. An interval of `drift` that excludes 0 indicates drift."""

    by_own: Estimate
    by_one: Estimate
    drift: Estimate


class Drift(msgspec.Struct, frozen=True):
    """Two runs labelled by one judge, to distinguish a difference between judges from a difference between models.

    Runs are treated as independent. If both runs ask about the same items, intervals are therefore too wide.
    """

    by: str
    a: str
    b: str
    labels: dict[str, Between]


class Analysis(msgspec.Struct, frozen=True):
    """The consistency of each judge on each run, and the drift between every two runs that one judge labelled."""

    steady: tuple[Steady, ...]
    drift: tuple[Drift, ...]


def measure(results: Results, how: How) -> Analysis:
    """Compare every judge's labels with those of every run."""
    units: dict[str, JudgedUnit] = {item.id: item for item in results.items}
    judged = [
        _JudgeOnRun(by, run, rows, how.level)
        for (by,), records in results.records.partition_by("model", as_dict=True, maintain_order=True).items()
        for run, rows in _rows_by_run(records, units).items()
    ]
    return Analysis(
        tuple(judge.steady() for judge in judged),
        tuple(_drift(a, b) for a, b in combinations(judged, 2) if a.by == b.by and a.what == b.what),
    )


@dataclass(frozen=True)
class _LabelledRow:
    """One row: each annotator's label (`said`), and the records of the judge that labels again (`readings`)."""

    unit: JudgedUnit
    weight: float
    said: Mapping[str, _LabelWeights]
    readings: Sequence[Mapping[str, object]]


def _rows_by_run(records: pl.DataFrame, units: Mapping[str, JudgedUnit]) -> dict[str, list[_LabelledRow]]:
    found: dict[str, list[_LabelledRow]] = {}
    for (name, row), some in records.partition_by("id", "row", as_dict=True, maintain_order=True).items():
        unit = units[str(name)]
        found.setdefault(unit.run, []).append(_labelled_row(unit, str(row), list(some.iter_rows(named=True))))
    return found


def _labelled_row(unit: JudgedUnit, name: str, readings: Sequence[Mapping[str, object]]) -> _LabelledRow:
    row = unit.rows[name]
    said: dict[str, _LabelWeights] = {} if row.judged is None else {RUN: {row.judged: 1.0}}
    said |= {
        str(reading["reading"]): {str(reading["label"]): 1.0} for reading in readings if reading["label"] is not None
    }
    if row.people:
        said[PEOPLE] = row.people
    return _LabelledRow(unit, 1 / row.chance, said, readings)


@dataclass(frozen=True)
class _JudgeOnRun:
    """One judge's labels of the rows of one run."""

    by: str
    run: str
    rows: Sequence[_LabelledRow]
    level: float

    @property
    def what(self) -> str:
        return self.rows[0].unit.what

    def steady(self) -> Steady:
        first = self.rows[0].unit
        return Steady(
            self.run,
            self.what,
            first.judge,
            self.by,
            units=len({row.unit.id for row in self.rows}),
            rows=len(self.rows),
            by_people=sum(PEOPLE in row.said for row in self.rows),
            compared=tuple(self._compare_labellers()),
            shares={label: self._label_shares(label) for label in self.labels()},
            without=tuple(
                self._count_missing_labels(name, *counts) for name, counts in sorted(first.conditions.items())
            ),
            first_unlabelled=tuple(self._list_unlabelled())[:_MAX_SHOWN_UNITS],
        )

    def labels(self) -> list[str]:
        return sorted({label for row in self.rows for said in row.said.values() for label in said})

    def _compare_labellers(self) -> Iterator[Compared]:
        known = [who for who in (PEOPLE, RUN, AGAIN, ORDER) if any(who in row.said for row in self.rows)]
        for a, b in combinations(known, 2):
            # Leave out rows that people, or the run's judge, were never asked to label.
            asked = [row for row in self.rows if all(who in row.said for who in (a, b) if who in (PEOPLE, RUN))]
            both = [row for row in asked if a in row.said and b in row.said]
            pair = [row.said[a] for row in both], [row.said[b] for row in both]
            same, kappa = judge_agreement(*pair, _row_weights(both), level=self.level)
            least = mean_of([_same_label_weight(row, a, b) for row in asked], _row_weights(asked), level=self.level)
            yield Compared(a, b, len(both), len(asked) - len(both), same, kappa, least)

    def paired(self) -> list[_LabelledRow]:
        """The rows labelled both in the run and again with the same prompt."""
        return [row for row in self.rows if RUN in row.said and AGAIN in row.said]

    def _label_shares(self, label: str) -> dict[str, Estimate]:
        rows = {who: [row for row in self.paired() if who in row.said] for who in (RUN, AGAIN, ORDER, PEOPLE)}
        return {who: self.share(label, who, some) for who, some in rows.items() if some}

    def share(self, label: str, who: str, rows: Sequence[_LabelledRow]) -> Estimate:
        return mean_of([row.said[who].get(label, 0.0) for row in rows], _row_weights(rows), level=self.level)

    def gap(self, label: str) -> Estimate:
        """The proportion of a label in the run minus its proportion when the same rows are labelled again."""
        rows = self.paired()
        gaps = [row.said[RUN].get(label, 0.0) - row.said[AGAIN].get(label, 0.0) for row in rows]
        return mean_gap(gaps, _row_weights(rows), level=self.level)

    def _count_missing_labels(self, condition: str, units: int, by_run: int) -> Without:
        asked = [reading for row in self.rows if row.unit.condition == condition for reading in row.readings]
        none = [reading for reading in asked if reading["label"] is None]
        reasons = [_missing_reason(reading) for reading in none]
        counts = {why: reasons.count(why) for why in ("refused", "failed", "unread")}
        return Without(condition, units, by_run, len(asked), len(none), **counts)

    def _list_unlabelled(self) -> Iterator[Unlabelled]:
        for row in self.rows:
            for reading in row.readings:
                if reading["label"] is None:
                    said = str(reading["failure"] or reading["said"])
                    yield Unlabelled(
                        row.unit.unit, row.unit.condition, str(reading["reading"]), _missing_reason(reading), said
                    )


def _missing_reason(reading: Mapping[str, object]) -> str:
    """The reason for a missing label: the call failed, the endpoint flagged a refusal, or the reply could not be
    parsed.
    """
    return "failed" if reading["failure"] is not None else "refused" if reading["refused"] else "unread"


def _same_label_weight(row: _LabelledRow, a: str, b: str) -> float:
    by_a, by_b = row.said.get(a, {}), row.said.get(b, {})
    return sum(share * by_b.get(label, 0.0) for label, share in by_a.items())


def _row_weights(rows: Sequence[_LabelledRow]) -> RowWeights:
    return RowWeights([row.weight for row in rows], [row.unit.group for row in rows])


def _drift(a: _JudgeOnRun, b: _JudgeOnRun) -> Drift:
    labels = sorted({*a.labels(), *b.labels()})
    return Drift(a.by, a.run, b.run, {label: _label_drift(a, b, label) for label in labels})


def _label_drift(a: _JudgeOnRun, b: _JudgeOnRun, label: str) -> Between:
    by_own, by_one = (
        difference(b.share(label, who, b.paired()), a.share(label, who, a.paired())) for who in (RUN, AGAIN)
    )
    return Between(by_own, by_one, difference(b.gap(label), a.gap(label)))


_METHOD_NOTE = (
    "The judge labelled the same units twice more: once with the same prompt and once with labels or materials in"
    " another order. At temperature 0, a repeat with the same prompt shows little; the other order, another judge"
    " and human labels show more. The last column also counts a row as different if one of its two labels is"
    " missing."
)


def _sections(analysis: Analysis) -> Sequence[Section]:
    sections = [
        Section(f"steady-{number}", _title(steady), _steady_exhibits(steady))
        for number, steady in enumerate(analysis.steady, 1)
    ]
    drift = [_drift_table(runs) for runs in analysis.drift]
    return [*sections, Section("drift", "Two runs by one judge", drift)] if drift else sections


def _title(steady: Steady) -> str:
    whose = "asked again" if steady.by == steady.of else f"and {steady.of}, the run's judge"
    return f"{steady.by} {whose}: {steady.what.replace('_', ' ')}, {steady.run}"


def _steady_exhibits(steady: Steady) -> list[Exhibit]:
    by = f"{steady.by_people:,} of them with human labels" if steady.by_people else "all without human labels"
    exhibits: list[Exhibit] = [
        Prose(f"{steady.rows:,} rows of {steady.units:,} units of {steady.run}, {by}. {_METHOD_NOTE}")
    ]
    lost = sum(part.unlabelled for part in steady.without)
    if lost:
        asked = sum(part.asked for part in steady.without)
        said = f"{steady.by} gave no label in {lost:,} of {asked:,} requests. The table below shows the conditions."
        exhibits.append(Callout(said, "warning", summary=True))
    exhibits += [_agreement_table(steady), _shares_table(steady), _missing_labels_table(steady)]
    if steady.first_unlabelled:
        exhibits.append(_unlabelled_table(steady))
    return exhibits


def _agreement_table(steady: Steady) -> Table:
    columns = [Column("Whose labels"), Column("Rows", "count"), Column("Without a label", "count", detail=True)]
    columns += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    columns.append(Column("Same, refusals counted", "share"))
    rows: list[list[Cell]] = [
        [f"{_labeller_title(pair.a, steady)} and {_labeller_title(pair.b, steady)}", *msgspec.structs.astuple(pair)[2:]]
        for pair in steady.compared
    ]
    return Table(f"How far {steady.by} agrees", columns, rows, summary=True)


def _labeller_title(name: str, steady: Steady) -> str:
    return {RUN: f"{RUN} ({steady.of})", AGAIN: f"{steady.by} {AGAIN}", ORDER: f"{steady.by} {ORDER}"}.get(name, name)


def _shares_table(steady: Steady) -> Table:
    known = [who for who in (RUN, AGAIN, ORDER, PEOPLE) if any(who in said for said in steady.shares.values())]
    columns = [Column("Label"), *(Column(f"By {_labeller_title(who, steady)}", "share") for who in known)]
    rows: list[list[Cell]] = [[label, *(said.get(who) for who in known)] for label, said in steady.shares.items()]
    return Table("How often each label is given", columns, rows, note="Over rows that both judges labelled.")


def _missing_labels_table(steady: Steady) -> Table:
    columns = [Column("Condition"), Column("Units of the run", "count"), Column("Unlabelled by its judge", "count")]
    columns += [Column("Readings", "count"), Column("Unlabelled", "count")]
    columns += [Column(name, "count") for name in ("Refused", "Failed", "Unread")]
    rows: list[list[Cell]] = [[part.condition or "all", *msgspec.structs.astuple(part)[1:]] for part in steady.without]
    note = "Refused: the endpoint flagged the last reply. A refusal in the judge's own words counts as unread."
    return Table("Missing labels by condition", columns, rows, note=note)


def _unlabelled_table(steady: Steady) -> Table:
    columns = [Column(name) for name in ("Unit", "Condition", "Asked", "Why", "Last reply")]
    rows = [[part.unit, part.condition or "all", part.reading, part.why, part.said] for part in steady.first_unlabelled]
    return Table("First units without a label", columns, rows)


def _drift_table(drift: Drift) -> Table:
    columns = [Column("Label"), Column("By their own judges", "points"), Column(f"By {drift.by}", "points")]
    columns.append(Column("The judges' part", "points"))
    rows: list[list[Cell]] = [[label, part.by_own, part.by_one, part.drift] for label, part in drift.labels.items()]
    note = (
        "The share of each label in the first-named run minus its share in the other run. Only rows labelled by the"
        f" run's own judge and by {drift.by} count. If the interval in the last column excludes 0, the two runs' own"
        " judges use the label differently. Then do not compare the runs by their own judges' labels."
    )
    return Table(f"{drift.b} minus {drift.a}", columns, rows, note=note, summary=True)


def _exhibits(results: Results, analysis: Analysis, how: How) -> Exhibits:
    said = (
        "Whether the same units get the same labels if a judge labels them again, with the same prompt or in another"
        " order, and if another judge labels them."
    )
    return Exhibits(summary=said, sections=_sections(analysis), trials=None, warnings=list(_warnings(results)))


def _warnings(results: Results) -> Iterator[str]:
    for judge in {judge.name: judge for run in results.runs for some in run.roles.values() for judge in some}.values():
        if judge.spec.startswith("simulated/"):
            yield f"The judge {judge.name} is simulated, so its labels are for tests."


MEASURING: Measuring[Analysis, Any] = Measuring(
    analysis=lambda: Analysis,
    records=measure,
    sections=_sections,
    exhibits=_exhibits,
)


def questions_of(study: AnyStudy) -> Questions:
    """The questions to a study's judge.

    Raises:
        InputError: the study declares no questions.
    """
    if study.questions is None:
        reason = "does not declare its judge's questions (`Study.questions`), or has no judge"
        raise InputError([Problem("study", study.name, reason)])
    return study.questions


def again_of(study: AnyStudy) -> AnyStudy:
    """A study that asks this study's judge again.

    Raises:
        InputError: see `questions_of`.
    """
    return of_judge(
        study,
        questions_of(study),
        name=f"again-{study.name}",
        title=f"The judge of {study.title or study.name}, repeated",
        question="Does the judge give the same labels a second time, and does another judge agree?",
        items=Items(
            JudgedUnit,
            "unit",
            "JSONL file of judged units, as written by a run of this study",
            spelled=lambda unit: [f"{unit.run}: {unit.unit}"],
        ),
        trials=trials,
        measuring=MEASURING,
    )


def of_judge(study: AnyStudy, questions: Questions, **own: Any) -> AnyStudy:
    """A new study that puts `questions` to the judge of `study`. `own` has the new study's other fields, such as its
    items and measures."""
    return Study(
        roles=(replace(study.role(questions.role), flag="judge", optional=False, judges=True, together=False),),
        record=RepeatedLabel,
        conduct=conduct_of(questions),
        prompts=study.prompts,
        simulated={name: _simulated_judge(questions, make) for name, make in study.simulated.items()},
        planning=study.planning,
        kind="labels",
        interface=INTERFACE,
        **own,
    )


class _HasMaterial(Protocol):
    """A unit or a control, which has material for the judge."""

    @property
    def material(self) -> Mapping[str, Any]:
        """The parts of the prompt about the unit, by name."""


def _simulated_judge(questions: Questions, make: Simulated) -> Simulated:
    """A simulated judge of the study, which knows the items behind the units."""

    def make_judge(units: Sequence[_HasMaterial], name: str, arguments: Mapping[str, str]) -> Answerer:
        found = [questions.item(unit.material) for unit in units] if questions.item else []
        known: dict[Any, Any] = {item.id: item for item in found}
        return make(list(known.values()), name, arguments)

    return make_judge
