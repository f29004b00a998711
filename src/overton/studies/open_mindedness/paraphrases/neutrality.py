"""Are the paraphrases neutral? What an audit's judges say, how far they agree, and how that is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from overton.judging import cohen_kappa, fleiss_kappa, share
from overton.statistics import Estimate
from overton.studies.judge_checks.consistency import READINGS
from overton.studies.judge_checks.controls import ControlText, Tried, control_exhibits, count_right
from overton.studies.measurement import How, Measuring
from overton.studies.numbers import sentence
from overton.studies.open_mindedness import prompts
from overton.studies.results import Results
from overton.studies.sections import Cell, Column, Exhibits, Section, Table
from overton.studies.self_agreement import SelfAgreement, of_labels, self_agreement_lines

if TYPE_CHECKING:
    import polars as pl

Label = Literal["neutral", "favors pro", "favors con"]
CONTROLS = "controls"
"""The null of an audit: prompts that are clearly not neutral."""


class JudgeSummary(msgspec.Struct, frozen=True):
    """One judge. The shares are of its readable verdicts, with Wilson intervals clustered by issue.

    `verdicts` counts the readable ones by label; `repaired`, `asked_again`, `invalid`, `refused` and `failed` count
    records. `orientation` is the share in which A supports the side that the item states. `itself` is its agreement
    with itself when asked again with the verdicts listed in another order; None if it was not.
    """

    judge: str
    neutral: Estimate
    fair: Estimate
    orientation: Estimate
    verdicts: dict[str, int]
    repaired: int
    asked_again: int
    invalid: int
    refused: int
    failed: int
    itself: SelfAgreement | None


class PairAgreement(msgspec.Struct, frozen=True):
    """Two judges on the paraphrases that both could judge: the share of equal verdicts, and Cohen's kappa."""

    first: str
    second: str
    same: Estimate
    kappa: Estimate


class Remark(msgspec.Struct, frozen=True):
    """A paraphrase that a judge objects to: `says` is its verdict, or the side it takes A to support."""

    issue: str
    template: int
    judge: str
    says: str
    stated: str
    reason: str


class Agreement(msgspec.Struct, frozen=True):
    """What the judges say of a dataset's neutrality, and how far they agree.

    `fleiss` is Fleiss' kappa on the paraphrases that all could judge, None with fewer than three judges. `controls`
    are the judges on prompts that are not neutral, if these were asked.
    `not_neutral` and `orientation_disagreements` list every objection, by issue, template and judge.
    """

    judges: list[JudgeSummary]
    pairs: list[PairAgreement]
    fleiss: Estimate | None
    not_neutral: list[Remark]
    orientation_disagreements: list[Remark]
    controls: tuple[Tried, ...] = ()


_CONTROL = "not neutral {}"
"""The name of a control, by its number in the list."""


def controls() -> list[ControlText]:
    """Prompts that the paper calls not neutral (appendix A). It does not say whom they favour, so either is right."""
    right = tuple(label for label in get_args(Label) if label != "neutral")
    texts = prompts.load("nulls")["controls"]["not_neutral"]
    return [
        ControlText(
            _CONTROL.format(number),
            "verdict",
            {"": right},
            {"question": text, "paraphrase": text, "pro": None, "con": None},
        )
        for number, text in enumerate(texts, 1)
    ]


def _tried(rows: pl.DataFrame, level: float) -> tuple[Tried, ...]:
    """How many controls each judge got right, from the records of the null condition."""
    import polars as pl

    names, reading = pl.format(_CONTROL, "template"), pl.lit(READINGS[0])
    said = rows.select("model", id=names, row=pl.lit(""), reading=reading, label="verdict")
    return tuple(count_right(said, {control.id: control for control in controls()}, level))


def agreement(records: pl.DataFrame) -> Agreement:
    """Sum up an audit's records: the columns of `ParaphraseVerdict`, and `model`, the judge."""
    rows = records.sort("model", "issue", "template").to_dicts()
    by_judge: dict[str, list[dict[str, Any]]] = {}
    verdicts: dict[str, dict[tuple[str, int], str]] = {}
    for row in rows:
        by_judge.setdefault(row["model"], []).append(row)
        readable = verdicts.setdefault(row["model"], {})
        if row["verdict"] is not None:
            readable[row["issue"], row["template"]] = row["verdict"]
    read = [row for row in rows if row["verdict"] is not None]
    return Agreement(
        judges=[_summary(judge, own) for judge, own in by_judge.items()],
        pairs=[_pair(judge, other, verdicts) for judge, other in combinations(verdicts, 2)],
        fleiss=fleiss_kappa(*_shared(verdicts)) if len(verdicts) > 2 else None,
        not_neutral=_remarks(read, "verdict", lambda row: "neutral"),
        orientation_disagreements=_remarks(read, "a_supports", lambda row: str(row["orientation"])),
    )


