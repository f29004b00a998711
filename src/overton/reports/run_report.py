"""The report of runs, or of a table made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.analysis.analyze import Measured, chosen_how, measure_table, measured_runs, study_of_table, table_at
from overton.analysis.results import is_weighted, measuring_of
from overton.calls import Trial
from overton.errors import InputError, Problem
from overton.reports.first_screen import cost_of
from overton.reports.opening import opening_of
from overton.reports.run_comparison import MOST_COMPARED, RunComparison, compare_sources
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
from overton.studies.prompted_models import texts_in
from overton.studies.registry import study_named
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Section, TrialTable
from overton.studies.study import AnyStudy
from overton.studies.system_prompts import shown_prompt

if TYPE_CHECKING:
    from overton.comparison.results import Comparison
    from overton.reporting import Report
    from overton.studies.tables import RawTable


def not_asked(study: AnyStudy, runs: Sequence[Run]) -> str:
    """A sentence on the null conditions that were not asked and their approximate cost; '' if all were asked, or the
    study has none."""
    if study.kind != "asks":  # studies that label or make items have no null conditions to suggest
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
    which = "No null condition was run" if every else f"These null conditions were not run: {', '.join(names)}"
    return (
        f"{which}. Running all missing null conditions would take about {calls:,} more calls{price}: overton extend RUN"
        " --null all."
    )


def _asked_nulls(run: Run) -> Sequence[str]:
    return run.manifest.options.get("nulls") or ()


def _estimate_calls(study: AnyStudy, run: Run, nulls: Sequence[Null]) -> int:
    """The approximate number of calls, if every item takes as many calls as the first."""
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
    """The approximate cost of `calls` calls, at the mean cost of the run's own calls. None if that cost is unknown."""
    spent = run.manifest.spent
    return calls * spent.cost / spent.requests if spent.cost and spent.requests else None


def _precision_section(run: Run) -> Section | None:
    """The section on one run's precision stopping, None if the run asked its whole plan."""
    from overton.studies.precision_section import precision_section

    wanted: PrecisionTarget | None = run.manifest.precision
    if wanted is None or not run.manifest.precise:
        return None
    return precision_section(wanted, run.manifest.precise, run.study.items.noun.capitalize(), weighted=is_weighted(run))


def precision_sections(runs: Sequence[Run]) -> Iterator[Section]:
    """One section for each run with precision stopping. With several runs, the titles name the folders."""
    for number, run in enumerate(runs):
        if (found := _precision_section(run)) is not None:
            several = len(runs) > 1
            key = f"{found.key}-{number + 1}" if several else found.key
            yield replace(found, key=key, title=f"{found.title} of {run.path.name}" if several else found.title)


BOUND = "bound by a grammar"
"""Shown next to a model's name if a grammar forced the model's answers into the reply format."""


def report(
    runs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    study: str | None = None,
    figures: str | Path | None = None,
    figure_width: float | None = None,
    font_size: float | None = None,
    **how: Any,
) -> Path:
    """Write one self-contained HTML report of `runs` of a study, or of a table that it measures; returns the file.

    `out` defaults to a run's own `report.html`, and for a table to `NAME-report.html` in the current folder. It is
    required for several runs. `study` names the study of a folder of tables, or of a table that several studies can
    read. `figures` names a folder for all charts, as PDF, SVG and PNG: at most `figure_width` millimetres wide, with
    labels of `font_size` points. `how` are options for the measures (see `analyze`). A report of runs covers complete
    items only and lists missing items.

    Raises:
        InputError: no runs, runs of different studies, several runs without `out`, or a table that cannot be measured.
        RunError: a run has no records; a file cannot be written.
    """
    from overton.reporting import FigureSize, write, write_figures

    size = FigureSize(figure_width, font_size)
    paths = [Path(runs)] if isinstance(runs, str | Path) else [Path(path) for path in runs]
    if len(paths) == 1 and paths[0].exists() and not (paths[0] / "manifest.json").is_file():
        target, built = Path(out or f"{paths[0].resolve().stem}-report.html"), _report_on_table(paths[0], study, how)
    else:
        target, built = _report_on_runs([open_run(path) for path in paths], out, study, how)
    if figures is not None:
        write_figures(built, Path(figures), size)
    return write(built, target)


