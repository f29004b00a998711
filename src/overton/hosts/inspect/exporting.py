"""From a run folder to Inspect logs, one per lane: calls are recalled and shown as Inspect shows its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from overton.engine import digest
from overton.errors import InputError, MissingExtra, Problem, RunError
from overton.hosts.inspect.lane_log import LaneLog, Scoring
from overton.hosts.inspect.layout import TaskData
from overton.runs.answerers import published
from overton.runs.folder import Manifest, ModelEntry, RunFolder
from overton.runs.replay import Replay
from overton.runs.start import check_unchanged
from overton.studies.study import AnyStudy

__all__ = ["Exported", "Scoring", "write_logs"]


@dataclass(frozen=True)
class Exported:
    """A log that was written: its model, how many samples it contains, and how many the run is to have."""

    path: Path
    lane: str
    samples: int
    planned: int


def write_logs(
    folder: RunFolder, study: AnyStudy, manifest: Manifest, out: Path, scoring: Callable[[TaskData], Scoring]
) -> list[Exported]:
    """Write one log per lane of a run into the folder `out`: complete items only, as in reports.

    Raises:
        MissingExtra: Inspect AI is not installed.
        InputError: a log of this run already exists there; none is written.
        RunMismatch: prompts or items are not those that the run started with.
    """
    _check_installed()
    check_unchanged(study, folder, manifest)
    tasks = _tasks(study, manifest)
    paths = [out / _file_name(manifest, task) for task in tasks]
    if there := [path for path in paths if path.exists()]:
        raise InputError([Problem(str(path), "", "exists already; nothing is overwritten") for path in there])
    try:
        out.mkdir(parents=True, exist_ok=True)
        with closing(Replay(folder, study, manifest)) as recall, TemporaryDirectory(prefix=".export-", dir=out) as new:
            logs = [
                LaneLog(study, manifest, task, recall, lane, scoring(task))
                for lane, task in zip(recall.lanes, tasks, strict=True)
            ]
            for log, path in zip(logs, paths, strict=True):
                log.write(Path(new) / path.name)
            for path in paths:
                (Path(new) / path.name).rename(path)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror}") from error
    return [
        Exported(path, name, log.written, len(log.planned))
        for path, name, log in zip(paths, recall.names, logs, strict=True)
    ]


def _check_installed() -> None:
    try:
        import inspect_ai  # noqa: F401
    except ImportError:
        raise MissingExtra("writing Inspect logs", "inspect") from None


def _tasks(study: AnyStudy, manifest: Manifest) -> list[TaskData]:
    """What each lane's log is about: a single judge, if several judged."""
    first, several = study.first, study.several
    models = {role: [_published(entry) for entry in entries] for role, entries in manifest.models.items()}
    entries = models[first]
    judges = [{several: [judge]} for judge in models.get(several, ())] or [{}]
    return [
        TaskData(
            study=manifest.study,
            seed=manifest.seed,
            options=manifest.options,
            models=models | judge | {first: list(lane)},
            prompts=manifest.prompts,
            overton=manifest.overton,
            left_out=manifest.left_out,
        )
        for judge in judges
        for lane in ([entries] if study.together else [[entry] for entry in entries])
    ]


def _published(entry: ModelEntry) -> ModelEntry:
    """The entry without this machine's paths: logs are passed on."""
    return msgspec.structs.replace(entry, spec=published(entry.spec))


def _file_name(manifest: Manifest, task: TaskData) -> str:
    """A log's name in Inspect's style, always the same for a lane of a run."""
    when = manifest.created.replace(":", "-")
    return f"{when}_{task.study}_{digest([manifest.items, task])[:22]}.eval"
