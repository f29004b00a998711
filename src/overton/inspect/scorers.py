"""Scorers of single samples, and metrics over all samples. Both are computed from records by the study's own measures.

The names that a log uses are registered with Inspect when this module is imported. The code that computes scores is
imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, metric, scorer

from overton.inspect.compat import prerequisite
from overton.untrusted import converted

if TYPE_CHECKING:
    from overton.runs.folder import ModelEntry


@metric(scores="unreduced")
def figures(study: str, models: list[str], held: bool = False, **of: bool) -> Metric:
    """A study's first figures; `models` are the names of the measured models.

    `held` is True if a grammar constrained answers to their reply format. `prompted` is True if the task has system
    prompts, and is left out otherwise. The metric's options record `held` and `prompted`.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        from overton.inspect.scores import figures_of_records

        records = [record for score in scores for record in _records_of(score.score)]
        return figures_of_records(study, records, models, held=held, **of)

    return compute


def _records_of(score: Score) -> Sequence[Any]:
    from overton.inspect.log_format import RECORDS

    found: Sequence[Any] = (score.metadata or {}).get(RECORDS, ())
    return found


def _make_scorer(study: str, metrics: Sequence[Metric], *, null: bool) -> Scorer:
    """The scorer of samples in null conditions, or the scorer of all other samples. Each leaves samples of the other
    kind unscored."""
    from overton.inspect.log_format import KEY, SampleData, null_scorer
    from overton.inspect.scores import score_of, scorer_name

    own = scorer_name(study)

    @scorer(metrics=list(metrics), name=null_scorer(own) if null else own)
    def conducted() -> Scorer:
        async def score(state: Any, target: Any) -> Score | None:
            from overton.inspect.solver import take_records

            records = take_records(state)
            if records is None:
                raise prerequisite("Overton's logs cannot be scored again: 'overton import LOG' rebuilds their records")
            data = converted(state.metadata[KEY], SampleData)
            if data.null != null:
                return None
            made: Score = score_of(study, records, data.condition, state.output.completion)
            return made

        return score

    return conducted()


def scorers_of(study: str, entries: Sequence[ModelEntry], with_nulls: bool, prompted: bool) -> list[Scorer]:
    """The scorers for a study and the models that it measures. If there are null conditions, they have a second scorer.
    `prompted` is True if the same questions are asked under several system prompts."""
    held = any(entry.holds_form for entry in entries)
    _register_results()
    models, of = [entry.name for entry in entries], {"prompted": True} if prompted else {}
    own = _make_scorer(study, [figures(study, models, held, **of)], null=False)
    return [own, _make_scorer(study, [], null=True)] if with_nulls else [own]


def _register_results() -> None:
    """Have Inspect call Overton when a task ends. This is not done on import, because Inspect announces the hooks that
    it finds when it starts."""

    @hooks(name="overton_results", description="gives each of Overton's figures its own standard error")
    class FigureHooks(Hooks):  # type: ignore[misc] # whose types are not looked into
        async def on_task_end(self, data: TaskEnd) -> None:
            await _rewrite_results(data.log)


async def _rewrite_results(log: Any) -> None:
    """Replace the results of Inspect's metric by the same figures, each with its own standard error and sample size.

    An Inspect metric can return several numbers, or one number with a standard error, but not several numbers with
    standard errors. The log of an unfinished eval keeps the metric's results, without standard errors.
    """
    from inspect_ai.log import read_eval_log_async, write_eval_log_async

    from overton.inspect.log_format import KEY, TaskData
    from overton.inspect.scores import eval_scores, figures_of_task, scorer_name, table_of

    if log.results is None or KEY not in (log.eval.metadata or {}):
        return
    samples = log.samples if log.samples is not None else (await read_eval_log_async(log.location)).samples
    task = converted(log.eval.metadata[KEY], TaskData)
    scored = [score for sample in samples or () for score in (sample.scores or {}).values()]
    table = table_of(task.study, [record for score in scored for record in _records_of(score)])
    scores = eval_scores(figures_of_task(task, table), scorer_name(task.study))
    if scores:
        log.results.scores = scores
        await write_eval_log_async(log, log.location, header_only=True)
