"""Sentences to read before any number, worded alike in every study; and counts of malformed replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.judging import FAULTS
from overton.statistics import Estimate
from overton.statistics.estimate import FEWEST
from overton.studies.findings import Compared, Finding, correct_for_multiple_tests, counted
from overton.studies.measurement import Measuring, UnreadRecords
from overton.studies.numbers import sentence
from overton.studies.results import JudgeOnControls, Results, RunFacts, StoredAgreement
from overton.studies.sections import Callout, Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.label_tasks import SavedLabels


_FAULT_WORDS = {"empty": "empty", "cut": "cut off", "echo": "echoed", "loop": "looping", "duplicate": "repeated"}
_MANY_SHARE = 0.1
"""The share of faulty replies from which the top of the report names a model's faults; a choice of ours."""


class FaultCount(msgspec.Struct, frozen=True):
    """The replies of one model in one condition: how many there are, how many have a fault of form, and which.

    A reply may have several; `faults` counts each of `overton.judging.FAULTS`.
    """

    model: str
    condition: str
    replies: int
    faulty: int
    faults: dict[str, int]


def count_faults(records: pl.DataFrame, condition: str) -> tuple[FaultCount, ...]:
    """Counts for every model and value of the column `condition`, sorted.

    `records` have one row for each reply, with `model` and `faults` (a list of `overton.judging.Fault`). Replies that
    never came, by their `failure`, are left out, and so are those not checked for faults; runs made before faults
    were looked for have no such column, and no counts.
    """
    import polars as pl

    if "faults" not in records.columns:
        return ()
    came = pl.col("failure").is_null() if "failure" in records.columns else pl.lit(True)
    records = records.filter(came & pl.col("faults").is_not_null())
    if records.is_empty():
        return ()
    faults = pl.col("faults")
    each = [faults.list.contains(fault).sum().alias(fault) for fault in FAULTS]
    counted = records.group_by("model", pl.col(condition).cast(pl.String).fill_null("-").alias("condition")).agg(
        pl.len().alias("replies"), (faults.list.len() > 0).sum().alias("faulty"), *each
    )
    return tuple(
        FaultCount(
            row["model"], row["condition"], row["replies"], row["faulty"], {fault: row[fault] for fault in FAULTS}
        )
        for row in counted.sort("model", "condition").iter_rows(named=True)
    )


def fault_section(counts: Sequence[FaultCount], unit: str, condition: str, what: str) -> Iterator[Section]:
    """The table of faults by model and condition, if there are any.

    `unit` is what a reply is called ('answers'), `condition` the heading of its column; `what` says in a sentence what
    was done about the headline: which figures beside it leave these replies out.
    """
    if not any(count.faulty for count in counts):
        return
    columns = [Column("Model"), Column(condition), Column(unit.capitalize(), "count"), Column("With a fault", "count")]
    columns += [Column(_FAULT_WORDS[fault].capitalize(), "count") for fault in FAULTS]
    rows: list[list[Cell]] = [
        [count.model, count.condition, count.replies, count.faulty, *(count.faults[fault] for fault in FAULTS)]
        for count in counts
    ]
    note = f"Recognised by form alone, by rules in code; one of the {unit} may have several faults. {what}"
    said = [Callout(warning, "warning", summary=True) for warning in fault_warnings(counts, unit)]
    yield Section("faults", "Faults of form", [*said, Table(f"Malformed {unit}", columns, rows, note)])


def with_faults(
    sections: Iterable[Section | None], faults: Iterable[Section], warnings: Sequence[str]
) -> list[Section]:
    """The sections, preceded by what is to be read before any number.

    `faults`, as `fault_section` makes them, come first too if some model has so many that there is a warning about
    them, otherwise last.
    """
    said = [Callout(text, "warning", summary=True) for text in warnings]
    head = [Section("warnings", "Before any number", said)] if said else []
    listed = list(faults)
    leading = any(isinstance(exhibit, Callout) for section in listed for exhibit in section.exhibits)
    made = [section for section in sections if section]
    return [*head, *listed, *made] if leading else [*head, *made, *listed]