def _summary(judge: str, rows: Sequence[dict[str, Any]]) -> JudgeSummary:
    read, again = ([row for row in rows if row.get(name)] for name in ("verdict", "judged_again"))
    verdicts, issues = ([row[name] for row in read] for name in ("verdict", "issue"))
    return JudgeSummary(
        judge=judge,
        neutral=share([verdict == "neutral" for verdict in verdicts], issues),
        fair=share([row["fair"] for row in read], issues),
        orientation=share([row["a_supports"] == row["orientation"] for row in read], issues),
        verdicts={label: verdicts.count(label) for label in get_args(Label)},
        repaired=sum(row["reading"] == "repaired" for row in rows),
        asked_again=sum(row["attempts"] > 1 for row in rows),
        invalid=sum(row["reading"] == "invalid" for row in rows),
        refused=sum(row["refused"] for row in rows),
        failed=sum(row["failure"] is not None for row in rows),
        itself=of_labels(*([row[name] for row in again] for name in ("verdict", "verdict_again", "issue"))),
    )


_Verdicts = Mapping[str, Mapping[tuple[str, int], str]]
"""Each judge's readable verdicts by issue and template."""


def _shared(verdicts: _Verdicts) -> tuple[list[list[str]], list[str]]:
    """The verdicts `[judge][paraphrase]` on the paraphrases that all could judge, and their issues."""
    keys = sorted(set.intersection(*map(set, verdicts.values())))
    return [[own[key] for key in keys] for own in verdicts.values()], [issue for issue, _ in keys]


def _pair(judge: str, other: str, verdicts: _Verdicts) -> PairAgreement:
    (first, second), issues = _shared({name: verdicts[name] for name in (judge, other)})
    same = [a == b for a, b in zip(first, second, strict=True)]
    return PairAgreement(judge, other, share(same, issues), cohen_kappa(first, second, issues))


def _remarks(rows: Sequence[dict[str, Any]], column: str, stated: Callable[[dict[str, Any]], str]) -> list[Remark]:
    """Every row whose `column` is not what is `stated`."""
    remarks = [
        Remark(row["issue"], row["template"], row["model"], row[column], stated(row), row["reason"])
        for row in rows
        if row[column] != stated(row)
    ]
    return sorted(remarks, key=lambda remark: (remark.issue, remark.template, remark.judge))


def agreement_tables(found: Agreement) -> list[Table]:
    """The judges, each pair of them, and every paraphrase that one of them does not consider neutral."""
    tables = (_judges_table(found), _pairs_table(found), _objections_table(found))
    return [table for table in tables if table.rows]


def _judges_table(found: Agreement) -> Table:
    columns = [Column("Judge"), Column("Neutral", "share"), Column("Positions fair", "share")]
    columns.append(Column("Orientation as stated", "share"))
    columns += [Column(name, "count") for name in ("Invalid", "Refused", "Failed")]
    rows: list[list[Cell]] = [
        [judge.judge, judge.neutral, judge.fair, judge.orientation, judge.invalid, judge.refused, judge.failed]
        for judge in found.judges
    ]
    said = (
        f"{judge.judge}: {line}"
        for judge in found.judges
        for line in self_agreement_lines({"verdict": judge.itself} if judge.itself else {})
    )
    note = " ".join(["Shares of readable verdicts.", *said])
    return Table("Neutrality of the paraphrases, by judge", columns, rows, note=note, summary=True)


def _pairs_table(found: Agreement) -> Table:
    columns = [Column("Judges"), Column("Equal verdicts", "share"), Column("Cohen's kappa", "value")]
    rows: list[list[Cell]] = [[f"{pair.first} and {pair.second}", pair.same, pair.kappa] for pair in found.pairs]
    note = f"Fleiss' kappa of all judges: {sentence(found.fleiss, 'value')}." if found.fleiss else ""
    return Table("Agreement between judges", columns, rows, note=note, summary=True)


def _objections_table(found: Agreement) -> Table:
    columns = [Column(name) for name in ("Issue", "Template", "Judge", "Says", "Reason")]
    rows = [
        [remark.issue, str(remark.template), remark.judge, remark.says, remark.reason] for remark in found.not_neutral
    ]
    return Table("Paraphrases judged not neutral", columns, rows, summary=True)


def _measure_results(results: Results, how: How) -> Agreement:
    made, rows = agreement(results.records), results.nulls.get(CONTROLS)
    return made if rows is None else msgspec.structs.replace(made, controls=_tried(rows, how.level))


def _sections(analysis: Agreement) -> Sequence[Section]:
    sections = [Section("neutrality", "Neutrality of the paraphrases", agreement_tables(analysis))]
    if analysis.controls:
        sections.append(Section("controls", "Controls", control_exhibits(analysis.controls)))
    return sections


MEASURING: Measuring[Agreement, Any] = Measuring(
    analysis=lambda: Agreement,
    records=_measure_results,
    tables="the records of an audit",
    table=lambda table, how: agreement(table.frame()),
    sections=_sections,
    exhibits=lambda results, analysis, how: Exhibits(
        "Whether judges find the paraphrases of issues neutral, and how far the judges agree.",
        _sections(analysis),
        trials=None,
    ),
)
