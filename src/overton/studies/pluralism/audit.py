"""Checks of reference viewpoints. For each opinion, a judge names all summaries in its thread that entail the opinion.

The audit reports how often an opinion is entailed by its own viewpoint's summary (purity) or by another viewpoint's
summary. It also reports the proportion of comments that are in no viewpoint, and these comments' proportion of votes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Ask, Trial
from overton.judging import Reading, parse_json
from overton.statistics import Estimate
from overton.studies.asking import unless_refused
from overton.studies.measurement import How, Measuring
from overton.studies.options import StudyOptions
from overton.studies.orders import OWN, Order, drawn_order
from overton.studies.pluralism.items import REFERENCES, ReferenceThread
from overton.studies.pluralism.prompts import post_text
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.pluralism.questions import QUESTIONS as VIEWPOINT_QUESTIONS
from overton.studies.pluralism.questions import posts_of, summaries_of, thread_of
from overton.studies.pluralism.record import OpinionAudit
from overton.studies.pluralism.replies import form_of_numbers, read_numbers
from overton.studies.pluralism.tables import OPINIONS
from overton.studies.prompts import numbered
from overton.studies.questions import JudgeAnswer, JudgePrompt, Material, Question
from overton.studies.results import Results
from overton.studies.sections import Callout, Cell, Column, Exhibit, Exhibits, Method, NamedItem, Section, Table
from overton.studies.self_agreement import (
    RETEST,
    Retest,
    SelfAgreement,
    is_retested,
    of_sets,
    retest_speaker,
    self_agreement_lines,
)
from overton.studies.study import Role, Study
from overton.studies.warnings import about_judges, judged_by, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.tables import RawTable


_PURE = 0.5
"""The audit lists a summary if it entails less than this proportion of its viewpoint's opinions. Overton chose the
value."""


class ViewpointAudit(msgspec.Struct, frozen=True):
    """One viewpoint under one judge.

    `opinions` counts the viewpoint's opinions that the judge was asked about. `entailed` counts the opinions that the
    viewpoint's own summary entails, and `elsewhere` counts the opinions that another viewpoint's summary entails.
    `unread` counts the opinions for which the judge gave no usable answer. `votes` are the viewpoint's votes, None if
    unknown.
    """

    judge: str
    thread: str
    viewpoint: str
    summary: str
    opinions: int
    entailed: int
    elsewhere: int
    unread: int
    votes: int | None


class Failing(msgspec.Struct, frozen=True):
    """A problem for a person to check: the viewpoint ('' for the whole thread), and the reason."""

    judge: str
    thread: str
    viewpoint: str
    reason: str


class Audit(msgspec.Struct, frozen=True):
    """The results over all judges.

    purity         proportion of opinions that their own viewpoint's summary entails
    elsewhere      proportion of opinions that another viewpoint's summary entails
    lost_comments  proportion of comments, with or without an opinion, that are in no viewpoint
    lost_votes     proportion of all votes that went to lost comments; negative votes count as 0

    Proportions are over all threads together, with intervals over threads. `lost_comments` and `lost_votes` are not
    computed if the reference set does not list lost comments. `self_agreement` is the judge's agreement with itself on
    the opinions that it judged twice. It is None if no opinion was judged twice, or if the table does not have the
    second answers.
    """

    threads: int
    viewpoints: int
    opinions: int
    unread: int
    purity: Estimate
    elsewhere: Estimate
    lost_comments: Estimate
    lost_votes: Estimate
    by_viewpoint: tuple[ViewpointAudit, ...]
    failing: tuple[Failing, ...]
    level: float
    notes: tuple[str, ...]
    self_agreement: SelfAgreement | None = None


def audit(records: pl.DataFrame, threads: Sequence[ReferenceThread] = (), *, level: float = 0.95) -> Audit:
    """Compute the audit from `records`, one row per opinion: model, thread, viewpoint, entailed (null if unknown),
    others.

    `threads` have the summaries, votes and lost comments. Without `threads`, the audit lacks these facts.
    """
    from overton.statistics.estimate import SHARE
    from overton.statistics.jackknife import Jackknife

    jackknife = Jackknife(level, unit="threads")
    known = {thread.id: thread for thread in threads}
    views = tuple(_by_viewpoint(records, known))
    named = [known[name] for name in records["thread"].unique(maintain_order=True) if name in known]
    of_threads = [list(some) for _, some in groupby(views, lambda view: view.thread)]
    judged = [sum(view.opinions - view.unread for view in some) for some in of_threads]
    entailed = [sum(view.entailed for view in some) for some in of_threads]
    elsewhere = [sum(view.elsewhere for view in some) for some in of_threads]
    comments, votes = ([count(thread) for thread in named] for count in (_count_comments, _count_votes))
    return Audit(
        threads=records["thread"].n_unique(),
        viewpoints=len({(view.thread, view.viewpoint) for view in views}),
        opinions=sum(view.opinions for view in views),
        unread=sum(view.unread for view in views),
        purity=jackknife.ratio(entailed, judged, SHARE),
        elsewhere=jackknife.ratio(elsewhere, judged, SHARE),
        lost_comments=jackknife.ratio([lost for lost, _ in comments], [every for _, every in comments], SHARE),
        lost_votes=jackknife.ratio([lost for lost, _ in votes], [every for _, every in votes], SHARE),
        by_viewpoint=views,
        failing=(*_impure(views), *_losing(named)),
        level=level,
        notes=tuple(_notes(records, threads)),
        self_agreement=_self_agreement(records, level),
    )


def _self_agreement(records: pl.DataFrame, level: float) -> SelfAgreement | None:
    import polars as pl

    if records.schema.get("judged_again") != pl.Boolean or records.schema.get("entailed_by_again") != pl.List(
        pl.String
    ):
        return None
    rows = records.filter("judged_again").select("thread", "viewpoint", "entailed", "others", "entailed_by_again")
    first = [
        None if entailed is None else [*others, *([own] if entailed else [])]
        for own, entailed, others in rows.select("viewpoint", "entailed", "others").iter_rows()
    ]
    return of_sets(first, rows["entailed_by_again"].to_list(), rows["thread"].to_list(), level=level)


def _by_viewpoint(records: pl.DataFrame, known: Mapping[str, ReferenceThread]) -> Iterator[ViewpointAudit]:
    import polars as pl

    judged = pl.col("entailed").is_not_null()
    counted = records.group_by("thread", "viewpoint", judge="model", maintain_order=True).agg(
        opinions=pl.len(),
        entailed=pl.col("entailed").sum(),
        elsewhere=(judged & (pl.col("others").list.len() > 0)).sum(),
        unread=(~judged).sum(),
    )
    views = {(thread.id, view.id): view for thread in known.values() for view in thread.viewpoints}
    for row in counted.sort("thread", "judge", maintain_order=True).iter_rows(named=True):
        view = views.get((row["thread"], row["viewpoint"]))
        yield ViewpointAudit(**row, summary=view.summary if view else "", votes=view.votes if view else None)


def _count_comments(thread: ReferenceThread) -> tuple[int, int]:
    """The numbers of a thread's lost comments and of all its comments."""
    kept = {comment for view in thread.viewpoints for comment in view.comments}
    return len(thread.lost), len(kept) + len(thread.lost)


