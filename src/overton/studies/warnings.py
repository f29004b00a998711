"""Warnings that readers should see before any number, with the same words in every study, and counts of malformed
replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.judging import FAULTS, Fault
from overton.statistics import Estimate
from overton.statistics.estimate import FEWEST
from overton.studies.findings import DOUBTFUL, Compared, Finding, correct_for_multiple_tests, counted
from overton.studies.measurement import Measuring, UnreadRecords
from overton.studies.numbers import brief_estimate, sentence
from overton.studies.results import JudgeOnControls, Results, RunFacts, StoredAgreement
from overton.studies.sections import Callout, Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.judging import Fault
    from overton.judging.label_tasks import SavedLabels


_FAULT_WORDS = {"empty": "empty", "cut": "cut off", "echo": "echoed", "loop": "looping", "duplicate": "repeated"}
_MANY_SHARE = 0.1
"""The proportion of malformed replies from which the top of the report warns about a model. The threshold is Overton's
choice."""


class FaultCount(msgspec.Struct, frozen=True):
    """Counts of one model's replies in one condition: all replies, malformed replies, and replies with each kind of
    fault.

    A reply may have several kinds of fault (`overton.judging.FAULTS`), so the numbers in `faults` can add up to more
    than `faulty`.
    """

    model: str
    condition: str
    replies: int
    faulty: int
    faults: dict[str, int]


def count_faults(records: pl.DataFrame, condition: str) -> tuple[FaultCount, ...]:
    """Counts of malformed replies for every model and value of the column `condition`, sorted.

    `records` have one row for each reply, with `model` and `faults` (a list of `overton.judging.Fault`). Failed calls,
    marked by their `failure`, and unchecked replies are left out. Runs by versions without this check lack the column
    `faults`, so they have no counts.
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
    """The table of malformed replies by model and condition, if there are any.

    `unit` is the plural word for replies ('answers'), and `condition` the heading of its column. `what` is a sentence
    on the headline, for example on the numbers that leave out malformed replies.
    """
    if not any(count.faulty for count in counts):
        return
    columns = [Column("Model"), Column(condition), Column(unit.capitalize(), "count"), Column("Malformed", "count")]
    columns += [Column(_FAULT_WORDS[fault].capitalize(), "count") for fault in FAULTS]
    rows: list[list[Cell]] = [
        [count.model, count.condition, count.replies, count.faulty, *(count.faults[fault] for fault in FAULTS)]
        for count in counts
    ]
    note = (
        f"Overton finds malformed {unit} by fixed rules, which do not consider what a text means. A reply that is"
        f" malformed in several ways counts in several columns. {what}"
    )
    said = [Callout(warning, "warning", summary=True) for warning in fault_warnings(counts, unit)]
    yield Section(
        "faults", f"Malformed {unit}", [*said, Table(f"Malformed {unit} by model and condition", columns, rows, note)]
    )


def with_faults(
    sections: Iterable[Section | None], faults: Iterable[Section], warnings: Sequence[str]
) -> list[Section]:
    """The sections, preceded by the warnings to read before any number.

    `faults` are the sections made by `fault_section`. The fault sections come first if they warn about a model with
    many malformed replies, otherwise last.
    """
    said = [Callout(text, "warning", summary=True) for text in warnings]
    head = [Section("warnings", "Warnings", said)] if said else []
    listed = list(faults)
    leading = any(isinstance(exhibit, Callout) for section in listed for exhibit in section.exhibits)
    made = [section for section in sections if section]
    return [*head, *listed, *made] if leading else [*head, *made, *listed]


def names_of_faulty(counts: Sequence[FaultCount]) -> list[str]:
    """The models with at least a tenth of their replies malformed, sorted."""
    found = []
    for model in sorted({count.model for count in counts}):
        own = [count for count in counts if count.model == model]
        replies, faulty = sum(count.replies for count in own), sum(count.faulty for count in own)
        if faulty and faulty >= _MANY_SHARE * replies:
            found.append(model)
    return found


MALFORMED = "malformed"
"""The word for malformed replies in sentences."""


