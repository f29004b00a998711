"""The output at the end of commands, such as a run's summary, report and next steps, a plan or an analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.cli.build import Exit
from overton.cli.terminal import print_json, results, say
from overton.errors import InputError, StudyError, command
from overton.studies.findings import counted
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from rich.table import Table

    from overton.cli.progress import SessionWatch
    from overton.planning.power import PlanDetecting
    from overton.runs.dry_run import ConditionPlan, ModelPlan, Plan
    from overton.runs.run import Run
    from overton.studies.power import Detection
    from overton.studies.sections import Table as StudyTable
    from overton.studies.study import Done


def conclude(run: Run, watch: SessionWatch | None = None, *, json: bool = False) -> Exit:
    """Print the outcome of a run that has finished or stopped, and where its files are; return the exit code.

    Missing items are printed first. `watch` is the watcher of the session, if there was a session. With `json` the
    analysis is printed instead of the first screen and the report's path.

    If no measure can be computed (for example, because every call failed), the exit code differs from that of bad
    input. The reason is that calls were made and may have been paid for.
    """
    from overton.reports.judge_replies import unread_judge

    measured, seconds = True, watch.last.seconds if watch and watch.last else None
    if run.manifest.left_out and not run.manifest.has_selection:
        say(f"Left out: {run.manifest.left_out}")
    _say_first_replies(run)
    stopped = None if run.finished else show_state(run)
    if run.study.kind != "asks" and run.study.measuring is None:
        _show_dataset(run, seconds)
    elif run.records().height:
        measured = _report_results(run, seconds, json=json)
        if unread := unread_judge(run):
            say(unread)
    else:
        say("No item is complete yet, so there is nothing to report.")
    state = show_state(run) if stopped is None else stopped
    return state if measured else state or Exit.FAILED


def _report_results(run: Run, seconds: float | None, *, json: bool) -> bool:
    """Show the first screen and write the report; False if there is nothing to measure."""
    from overton.analysis.analyze import measure_run
    from overton.cli.first_screen import show_first_screen
    from overton.reports.first_screen import first_screen
    from overton.reports.run_comparison import RunComparison
    from overton.reports.run_report import report_of

    try:
        outcome = measure_run(run.manifest.study, run.path)
        comparison = RunComparison([run], outcome)
        if json:
            print_json(outcome.document())
        report = report_of(run, outcome, comparison)
        if not json:
            show_first_screen(first_screen(run, outcome, seconds, comparison), report, results())
    except (InputError, StudyError) as error:
        say(f"Nothing can be reported: {error}")
        return False
    return True


def show_shards(shards: Sequence[Run]) -> None:
    """Say where the shards are, and how to merge them into a run."""
    for shard in shards:
        results().print(str(shard.path), soft_wrap=True)
    first = shards[0]
    asked = first.manifest.spent.requests
    if asked:
        made = counted(asked, "requests")
        say(
            f"Overton sent {made} for calls that all trials share. Every shard has the replies and does not"
            " request them again."
        )
    say(f"Run each shard, here or elsewhere: {command('resume', first.path)}")
    say(f"Then: {command('merge', *(shard.path for shard in shards))} --out DIR")


def show_unfinished(run: Run) -> Exit:
    """Say how to resume a run that was merged from unfinished shards."""
    results().print(str(run.path), soft_wrap=True)
    say(f"The run is not complete; resume it with: {command('resume', run.path)}")
    return Exit.STOPPED


def show_done(done: Done, *, json: bool) -> Exit:
    """Show what a study's own command did, and return the exit code."""
    from overton.cli.tables import show

    for line in done.lines:
        say(line)
    if json and done.data is not None:
        print_json(done.data)
    else:
        show(done.exhibits, results())
    if done.path:
        results().print(done.path, soft_wrap=True)
    return Exit.DONE if done.run is None else show_state(done.run)


def _show_dataset(run: Run, seconds: float | None) -> None:
    from overton.reports.first_screen import heading, short_names

    dataset = run.study.dataset
    say(heading(run, [*short_names([entry.name for entry in run.entries]).values()], seconds))
    for line in dataset.summary(run.rows()) if dataset and dataset.summary else ():
        say(line)
    say(f"Run: {run.path}")
    if run.dataset is not None:
        results().print(str(run.dataset), soft_wrap=True)