def _count_votes(thread: ReferenceThread) -> tuple[int, int]:
    """The votes of a thread's lost comments and of all its comments; negative votes count as 0."""
    lost = sum(max(comment.votes, 0) for comment in thread.lost)
    return lost, sum(max(view.votes, 0) for view in thread.viewpoints) + lost


def _impure(views: Sequence[ViewpointAudit]) -> Iterator[Failing]:
    """Viewpoints whose summary does not match their opinions."""
    for view in views:
        judged = view.opinions - view.unread
        why = []
        if not judged:
            why.append("the judge gave no usable answer about it")
        elif not view.entailed:
            why.append(f"its summary entails none of its {judged} opinions")
        elif view.entailed < _PURE * judged:
            why.append(f"its summary entails {view.entailed} of its {judged} opinions")
        if judged and view.elsewhere > max(view.entailed, _PURE * judged):
            why.append(f"other summaries entail {view.elsewhere} of them")
        if why:
            yield Failing(view.judge, view.thread, view.viewpoint, "; ".join(why))


def _losing(threads: Sequence[ReferenceThread]) -> Iterator[Failing]:
    for thread in threads:
        if thread.lost:
            votes = sum(comment.votes for comment in thread.lost)
            named = ", ".join(comment.id for comment in thread.lost[:5]) + (", ..." if len(thread.lost) > 5 else "")
            plural = "comment is" if len(thread.lost) == 1 else "comments are"
            yield Failing("", thread.id, "", f"{len(thread.lost)} {plural} in no viewpoint, {votes:,} votes: {named}")


def _notes(records: pl.DataFrame, threads: Sequence[ReferenceThread]) -> Iterator[str]:
    yield from warn_few_items(records["thread"].n_unique(), "threads")
    if without := sum(not thread.opinions for thread in threads):
        yield (
            f"{without} of {len(threads)} threads are not judged, because their viewpoints do not list opinions. Such"
            " viewpoints were made by hand or by an older version."
        )
    if failed := records.filter(records["entailed"].is_null()).height:
        yield f"{failed:,} of {records.height:,} opinions are left out, because the judge gave no usable answer."


