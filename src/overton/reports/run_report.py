"""The report of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from overton.analysis.analyze import Measured, chosen_how, measured_runs
from overton.analysis.results import is_weighted, measuring_of
from overton.calls import Trial
from overton.errors import InputError, Problem
from overton.runs.dry_run import count_calls
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import Experiment
from overton.runs.run import Run, open_run
from overton.runs.tracebacks import traceback_kept
from overton.studies.installed_study import blaming
from overton.studies.items import spelled, spelled_trials, words_of
from overton.studies.measurement import How
from overton.studies.null_conditions import Null, askable, name_null_trials
from overton.studies.options import option_place
from overton.studies.precision import PrecisionTarget
from overton.studies.registry import study_named
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Section, TrialTable
from overton.studies.standard_parts import unequal
from overton.studies.study import AnyStudy
from overton.studies.warnings import failing_judges


def not_asked(study: AnyStudy, runs: Sequence[Run]) -> str:
    """Which nulls were not asked, and roughly what they would cost; '' if all were, or there are none to ask."""
    if study.kind != "asks":  # studies that label or make items have controls at most
        return ""
    missing = {run.path: [null for null in askable(study.nulls) if null.name not in _asked_nulls(run)] for run in runs}
    names = list(dict.fromkeys(null.name for some in missing.values() for null in some))
    if not names:
        return ""
    counted = [(run, _estimate_calls(study, run, missing[run.path])) for run in runs]
    calls = sum(count for _, count in counted)
    money = sum(filter(None, (_estimate_price(run, count) for run, count in counted)))
    price = f" and about ${money:,.2f}" if money else ""
    every = len(names) == len(askable(study.nulls))
    which = "No null condition was asked" if every else f"These null conditions were not asked: {', '.join(names)}"
    return f"{which}. Asking all of them would take about {calls:,} more calls{price}: overton extend RUN --null all."


def _asked_nulls(run: Run) -> Sequence[str]:
    return run.manifest.options.get("nulls") or ()


def _estimate_calls(study: AnyStudy, run: Run, nulls: Sequence[Null]) -> int:
    """The approximate number of calls: those of the first item's trials, as if every item had as many."""
    items = run.items()
    if not items or not nulls:
        return 0
    trials = [trial for null in nulls for trial in _first_item_trials(null, run.experiment)]
    if not trials:
        return 0
    course = run_to_end(count_calls(study, trials, 0))
    own = sum(count.calls for count in course.own.values()) * study.lanes(run.manifest.models)
    return (own + sum(count.calls for count in course.shared.values())) * len(items)


def _first_item_trials(null: Null, experiment: Experiment) -> Iterator[Trial]:
    found = name_null_trials(null, experiment.items, experiment.options, experiment.seed)
    first = next(found, None)
    if first is not None:
        yield first
        yield from takewhile(lambda trial: trial.item == first.item, found)


def _estimate_price(run: Run, calls: int) -> float | None:
    """The cost of so many calls, going by the cost of the run's own; None if that is unknown."""
    spent = run.manifest.spent
    return calls * spent.cost / spent.requests if spent.cost and spent.requests else None


def _precision_section(run: Run) -> Section | None:
    """The section of one run, None if it asked its whole plan."""
    from overton.studies.standard_parts import precision_section

    wanted: PrecisionTarget | None = run.manifest.precision
    if wanted is None or not run.manifest.precise:
        return None
    return precision_section(wanted, run.manifest.precise, run.study.items.noun.capitalize(), weighted=is_weighted(run))


def precision_sections(runs: Sequence[Run]) -> Iterator[Section]:
    """One section for each such run; several are distinguished by their folders."""
    for number, run in enumerate(runs):
        if (found := _precision_section(run)) is not None:
            several = len(runs) > 1
            key = f"{found.key}-{number + 1}" if several else found.key
            yield replace(found, key=key, title=f"{found.title} of {run.path.name}" if several else found.title)


