"""The output at the end of commands, such as a run's summary, report and next steps, a plan or an analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.cli.build import Exit
from overton.cli.terminal import print_json, results, say
from overton.errors import InputError, StudyError, command
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from rich.table import Table

    from overton.analysis.analyze import Measured
    from overton.planning.power import PlanDetecting
    from overton.runs.dry_run import ModelPlan, Plan
    from overton.runs.run import Run
    from overton.studies.power import Detection
    from overton.studies.sections import Table as StudyTable
    from overton.studies.study import Done


def conclude(run: Run, *, json: bool = False) -> Exit:
    """Report on a run that has finished or stopped, say where its files are, and return the exit code.

    With `json` the analysis is printed instead of the summary and the report's path.

    If nothing can be measured (every call failed, say) that is not bad input: calls were made, and may have been paid.
    """
    from overton.reports.judge_replies import unread_judge

    measured = True
    if run.study.kind != "asks" and run.study.measuring is None:
        _show_dataset(run)
    elif run.records().height:
        measured = _report_results(run, json=json)
        if unread := unread_judge(run):
            say(unread)
    else:
        say("No item is complete yet, so there is nothing to report.")
    if run.manifest.left_out:
        say(f"Left out: {run.manifest.left_out}")
    state = show_state(run)
    return state if measured else state or Exit.FAILED


def _report_results(run: Run, *, json: bool) -> bool:
    """Show the results and write the report; False if there is nothing to measure."""
    from overton.analysis.analyze import measure_run
    from overton.reports.run_report import report_of

    try:
        outcome = measure_run(run.manifest.study, run.path)
        if json:
            print_json(outcome.document())
        else:
            _show_summary(outcome, run)
        report = report_of(run, outcome)
        if not json:
            results().print(f"Report: {report}", soft_wrap=True)
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
        say(f"{asked:,} requests were made for what all trials share; every shard has the replies.")
    say(f"Run each, here or elsewhere: {command('resume', first.path)}")
    say(f"Then: {command('merge', *(shard.path for shard in shards))} --out DIR")


def show_unfinished(run: Run) -> Exit:
    """Say how to resume a run merged from shards that had not all finished."""
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


def _show_dataset(run: Run) -> None:
    dataset = run.study.dataset
    for line in dataset.summary(run.rows()) if dataset and dataset.summary else ():
        say(line)
    say(f"Run: {run.path}")
    if run.dataset is not None:
        results().print(str(run.dataset), soft_wrap=True)


def show_state(run: Run) -> Exit:
    """Say how far a run went, and how to continue it; returns the exit code."""
    manifest = run.manifest
    for name, note in manifest.notes.items():
        say(f"Note: {name} {note}.")
    if not run.finished:
        missing = sum(map(len, manifest.missing.values()))
        say(f"Stopped: {manifest.stopped}.")
        if manifest.out:
            cancel = command("batches", run.path, "--cancel")
            say(f"{manifest.out:,} calls are in batches that continue by themselves. To cancel them: {cancel}")
        resume = command("resume", run.path, *_resume_options(run))
        if run.manifest.precision is None or missing:
            say(f"{missing} items are incomplete and are left out. Resume with: {resume}")
        else:
            say(f"The answers of an incomplete round are left out. Resume with: {resume}")
        return Exit.STOPPED
    unwritable = [trial for lane in manifest.unmade.values() for trial in lane.trials]
    if unwritable:
        count = sum(lane.count for lane in manifest.unmade.values())
        say(
            f"{count} trials have records that do not fit a table; their items are left out. The first: {unwritable[0]}"
        )
    if run.failed:
        again = command("resume", run.path, "--retry-failed")
        some = "1 call" if run.failed == 1 else f"{run.failed:,} calls"
        say(f"{some} failed for good. Retry with: {again}")
        return Exit.SOME_FAILED
    return Exit.SOME_FAILED if unwritable or _has_missing_items(run) else Exit.DONE


def _has_missing_items(run: Run) -> bool:
    made = run.study.dataset
    return made is not None and made.lacking is not None and made.lacking(run.rows()) > 0


def _resume_options(run: Run) -> tuple[str, ...]:
    reached = run.manifest.reached
    if run.manifest.batch_refused:
        return ("--retry-failed",)
    return (f"--max-{reached}", "MORE") if reached else ()


def _show_summary(outcome: Measured, run: Run) -> None:
    from overton.cli.tables import show_findings, show_first, show_sections
    from overton.reports.run_report import precision_sections
    from overton.studies.sections import summary

    show_first(outcome.summary_as_published(), results())
    show_findings(outcome.findings, results())
    show_sections([*outcome.summary(), *summary([*precision_sections([run])])], results())


def show_plan(planned: Plan, max_cost: float | None, max_calls: int | None, *, json: bool) -> None:
    """Print a plan, and whether a limit would stop it."""
    from overton.studies.document import SCHEMA, document

    if json:
        print_json(document(planned.study, SCHEMA, planned))
        return
    results().print(_calls_table(planned))
    if planned.nulls:
        results().print(_nulls_table(planned))
        say("Nulls are included in the calls above but not in the published design; each is priced as if alone.")
    say("Tokens are estimated at four bytes each; 'at most' assumes that every answer uses all its allowed tokens.")
    if planned.prices_as_of:
        say(f"Prices are as of {planned.prices_as_of}; --prices FILE and --price NAME IN OUT take precedence.")
    if planned.batches_in_turn:
        turns = planned.batches_in_turn
        after = "one batch" if turns == 1 else f"up to {turns} batches, one after another"
        say(
            f"In batches (--batch): {_dollars(planned.cost_in_batches)}, in {after}. Each finishes within 24 hours,"
            f" usually within one: {planned.hours_in_batches:g} hours at most."
        )
    if any(row.retrieves for row in planned.models):
        say(
            "Searches and pages are counted as if none were requested twice; what a search service charges is left out."
        )
    _warn_limits(planned, max_cost, max_calls)


def show_ways(planned: Plan) -> None:
    """Show alternative ways to ask for the same thing side by side, with prices, if there are several."""
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
    """Say what a run with precision stopping is expected to take."""

    if (expected := planned.precision) is None:
        return
    within = (
        "" if expected.calls_least == expected.calls_most else f" ({expected.calls_least:,} to {expected.calls_most:,})"
    )
    whole = f"{planned.calls:,}" if planned.calls == planned.calls_at_most else f"{planned.calls:,} or more"
    say(
        f"Stopping once precise: about {expected.calls:,} calls{within} instead of {whole},"
        f" {_dollars(expected.cost)} instead of {_dollars(planned.cost)}, in {expected.rounds} rounds, if answers are"
        f" like those of {expected.pilot}."
    )
    for name, half in expected.halves.items():
        say(f"The interval of {name} is then within {half:.2g} to either side.")


def _calls_table(planned: Plan) -> Table:
    from rich.table import Table

    table = Table(title=f"{planned.study}: {planned.items} items, {planned.trials} trials per model")
    batched = bool(planned.batches_in_turn)
    headings = ("model", "role", "calls", "tokens in", "tokens out", "cost", "at most")
    for heading in (*headings, "in batches") if batched else headings:
        table.add_column(heading, justify="left" if heading in ("model", "role") else "right")
    for row in planned.models:
        calls = _range(row.calls, row.calls_at_most)
        in_batches = ["-" if row.cost_in_batches is None else _dollars(row.cost_in_batches)] if batched else []
        table.add_row(row.model, row.role, calls, *(["-"] * 4 if row.retrieves else _cost_cells(row)), *in_batches)
    return table


def _nulls_table(planned: Plan) -> Table:
    from rich.table import Table

    table = Table(title="of these, null conditions")
    for heading in ("null", "trials", "calls", "cost", "at most"):
        table.add_column(heading, justify="left" if heading == "null" else "right")
    for null in planned.nulls:
        calls = _range(null.calls, null.calls_at_most)
        table.add_row(null.name, f"{null.trials:,}", calls, _dollars(null.cost), _dollars(null.cost_at_most))
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
            "--max-cost is exceeded only if a model bills more than max_tokens allow. At most, the excess is the calls"
            " in flight at once (`connections` for each model; in batches, all) times what the dearest cost too much."
        )


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.2f}"


def show_analysis(study: AnyStudy, files: Sequence[Path], *, json: bool, how: Mapping[str, Any]) -> None:
    """Compute a study's measures and print them."""
    from overton.analysis.analyze import measure_run
    from overton.cli.tables import show_findings, show_first, show_sections

    outcome = measure_run(study.name, files, **{name: value for name, value in how.items() if value is not None})
    if json:
        print_json(outcome.document())
    else:
        show_first(outcome.summary_as_published(), results())
        show_findings(outcome.findings, results())
        show_sections(outcome.summary(), results())


