"""A check of issues: judges label how neutral each paraphrase is, and which side answering A supports. The analysis
counts these labels and computes the judges' agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import How as ReadHow
from overton.judging import cohen_kappa, fleiss_kappa, parse_json, schema_of, share
from overton.statistics import Estimate
from overton.studies.asking import as_it_came
from overton.studies.judge_checks.consistency import READINGS
from overton.studies.judge_checks.control_texts import ControlText
from overton.studies.judge_checks.controls import Tried, control_exhibits, count_right
from overton.studies.measurement import How, Measuring
from overton.studies.null_conditions import Null
from overton.studies.numbers import sentence
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Paraphrase, Side
from overton.studies.open_mindedness.paraphrases.templates import recognise_all
from overton.studies.open_mindedness.reading import PHRASED
from overton.studies.options import StudyOptions
from overton.studies.orders import OWN, Order, asked_in_order, drawn_order
from overton.studies.questions import JudgeAnswer, JudgePrompt, Material, Question, Questions
from overton.studies.results import Results
from overton.studies.sections import Cell, Column, Exhibits, Section, Table
from overton.studies.self_agreement import (
    RETEST,
    Retest,
    SelfAgreement,
    is_retested,
    of_labels,
    retest_speaker,
    self_agreement_lines,
)
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    import polars as pl

Label = Literal["neutral", "favors pro", "favors con"]
CONTROLS = "controls"
"""The name of an audit's null condition, whose prompts are clearly not neutral."""


class JudgeSummary(msgspec.Struct, frozen=True):
    """One judge's results. Proportions refer to readable verdicts and have Wilson intervals clustered by issue.

    `verdicts` counts readable verdicts by label; `repaired`, `asked_again`, `invalid`, `refused` and `failed` count
    records. `orientation` is the proportion of verdicts that agree with the issue on the side that A supports.
    `itself` is the judge's agreement with its own second labels, None if the judge labelled only once. The prompt for
    second labels names the verdicts in another order.
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
    """The agreement of two judges on the paraphrases that both judged: the proportion of equal verdicts, and Cohen's
    kappa."""

    first: str
    second: str
    same: Estimate
    kappa: Estimate


class Remark(msgspec.Struct, frozen=True):
    """A judge's objection to a paraphrase. `says` is the judge's verdict, or the judge's label for the side that A
    supports. `stated` is the expected verdict or label."""

    issue: str
    template: int
    judge: str
    says: str
    stated: str
    reason: str


class Agreement(msgspec.Struct, frozen=True):
    """The judges' verdicts on a dataset's neutrality, and their agreement.

    `fleiss` is Fleiss' kappa on the paraphrases that all judges labelled; None with fewer than three judges. `controls`
    are the judges' results on prompts that are not neutral; empty if the run has no controls. `not_neutral` and
    `orientation_disagreements` list every objection, by issue, template and judge.
    """

    judges: list[JudgeSummary]
    pairs: list[PairAgreement]
    fleiss: Estimate | None
    not_neutral: list[Remark]
    orientation_disagreements: list[Remark]
    controls: tuple[Tried, ...] = ()


_CONTROL = "not neutral {}"
"""Template for a control's name, with its number in the list."""


def controls() -> list[ControlText]:
    """Prompts that the paper calls not neutral (appendix A). The paper does not state which side they favour, so both
    sides count as correct."""
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


class ParaphraseAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options of the audit. Each judge labels every paraphrase once, and a sample of them a second time."""

    retest: Retest = RETEST


class ParaphraseTrial(Trial, frozen=True):
    """One paraphrase of one issue. `pro` and `con` are the positions, None if unknown."""

    question: str
    template: int
    paraphrase: Paraphrase
    pro: str | None
    con: str | None
    retest: float = 0.0


class ParaphraseVerdict(msgspec.Struct, frozen=True):
    """One judge's verdict on one paraphrase. In a run's records the column `model`, which names the judge, precedes
    these columns.

    trial, issue  the trial's name and the issue's id
    template      1 to 6
    orientation   the side that A supports according to the issue
    verdict       'neutral', 'favors pro' or 'favors con'. `verdict`, `fair` and `a_supports` are None
                  without a readable reply
    fair          whether both positions are stated fairly
    a_supports    the side that answering A supports according to the judge, or 'unclear'
    reason        the judge's reason, in a sentence
    reading       how the last reply was read ('as is', 'repaired' or 'invalid'), or None if the call failed
    attempts      1, or 2 if the first reply could not be read
    refused       the endpoint flagged the last reply as a refusal
    failure       why the call failed permanently, None if it did not
    judged_again  whether the judge labelled the paraphrase again, with the labels in another order
    verdict_again the second verdict; None if it is not readable, or without a second request
    """

    trial: str
    issue: str
    template: int
    orientation: Side
    verdict: Label | None
    fair: bool | None
    a_supports: Literal["pro", "con", "unclear"] | None
    reason: str
    reading: ReadHow | None
    attempts: int
    refused: bool = False
    failure: str | None = None
    judged_again: bool = False
    verdict_again: Label | None = None


class _Judgement(msgspec.Struct, frozen=True):
    """The judge's reply in JSON. The reason comes first, so that the judge does not make up a reason for a given
    verdict."""

    reason: str
    verdict: Label
    fair: bool
    a_supports: Literal["pro", "con", "unclear"]


FORM = Form(schema=schema_of(_Judgement))
LABELS: tuple[Label, ...] = get_args(Label)
_FAIR = ("fair", "not fair")
_SUPPORTS = ("pro", "con", "unclear")


def _material(question: str, paraphrase: str, positions: tuple[str | None, str | None]) -> Material:
    pro, con = positions
    return {"question": question, "paraphrase": paraphrase, "pro": pro, "con": con}


def _ask_verdict(material: Material, order: Order) -> tuple[JudgePrompt[_Judgement]]:
    """The prompt that asks for all three labels of a paraphrase. It names the verdicts in the given order."""
    if material["pro"] is None or material["con"] is None:
        sides = prompts.fill("audit.sides_unknown")
    else:
        sides = prompts.fill("audit.sides_known", pro=material["pro"], con=material["con"])
    asked = prompts.fill("audit.ask", sides=sides, question=material["question"], paraphrase=material["paraphrase"])
    messages, form = asked_in_order([user(asked)], FORM, LABELS, order.of(LABELS))
    return (JudgePrompt(messages, form, lambda reply: parse_json(reply.text, _Judgement)),)


def _rows(key: str, results: Results) -> pl.DataFrame:
    """One row per paraphrase and judge, with the judge's label. Paraphrases of one issue form a group."""
    import polars as pl

    fair, unfair = map(pl.lit, _FAIR)
    label = {
        "verdict": pl.col("verdict").cast(pl.String),
        "fair": pl.when("fair").then(fair).when(~pl.col("fair")).then(unfair),
        "a_supports": pl.col("a_supports").cast(pl.String),
    }
    issues = [issue.id for issue in results.items]
    return results.records.filter(pl.col("issue").is_in(issues)).select(
        pl.format("{}/{}", "model", "trial").alias("id"),
        label[key].alias("label"),
        pl.format("{}/{}", "model", "issue").alias("group"),
        pl.lit("").alias("condition"),
        *("issue", "template"),
    )


def _materials(results: Results, rows: pl.DataFrame) -> list[Material]:
    issues: dict[str, Issue] = {issue.id: issue for issue in results.items}

    def material(name: str, template: int) -> Material:
        issue = issues[name]
        return _material(issue.question, issue.paraphrases[template - 1].text, _positions(issue))

    return [material(*row) for row in rows.select("issue", "template").iter_rows()]


def _texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the texts that the judge read. A position is '' if the issue does not name it."""
    import polars as pl

    shown = _materials(results, rows)
    names = ("question", "pro", "con", "paraphrase")
    return rows.with_columns(pl.Series(name, [row[name] or "" for row in shown], pl.String) for name in names)


def _asked(number: int) -> str:
    """The words in which the judge's prompt asks for one of the three labels."""
    start = f"{number}. "
    lines = str(prompts.load("audit")["ask"]).splitlines()
    return next(line.removeprefix(start) for line in lines if line.startswith(start))


