"""The models of runs compared pairwise, computed once for a report and for the first screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from overton.analysis.results import measuring_of
from overton.errors import InputError

if TYPE_CHECKING:
    from overton.analysis.analyze import Measured
    from overton.comparison.results import Comparison
    from overton.comparison.sources import ComparisonSource
    from overton.runs.run import Run
    from overton.studies.measurement import How
    from overton.studies.study import AnyStudy

MOST_COMPARED = 12
"""The maximum number of models that a report compares with each other, because a longer table is unreadable."""


@dataclass(frozen=True)
class RunComparison:
    """The comparison of the models of runs that were measured together."""

    runs: Sequence[Run]
    measured: Measured

    @property
    def models(self) -> int:
        """The number of models to compare; 0 if the study does not compare models, or if there are too many models."""
        results, comparing = self.measured.results, measuring_of(self.measured.study).comparing
        if results is None or comparing is None or not 1 < len(results.models) <= MOST_COMPARED:
            return 0
        return len(results.models)

    @cached_property
    def made(self) -> Comparison | InputError:
        """The comparison, or why the models are not compared."""
        from overton.comparison.sources import of_runs

        study, how, results = self.measured.study, self.measured.how, self.measured.results
        assert results is not None
        return compare_sources(study, of_runs(self.runs, results, study, how), how)


def compare_sources(study: AnyStudy, sources: Sequence[ComparisonSource], how: How) -> Comparison | InputError:
    """Compare the models of some sources pairwise, or return the reason why this is impossible."""
    from overton.comparison.comparison import of_sources
    from overton.statistics.jackknife import Jackknife

    try:
        return of_sources(study, sources, Jackknife(how.level, seed=how.seed))
    except InputError as error:
        return error
