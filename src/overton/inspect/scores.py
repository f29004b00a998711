"""A sample's score, and figures over all samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.analysis.results import measuring_of
from overton.inspect.ask import check_backend
from overton.inspect.log_format import CONDITION, RECORDS, inspect_name, null_scorer
from overton.inspect.task import HostedStudy, answerers_of, make_task, model_entries
from overton.runs.folder import ModelEntry
from overton.runs.prompt_folder import GivenPrompts
from overton.runs.setup import set_up
from overton.studies.measurement import Headline
from overton.studies.measures import key_in
from overton.studies.null_conditions import chosen_nulls, split_nulls
from overton.studies.prompted_models import is_split, tables_by_prompt
from overton.studies.registry import study_named
from overton.studies.results import MeasuredModel, Results
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl

    from overton.inspect.log_format import TaskData
    from overton.statistics import Estimate


@dataclass(frozen=True)
class Figure:
    """One number over a log's samples.

    `estimate.n` is the number of answers or items behind the figure. `null` names the figure's null condition, '' for
    the design. `judge` has scorer parameters that name the judge, as in Inspect's own model-graded scorers. It is empty
    if the figure does not use a judge's labels. `prompt` names the user's system prompt if a task asks the same
    questions under several prompts; otherwise it is ''.
    """

    measure: str
    estimate: Estimate
    null: str = ""
    judge: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""

    @property
    def name(self) -> str:
        """The name of the figure's metric."""
        return key_in(self.measure, self.prompt, "")


def eval_scores(figures: Sequence[Figure], scorer: str) -> list[Any]:
    """The figures as Inspect's scores. Each score has its value, and `stderr` if the figure has a standard error.

    `scored_samples` is the number of answers or items behind the figure, because readers of logs take `scored_samples`
    for the sample size of the standard error. The number of Inspect samples is in the log's `completed_samples`.
    """
    from inspect_ai.log import EvalMetric, EvalScore

    scores = []
    for figure in figures:
        estimate = figure.estimate
        metrics = {figure.name: EvalMetric(name=figure.name, value=estimate.value)}
        if estimate.error is not None:
            metrics["stderr"] = EvalMetric(name="stderr", value=estimate.error)
        scores.append(
            EvalScore(
                name=_score_name(figure, scorer),
                scorer=null_scorer(scorer) if figure.null else scorer,
                scored_samples=estimate.n,
                params=dict(figure.judge),
                metrics=metrics,
                metadata=_interval_metadata(estimate),
            )
        )
    return scores


def _score_name(figure: Figure, scorer: str) -> str:
    """A name for a figure's score that differs from the names of samples' scores. Otherwise tools would treat the
    scores of samples as parts of the figure."""
    name = f"{figure.name}_under_{figure.null}" if figure.null else figure.name
    return f"{name}_overall" if name in (scorer, null_scorer(scorer)) else name


def _interval_metadata(estimate: Estimate) -> dict[str, Any]:
    """The method of the interval, and the interval if there is one."""
    found: dict[str, Any] = {"method": estimate.method}
    if isfinite(estimate.low) and isfinite(estimate.high):
        found |= {"low": estimate.low, "high": estimate.high, "level": estimate.level}
    return found


Measuring = Callable[[str, Sequence[ModelEntry], bool, bool], list[Any]]
"""A function that makes the scorers of a task from the study's name, its models, whether it has null conditions, and
whether it has system prompts."""