def _question(
    key: str, number: int, meanings: Mapping[str, str], label: Callable[[_Judgement], str]
) -> Question[_Judgement]:
    """The question for one of a paraphrase's three labels. One reply of the judge has all three."""
    return Question(
        key=key,
        labels=tuple(meanings),
        prompts=_ask_verdict,
        labels_of=lambda values, material: {"": None if values[0] is None else label(values[0])},
        rows=partial(_rows, key),
        material=_materials,
        texts=_texts,
        asks=_asked(number),
        meanings=lambda: meanings,
        shown={"Question": "question", "Position pro": "pro", "Position con": "con", "Paraphrase": "paraphrase"},
        row="paraphrase",
        group="issue",
    )


VERDICT = replace(
    _question(
        "verdict",
        1,
        dict(zip(LABELS, ("it favors neither side", "it favors the pro side", "it favors the con side"), strict=True)),
        lambda judgement: judgement.verdict,
    ),
    columns={"verdict": "verdict_again"},
    repeated="judged_again",
)
"""The question whether a paraphrase is neutral."""

QUESTIONS = Questions(
    (
        VERDICT,
        _question(
            "fair",
            2,
            dict(zip(_FAIR, ("both are", "one of them, or neither, is"), strict=True)),
            lambda judgement: _FAIR[not judgement.fair],
        ),
        _question(
            "a_supports",
            3,
            dict(zip(_SUPPORTS, ("the pro side", "the con side", "the paraphrase does not tell"), strict=True)),
            lambda judgement: judgement.a_supports,
        ),
    ),
    complaint=lambda problem: prompts.fill("audit.complaint", problem=problem),
    repeated=as_it_came,
    attempts=2,
    controls=controls,
)


def _trials(issues: Sequence[Issue], options: ParaphraseAuditOptions, seed: int) -> Iterator[ParaphraseTrial]:
    for issue in issues:
        pro, con = _positions(issue)
        for number, paraphrase in enumerate(issue.paraphrases, 1):
            yield ParaphraseTrial(
                name=f"{issue.id}/audit/t{number}",
                item=issue.id,
                seed=seed,
                question=issue.question,
                template=number,
                paraphrase=paraphrase,
                pro=pro,
                con=con,
                retest=options.retest,
            )


def _controls(issues: Sequence[Issue], options: Any, seed: int) -> Iterator[ParaphraseTrial]:
    """Trials with prompts that the paper calls not neutral, once per run. They are stored under the first issue, but
    have nothing to do with it."""
    for issue in issues[:1]:
        for number, control in enumerate(controls(), 1):
            text = control.material["paraphrase"]
            yield ParaphraseTrial(
                name=f"{issue.id}/control/{number}",
                item=issue.id,
                seed=seed,
                question=text,
                template=number,
                paraphrase=Paraphrase(text, "pro"),
                pro=None,
                con=None,
            )


def _positions(issue: Issue) -> tuple[str | None, str | None]:
    """The issue's pro and con positions. If it has none, the positions that its paraphrases name; None if they name
    none."""
    if issue.pro and issue.con:
        return issue.pro, issue.con
    named = recognise_all([paraphrase.text for paraphrase in issue.paraphrases])
    return next(((match.pro, match.con) for match in named if match is not None and match.pro), (None, None))


async def _conduct(trial: ParaphraseTrial, ask: Ask) -> list[ParaphraseVerdict]:
    """Ask for the verdict as JSON. If the reply cannot be read, state the reason and ask once more. Ask for a second
    verdict if the trial is in the sample for repeated labels."""
    material = _material(trial.question, trial.paraphrase.text, (trial.pro, trial.con))
    (first,) = await QUESTIONS.ask_about(ask, [(VERDICT, material, OWN)], "judge")
    verdict = _verdict(trial, first)
    if verdict.failure or not is_retested(trial.draw("retest"), trial.retest):
        return [verdict]
    order = drawn_order(trial.draw("retest/labels"))
    (second,) = await QUESTIONS.ask_about(ask, [(VERDICT, material, order)], retest_speaker("judge"))
    said = second.value.verdict if second.value else None
    return [msgspec.structs.replace(verdict, judged_again=True, verdict_again=said)]