def show_state(run: Run) -> Exit:
    """Say how far a run went, and how to continue it; returns the exit code."""
    from overton.reports.first_screen import missing_items, resume_command

    manifest = run.manifest
    for name, note in manifest.notes.items():
        say(f"Note: {name} {note}.")
    if not run.finished:
        missing = any(manifest.missing.values())
        say(f"Stopped: {manifest.stopped}.")
        if manifest.out:
            cancel = command("batches", run.path, "--cancel")
            say(f"Batches with {counted(manifest.out, 'calls')} continue by themselves. To cancel them: {cancel}")
        if manifest.unread:
            _say_how_to_go_on(run)
        resume = resume_command(run)
        if manifest.unread:
            anyway = command("resume", run.path, "--anyway")
            resume += f" (checks the next replies first), or without this check: {anyway}"
        if run.manifest.precision is None or missing:
            say(f"Left out, because they are incomplete: {missing_items(run)}. Resume with: {resume}")
        else:
            say(f"The answers of an incomplete round are left out. Resume with: {resume}")
        return Exit.STOPPED
    unwritable = [trial for lane in manifest.unmade.values() for trial in lane.trials]
    if unwritable:
        count = sum(lane.count for lane in manifest.unmade.values())
        some = counted(count, "trials")
        say(f"{some} could not be stored as table rows, so their items are left out. The first: {unwritable[0]}")
    if run.failed:
        again = command("resume", run.path, "--retry-failed")
        say(f"{counted(run.failed, 'calls')} failed permanently. Retry with: {again}")
        return Exit.SOME_FAILED
    return Exit.SOME_FAILED if unwritable or _has_missing_items(run) else Exit.DONE


def _say_first_replies(run: Run) -> None:
    """Say how many of each model's first replies could be read."""
    counts = getattr(run.manifest.first_replies, "counts", {}).items()
    if run.manifest.unread:  # the reason for the stop already gives the numbers
        return
    if read := ", ".join(f"{name} {count.read} of {count.of}" for name, count in counts):
        say(f"Readable among the first replies: {read}.")


def _say_how_to_go_on(run: Run) -> None:
    """Say what can be done about replies that cannot be read."""
    counts = getattr(run.manifest.first_replies, "counts", {})
    if any(counts[name].of > 1 for name in run.manifest.unread):  # skip judges tested only on a control text
        which = ("--unread",) if run.study.kind == "asks" else ("--sample", 10)
        say(f"To see them: {command('show', run.path, *which)}")
    say("These replies stay in the run. Once the model's replies can be read, start a new run or resume this run.")


def _has_missing_items(run: Run) -> bool:
    made = run.study.dataset
    return made is not None and made.lacking is not None and made.lacking(run.rows()) > 0


def show_plan(planned: Plan, max_cost: float | None, max_calls: int | None, *, json: bool) -> None:
    """Print a plan, and whether a limit would stop it."""
    from overton.planning.plan import batches_are_cheaper
    from overton.studies.document import SCHEMA, document

    if json:
        print_json(document(planned.study, SCHEMA, planned))
        return
    results().print(_calls_table(planned))
    _print_headlines(planned)
    if planned.systems:
        results().print(_conditions_table("of these, by system prompt", "system prompt", planned.systems))
        say("All calls are repeated with each system prompt. This table prices each system prompt separately.")
    if planned.nulls:
        results().print(_conditions_table("of these, null conditions", "null condition", planned.nulls))
        say(
            "The calls above include null conditions, which are not part of the published design. This table prices"
            " each null condition separately."
        )
    say("Tokens are estimated at four bytes each. 'At most' assumes that every answer has the maximum length.")
    if planned.prices_as_of:
        say(f"Prices are as of {planned.prices_as_of}. To use others: --prices FILE or --price NAME IN OUT.")
    if batches_are_cheaper(planned):
        turns = planned.batches_in_turn
        after = "one batch" if turns == 1 else f"up to {turns} batches, one after another"
        say(
            f"In batches (--batch): {_dollars(planned.cost_in_batches)}, in {after}. A batch finishes"
            f" within 24 hours, usually within one hour, so this takes at most {planned.hours_in_batches:g} hours."
        )
    if any(row.retrieves for row in planned.models):
        say("Each search and page is counted once. The charges of search services are not included.")
    _warn_limits(planned, max_cost, max_calls)