def make(
    study: str,
    measuring: Measuring,
    *,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    agents: int = 0,
    sources: Mapping[str, Sequence[str]] | None = None,
    source_args: Mapping[str, Mapping[str, str | Sequence[str]]] | None = None,
    prompts: GivenPrompts | None = None,
    trials_at_once: int = 10,
    cache: bool = True,
    anyway: bool = False,
    **options: Any,
) -> Any:
    """The task of a study.

    Parameters are those of `overton.run`, and models are Inspect's. `agents` is the number of models in studies where
    models interact; `sources` are the roles that search and read pages.

    Raises:
        InputError: an argument is wrong; no call was made.
    """
    found = study_named(study)
    check_backend(found.name)
    given = model_entries(found, seed, agents)
    named = {role: [entry.name for entry in entries] for role, entries in given.items()} | dict(sources or {})
    first = named.pop(found.first)
    asked: dict[str, Any] = {"items": items, "only": only, "source_args": source_args, "prompts": prompts, **options}
    ready = set_up(found, models=first, others=named, **asked)
    searched = {role: requests for role, requests in ready.wanted.items() if role in found.retrieval}
    roomy = ready.experiment.study.with_demands(ready.experiment.options, {**named, found.first: first})
    models = model_entries(roomy, seed, agents)
    answerers = answerers_of(roomy, seed, agents, models, searched)
    hosted = HostedStudy(
        answerers, ready.experiment.items, ready.experiment.options, trials_at_once, cache, ready.left_out, anyway
    )
    chosen = ready.experiment.options
    with_nulls, prompted = bool(chosen_nulls(found.nulls, chosen)), is_split(found, msgspec.to_builtins(chosen))
    return make_task(hosted, measuring(found.name, models[found.first], with_nulls, prompted))


_FAILED_FIGURE = "failed"
"""The name of the figure for the proportion of a log's records whose call failed."""
_MAX_CELL_CHARACTERS = 60
"""The maximum number of characters shown of a cell."""
_MAX_ROWS = 200


def scorer_name(study: str) -> str:
    """The name of a study's scorer, which is also the name of its task."""
    return study.replace("-", "_")


def score_of(study: str, records: Sequence[Any], condition: str, answer: str) -> Any:
    """Inspect's score of one sample's records. It has a number to sort by, a table to read, and the records themselves.

    `answer` is the model's reply in the first trial. The table is the score's explanation. Without a reply, the table
    is in the metadata instead, because tools would take the explanation for the answer.
    """
    from inspect_ai.scorer import Score

    headline = _headline(study)
    shown = f"{headline.meaning}\n\n{_format_table(headline.columns, records)}"
    return Score(
        value=round(headline.value(records), 4),
        answer=answer or None,
        explanation=shown if answer else None,
        metadata={RECORDS: msgspec.to_builtins(records), CONDITION: condition} | ({} if answer else {"shown": shown}),
    )


def figures_of_records(
    study: str,
    records: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    *,
    held: bool = False,
    prompted: bool = False,
) -> dict[str, float]:
    """The design's figures by name, computed from the records in scores' metadata (see `figures_of_study`)."""
    found = figures_of_study(study, table_of(study, records), models, held=held, prompted=prompted)
    return {figure.name: figure.estimate.value for figure in found if not figure.null}