def show_schema(study: AnyStudy) -> None:
    """Print the JSON Schema of a study's analysis."""
    from overton.analysis.analyze import schema

    print_json(schema(study.name))


def show_detections(planned: PlanDetecting) -> None:
    """Print what a plan would detect: for each measure a sentence, a table and what it is based on."""
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
            f"The pilot was asked differently from this plan, so {plural} may vary differently, too:"
            f" {'; '.join(detection.differing)}."
        )
    if detection.why is not None:
        yield f"{head}: {detection.why}."
        return
    if detection.chance is not None and detection.smallest is not None and detection.chance_equivalent is not None:
        trials = "" if detection.trials is None else f" and {_count_trials(detection.trials)} of each"
        yield (
            f"{head} is detected with a probability of {detection.chance:.0%} by this plan"
            f" ({detection.items} {plural}{trials}), which detects one of {detection.smallest:.3g} with"
            f" {detection.power:.0%}. A true difference of {detection.margin / 2:g}, half the margin, is"
            f" found equivalent with a probability of {detection.chance_equivalent:.0%}."
        )
    else:
        yield f"{head}: this plan has {detection.items} {plural}, and there is no interval for fewer than 5."
    yield _describe_basis(detection, plural)


def _count_trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _describe_basis(detection: Detection, plural: str) -> str:
    trials = f" with {_count_trials(detection.pilot_trials)} of each" if detection.pilot_trials else ""
    if detection.assumed:
        correlation = f"A correlation of {detection.correlation:g} between two models' values over {plural}"
        how = f"{correlation} is assumed (--correlation)."
    elif detection.correlation is None:
        how = "The correlation of its models' values is unknown."
    else:
        how = f"Two models' values have a correlation of {detection.correlation:.2f} over {plural}."
    chance = (
        "" if detection.spread_trials is not None else " This pilot does not show how much of it is chance in trials."
    )
    level = f" The level is divided among {detection.pairs} pairs." if detection.pairs > 1 else ""
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
        note="Costs are the plan's, for all its models.",
    )