def _report_on_runs(
    runs: Sequence[Run], out: str | Path | None, named: str | None, how: Mapping[str, Any]
) -> tuple[Path, Report]:
    """The file and the content of a report on runs."""
    _check_runs(runs, out, named)
    study = study_named(runs[0].manifest.study)
    target = Path(out) if out is not None else runs[0].path / "report.html"
    with traceback_kept(runs[0].path), blaming(study, "its report"):
        chosen = chosen_how(study, {**measuring_of(study).reported, **how}, runs)
        return target, _build_report(runs, measured_runs(study, runs, chosen))


def _check_runs(runs: Sequence[Run], out: str | Path | None, study: str | None) -> None:
    if not runs:
        raise InputError([Problem("report", "", "name at least one run")])
    studies = sorted({run.manifest.study for run in runs})
    if len(studies) > 1:
        raise InputError([Problem("report", "", f"the runs are of different studies: {', '.join(studies)}")])
    if study not in (None, *studies):
        raise InputError([Problem(option_place("study"), str(study), f"the runs are of {studies[0]}")])
    if len(runs) > 1 and out is None:
        raise InputError([Problem(option_place("out"), "", "name the report's file, since there are several runs")])


def _report_on_table(path: Path, named: str | None, given: Mapping[str, Any]) -> Report:
    """The report of a table made elsewhere. It has no trials to browse and no facts on how the table was made.

    Raises:
        InputError: the table cannot be measured, or `named` is missing for a folder.
    """
    from overton.files.tables import open_table
    from overton.reporting import Report

    if path.is_dir() and named is None:
        reason = "is neither a run nor a table: name the study whose tables it has (--study)"
        raise InputError([Problem(str(path), "", reason)])
    study = study_named(named) if named else study_of_table(open_table(path), path, None)
    measuring = measuring_of(study)
    with blaming(study, "its report"):
        how = chosen_how(study, {**measuring.reported, **given})
        table, left_out = table_at(path, measuring)
        measured = measure_table(study, table, left_out, how)
        sections = measuring.sections(measured.analysis)
        models = getattr(measured.analysis, "models", ())
        return Report(
            title=study.title or study.name,
            summary=study.question,
            facts=[("Table", path.name), *([("Models", "\n".join(models))] if models else [])],
            sections=[*sections, *_tables_compared(study, path, table, how)],
            opening=opening_of(RunComparison([], measured), measured.sections_as_published(sections), (), path.name),
            chapters=measuring.chapters,
            data=measured.document(),
        )


def _tables_compared(study: AnyStudy, path: Path, table: RawTable, how: How) -> Iterator[Section]:
    """The models of a table compared pairwise."""
    if measuring_of(study).comparing is None:
        return
    from overton.comparison.sources import of_table

    source = of_table(study, table, path, how, path.stem)
    if 1 < len(source.sides) <= MOST_COMPARED:
        yield from _comparison_sections(compare_sources(study, [source], how))


def report_of(run: Run, measured: Measured, comparison: RunComparison | None = None) -> Path:
    """Write the report of one run that was already measured, and perhaps compared. If the study has its own default
    options for reports, the run is measured and compared again."""
    from overton.reporting import write

    if measuring_of(measured.study).reported:
        return report([run.path])
    with traceback_kept(run.path), blaming(measured.study, "its report"):
        return write(_build_report([run], measured, comparison), run.path / "report.html")