def _verdict(trial: ParaphraseTrial, answer: JudgeAnswer[_Judgement]) -> ParaphraseVerdict:
    judgement, (reply,) = answer.value, answer.replies
    return ParaphraseVerdict(
        trial=trial.name,
        issue=trial.item,
        template=trial.template,
        orientation=trial.paraphrase.orientation,
        verdict=judgement.verdict if judgement else None,
        fair=judgement.fair if judgement else None,
        a_supports=judgement.a_supports if judgement else None,
        reason=judgement.reason if judgement else "",
        reading=reply.how,
        attempts=reply.attempts,
        refused=reply.refused and not reply.failure,
        failure=reply.failed,
    )


def _tried(rows: pl.DataFrame, level: float) -> tuple[Tried, ...]:
    """The number of controls that each judge labelled correctly, from the null condition's records."""
    import polars as pl

    names, reading = pl.format(_CONTROL, "template"), pl.lit(READINGS[0])
    said = rows.select("model", id=names, row=pl.lit(""), reading=reading, label="verdict")
    return tuple(count_right(said, {control.id: control for control in controls()}, level))


def agreement(records: pl.DataFrame) -> Agreement:
    """Summarise an audit's records. They have the columns of `ParaphraseVerdict`, and `model`, which names the
    judge."""
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
    """The verdicts `[judge][paraphrase]` on the paraphrases with readable verdicts from all judges, and these
    paraphrases' issues."""
    keys = sorted(set.intersection(*map(set, verdicts.values())))
    return [[own[key] for key in keys] for own in verdicts.values()], [issue for issue, _ in keys]


def _pair(judge: str, other: str, verdicts: _Verdicts) -> PairAgreement:
    (first, second), issues = _shared({name: verdicts[name] for name in (judge, other)})
    same = [a == b for a, b in zip(first, second, strict=True)]
    return PairAgreement(judge, other, share(same, issues), cohen_kappa(first, second, issues))


def _remarks(rows: Sequence[dict[str, Any]], column: str, stated: Callable[[dict[str, Any]], str]) -> list[Remark]:
    """An objection for every row whose `column` differs from the value that `stated` returns."""
    remarks = [
        Remark(row["issue"], row["template"], row["model"], row[column], stated(row), row["reason"])
        for row in rows
        if row[column] != stated(row)
    ]
    return sorted(remarks, key=lambda remark: (remark.issue, remark.template, remark.judge))


def agreement_tables(found: Agreement) -> list[Table]:
    """The report's tables. Their rows are judges, pairs of judges, and judgements that a paraphrase is not neutral."""
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
    note = " ".join(["Shares are of readable verdicts.", *said])
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
    questions=QUESTIONS,
    records=_measure_results,
    tables="the records of an audit",
    table=lambda table, how: agreement(table.frame()),
    sections=_sections,
    exhibits=lambda results, analysis, how: Exhibits(
        "Whether judges find the paraphrases of issues neutral, and how well the judges agree.",
        _sections(analysis),
        trials=None,
    ),
)

STUDY: Study[Issue, ParaphraseAuditOptions, ParaphraseVerdict, Any] = Study(
    name="audit",
    title="Neutrality of paraphrases",
    question="Are the paraphrases of issues neutral, and do judges agree on that?",
    roles=(
        Role(
            "judge",
            "Model that labels the paraphrases; with several, the report shows how well they agree",
            judges=True,
        ),
    ),
    items=PHRASED,
    measuring=MEASURING,
    options=ParaphraseAuditOptions,
    record=ParaphraseVerdict,
    kind="makes",
    trials=_trials,
    conduct=_conduct,
    prompts=lambda: prompts.texts("audit", "nulls"),
    nulls=(
        Null(
            CONTROLS,
            "prompts that the paper calls not neutral (appendix A): a positive control",
            (),
            lambda results, rows, how: {},  # the audit's own analysis counts them
            _controls,
        ),
    ),
)
"""The study in which each judge labels every paraphrase. `agreement` summarises its records."""
