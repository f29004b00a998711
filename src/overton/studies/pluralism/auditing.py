"""Checking reference viewpoints: a judge says for each opinion which summaries entail it, its own cluster's or others'.

A summary that does not say what its cluster contains fails here whatever model wrote it: failures of form are counted
when viewpoints are made, failures of meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Ask, Form, Trial
from overton.judging import Reading, parse_json
from overton.studies.asking import unless_refused
from overton.studies.options import StudyOptions
from overton.studies.orders import OWN, Order, drawn_order
from overton.studies.pluralism.audited import MEASURING
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.prompts import post_text
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.pluralism.questions import QUESTIONS as VIEWPOINT_QUESTIONS
from overton.studies.pluralism.questions import posts_of, summaries_of, thread_of
from overton.studies.pluralism.reading import REFERENCES
from overton.studies.pluralism.record import OpinionAudit
from overton.studies.pluralism.replies import form_of_numbers, read_numbers
from overton.studies.questions import JudgeAnswer, JudgePrompt, Material, Question
from overton.studies.results import Results
from overton.studies.self_agreement import RETEST, Retest, is_retested, retest_speaker
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    import polars as pl


class OpinionAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Every opinion is judged once by each judge, and a share of them a second time."""

    retest: Retest = RETEST


class OpinionTrial(Trial, frozen=True):
    """One thread whose opinions are known."""

    thread: ReferenceThread
    retest: float = 0.0


def _trials(threads: Sequence[ReferenceThread], options: OpinionAuditOptions, seed: int) -> Iterator[OpinionTrial]:
    """One per thread; those with viewpoints made by hand, or before opinions were kept, have nothing to judge."""
    for thread in threads:
        if thread.opinions:
            yield OpinionTrial(f"{thread.id}/audit", thread.id, seed, thread, options.retest)


def _order(trial: Trial, number: int, viewpoints: int) -> list[int]:
    """The places of the viewpoints, from 0, in the order in which they are shown with the opinion of this number."""
    return trial.draw(f"order/{number}").shuffle(list(range(viewpoints)))


_KEY = "entailed_by"
_LABELS = ("entailed", "not entailed")
_MEANINGS = ("the summary covers the opinion", "the summary does not cover the opinion")


def _ask_viewpoints(material: Material, order: Order) -> tuple[JudgePrompt[tuple[str, ...]]]:
    """The viewpoints whose summaries entail an opinion, by their ids."""
    thread = thread_of(material)
    viewpoints = [thread.viewpoints[place] for place in order.of(material["order"])]
    shown = prompts.numbered(" ".join(viewpoint.summary.split()) for viewpoint in viewpoints)
    messages = prompts.messages("audit", "ask", post=post_text(thread), viewpoints=shown, opinion=material["opinion"])

    def read(text: str) -> Reading[tuple[str, ...]]:
        reading = read_entailing(text, len(viewpoints))
        named = None if reading.value is None else tuple(viewpoints[number - 1].id for number in reading.value)
        return Reading(named, reading.how, reading.problem, reading.dropped)

    form = form_of_numbers(_KEY, range(1, len(viewpoints) + 1))
    return (JudgePrompt(messages, form, unless_refused(read)),)


def _label_of(values: Sequence[tuple[str, ...] | None], material: Material) -> dict[str, str | None]:
    """Whether the opinion's own viewpoint is among those that entail it."""
    (named,) = values
    return {"": None if named is None else _LABELS[material["viewpoint"] not in named]}


def _opinions(results: Results) -> pl.DataFrame:
    """Each opinion with its own viewpoint; those of one thread are alike."""
    import polars as pl

    yes, no = map(pl.lit, _LABELS)
    label = pl.when(pl.col("entailed").is_null()).then(None).when(pl.col("entailed")).then(yes).otherwise(no)
    return results.records.select(
        pl.format("{}/{}/{}", "model", "thread", "number").alias("id"),
        label.alias("label"),
        pl.format("{}/{}", "model", "thread").alias("group"),
        pl.lit("").alias("condition"),
        *("trial", "thread", "number", "viewpoint", "opinion"),
    )


def _materials(results: Results, rows: pl.DataFrame) -> list[Material]:
    threads = {thread.id: thread for thread in results.items}
    (facts,) = results.runs

    def material(row: Mapping[str, Any]) -> Material:
        thread = threads[row["thread"]]
        found = _material(thread, Trial(row["trial"], thread.id, facts.seed), row["number"])
        return {**found, "thread": msgspec.to_builtins(thread)}

    return [material(row) for row in rows.iter_rows(named=True)]


def _material(thread: ReferenceThread, trial: Trial, number: int) -> Material:
    opinion = thread.opinions[number - 1]
    return {
        "thread": thread,
        "opinion": opinion.text,
        "viewpoint": opinion.viewpoint,
        "order": _order(trial, number, len(thread.viewpoints)),
    }