def table_of(study: str, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The outcome table from records as stored in scores' metadata."""
    from overton.engine.records import columns_of, record_type_columns

    kind = study_named(study).record
    return columns_of([converted(record, kind) for record in records], record_type_columns(kind))


def figures_of_study(
    study: str, table: pl.DataFrame, models: Sequence[str], *, held: bool = False, prompted: bool = False
) -> list[Figure]:
    """Compute figures from the records of a log.

    With `prompted`, figures are computed separately for each system prompt. The study's headline figures come first.
    Then come the proportions of other kinds of answers, and of failed records. The last figures are the study's
    measures in each null condition in the log. Figures without a value are left out. `models` has the names of the
    measured models. It has a single name if each model has a separate pipeline. `held` is True if a grammar constrained
    answers to their reply format.
    """
    measuring, headline = measuring_of(study_named(study)), _headline(study)
    if not table.height or not headline.item:
        return []
    if prompted:
        return [
            replace(figure, prompt=prompt)
            for prompt, own in tables_by_prompt(study_named(study), table)
            for figure in figures_of_study(study, own, models, held=held)
        ]
    design, nulls = split_nulls(_add_model_columns(study, table, models, held), study_named(study).nulls)
    results = Results(design, models=[MeasuredModel(name, name) for name in models], nulls=nulls)
    found = [
        *_headline_figures(measuring, headline, results),
        *_answer_figures(headline, design),
        *_null_figures(study, results),
    ]
    return [figure for figure in found if isfinite(figure.estimate.value)]


def _headline_figures(measuring: Any, headline: Headline[Any, Any], results: Results) -> Iterator[Figure]:
    from overton.errors import InputError

    try:
        analysis = measuring.records(results, measuring.how())
    except InputError:  # every call failed, or there is nothing to measure
        return
    for name, estimate in headline.figures(analysis):
        yield Figure(name, estimate)


def _answer_figures(headline: Headline[Any, Any], design: pl.DataFrame) -> Iterator[Figure]:
    """Proportions of kinds of answers that the study's figures do not show, and of records whose call failed."""
    for name, count, of in headline.answers(design) if design.height else ():
        yield Figure(name, _share(count, of))
    if "failure" in design.columns:
        yield Figure(_FAILED_FIGURE, _share(design["failure"].count(), design.height))


def _share(count: int, of: int) -> Estimate:
    from overton.statistics import NO_INTERVAL, Estimate

    return Estimate(count / of if of else nan, nan, nan, of, NO_INTERVAL + "a count of samples in the log")


def _null_figures(study: str, results: Results) -> Iterator[Figure]:
    """The study's measures under the null conditions whose trials are in the log."""
    from overton.studies.contrasts import compare_with_nulls

    measuring = measuring_of(study_named(study))
    asked = [null for null in study_named(study).nulls if null.name in results.nulls]
    for measure, null, contrast in compare_with_nulls(asked, measuring.comparing, results, measuring.how()):
        named = contrast.model and study_named(study).together
        yield Figure(f"{measure.name}_{contrast.model}" if named else measure.name, contrast.under_null, null.name)


def figures_of_task(task: TaskData, table: pl.DataFrame) -> list[Figure]:
    """The figures of a task's records. Figures that depend on a judge's labels name the judge and its prompt."""
    study = study_named(task.study)
    entries = task.models[study.first]
    held = any(entry.holds_form for entry in entries)
    models, prompted = [entry.name for entry in entries], is_split(study, task.options)
    found = figures_of_study(study.name, table, models, held=held, prompted=prompted)
    return [replace(figure, judge=_judge_params(task, figure)) for figure in found]


def _judge_params(task: TaskData, figure: Figure) -> dict[str, Any]:
    """The parameters by which Inspect's own scorers name their judge."""
    study, headline = study_named(task.study), _headline(task.study)
    judges = task.models.get(headline.judge(figure.measure, task.options), [])
    if not judges or figure.measure == _FAILED_FIGURE:
        return {}
    texts = study.prompts() | (task.replaced or {})
    prompts = [text for name, text in texts.items() if name.startswith(headline.judge_prompts)]
    return {
        "grader_model": {"model": inspect_name(judges[0].spec, judges[0].identity)},
        "grader_template": "\n\n".join(prompts),
    }


def _headline(study: str) -> Headline[Any, Any]:
    """The study's headline. A study without a headline has no figures, and its records are shown unchanged."""
    named = study_named(study)
    said = "This study declares no figures; its records are in the metadata."
    bare: Headline[Any, Any] = Headline(lambda _: iter(()), "", lambda _: nan, said, named.record.__struct_fields__)
    return measuring_of(named).headline or bare


def _add_model_columns(study: str, table: pl.DataFrame, models: Sequence[str], held: bool) -> pl.DataFrame:
    """The table with the model's name added, as in a run's records, unless every row already has it."""
    import polars as pl

    if study_named(study).together:
        return table
    (name,) = models
    return table.with_columns(model=pl.lit(name), held=pl.lit(held))


def _format_table(columns: Sequence[str], records: Sequence[Any]) -> str:
    """Records as a plain-text table for the log viewer; columns without values are left out."""
    rows = [[_format_cell(getattr(record, name)) for name in columns] for record in records[:_MAX_ROWS]]
    filled = [[name, *cells] for name, *cells in zip(columns, *rows, strict=True) if any(cells)]
    widths = [max(map(len, column)) for column in filled]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*filled, strict=True)
    ]
    more = len(records) - _MAX_ROWS
    return "\n".join([*lines, *([f"\n{more} more records are in the metadata."] if more > 0 else [])])


def _format_cell(value: Any) -> str:
    """A value on one line, truncated if it is long."""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CELL_CHARACTERS else f"{line[: _MAX_CELL_CHARACTERS - 1]}…"
