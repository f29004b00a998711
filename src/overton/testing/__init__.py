"""A test function that checks the contract of a study, in Overton or in any other package.

    from overton.testing import hold_study

    def test_my_study(tmp_path):
        hold_study(STUDY, tmp_path, models=["simulated/my-respondent"], truth=check_truth)

Error messages tell the study's author what to do. Each check can also be called alone, with a `Case`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from overton.analysis.analyze import measure_run
from overton.studies.study import AnyStudy
from overton.testing.case import Case
from overton.testing.checks import (
    check_analysis,
    check_declaration,
    check_extend,
    check_failures,
    check_items,
    check_kill,
    check_options,
    check_plan,
    check_replay,
    check_report,
    check_run,
    check_stop,
)
from overton.testing.design import check_blocks, check_nulls

__all__ = [
    "CHECKS",
    "Case",
    "check_analysis",
    "check_blocks",
    "check_declaration",
    "check_extend",
    "check_failures",
    "check_inspect",
    "check_items",
    "check_kill",
    "check_nulls",
    "check_options",
    "check_plan",
    "check_replay",
    "check_report",
    "check_run",
    "check_stop",
    "hold_study",
]


def check_inspect(case: Case) -> None:
    """Check that the study has the same records inside Inspect AI, and that runs convert to logs and back. Inspect AI
    must be installed."""
    from overton.testing.inspect import check_inspect as check

    check(case)


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_declaration,
    check_run,
    check_items,
    check_options,
    check_plan,
    check_analysis,
    check_report,
    check_nulls,
    check_blocks,
    check_replay,
    check_stop,
    check_failures,
    check_extend,
    check_kill,
    check_inspect,
)
"""All checks. They start with checks whose failure explains failures of later checks."""


def hold_study(
    study: AnyStudy,
    folder: Path,
    *,
    models: Sequence[str],
    others: Mapping[str, Sequence[str]] | None = None,
    items: str | Path | None = None,
    only: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
    model_args: Mapping[str, Mapping[str, str]] | None = None,
    truth: Callable[[Any], None] | None = None,
) -> None:
    """Check all guarantees that Overton gives for a study, in `folder`, on simulated models.

    The function checks the study's declaration, plan, run, measures, report, null conditions and blocks. It also stops,
    kills, resumes and extends a run. The run is repeated with failing calls, and inside Inspect AI if that is
    installed.

    `models` and `others` (by role) are simulated models, and `model_args` are their parameters by name. Use `items`,
    `only` and `options` to keep the run small. `more` are options for `extend`. By default, the first integer option
    that may grow is increased by one. `truth(analysis)` is a function that compares the measured numbers with known
    properties of the models.

    Raises:
        AssertionError: a check fails. The message tells the study's author what to do.
    """
    case = Case(study, folder, models, others or {}, items, only, options or {}, more or {}, model_args or {})
    for check in CHECKS:
        if check is not check_inspect or find_spec("inspect_ai") is not None:
            check(case)
    if truth is not None:
        truth(measure_run(study.name, case.whole.path).analysis)
