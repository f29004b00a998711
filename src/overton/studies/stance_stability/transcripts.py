"""Existing conversations: the same judge labels every turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from overton.calls import Ask, Trial
from overton.judging import Fault, faults_of
from overton.studies import stance_stability
from overton.studies.calibration_sample import (
    CALIBRATE,
    CALIBRATE_EACH,
    Calibrate,
    CalibrateEach,
    add_calibration,
    choose_calibration_turns,
)
from overton.studies.options import Demands, Option, StudyOptions
from overton.studies.probabilities import Shares
from overton.studies.questions import JudgedLabels
from overton.studies.self_agreement import RETEST, Retest
from overton.studies.simulated import late_respondent
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.items import Topic, Transcript, TranscriptTurn
from overton.studies.stance_stability.options import (
    FEWEST_CHARACTERS,
    JudgePrompts,
    StanceHow,
    judge_weighed,
    remarks_on,
)
from overton.studies.stance_stability.planning import CANNED
from overton.studies.stance_stability.questions import QUESTIONS, judge_turn
from overton.studies.stance_stability.record import Stance
from overton.studies.stance_stability.showing import EarlierTurn
from overton.studies.stance_stability.transcript_tables import TRANSCRIPTS
from overton.studies.study import Role, Study
from overton.studies.study_report import StudyReport

if TYPE_CHECKING:
    from overton.studies.frame import Analysis
    from overton.studies.results import Results
    from overton.studies.sections import Section, TrialTable


class JudgingOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Which prompts the judge gets, and how much of the earlier turns; see `Options`."""

    judge_prompts: Annotated[
        JudgePrompts,
        Option(
            "Stances towards the topic's proposition (topic); towards the question's premise (published), without"
            " certainty and so without Chameleon score; or both",
            flag="--judge-prompt",
        ),
    ] = "topic"
    judged_characters: Annotated[
        int, Option("Most characters of earlier turns shown to the judge", least=FEWEST_CHARACTERS)
    ] = 12_000
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH

    def remarks(self) -> Iterator[str]:
        """See `remarks_on`."""
        return remarks_on(self.judge_prompts)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Probabilities of the judge's labels of stances."""
        return Demands(probabilities=judge_weighed(self.shares))


class TranscriptTrial(Trial, frozen=True):
    """One transcript."""

    transcript: Transcript
    options: JudgingOptions
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0


class JudgedTurn(msgspec.Struct, frozen=True, gc=False):
    """One turn of a transcript with its labels: the columns that `overton analyze stance-stability` reads.

    conversation, turn, question, answer, topic, proposition, domain   as in the transcript
    model, temperature     of the conversation, not of the judge; '' and None if not known
    retrieved, cited       None if not known
    stance ... failure     as in `Record`; but here a failure ends no conversation
    judged_again ...       as in `Record`
    faults                 as in `Record`; why an answer ended is not known, so none is 'cut'
    shares ... sampled_premise   as in `Record`
    """

    conversation: str
    turn: int
    question: str
    answer: str
    topic: str
    proposition: str
    model: str
    domain: str
    temperature: float | None
    retrieved: tuple[str, ...] | None
    cited: tuple[str, ...] | None
    stance: Stance | None
    confidence: float | None
    claims: tuple[str, ...]
    contradictions_acknowledged: bool | None
    rationale: str
    premise_stance: Stance | None
    judge_attempts: int
    failure: str | None
    judged_again: bool = False
    stance_again: Stance | None = None
    premise_stance_again: Stance | None = None
    faults: tuple[Fault, ...] = ()
    shares: Literal["probabilities", "auto"] | None = None
    p_stance: tuple[float, ...] | None = None
    p_premise_stance: tuple[float, ...] | None = None
    sampled: tuple[str, ...] | None = None
    sampled_premise: tuple[str, ...] | None = None


def _trials(transcripts: Sequence[Transcript], options: JudgingOptions, seed: int) -> Iterator[TranscriptTrial]:
    return add_calibration(_transcript_trials(transcripts, options, seed), options, seed)