BOUND = "bound by a grammar"
"""Shown beside the name of a model whose answers a grammar held to their form."""


def report(
    runs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    figures: str | Path | None = None,
    **how: Any,
) -> Path:
    """Write one self-contained HTML report of one or more runs of a study; returns the file.

    `out` defaults to the run's own `report.html` (it is required for several runs). `figures` names a folder for all
    charts, as PNG and SVG. `how` goes to the measures (see `analyze`). The report covers whole items only and says what
    is missing.

    Raises:
        InputError: no runs, runs of different studies, or several without `out`.
        RunError: a folder is not a run, or has no records; a file cannot be written.
    """
    opened = [open_run(path) for path in ([runs] if isinstance(runs, str | Path) else runs)]
    _check_runs(opened, out)
    target = Path(out) if out is not None else opened[0].path / "report.html"
    from overton.reporting import write, write_figures

    study = study_named(opened[0].manifest.study)
    with traceback_kept(opened[0].path), blaming(study, "its report"):
        built = _build_report(
            opened, measured_runs(study, opened, chosen_how(study, {**measuring_of(study).reported, **how}, opened))
        )
        if figures is not None:
            write_figures(built, Path(figures))
        return write(built, target)


def _check_runs(runs: Sequence[Run], out: str | Path | None) -> None:
    if not runs:
        raise InputError([Problem("report", "", "name at least one run")])
    studies = sorted({run.manifest.study for run in runs})
    if len(studies) > 1:
        raise InputError([Problem("report", "", f"the runs are of different studies: {', '.join(studies)}")])
    if len(runs) > 1 and out is None:
        raise InputError([Problem(option_place("out"), "", "name the report's file, since there are several runs")])


def report_of(run: Run, measured: Measured) -> Path:
    """The same for one run that was already measured; measured again if the report's choices are not the defaults."""
    from overton.reporting import write

    if measuring_of(measured.study).reported:
        return report([run.path])
    with traceback_kept(run.path), blaming(measured.study, "its report"):
        return write(_build_report([run], measured), run.path / "report.html")


def _build_report(runs: Sequence[Run], measured: Measured) -> Any:
    from overton.reporting import Report
    from overton.studies.sections import Callout

    study, results, labels = measured.study, measured.results, measured.labels
    assert results is not None
    assert labels is not None
    shown = measuring_of(study).shown(results, measured.analysis, measured.how)
    words = words_of(study.items, results.items)
    sections = [
        *(labels.sections() if labels.found else ()),
        *labels.noted(shown.sections),
        *measured.sections_by_judges(),
        *measured.sections_against(),
        *precision_sections(runs),
        *_comparison_sections(study, runs, results, measured.how),
    ]
    return Report(
        title=study.title or study.name,
        summary=shown.summary or study.question,
        facts=[*_report_facts(runs, results, study.items.plural), *_undeclared_facts(study)],
        sections=spelled(sections, words),
        first=spelled(measured.sections_as_published(shown.sections), words),
        findings=measured.findings,
        warnings=[
            *(
                Callout(text, "warning")
                for text in dict.fromkeys(
                    [*warnings_of(runs), *labels.warnings(), *failing_judges(results), *shown.warnings]
                )
            ),
            *(Callout(text, "note") for text in [not_asked(study, runs)] if text),
        ],
        trials=_name_readers(study, results, spelled_trials(shown.trials, words, study.items.noun.capitalize())),
        data=measured.document(shown.without),
    )


def _name_readers(study: AnyStudy, results: Results, trials: TrialTable | None) -> TrialTable | None:
    """The trials with who read them: the judges, unless the study says otherwise."""
    if trials is None or trials.reader:
        return trials
    judges = [judge.name for role in study.roles if role.judges for judge in results.answering(role.name)]
    return replace(trials, reader=", ".join(dict.fromkeys(judges)))


_MOST_COMPARED = 12
"""Most models that a report compares with each other: nobody reads a longer table."""