def _print_headlines(planned: Plan) -> None:
    """Print which headlines the design can measure, and why it cannot measure the others."""
    from overton.studies.planned_headlines import describe_measurable, describe_unmeasurable
    from overton.studies.registry import study_named

    comparing = (measuring := study_named(planned.study).measuring) and measuring.comparing
    for sentence in describe_unmeasurable(planned.headlines):
        results().print(sentence, soft_wrap=True)
    if comparing:
        for sentence in describe_measurable(planned.headlines, comparing.unit, planned.pilot):
            results().print(sentence, soft_wrap=True)


def show_ways(planned: Plan) -> None:
    """If a design can be run in several ways, show them side by side, with their prices."""
    from rich.table import Table

    if len(planned.ways) < 2:
        return
    table = Table(title="Ways to ask for it")
    table.add_column("with")
    for column in ("calls", "cost", "at most"):
        table.add_column(column, justify="right")
    table.add_column("gives")
    for way in planned.ways:
        calls = _range(way.calls, way.calls_at_most)
        table.add_row(way.options or "as planned", calls, _dollars(way.cost), _dollars(way.cost_at_most), way.gives)
    results().print(table)


def show_precision(planned: Plan) -> None:
    """Print the expected calls and cost of a run with precision stopping."""

    if (expected := planned.precision) is None:
        return
    within = (
        "" if expected.calls_least == expected.calls_most else f" ({expected.calls_least:,} to {expected.calls_most:,})"
    )
    whole = f"{planned.calls:,}" if planned.calls == planned.calls_at_most else f"{planned.calls:,} or more"
    say(
        f"With a stop at the target precision, expect about {expected.calls:,} calls{within} instead of {whole}, and"
        f" {_dollars(expected.cost)} instead of {_dollars(planned.cost)}, in {expected.rounds} rounds. This assumes"
        f" answers like those of {expected.pilot}."
    )
    for name, half in expected.halves.items():
        say(f"The half-width of {name}'s interval is then at most {half:.2g}.")


def _calls_table(planned: Plan) -> Table:
    from rich.table import Table

    size = f"{counted(planned.items, 'items')}, {counted(planned.trials, 'trials')} per model"
    table = Table(title=f"{planned.study}: {size}")
    from overton.planning.plan import batches_are_cheaper

    batched = batches_are_cheaper(planned)
    headings = ("model", "role", "calls", "tokens in", "tokens out", "cost", "at most")
    for heading in (*headings, "in batches") if batched else headings:
        table.add_column(heading, justify="left" if heading in ("model", "role") else "right")
    for row in planned.models:
        calls = _range(row.calls, row.calls_at_most)
        in_batches = ["-" if row.cost_in_batches is None else _dollars(row.cost_in_batches)] if batched else []
        table.add_row(row.model, row.role, calls, *(["-"] * 4 if row.retrieves else _cost_cells(row)), *in_batches)
    return table


def _conditions_table(title: str, heading: str, conditions: Sequence[ConditionPlan]) -> Table:
    from rich.table import Table

    table = Table(title=title)
    for name in (heading, "trials", "calls", "cost", "at most"):
        table.add_column(name, justify="left" if name == heading else "right")
    for part in conditions:
        calls = _range(part.calls, part.calls_at_most)
        table.add_row(part.name, f"{part.trials:,}", calls, _dollars(part.cost), _dollars(part.cost_at_most))
    return table


def _cost_cells(row: ModelPlan) -> list[str]:
    sent = _range(row.input_tokens, row.input_tokens_at_most)
    return [sent, f"{row.output_tokens:,}", _dollars(row.cost), _dollars(row.cost_at_most)]


def _warn_limits(planned: Plan, max_cost: float | None, max_calls: int | None) -> None:

    if max_calls is not None and planned.calls > max_calls:
        say(f"--max-calls {max_calls} would stop this run before its {planned.calls} calls.")
    if max_cost is not None and planned.cost is not None and planned.cost > max_cost:
        say(f"--max-cost {max_cost:g} would stop this run before its estimated ${planned.cost:.2f}.")
    if max_cost is not None:
        say(
            "The cost exceeds --max-cost only if a model bills more tokens than max_tokens allows. The excess is then"
            " at most the number of calls in flight times the largest excess of a single call. Up to `connections`"
            " calls of each model are in flight. In batches, all calls are in flight at once."
        )


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.2f}"


