"""How samples are scored, and what is measured over all of them: by the study's own measures, from its records.

Names that a log uses are registered with Inspect on import; the code that computes them is imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, metric, scorer

from overton.hosts.inspect.privates import prerequisite

if TYPE_CHECKING:
    from overton.hosts.local import ModelEntry

__all__ = ["figures", "measuring"]


@metric(scores="unreduced")
def figures(study: str, models: list[str], held: bool = False) -> Metric:
    """A study's first figures with standard errors clustered by item; `models` are the names of those measured.

    `held` says that a grammar held answers to their form: it is recorded among the metric's options.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        from overton.api.inspect_tasks import figures_of_records
        from overton.hosts.inspect.layout import RECORDS

        records = [record for one in scores for record in (one.score.metadata or {}).get(RECORDS, ())]
        return figures_of_records(study, records, models, held=held)

    return compute


@cache
def _scorer_of(study: str) -> Any:
    from overton.api.inspect_tasks import score_of, scorer_name
    from overton.hosts.inspect.layout import KEY, RECORDS

    @scorer(metrics=[], name=scorer_name(study))
    def conducted() -> Scorer:
        async def score(state: Any, target: Any) -> Score:
            from overton.hosts.inspect.conducting import handed_over

            records = handed_over(state)
            if records is None:
                raise prerequisite(
                    "Overton's logs cannot be scored again: 'overton import LOG' makes their records again"
                )
            made: Score = score_of(study, records)
            made.metadata = {RECORDS: msgspec.to_builtins(records)}
            made.answer = state.metadata[KEY][
                "condition"
            ]  # the viewer's list has room for it there, but not for full ids
            return made

        return score

    return conducted


def measuring(study: str, entries: Sequence[ModelEntry]) -> tuple[Scorer, Metric]:
    """The scorer and the metric for a study and the models that it measures."""
    held = any(entry.holds_form for entry in entries)
    return _scorer_of(study)(), figures(study, [entry.name for entry in entries], held)