def _comparison_sections(study: AnyStudy, runs: Sequence[Run], results: Results, how: How) -> Iterator[Section]:
    """Models of the runs compared pairwise, or why they are not; nothing for a single model."""
    measuring = measuring_of(study)
    if not 1 < len(results.models) <= _MOST_COMPARED or measuring.comparing is None:
        return
    from overton.comparison.comparison import of_sources
    from overton.comparison.sections import in_report
    from overton.comparison.sources import of_runs
    from overton.statistics.jackknife import Jackknife
    from overton.studies.sections import Callout

    try:
        made = of_sources(study, of_runs(runs, results, study, how), Jackknife(how.level, seed=how.seed))
    except InputError as error:
        said = "; ".join(f"{problem.place}: {problem.reason}" for problem in error.problems)
        yield Section("compared", "Models compared", [Callout(f"The models are not compared. {said}.", "warning")])
        return
    if made.rows:
        yield in_report(made)


def _report_facts(runs: Sequence[Run], results: Results, items: str) -> Iterator[tuple[str, str]]:
    spent = [run.manifest.spent for run in runs]
    yield "Models", "\n".join(map(_model_line, results.models))
    yield items.capitalize(), str(len(results.items))
    yield "Trials planned", f"{sum(run.manifest.trials for run in runs):,}"
    yield "Requests sent", f"{sum(spending.requests for spending in spent):,}"
    yield "Failed calls", f"{sum(spending.failed for spending in spent):,}"
    yield "Cost", f"${sum(spending.cost for spending in spent):.2f}"
    yield "Started", ", ".join(sorted({run.manifest.created[:10] for run in runs}))
    yield "Seed", ", ".join(sorted({str(run.manifest.seed) for run in runs}))
    yield "Overton", ", ".join(sorted({run.manifest.overton for run in runs}))


def _undeclared_facts(study: AnyStudy) -> Iterator[tuple[str, str]]:
    """Yield what the report lacks because the study declares nothing for it."""
    lacking = []
    if study.measuring is None or study.measuring.exhibits is None:
        lacking.append("trials to browse (every one is in records.parquet)")
    if study.questions is None and any(not role.retrieves for role in study.roles[1:]):
        lacking.append("labels for people to check")
    if lacking:
        yield "Not declared", ", ".join(lacking)


def _model_line(model: MeasuredModel) -> str:
    """A model by its name in tables, with its spec and settings."""
    called = model.name if model.name.startswith(model.spec) else f"{model.name} = {model.spec}"
    return ", ".join([called, *([BOUND] if model.holds_form else []), *model.settings])


def warnings_of(runs: Sequence[Run]) -> Iterator[str]:
    """Warnings to read before any number: what runs left out, what is missing, what failed."""
    for run in runs:
        yield from _warnings_of(run)


def _warnings_of(run: Run) -> Iterator[str]:
    manifest = run.manifest
    if run.changed_records:
        yield run.changed_records
    if manifest.precision is not None:
        yield f"{run.path.name} {unequal(weighted=is_weighted(run))}"
    if run.replaced_texts:
        yield f"{run.path.name} {run.replaced_texts}."
    if manifest.left_out:
        yield f"{run.path.name} leaves out {manifest.left_out}."
    for model, items in manifest.missing.items():
        if items:
            why = f"stopped ({manifest.stopped})" if manifest.stopped else "has trials without records"
            yield (
                f"{run.path.name} {why}. Only whole items are reported; {len(items)} are"
                f" missing for {model}: {', '.join(items[:20])}{' and more' if len(items) > 20 else ''}."
            )
    for model, unwritable in manifest.unmade.items():
        first = "; ".join(unwritable.trials[:5])
        yield f"{unwritable.count} trials of {model} have records that do not fit a table: {first}."
    for name, note in manifest.notes.items():
        yield f"{run.path.name}: {name} {note}."
    if manifest.spent.failed:
        yield f"{manifest.spent.failed} calls failed for good; they are not answers and are counted separately."