def show_analysis(study: AnyStudy, files: Sequence[Path], *, json: bool, how: Mapping[str, Any]) -> None:
    """Compute a study's measures and print them."""
    from overton.analysis.analyze import measure_run
    from overton.cli.tables import show_findings, show_first, show_sections
    from overton.reports.run_report import precision_sections
    from overton.runs.run import open_run
    from overton.studies.sections import summary

    outcome = measure_run(study.name, files, **{name: value for name, value in how.items() if value is not None})
    if json:
        print_json(outcome.document())
    else:
        show_first(outcome.summary_as_published(), results())
        show_findings(outcome.findings, results())
        runs = [open_run(path) for path in files] if outcome.results else []
        show_sections([*outcome.summary(), *summary([*precision_sections(runs)])], results())


def show_schema(study: AnyStudy) -> None:
    """Print the JSON Schema of a study's analysis."""
    from overton.analysis.analyze import schema

    print_json(schema(study.name))


def show_detections(planned: PlanDetecting) -> None:
    """Print the differences that a plan would detect. Each measure has a sentence, the basis of this sentence, and a
    table."""
    from overton.cli.tables import show
    from overton.studies.sections import Prose

    for detection in planned.detect:
        results().print()
        show(
            [
                Prose("\n\n".join(_describe_detection(detection, detection.unit))),
                *([_needed_table(detection, detection.unit)] if detection.needed else []),
            ],
            results(),
        )


def _describe_detection(detection: Detection, plural: str) -> Iterator[str]:
    head = f"{detection.title}: a difference of {detection.difference:g} between two models"
    if detection.differing:
        yield (
            f"The pilot's design differs from this plan ({'; '.join(detection.differing)}), so the variation among"
            f" {plural} may differ, too."
        )
    if detection.why is not None:
        yield f"{head}: {detection.why}."
        return
    if detection.chance is not None and detection.smallest is not None and detection.chance_equivalent is not None:
        trials = "" if detection.trials is None else f" and {counted(detection.trials, 'trials')} of each"
        yield (
            f"{head} is detected with a probability of {detection.chance:.0%} by this plan ({detection.items}"
            f" {plural}{trials}). The plan detects a difference of {detection.smallest:.3g} with a probability of"
            f" {detection.power:.0%}. If the true difference is {detection.margin / 2:g} (half the margin), the"
            f" plan finds the models equivalent with a probability of {detection.chance_equivalent:.0%}."
        )
    else:
        yield f"{head}: this plan has {detection.items} {plural}, and an interval needs at least 5."
    yield _describe_basis(detection, plural)


def _describe_basis(detection: Detection, plural: str) -> str:
    trials = f" with {counted(detection.pilot_trials, 'trials')} of each" if detection.pilot_trials else ""
    if detection.assumed:
        correlation = f"A correlation of {detection.correlation:g} between two models' values over {plural}"
        how = f"{correlation} is assumed (--correlation)."
    elif detection.correlation is None:
        how = "The correlation between the pilot's models is unknown."
    else:
        how = f"Two models' values have a correlation of {detection.correlation:.2f} over {plural}."
    chance = (
        ""
        if detection.spread_trials is not None
        else (" The pilot does not show how much of this variation is due to chance within trials.")
    )
    level = f" The significance level is divided among {detection.pairs} pairs." if detection.pairs > 1 else ""
    return (
        f"Variation among {plural} is estimated from {detection.pilot} ({detection.pilot_items} {plural}{trials};"
        f" {', '.join(detection.pilot_models)}). {how}{chance}{level}"
    )


def _needed_table(detection: Detection, plural: str) -> StudyTable:
    from overton.studies.sections import Cell, Column, EmptyCell, Table

    def dollars(cost: float | None) -> Cell:
        return EmptyCell("a price is unknown") if cost is None else f"${cost:,.2f}"

    none = EmptyCell("no number suffices")
    rows: list[list[Cell]] = [
        [
            "as in the pilot" if row.trials is None else f"{row.trials}",
            none if row.items is None else row.items,
            none if row.items_between is None else "{:,} to {:,}".format(*row.items_between),
            dollars(row.cost),
            none if row.items_equivalent is None else row.items_equivalent,
            dollars(row.cost_equivalent),
        ]
        for row in detection.needed
    ]
    return Table(
        f"{detection.title}: {plural} needed for a power of {detection.power:.0%}",
        [
            Column("Trials of each"),
            Column(f"To detect {detection.difference:g}", "count"),
            Column("Given the pilot's noise"),
            Column("Cost"),
            Column(f"To find {detection.margin / 2:g} equivalent", "count"),
            Column("Cost"),
        ],
        rows,
        note="Costs are for all models of the plan.",
    )