def fault_warnings(counts: Sequence[FaultCount], unit: str) -> Iterator[str]:
    """One warning about each model if at least a tenth of its replies are malformed. The warning counts each kind of
    fault."""
    for model in names_of_faulty(counts):
        own = [count for count in counts if count.model == model]
        replies, faulty = sum(count.replies for count in own), sum(count.faulty for count in own)
        kinds = {fault: sum(count.faults[fault] for count in own) for fault in FAULTS}
        named = ", ".join(f"{count:,} {_FAULT_WORDS[fault]}" for fault, count in kinds.items() if count)
        be = "is" if faulty == 1 else "are"
        advice = "".join(_advice_on_faults(model, kinds))
        yield (
            f"{model}: {faulty:,} of its {replies:,} {unit} {be} {MALFORMED} ({named}). Headlines include them; the"
            f" report also shows headlines without them.{advice}"
        )


def _advice_on_faults(model: str, kinds: Mapping[Fault, int]) -> Iterator[str]:
    """Advice on malformed replies, from the number of each kind."""
    if kinds["cut"]:
        yield f" Raise its token limit: --model-arg {model} max_tokens=N."
    elif kinds["empty"]:
        yield f" If it thinks before it answers, raise its token limit: --model-arg {model} max_tokens=N."
    if kinds["echo"]:
        yield (
            " A model that repeats its prompt may lack its chat template on the server, or may not follow instructions."
        )


FEW_ITEMS = 20
"""The smallest number of items without a warning. The threshold is Overton's choice."""


def warn_few_items(count: int, items: str) -> Iterator[str]:
    """Yield a warning if `count` is too small for intervals, or too small for narrow intervals. `items` is the plural
    word for the items ('issues')."""
    if count < FEWEST:
        there = f"There are {count} {items}" if count != 1 else f"The number of {items} is 1"
        yield f"{there}, too few for intervals, which need five."
    elif count < FEW_ITEMS:
        yield (
            f"There are only {count} {items}, so intervals over them are wide. The intervals do not describe other"
            f" kinds of {items}."
        )


def collect_findings(
    measuring: Measuring[Any, Any],
    analysis: Any,
    results: Results | None,
    more: Sequence[Finding] = (),
    beside: int = 0,
) -> list[Finding]:
    """The findings, each with its cautions; empty if the study declares no findings.

    `results` are None for a table made outside Overton, whose judge is unknown. `more` are the sentences on null
    conditions. They come last. They replace the study's own sentences that compare the same measures with assumed
    values. `beside` counts the differences from null conditions. The correction for multiple tests covers these
    differences and the study's own tests together.
    """
    compared = {
        (finding.model, assertion.measure)
        for finding in more
        for assertion in finding.assertions
        if isinstance(assertion.null, str)
    }
    said = measuring.findings(analysis) if measuring.findings else ()
    own = _drop_compared(correct_for_multiple_tests(said, beside=beside, compared=compared), compared)
    return with_cautions(measuring, analysis, results, [*own, *more])


def with_cautions(
    measuring: Measuring[Any, Any], analysis: Any, results: Results | None, findings: Iterable[Finding]
) -> list[Finding]:
    """Findings with cautions, that is, reasons not to quote them."""
    unread = tuple(measuring.unread(analysis)) if measuring.unread else ()
    faults: Sequence[FaultCount] = getattr(analysis, "faults", ())
    said = [_add_cautions(_with_judge(finding, measuring, results), results, faults, unread) for finding in findings]
    doubtful = {finding.model for finding in said if DOUBTFUL in finding.cautions}
    return [_add_doubt(finding) if finding.model in doubtful else finding for finding in said]


def _add_doubt(found: Finding) -> Finding:
    """Add the caution that the model's answers measure little."""
    return msgspec.structs.replace(found, cautions=tuple(dict.fromkeys((*found.cautions, DOUBTFUL))))


def _with_judge(found: Finding, measuring: Measuring[Any, Any], results: Results | None) -> Finding:
    """Add the judge's role to a finding whose measures depend on that judge's labels only with some options of a
    run."""
    if found.judge or results is None or measuring.headline is None:
        return found
    judge_of = measuring.headline.judge
    judges = (
        judge_of(assertion.measure, run.options)
        for assertion in found.assertions
        for run in results.runs
        if not judge_of(assertion.measure, {})
    )
    return msgspec.structs.replace(found, judge=next(filter(None, judges), ""))


def _drop_compared(own: Sequence[Finding], compared: Compared) -> Iterator[Finding]:
    """The study's own findings, except effects and bounds of measures that are `compared` with a null condition.

    A null condition shows the measure without the cause, so a comparison with an assumed value is not needed.
    """
    for finding in own:
        if finding.what == "standing" or not any(
            (finding.model, assertion.measure) in compared for assertion in finding.assertions
        ):
            yield finding