def _build_report(runs: Sequence[Run], measured: Measured, comparison: RunComparison | None = None) -> Report:
    from overton.reporting import Report

    study, results, labels = measured.study, measured.results, measured.labels
    assert results is not None
    assert labels is not None
    comparison = comparison or RunComparison(runs, measured)
    shown = measured.exhibits
    words = words_of(study.items, results.items)
    sections = [
        *(labels.sections() if labels.found else ()),
        *labels.noted(shown.sections),
        *measured.sections_by_judges(),
        *measured.sections_against(),
        *precision_sections(runs),
        *(_comparison_sections(comparison.made) if comparison.models else ()),
    ]
    published = spelled(measured.sections_as_published(shown.sections), words)
    notes = filter(None, (_known_truth(results.models), not_asked(study, runs)))
    warnings = [*labels.warnings(), *shown.warnings, *notes]
    return Report(
        title=study.title or study.name,
        summary=shown.summary or study.question,
        facts=[*_report_facts(runs, results, study.items.plural), *_undeclared_facts(study)],
        sections=spelled(sections, words),
        opening=opening_of(comparison, published, warnings),
        chapters=measuring_of(study).chapters,
        trials=_name_readers(study, results, spelled_trials(shown.trials, words, study.items.noun.capitalize())),
        data=measured.document(shown.without),
    )


def _name_readers(study: AnyStudy, results: Results, trials: TrialTable | None) -> TrialTable | None:
    """The trials, with the names of those who labelled them: the judges, unless the study declares another reader."""
    if trials is None or trials.reader:
        return trials
    judges = [judge.name for role in study.roles if role.judges for judge in results.answering(role.name)]
    return replace(trials, reader=", ".join(dict.fromkeys(judges)))


def _comparison_sections(made: Comparison | InputError) -> Iterator[Section]:
    """Models compared pairwise, or why they are not."""
    from overton.comparison.sections import in_report
    from overton.studies.sections import Callout

    if isinstance(made, InputError):
        said = "; ".join(f"{problem.place}: {problem.reason}" for problem in made.problems)
        yield Section("compared", "Models compared", [Callout(f"The models are not compared. {said}.", "warning")])
        return
    if made.rows:
        yield in_report(made)


def _report_facts(runs: Sequence[Run], results: Results, items: str) -> Iterator[tuple[str, str]]:
    spent = [run.manifest.spent for run in runs]
    yield "Models", "\n".join(map(_model_line, results.models))
    if prompts := list(_system_prompt_lines(runs)):
        yield "System prompts", "\n".join(prompts)
    yield items.capitalize(), str(len(results.items))
    if chosen := [run for run in runs if run.manifest.has_selection]:
        names = [f" ({run.path.name})" if len(runs) > 1 else "" for run in chosen]
        lines = (f"{run.manifest.left_out}{name}" for run, name in zip(chosen, names, strict=True))
        yield "Not selected (--only)", "\n".join(lines)
    yield "Trials planned", f"{sum(run.manifest.trials for run in runs):,}"
    yield "Requests sent", f"{sum(spending.requests for spending in spent):,}"
    yield "Failed calls", f"{sum(spending.failed for spending in spent):,}"
    yield "Cost", cost_of(runs)
    yield "Started", ", ".join(sorted({run.manifest.created[:10] for run in runs}))
    yield "Seed", ", ".join(sorted({str(run.manifest.seed) for run in runs}))
    yield "Overton", ", ".join(sorted({run.manifest.overton for run in runs}))


_MOST_PROMPT_CHARACTERS = 600
"""The maximum number of characters of a system prompt that a report quotes. The manifest has the whole prompt."""


def _system_prompt_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Each system prompt, by its name in tables. The run's name is added if runs have different prompts under one
    name."""
    texts = {run.path.name: texts_in(run.study, run.manifest.options) for run in runs}
    for number in range(max(map(len, texts.values()), default=0)):
        own = {name: found[number] for name, found in texts.items() if number < len(found)}
        for name, text in own.items() if len({*own.values()}) > 1 else [("", next(iter(own.values())))]:
            run = f" [{name}]" if name else ""
            yield f"system-{number + 1}{run}: {shown_prompt(text, _MOST_PROMPT_CHARACTERS)}"


def _undeclared_facts(study: AnyStudy) -> Iterator[tuple[str, str]]:
    """Yield the parts that the report lacks because the study does not declare them."""
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


def _known_truth(models: Sequence[MeasuredModel]) -> str:
    """Name the simulated models with their parameters; '' if there are none."""
    known = [
        f"{model.name} ({', '.join(model.settings) or 'default parameters'})"
        for model in models
        if model.spec.startswith("simulated/")
    ]
    return f"Simulated, with known truth: {'; '.join(known)}." if known else ""