def names_of_faulty(counts: Sequence[FaultCount]) -> list[str]:
    """The models with a fault of form in a tenth or more of their replies, sorted."""
    found = []
    for model in sorted({count.model for count in counts}):
        own = [count for count in counts if count.model == model]
        replies, faulty = sum(count.replies for count in own), sum(count.faulty for count in own)
        if faulty and faulty >= _MANY_SHARE * replies:
            found.append(model)
    return found


def fault_warnings(counts: Sequence[FaultCount], unit: str) -> Iterator[str]:
    """One sentence about each model with a fault of form in a tenth or more of its replies, with the faults it has."""
    for model in names_of_faulty(counts):
        own = [count for count in counts if count.model == model]
        replies, faulty = sum(count.replies for count in own), sum(count.faulty for count in own)
        kinds = {fault: sum(count.faults[fault] for count in own) for fault in FAULTS}
        named = ", ".join(f"{count:,} {_FAULT_WORDS[fault]}" for fault, count in kinds.items() if count)
        be = "is" if faulty == 1 else "are"
        advice = f" Raise its token limit: --model-arg {model} max_tokens=N." if kinds["cut"] else ""
        yield (
            f"{model}: {faulty:,} of its {replies:,} {unit} {be} malformed ({named}). Headlines count them,"
            f" and are also shown without them.{advice}"
        )


_FEW_ITEMS = 20


def warn_few_items(count: int, items: str) -> Iterator[str]:
    """Yield a warning if there are too few `items` ('issues') for intervals, or for narrow ones."""
    if count < FEWEST:
        there = f"There are {count} {items}" if count != 1 else f"The number of {items} is 1"
        yield f"{there}: too few for intervals over them, which need five."
    elif count < _FEW_ITEMS:
        yield f"There are {count} {items}: intervals over them are wide, and say nothing about other kinds of {items}."


def collect_findings(
    measuring: Measuring[Any, Any],
    analysis: Any,
    results: Results | None,
    more: Sequence[Finding] = (),
    beside: int = 0,
) -> list[Finding]:
    """The findings, each with its cautions; empty if none is declared.

    `results` are None for a table that was made elsewhere, whose judge is unknown. `more` are the sentences on null
    conditions: they come last, and take the place of those that compare the same measure with something else. `beside`
    counts the differences from null conditions, which are tested together with what the study declares.
    """
    compared = {
        (finding.model, assertion.measure)
        for finding in more
        for assertion in finding.assertions
        if isinstance(assertion.null, str)
    }
    said = measuring.findings(analysis) if measuring.findings else ()
    own = _drop_compared(correct_for_multiple_tests(said, beside=beside, compared=compared), compared)
    unread = tuple(measuring.unread(analysis)) if measuring.unread else ()
    faults: Sequence[FaultCount] = getattr(analysis, "faults", ())
    return [_add_cautions(finding, results, faults, unread) for finding in [*own, *more]]


def _drop_compared(own: Sequence[Finding], compared: Compared) -> Iterator[Finding]:
    """The study's own findings, except effects and bounds of measures that are `compared` with a null condition.

    A null condition shows what the measure is without the cause, so a comparison with an assumed value is left out.
    """
    for finding in own:
        if finding.what == "standing" or not any(
            (finding.model, assertion.measure) in compared for assertion in finding.assertions
        ):
            yield finding


def _add_cautions(
    found: Finding, results: Results | None, faults: Sequence[FaultCount], unread: Sequence[UnreadRecords]
) -> Finding:
    """A finding with the reasons not to quote it; if there are none, with what is not known of its judge."""
    reasons = tuple(_reasons_not_to_quote(found, results, faults, unread))
    unchecked = () if reasons or results is None else tuple(_note_unchecked_judge(found, results))
    return msgspec.structs.replace(
        found, cautions=(*found.cautions, *reasons, *unchecked), quotable=found.quotable and not reasons
    )