def _add_cautions(
    found: Finding, results: Results | None, faults: Sequence[FaultCount], unread: Sequence[UnreadRecords]
) -> Finding:
    """A finding with the reasons not to quote it. Without such reasons, a note is added if its judge was not
    checked."""
    reasons = tuple(_reasons_not_to_quote(found, results, faults, unread))
    unchecked = () if reasons or results is None else tuple(_note_unchecked_judge(found, results))
    return msgspec.structs.replace(
        found, cautions=(*found.cautions, *reasons, *unchecked), quotable=found.quotable and not reasons
    )


MANY_LOST = 0.2
"""The proportion of truncated replies, or of unreadable replies, from which numbers should not be quoted. The threshold
is Overton's choice."""


def _reasons_not_to_quote(
    found: Finding, results: Results | None, faults: Sequence[FaultCount], unread: Sequence[UnreadRecords]
) -> Iterator[str]:
    """All reasons not to quote a finding. docs/statistics.md has the same list.

    The finding may be based on fewer items than an interval needs. Many of the model's replies may be truncated or
    unreadable. The judge may be far too small, simulated, or the judged model itself. Studies themselves report answers
    that do not measure an opinion (`level_finding`). A finding about all models (`model` is '') has the reasons of
    every model.
    """
    if found.n < FEWEST:
        yield (
            f"The number is based on {counted(found.n, found.units)}; an interval needs {FEWEST}. Ask about more"
            f" {found.units}."
        )
    for model in sorted({fault.model for fault in faults if found.model in {"", fault.model}}):
        replies = sum(count.replies for count in faults if count.model == model)
        truncated = sum(count.faults.get("cut", 0) for count in faults if count.model == model)
        if truncated and truncated >= MANY_LOST * replies:
            yield f"{truncated:,} of {replies:,} replies of {model} were truncated. Raise its token limit."
    for unread_records in unread:
        if (
            found.model in {"", unread_records.model}
            and unread_records.role in {"", found.judge}
            and 0 < MANY_LOST * unread_records.of <= unread_records.count
        ):
            unread_part = f"{unread_records.count:,} of {unread_records.of:,} {unread_records.what}"
            yield f"{unread_part} of {unread_records.model} could not be read: see overton show RUN --unread."
    if results is not None and found.judge:
        yield from _unfit_judges(found, results)


def _unfit_judges(found: Finding, results: Results) -> Iterator[str]:
    judges = results.answering(found.judge)
    for judge in judges:
        if is_small(judge.spec):
            yield f"The judge {judge.name} is far too small to judge. Run again with a larger judge."
        elif judge.spec.startswith("simulated/"):
            yield f"The judge {judge.name} is simulated, so its labels are for tests. Run again with a real judge."
    specs = {judge.spec for judge in judges}
    themselves = [model.name for model in results.models if model.spec in specs and found.model in {"", model.name}]
    if themselves:
        yield (
            f"{', '.join(themselves)} judges itself, and models favour their own texts. Run again with another judge."
        )


UNCHECKED_JUDGE = "The judge's labels have not been compared with human labels."
"""The note on a finding whose judge was not checked."""


def _note_unchecked_judge(found: Finding, results: Results) -> Iterator[str]:
    judged = found.judge and results.answering(found.judge)
    if judged and not any(run.agreements or run.labels for run in results.runs):
        yield UNCHECKED_JUDGE


def about_judges(results: Results, subject: str, role: str = "judge") -> Iterator[str]:
    """Warn about judges that are too small to judge `subject` ('any model's stances'), are simulated, had to give a
    label because of constrained decoding, or judge themselves."""
    measured = {model.spec: model.name for model in results.models}
    for judge in results.answering(role):
        if is_small(judge.spec):
            yield (
                f"The judge {judge.name} is far too small to judge. This report is for trying Overton; do not use its"
                f" numbers about {subject}."
            )
        if judge.spec.startswith("simulated/"):
            yield f"The judge {judge.name} is simulated and does not understand texts, so its labels are for tests."
        elif judge.holds_form:
            yield (
                f"Constrained decoding forced the judge {judge.name} to give a label to every text, even where it"
                " cannot tell."
            )
        if judge.spec in measured and not judge.spec.startswith("simulated/"):
            yield (
                f"{measured[judge.spec]} judges itself. Models favour their own texts, so do not compare this model"
                " with the others here."
            )