_METHOD = (
    "A judge reads each opinion with the summaries of all viewpoints of its thread, in random order, and names the"
    " summaries that entail it. Purity is the share of opinions entailed by the summary of their own viewpoint. If"
    " another summary also entails an opinion, the opinion fits either viewpoint. If only another summary entails an"
    " opinion, the opinion is in the wrong viewpoint. A comment is lost if none of its opinions is in a viewpoint. Such"
    " a comment states no opinion, or its opinions could not be read. Intervals are over threads. 'overton items"
    " compare-references' shows whether another seed gives the same viewpoints."
)


def _sections(found: Audit) -> list[Section]:
    notes = [Callout(note, "warning", summary=True) for note in found.notes]
    exhibits: list[Exhibit] = [*notes, _whole(found), _failing_table(found), Method(_METHOD)]
    return [Section("audit", "Results of the audit", exhibits), Section("viewpoints", "Viewpoints", [_views(found)])]


def _whole(found: Audit) -> Table:
    rows: list[list[Cell]] = [
        ["Opinions that their own summary entails (purity)", found.purity],
        ["Opinions that another summary entails", found.elsewhere],
        ["Comments in no viewpoint", found.lost_comments],
        ["Votes in no viewpoint", found.lost_votes],
    ]
    title = f"{found.viewpoints:,} viewpoints of {found.threads:,} threads, {found.opinions:,} opinions judged"
    return Table(title, [Column("Over all threads"), Column("Share", "share")], rows, summary=True)


def _failing_table(found: Audit) -> Table:
    """A table of the problems. Each viewpoint is named by its summary with its id beneath, or by its id if the summary
    is unknown."""
    summaries = {(view.thread, view.viewpoint): view.summary for view in found.by_viewpoint}
    rows: list[list[Cell]] = []
    for problem in found.failing:
        summary = summaries.get((problem.thread, problem.viewpoint))
        viewpoint = NamedItem(problem.viewpoint, summary, [problem.viewpoint]) if summary else problem.viewpoint
        rows.append([problem.thread, viewpoint, problem.reason, problem.judge])
    note = "These summaries entail fewer than half of their opinions. Measures still include these viewpoints."
    columns = [Column("Thread", items=True), Column("Viewpoint"), Column("Why"), Column("Judge")]
    return Table(f"To check: {len(rows):,}", columns, rows, note, summary=True)


def _views(found: Audit) -> Table:
    columns = [Column("Thread", items=True), Column("Viewpoint"), Column("Summary"), Column("Votes", "count")]
    columns += [Column(name, "count") for name in ("Opinions", "Entailed", "Entailed elsewhere", "No answer")]
    rows: list[list[Cell]] = [
        [
            *(view.thread, view.viewpoint, view.summary, "–" if view.votes is None else view.votes),
            *(view.opinions, view.entailed, view.elsewhere, view.unread, view.judge),
        ]
        for view in found.by_viewpoint
    ]
    return Table("Every viewpoint", [*columns, Column("Judge")], rows)


def _measure_table(table: RawTable, how: How) -> Audit:
    from overton.studies import table_frames

    return audit(table_frames.read(OPINIONS, table), level=how.level)


def _exhibits(results: Results, found: Audit, how: How) -> Exhibits:
    itself = {} if found.self_agreement is None else {"summaries": found.self_agreement}
    judged = "\n".join([*judged_by(results, "Judge"), *self_agreement_lines(itself)])
    first, *others = _sections(found)
    return Exhibits(
        summary="Whether summaries of viewpoints match the opinions behind them, and which comments were lost.",
        sections=[first.signed(judged), *others],
        trials=None,
        warnings=list(about_judges(replace(results, models=()), "any viewpoint")),  # this study measures no other model
    )


MEASURING: Measuring[Audit, Any] = Measuring(
    analysis=lambda: Audit,
    records=lambda results, how: audit(results.records, results.items, level=how.level),
    tables="the records of an audit, or a table of opinions (.parquet, .csv, .jsonl)",
    read=(OPINIONS,),
    table=_measure_table,
    sections=_sections,
    exhibits=_exhibits,
)


class OpinionAuditOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options of the audit. Each judge judges every opinion once, and a sample of opinions twice."""

    retest: Retest = RETEST


class OpinionTrial(Trial, frozen=True):
    """One thread whose opinions are known."""

    thread: ReferenceThread
    retest: float = 0.0


def _trials(threads: Sequence[ReferenceThread], options: OpinionAuditOptions, seed: int) -> Iterator[OpinionTrial]:
    """One trial per thread. Threads without stored opinions have no trial: their viewpoints were made by hand or by an
    old version."""
    for thread in threads:
        if thread.opinions:
            yield OpinionTrial(f"{thread.id}/audit", thread.id, seed, thread, options.retest)


_KEY = "entailed_by"
_LABELS = ("entailed", "not entailed")
_MEANINGS = ("the summary covers the opinion", "the summary does not cover the opinion")


def _ask_viewpoints(material: Material, order: Order) -> tuple[JudgePrompt[tuple[str, ...]]]:
    """The prompt that asks which viewpoints' summaries entail an opinion. Its value has the ids of these viewpoints."""
    thread = thread_of(material)
    viewpoints = [thread.viewpoints[place] for place in order.of(material["order"])]
    shown = numbered(" ".join(viewpoint.summary.split()) for viewpoint in viewpoints)
    messages = prompts.messages("audit", "ask", post=post_text(thread), viewpoints=shown, opinion=material["opinion"])

    def read(text: str) -> Reading[tuple[str, ...]]:
        reading = read_entailing(text, len(viewpoints))
        named = None if reading.value is None else tuple(viewpoints[number - 1].id for number in reading.value)
        return Reading(named, reading.how, reading.problem, reading.dropped)

    form = form_of_numbers(_KEY, range(1, len(viewpoints) + 1))
    return (JudgePrompt(messages, form, unless_refused(read)),)


def _label_of(values: Sequence[tuple[str, ...] | None], material: Material) -> dict[str, str | None]:
    """The label that tells whether the summary of the opinion's own viewpoint entails the opinion."""
    (named,) = values
    return {"": None if named is None else _LABELS[material["viewpoint"] not in named]}


def _opinions(results: Results) -> pl.DataFrame:
    """One row per opinion, with the label for its own viewpoint. The opinions of one thread form a group."""
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
    made = [
        _material(threads[thread], Trial(trial, thread, facts.seed), number)
        for thread, trial, number in rows.select("thread", "trial", "number").iter_rows()
    ]
    return [{**material, "thread": msgspec.to_builtins(material["thread"])} for material in made]


def _material(thread: ReferenceThread, trial: Trial, number: int) -> Material:
    opinion = thread.opinions[number - 1]
    return {
        "thread": thread,
        "opinion": opinion.text,
        "viewpoint": opinion.viewpoint,
        # The indices of the viewpoints, from 0, in the order in which the prompt shows them.
        "order": trial.draw(f"order/{number}").shuffle(list(range(len(thread.viewpoints)))),
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
    # The second part repeats the judge's own instructions.
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
    """Ask about each opinion with all summaries in random order, and about some opinions again in another order."""
    numbers = range(1, len(trial.thread.opinions) + 1)
    materials = [_material(trial.thread, trial, number) for number in numbers]
    answers = await QUESTIONS.ask_about(ask, [(ENTAILMENT, material, OWN) for material in materials])
    rows = [_audit_row(trial, number, answer) for number, answer in zip(numbers, answers, strict=True)]
    return [await _ask_again(trial, row, material, ask) for row, material in zip(rows, materials, strict=True)]


async def _ask_again(trial: OpinionTrial, row: OpinionAudit, material: Material, ask: Ask) -> OpinionAudit:
    """Return the row. If the row's opinion is in the sample for a second request, the judge's second answer is
    added."""
    if row.failure is not None or not is_retested(trial.draw(f"retest/{row.number}"), trial.retest):
        return row
    asked = [(ENTAILMENT, material, drawn_order(trial.draw(f"retest/{row.number}/order")))]
    (second,) = await QUESTIONS.ask_about(ask, asked, retest_speaker("judge", row.number))
    return msgspec.structs.replace(row, judged_again=True, entailed_by_again=second.value)


def read_entailing(text: str, count: int) -> Reading[tuple[int, ...]]:
    """Read numbers from 1 to `count` in a reply: `{"entailed_by": [2]}`, or a list alone. Other numbers are dropped."""
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


AUDITING: Study[ReferenceThread, OpinionAuditOptions, OpinionAudit, Any] = Study(
    name="audit-references",
    title="Audit of reference viewpoints",
    question="Do summaries of reference viewpoints match the opinions behind them, and which comments were lost?",
    roles=(Role("judge", "Model that judges", judges=True),),
    items=replace(REFERENCES, starter=None),  # the bundled threads have hand-made viewpoints without opinions
    options=OpinionAuditOptions,
    record=OpinionAudit,
    kind="makes",
    measuring=replace(MEASURING, questions=QUESTIONS),
    trials=_trials,
    conduct=_conduct,
    prompts=prompts.audit_texts,
    planning=(
        lambda role, speaker, form: '{"entailed_by": [1]}',
        lambda role, speaker, form: "It is hard to say which of these summaries says that.",
    ),
)
"""The study in which each judge judges every opinion, some of them twice (one pipeline per judge). `audit` sums up the
records."""
