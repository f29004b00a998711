"""A run's batches in progress."""

from __future__ import annotations

from pathlib import Path

from overton.api.runs import open_run
from overton.hosts.local import Confirm, RunFolder, Trust
from overton.hosts.local.batching import BatchOut, batches_out

__all__ = ["BatchOut", "batches"]


def batches(
    path: str | Path, *, cancel: bool = False, trust: bool = False, confirm: Confirm | None = None
) -> list[BatchOut]:
    """The batches of a run that outlived its last session, each as its provider shows it; with `cancel` the provider is
    asked to start no more of their calls. What has been answered is paid for, and `resume` reads it.

    `trust` and `confirm` are those of `overton.resume`.

    Raises:
        RunLocked: another process works on the run.
        InputError: see `overton.resume`.
        RunError: `path` is not a run folder.
    """
    opened = open_run(path)
    return batches_out(opened.study, RunFolder(opened.path), cancel=cancel, trust=Trust(trust, confirm))