def _transcript_trials(
    transcripts: Sequence[Transcript], options: JudgingOptions, seed: int
) -> Iterator[TranscriptTrial]:
    for transcript in transcripts:
        yield TranscriptTrial(f"{transcript.id}/judge", transcript.id, seed, transcript=transcript, options=options)


async def _conduct(trial: TranscriptTrial, ask: Ask) -> list[JudgedTurn]:
    """Label every turn from what the judge is shown of it and of earlier turns."""
    transcript = trial.transcript
    towards = prompts.matter(
        transcript.proposition, transcript.topic, transcript.turns[0].question if transcript.turns else ""
    )
    sampled = choose_calibration_turns(
        trial.draw("calibration/turns"), trial.sampled, [turn.turn for turn in transcript.turns]
    )
    earlier: list[EarlierTurn] = []
    rows: list[JudgedTurn] = []
    for recorded in transcript.turns:
        turn = EarlierTurn(recorded.question, recorded.answer)
        often = sampled.get(recorded.turn, 0)
        judged = await judge_turn(
            trial, ask, towards, turn, earlier, number=recorded.turn, speaker="judge/1", sampled=often
        )
        rows.append(_row(trial, recorded, judged, [turn.answer for turn in earlier]))
        earlier.append(turn)
    return rows


def _row(trial: TranscriptTrial, turn: TranscriptTurn, judged: JudgedLabels, before: Sequence[str]) -> JudgedTurn:
    transcript = trial.transcript
    return JudgedTurn(
        conversation=transcript.id,
        turn=turn.turn,
        question=turn.question,
        answer=turn.answer,
        topic=transcript.topic,
        proposition=transcript.proposition,
        model=transcript.model,
        domain=transcript.domain,
        temperature=transcript.temperature,
        retrieved=turn.retrieved,
        cited=turn.cited,
        judge_attempts=judged.attempts,
        failure=judged.failure,
        faults=faults_of(turn.answer, shown=(turn.question, transcript.proposition), earlier=before),
        shares=trial.shares,
        **judged.columns,
    )


def _sections(analysis: Analysis, judged: str, items: Sequence[object]) -> Sequence[Section]:
    from overton.studies.stance_stability.layouts import sections

    return sections(analysis, judged)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    """The conversations, each with its proposition, if there is one, in place of a topic."""
    import polars as pl

    from overton.studies.stance_stability.browsing import conversation_table

    proposed = pl.col("proposition")
    records = results.records.with_columns(topic=pl.when(proposed != "").then(proposed).otherwise("topic"))
    headings = {item.proposition: item.topic for item in results.items if item.proposition}
    topics = [
        Topic(proposition, "", heading or "Transcript", proposition, "balanced", "moderate", ())
        for proposition, heading in headings.items()
    ]
    return conversation_table(records, analysis, topics)


REPORT: StudyReport[StanceHow, Any] = replace(
    stance_stability.REPORT,
    summary=(
        "Whether the speakers in existing conversations keep their view, how confidently they change it, and from how"
        " few sources."
    ),
    sections=_sections,
    answers=_answers,
    warnings=lambda results, analysis: (),
)

JUDGING: Study[Transcript, JudgingOptions, JudgedTurn, Any] = Study(
    name="judge-stance-stability",
    title="Stance stability of transcripts",
    question="Do the speakers in existing conversations keep their view?",
    roles=(Role("judge", "Model that reads the stance of every answer", judges=True, together=True),),
    items=TRANSCRIPTS,
    options=JudgingOptions,
    record=JudgedTurn,
    kind="labels",
    trials=_trials,
    conduct=_conduct,
    prompts=partial(prompts.texts, "judge", "stance"),
    simulated={"stance-judge": late_respondent("overton.studies.stance_stability.simulated:make_judge")},
    measuring=REPORT.measuring,
    questions=QUESTIONS,
    labels="stance-stability",
    planning=CANNED,
)
"""Every turn of every transcript, labelled by one judge. The rows' `model` is the speaker, so the judge has no lane of
its own: a run has one judge."""