MANY_LOST = 0.2
"""The share of truncated replies, or of unreadable ones, from which numbers are not to be quoted; a choice of ours."""


def _reasons_not_to_quote(
    found: Finding, results: Results | None, faults: Sequence[FaultCount], unread: Sequence[UnreadRecords]
) -> Iterator[str]:
    """The reasons not to quote a finding, in full: docs/statistics.md has the same list.

    It rests on fewer items than an interval needs. Or many of the model's replies were truncated, or could not be read.
    Or its judge is far too small, simulated, or the judged model itself. Answers that measure nothing are the study's
    to report (`level_finding`). A finding about all models (its model is '') has the reasons of each of them.
    """
    if found.n < FEWEST:
        yield f"It rests on {counted(found.n, found.units)}; an interval needs {FEWEST}."
    for model in sorted({fault.model for fault in faults if found.model in {"", fault.model}}):
        replies = sum(count.replies for count in faults if count.model == model)
        truncated = sum(count.faults.get("cut", 0) for count in faults if count.model == model)
        if truncated and truncated >= MANY_LOST * replies:
            yield f"{truncated:,} of {replies:,} replies of {model} were truncated."
    for unread_records in unread:
        if (
            found.model in {"", unread_records.model}
            and unread_records.role in {"", found.judge}
            and 0 < MANY_LOST * unread_records.of <= unread_records.count
        ):
            unread_part = f"{unread_records.count:,} of {unread_records.of:,} {unread_records.what}"
            yield f"{unread_part} of {unread_records.model} could not be read."
    if results is not None and found.judge:
        yield from _unfit_judges(found, results)


def _unfit_judges(found: Finding, results: Results) -> Iterator[str]:
    judges = results.answering(found.judge)
    for judge in judges:
        if is_small(judge.spec):
            yield f"The judge {judge.name} is far too small to judge."
        elif judge.spec.startswith("simulated/"):
            yield f"The judge {judge.name} is simulated: its labels are for tests."
    specs = {judge.spec for judge in judges}
    themselves = [model.name for model in results.models if model.spec in specs and found.model in {"", model.name}]
    if themselves:
        yield f"{', '.join(themselves)} is judged by itself, and models favour their own texts."


def _note_unchecked_judge(found: Finding, results: Results) -> Iterator[str]:
    judged = found.judge and results.answering(found.judge)
    if judged and not any(run.agreements or run.labels for run in results.runs):
        yield "The judge's labels have not been compared with human labels."


def about_judges(results: Results, subject: str, role: str = "judge") -> Iterator[str]:
    """Judges that are too small to judge `subject` ('any model's stances'), that are simulated, whose form a grammar
    holds, or that judge themselves; in every role."""
    measured = {model.spec: model.name for model in results.models}
    for judge in results.answering(role):
        if is_small(judge.spec):
            yield (
                f"The judge is {judge.name}, a model far too small to judge: this report is for trying the tool, and"
                f" its numbers say nothing about {subject}."
            )
        if judge.spec.startswith("simulated/"):
            yield f"The judge is {judge.name}, which reads marks and no meaning: its labels are for tests."
        elif judge.holds_form:
            yield (
                f"A grammar held the labels of the judge {judge.name} to their form: it could not say that it cannot"
                " tell, and gives a label to whatever it reads."
            )
        if judge.spec in measured and not judge.spec.startswith("simulated/"):
            yield (
                f"{measured[judge.spec]} is judged by itself: models favour their own texts, so do not compare it with"
                " the others here."
            )


_MODEL_SIZE = re.compile(r"(?<![0-9a-z.])(?:[0-9]+x)?([0-9]+(?:\.[0-9]+)?) ?([mb])(?![0-9a-z])", re.IGNORECASE)
_SMALL_PARAMETERS = 4e9
"""Parameters below which a model is called small; where to draw the line is our choice."""