_MODEL_SIZE = re.compile(r"(?<![0-9a-z.])(?:[0-9]+x)?([0-9]+(?:\.[0-9]+)?) ?([mb])(?![0-9a-z])", re.IGNORECASE)
_SMALL_PARAMETERS = 4e9
"""The number of parameters below which a model counts as small. The threshold is Overton's choice."""


def is_small(spec: str) -> bool:
    """Whether a model is too small to judge, according to the size in its name ('SmolLM2-135M', 'qwen2.5:3b')."""
    if spec.startswith("embedded/"):
        return True
    sizes = [float(number) * (1e9 if unit in "bB" else 1e6) for number, unit in _MODEL_SIZE.findall(spec)]
    return bool(sizes) and max(sizes) < _SMALL_PARAMETERS


def held_to_form(results: Results, how: str) -> Iterator[str]:
    """A sentence that names the models whose answers were forced into a format by constrained decoding. `how` is the
    effect on the numbers."""
    if results.held:
        yield f"{', '.join(sorted(results.held))}: {how}"


def warn_refusals(records: pl.DataFrame, unit: str) -> Iterator[str]:
    """One sentence with each model's number of replies flagged as refusals by the endpoint, if there are any. `unit` is
    the plural word for the replies.

    `records` have the columns `model` and `refused`. Runs from before refusals were recorded lack the column `refused`.
    """
    import polars as pl

    if "refused" not in records.columns or not records["refused"].any():
        return
    counted = records.group_by("model").agg(pl.len(), pl.col("refused").sum()).filter(pl.col("refused") > 0)
    shares = [f"{model} {refused:,} of {count:,}" for model, count, refused in counted.sort("model").iter_rows()]
    yield f"{unit.capitalize()} that the endpoint flagged as refusals (counted as received): {'; '.join(shares)}."


def names_in(run: RunFacts, role: str = "judge") -> str:
    """The names of the models in a role of a run, each with its temperature; 'none' if the role is empty."""
    named = (f"{model.name} ({model.sampled})" if model.sampled else model.name for model in run.roles.get(role, ()))
    return ", ".join(named) or "none"


def judged_by(results: Results, title: str, name: Callable[[RunFacts], str] = names_in) -> Iterator[str]:
    """Lines on each judge: its agreement with people, and its results on controls."""
    known: dict[str, list[str]] = {}
    for run in results.runs:
        said = known.setdefault(name(run), [])
        said += [_describe_sheet(found) for found in run.agreements]
        said += [_describe_labels(label) for label in run.labels]
        said += [tried_on(control) for control in run.controls]
    for judge, said in known.items():
        yield from (f"{title}: {judge}. {line}" for line in said or [_AGREEMENT_UNKNOWN])


_AGREEMENT_UNKNOWN = "The judge's agreement with people was not measured."


def tried_on(judge_on_controls: JudgeOnControls) -> str:
    """A sentence with the number of controls that a judge labelled correctly."""
    from overton.statistics.proportions import proportion

    share = Estimate(
        *proportion(judge_on_controls.right, judge_on_controls.controls, 0.95),
        judge_on_controls.controls,
        "Wilson",
        0.95,
    )
    what = judge_on_controls.what.replace("_", " ")
    right = f"{judge_on_controls.right} right ({brief_estimate(share, 'share')})"
    return f"Of {judge_on_controls.controls} texts with an obvious label ({what}), the judge got {right}."


def failing_judges(results: Results) -> Iterator[str]:
    """A warning for each judge that fails its controls."""
    for run in results.runs:
        for control in run.controls:
            if control.fails:
                said = f"The judge {control.judge} fails its controls. {tried_on(control)}"
                yield f"{said} Do not trust numbers from its labels."


def _describe_sheet(found: StoredAgreement) -> str:
    said = f"A person labelled a sheet ({found.what.replace('_', ' ')})"
    return (
        f"{said} and agreed with the judge on {brief_estimate(found.same, 'share')}; Cohen's kappa"
        f" {sentence(found.kappa, 'value')}."
    )


def _describe_labels(labels: SavedLabels) -> str:
    from overton.judging.annotators import annotator_agreement

    found = annotator_agreement(labels)
    said = f"People labelled {found.labelled:,} of the judged units ({found.what.replace('_', ' ')})"
    if found.labelled:
        said += f" and agreed with the judge on {brief_estimate(found.judge.same, 'share')}; Cohen's kappa"
        said += f" {sentence(found.judge.kappa, 'value')}"
    return f"{said}. See Human labels."
