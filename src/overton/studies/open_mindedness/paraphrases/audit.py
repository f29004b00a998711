"""Checking items: judges say whether each paraphrase is neutral and which side answering A supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import How, parse_json, schema_of
from overton.studies.asking import as_it_came
from overton.studies.null_conditions import Null
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Paraphrase, Side
from overton.studies.open_mindedness.paraphrases.neutrality import CONTROLS, MEASURING, Label, controls
from overton.studies.open_mindedness.paraphrases.templates import recognise_all
from overton.studies.open_mindedness.reading import PHRASED
from overton.studies.options import StudyOptions
from overton.studies.orders import OWN, Order, asked_in_order, drawn_order
from overton.studies.questions import JudgeAnswer, JudgePrompt, Material, Question, Questions
from overton.studies.results import Results
from overton.studies.self_agreement import RETEST, Retest, is_retested, retest_speaker
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    import polars as pl


class ParaphraseAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Every paraphrase is judged once by each judge, and a share of them a second time."""

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
    """What one judge says of one paraphrase. In a run's records the column `model`, the judge, comes before these.

    trial, issue  the trial's name and the issue's id
    template      1 to 6
    orientation   the side of A that the item states
    verdict       'neutral', 'favors pro' or 'favors con'; None without a readable verdict, as are the next two
    fair          whether both positions are stated fairly
    a_supports    the side that answering A supports, as the judge reads it, or 'unclear'
    reason        the judge's sentence
    reading       'as is', 'repaired' or 'invalid': how the last reply was read; None if the call failed
    attempts      1, or 2 if the first reply could not be read
    refused       the endpoint flagged the last reply as a refusal
    failure       why the call failed for good, None if it did not
    judged_again  whether the judge was asked again, with its labels in another order
    verdict_again the verdict then; None as for `verdict`, and if not asked again
    """

    trial: str
    issue: str
    template: int
    orientation: Side
    verdict: Label | None
    fair: bool | None
    a_supports: Literal["pro", "con", "unclear"] | None
    reason: str
    reading: How | None
    attempts: int
    refused: bool = False
    failure: str | None = None
    judged_again: bool = False
    verdict_again: Label | None = None


class _Judgement(msgspec.Struct, frozen=True):
    """The JSON that a judge is asked for; the reason comes first, so that it is not made up for the verdict."""

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
    """All three things about a paraphrase; verdicts are named in this order."""
    if material["pro"] is None or material["con"] is None:
        sides = prompts.fill("audit.sides_unknown")
    else:
        sides = prompts.fill("audit.sides_known", pro=material["pro"], con=material["con"])
    asked = prompts.fill("audit.ask", sides=sides, question=material["question"], paraphrase=material["paraphrase"])
    messages, form = asked_in_order([user(asked)], FORM, LABELS, order.of(LABELS))
    return (JudgePrompt(messages, form, lambda reply: parse_json(reply.text, _Judgement)),)


def _label_of(
    label: Callable[[_Judgement], str], values: Sequence[_Judgement | None], material: Material
) -> dict[str, str | None]:
    (judgement,) = values
    return {"": None if judgement is None else label(judgement)}


def _rows(key: str, results: Results) -> pl.DataFrame:
    """Each paraphrase with the judge's label; those of one issue are alike."""
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
    """The rows with the texts that the judge read; a position that no issue names is ''."""
    import polars as pl

    shown = _materials(results, rows)
    names = ("question", "pro", "con", "paraphrase")
    return rows.with_columns(pl.Series(name, [row[name] or "" for row in shown], pl.String) for name in names)


def _asked(number: int) -> str:
    """One of the three things, in the judge's own words."""
    start = f"{number}. "
    lines = str(prompts.load("audit")["ask"]).splitlines()
    return next(line.removeprefix(start) for line in lines if line.startswith(start))


def _question(
    key: str, number: int, meanings: Mapping[str, str], label: Callable[[_Judgement], str]
) -> Question[_Judgement]:
    """One label of a paraphrase: all three are read from the same reply."""
    return Question(
        key=key,
        labels=tuple(meanings),
        prompts=_ask_verdict,
        labels_of=partial(_label_of, label),
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
"""Whether a paraphrase is neutral."""

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
    """Prompts that the paper calls not neutral, once per run; they are filed under the first issue, about which they
    say nothing."""
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
    """The issue's positions, or those that its paraphrases name."""
    if issue.pro and issue.con:
        return issue.pro, issue.con
    named = recognise_all([paraphrase.text for paraphrase in issue.paraphrases])
    return next(((match.pro, match.con) for match in named if match is not None and match.pro), (None, None))


async def _conduct(trial: ParaphraseTrial, ask: Ask) -> list[ParaphraseVerdict]:
    """Ask for the verdict as JSON; if it cannot be read, say why and ask once more."""
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


STUDY: Study[Issue, ParaphraseAuditOptions, ParaphraseVerdict, Any] = Study(
    name="audit",
    title="Neutrality of paraphrases",
    question="Are the paraphrases of issues neutral, and do judges agree on that?",
    roles=(Role("judge", "Model that judges; several show how far judges agree", judges=True),),
    items=PHRASED,
    measuring=replace(MEASURING, questions=QUESTIONS),
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
"""Every paraphrase judged by each judge (one lane each); `neutrality.agreement` sums up the records."""