def _texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    summaries = summaries_of(rows, "viewpoint", results.items)
    return rows.with_columns(*posts_of(results.items), pl.Series("viewpoint", summaries, pl.String))


ENTAILMENT: Question[tuple[str, ...]] = Question(
    key="entailment",
    labels=_LABELS,
    prompts=_ask_viewpoints,
    labels_of=_label_of,
    rows=_opinions,
    material=_materials,
    texts=_texts,
    # The judge's own words on how to decide.
    asks=f"Does the summary cover the opinion?\n\n{prompts.filled('audit', 'system').split(chr(10) * 2)[1]}",
    meanings=lambda: dict(zip(_LABELS, _MEANINGS, strict=True)),
    shown={"Post": "whole_post", "Summary": "viewpoint", "Opinion": "opinion"},
    sheet=("post", "viewpoint", "opinion"),
    row="opinion",
    group="thread",
)
"""Whether the summary of an opinion's own viewpoint entails it."""
QUESTIONS = replace(VIEWPOINT_QUESTIONS, questions=(ENTAILMENT,), controls=None, plans=None)


async def _conduct(trial: OpinionTrial, ask: Ask) -> list[OpinionAudit]:
    """Each opinion with all summaries, in an order of its own; some of them again, in another."""
    numbers = range(1, len(trial.thread.opinions) + 1)
    materials = [_material(trial.thread, trial, number) for number in numbers]
    answers = await QUESTIONS.ask_about(ask, [(ENTAILMENT, material, OWN) for material in materials])
    rows = [_audit_row(trial, number, answer) for number, answer in zip(numbers, answers, strict=True)]
    return [await _ask_again(trial, row, material, ask) for row, material in zip(rows, materials, strict=True)]


async def _ask_again(trial: OpinionTrial, row: OpinionAudit, material: Material, ask: Ask) -> OpinionAudit:
    """The row, with a second answer if it is among those that the judge is asked about again."""
    if row.failure is not None or not is_retested(trial.draw(f"retest/{row.number}"), trial.retest):
        return row
    asked = [(ENTAILMENT, material, drawn_order(trial.draw(f"retest/{row.number}/order")))]
    (second,) = await QUESTIONS.ask_about(ask, asked, retest_speaker("judge", row.number))
    return msgspec.structs.replace(row, judged_again=True, entailed_by_again=second.value)


def read_entailing(text: str, count: int) -> Reading[tuple[int, ...]]:
    """Numbers from 1 to `count` in a reply: `{"entailed_by": [2]}`, or a list alone. Others are dropped."""
    reading = parse_json(text)
    if reading.how == "invalid":
        return Reading.invalid(reading.problem)
    value, how = reading.value, reading.how
    if isinstance(value, dict):
        value = value.get(_KEY)
    else:
        how = "repaired"
    return read_numbers(value, how, range(1, count + 1), key=_KEY, named="summary", number=_number)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _audit_row(trial: OpinionTrial, number: int, answer: JudgeAnswer[tuple[str, ...]]) -> OpinionAudit:
    opinion, named = trial.thread.opinions[number - 1], answer.value
    return OpinionAudit(
        trial=trial.name,
        thread=trial.thread.id,
        community=trial.thread.community,
        viewpoint=opinion.viewpoint,
        number=number,
        opinion=opinion.text,
        entailed=None if named is None else opinion.viewpoint in named,
        others=tuple(
            view.id for view in trial.thread.viewpoints if view.id in (named or ()) and view.id != opinion.viewpoint
        ),
        attempts=answer.replies[0].attempts,
        failure=answer.failure,
    )


def _usual(role: str, speaker: str, form: Form | None) -> str:
    return '{"entailed_by": [1]}'


def _longest(role: str, speaker: str, form: Form | None) -> str:
    return "It is hard to say which of these summaries says that."


AUDITING: Study[ReferenceThread, OpinionAuditOptions, OpinionAudit, Any] = Study(
    name="audit-references",
    title="Audit of reference viewpoints",
    question="Do the summaries of reference viewpoints say what the opinions in them say, and what was lost?",
    roles=(Role("judge", "Model that judges", judges=True),),
    items=replace(REFERENCES, starter=None),  # those are hand-made, and have no opinions
    options=OpinionAuditOptions,
    record=OpinionAudit,
    kind="makes",
    measuring=MEASURING,
    questions=QUESTIONS,
    trials=_trials,
    conduct=_conduct,
    prompts=prompts.audit_texts,
    planning=(_usual, _longest),
)
"""Every opinion judged by each judge (one lane each), some of them twice; `audited.audit` sums up the records."""