def is_small(spec: str) -> bool:
    """Whether a model is too small to judge, by the size in its name ('SmolLM2-135M', 'qwen2.5:3b')."""
    if spec.startswith("embedded/"):
        return True
    sizes = [float(number) * (1e9 if unit in "bB" else 1e6) for number, unit in _MODEL_SIZE.findall(spec)]
    return bool(sizes) and max(sizes) < _SMALL_PARAMETERS


def held_to_form(results: Results, how: str) -> Iterator[str]:
    """The models whose answers a grammar held to their form, and `how` that affects the numbers."""
    if results.held:
        yield f"{', '.join(sorted(results.held))}: {how}"


def warn_refusals(records: pl.DataFrame, unit: str) -> Iterator[str]:
    """How many of each model's `unit` its endpoint flagged as refusals, in one sentence; nothing if there were none.

    `records` have `model`, and `refused` unless they are from a run made before refusals were recorded.
    """
    import polars as pl

    if "refused" not in records.columns or not records["refused"].any():
        return
    counted = records.group_by("model").agg(pl.len(), pl.col("refused").sum()).filter(pl.col("refused") > 0)
    shares = [f"{model} {refused:,} of {count:,}" for model, count, refused in counted.sort("model").iter_rows()]
    yield f"{unit.capitalize()} that the endpoint flagged as refusals, kept as they came: {'; '.join(shares)}."


def names_in(run: RunFacts, role: str = "judge") -> str:
    """The names of those who answered in a role of a run, each with its temperature; 'none' if nobody did."""
    named = (f"{model.name} ({model.sampled})" if model.sampled else model.name for model in run.roles.get(role, ()))
    return ", ".join(named) or "none"


def judged_by(results: Results, title: str, name: Callable[[RunFacts], str] = names_in) -> Iterator[str]:
    """Who judged, and how well they agree with people, one line each."""
    known: dict[str, list[str]] = {}
    for run in results.runs:
        said = known.setdefault(name(run), [])
        said += [_describe_sheet(found) for found in run.agreements]
        said += [_describe_labels(label) for label in run.labels]
        said += [tried_on(control) for control in run.controls]
    for judge, said in known.items():
        yield from (f"{title}: {judge}. {line}" for line in said or [_AGREEMENT_UNKNOWN])


_AGREEMENT_UNKNOWN = "How well it agrees with people has not been measured."


def tried_on(judge_on_controls: JudgeOnControls) -> str:
    """How many controls a judge got right, in a sentence."""
    from overton.statistics.proportions import proportion

    share = Estimate(
        *proportion(judge_on_controls.right, judge_on_controls.controls, 0.95),
        judge_on_controls.controls,
        "Wilson",
        0.95,
    )
    what = judge_on_controls.what.replace("_", " ")
    right = f"{judge_on_controls.right} right ({sentence(share, 'share')})"
    return f"Of {judge_on_controls.controls} texts whose label is beyond doubt ({what}) it got {right}."


def failing_judges(results: Results) -> Iterator[str]:
    """The judges that fail their controls."""
    for run in results.runs:
        for control in run.controls:
            if control.fails:
                said = f"The judge {control.judge} fails its controls. {tried_on(control)}"
                yield f"{said} Do not trust what rests on its labels."


def _describe_sheet(found: StoredAgreement) -> str:
    said = f"A person who filled in a sheet gave its label ({found.what.replace('_', ' ')})"
    return f"{said} to {sentence(found.same, 'share')}; Cohen's kappa {sentence(found.kappa, 'value')}."


def _describe_labels(labels: SavedLabels) -> str:
    from overton.judging.annotators import annotator_agreement

    found = annotator_agreement(labels)
    said = f"People labelled {found.labelled:,} of the units that it judged ({found.what.replace('_', ' ')})"
    if found.labelled:
        said += f" and gave its label to {sentence(found.judge.same, 'share')}; Cohen's kappa"
        said += f" {sentence(found.judge.kappa, 'value')}"
    return f"{said}. See Labels by people."
