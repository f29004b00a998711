"""The contract of a study as one test function; for the tests of studies, especially those in other packages.

    from overton.testing import hold_study

    def test_my_study(tmp_path):
        hold_study(STUDY, tmp_path, models=["simulated/my-respondent"], truth=check_truth)

An error says what the study's author has to do. Each check can be called by itself, with a `Case`.
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
    """Inside Inspect AI the study has the same records, and runs convert to logs and back; needs Inspect AI."""
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
"""Every check, starting with those whose failure explains the others'."""


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
    """Check everything that Overton promises of a study, in `folder`, on simulated models.

    The study is declared, planned, run, measured, reported, compared with its nulls, judged by its blocks, stopped,
    killed, resumed, extended and run inside Inspect AI (if that is installed), also with calls that fail. `models` and
    `others` (by role) are simulated answerers, `model_args` their parameters by name; `items`, `only` and `options`
    keep it small. `more` are options for `extend`, by default one more of the first integer that may grow.
    `truth(analysis)` compares what was measured with what is known about the models.

    Raises:
        AssertionError: a check fails; says what the study's author has to do.
    """
    case = Case(study, folder, models, others or {}, items, only, options or {}, more or {}, model_args or {})
    for check in CHECKS:
        if check is not check_inspect or find_spec("inspect_ai") is not None:
            check(case)
    if truth is not None:
        truth(measure_run(study.name, case.whole.path).analysis)
