"""Issues: read, checked, rephrased, audited."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.items import check_items, read_items, write_items
from overton.api.runs import Arguments, Run, model_requests
from overton.hosts import local
from overton.hosts.local import Limits, Watch
from overton.studies.open_mindedness import STUDY

if TYPE_CHECKING:
    from overton.studies.noting import Finding
    from overton.studies.open_mindedness.items import Issue
    from overton.studies.open_mindedness.neutrality import Agreement

__all__ = ["MAKER", "audit", "check", "issues_at", "rephrase", "starter_issues"]

MAKER = "rephrase"
"""The study whose runs hold a dataset of issues."""


def check(path: str | Path, positions: str | Path | None = None, *, need_paraphrases: bool = True) -> list[Finding]:
    """Everything wrong or odd about the issues at `path`; see `check_items`. Nothing is asked."""
    return check_items(STUDY, path, positions=positions, unphrased=not need_paraphrases)


def starter_issues() -> list[Issue]:
    """The twelve issues that come with Overton."""
    return read_items(STUDY)


def issues_at(path: str | Path | None, positions: str | Path | None = None) -> list[Issue]:
    """The issues at `path`, ready to be asked; the starter issues where it is None.

    Raises:
        InputError: every problem of every file.
    """
    return read_items(STUDY, path, positions=positions)


def rephrase(
    path: str | Path,
    *,
    model: str,
    out: str | Path,
    positions: str | Path | None = None,
    again: bool = False,
    seed: int = 0,
    model_args: Arguments | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> Run:
    """Six neutral paraphrases an issue, written by `model` (appendix C), as a run in the folder `out`.

    The dataset is `issues.jsonl` in that folder: all issues, with the paraphrases that were written. Issues that have
    paraphrases are left as they are unless `again`.

    Raises:
        InputError: see `issues_at`, and `run`.
    """
    from overton.studies.open_mindedness import rephrasing

    issues = read_items(rephrasing.STUDY, path, positions=positions)
    manifest = local.start(
        rephrasing.STUDY,
        issues,
        model_requests({"writer": [model]}, model_args),
        Path(out),
        options=rephrasing.RephraseOptions(again=again),
        seed=seed,
        limits=Limits(max_cost, max_calls),
        watch=watch,
    )
    return write_dataset(Run(Path(out), manifest))


def write_dataset(run: Run) -> Run:
    """Write the dataset of a `rephrase` run beside its records, anew if it is there; gives the run back."""
    import msgspec

    from overton.studies.open_mindedness import rephrasing

    records = [msgspec.convert(row, rephrasing.Rephrasing, strict=False) for row in _rows(run)]
    write_items(STUDY, rephrasing.with_paraphrases(run.items(), records), run.path, replace=True)
    return run


def audit(
    path: str | Path,
    *,
    judges: Sequence[str],
    out: str | Path | None = None,
    positions: str | Path | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> tuple[Run, Agreement]:
    """Judges' verdicts on whether each paraphrase is neutral, and how far the judges agree.

    Raises:
        InputError: see `issues_at`, and `run`.
    """
    from overton.api.runs import fresh_folder
    from overton.studies.open_mindedness import auditing
    from overton.studies.open_mindedness.neutrality import agreement

    folder = fresh_folder(auditing.STUDY.name) if out is None else Path(out)
    manifest = local.start(
        auditing.STUDY,
        issues_at(path, positions),
        model_requests({"judge": judges}, model_args),
        folder,
        options=auditing.AuditOptions(),
        seed=seed,
        limits=Limits(max_cost, max_calls),
        watch=watch,
    )
    run = Run(folder, manifest)
    return run, agreement(run.records())


def _rows(run: Run) -> list[dict[str, Any]]:
    return run.records().drop("model", "held").to_dicts()
