"""Make the stored runs of a release: `python -m tests.stored_runs.record [CASE ...]`, from the repository's root.

The set goes into `data/VERSION/`, VERSION being the one that is released. Later versions have to read what an earlier
one wrote, so nothing is recorded again: a case that is already in the set is refused.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import msgspec

import overton
from overton.errors import Stopped
from overton.judging.label_tasks import AnnotatorLabels, LabelTask
from overton.studies.registry import study_named

from . import SETS, unpack
from .cases import GATES, LABELS, RUNS, GateCase, LabelSample, StoredRun

_EVERY = 8
"""The person disagrees with the judge on every eighth row."""

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_VERSION = overton.__version__
_LEFT_OUT = ("report.html", "journal.lock", "labels.lock")


def record_run(name: str, case: StoredRun, scratch: Path) -> None:
    """Run a study and pack the folder, without its report, which any version can make again."""
    study = study_named(case.study)
    only = [one.id for one in overton.items.read(study)[: case.items]]
    out = scratch / name
    try:
        overton.run(
            case.study,
            models=case.models,
            others=case.others,
            only=only,
            out=out,
            model_args=case.model_args,
            **case.options,
        )
    except Stopped as stopped:
        print(name, "stopped:", stopped)
    _pack(name, [file for file in sorted(out.iterdir()) if file.name not in _LEFT_OUT], out)


def record_labels(name: str, case: LabelSample, scratch: Path) -> None:
    """Sample rows of a stored run, label them, and pack the labels that the run then has."""
    run = unpack(case.run, scratch / name, _VERSION)
    overton.judge.draw_labels(run, scratch / name / "task", people=1, size=240, what=case.what, **case.how)
    file = scratch / name / "task" / "task.json"
    task = msgspec.json.decode(file.read_bytes(), type=LabelTask)
    names = list(task.labels)
    said = {place: row.judged for place, row in enumerate(task.rows)}
    said |= {place: names[names.index(said[place]) - 1] for place in range(0, len(said), _EVERY)}
    answers = file.with_name("person.json")
    answers.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "person", said)))
    overton.judge.agreement([answers], run=run)
    _pack(name, sorted((run / "labels").rglob("*.json")), run)


def record_gate(name: str, case: GateCase, scratch: Path) -> None:
    """Write a baseline, a gate for its headlines, and what the gate says of the candidate."""
    folder = SETS / _VERSION / "gates" / name
    folder.mkdir(parents=True, exist_ok=True)
    overton.baseline(_model_of(case.base, scratch, _VERSION), out=folder / "baseline.json")
    (folder / "gate.toml").write_text("\n".join(_guard(*one) for one in case.guards), "utf-8")
    (folder / "gate.json").write_text(json.dumps(checked(name, scratch, _VERSION), indent=1) + "\n", "utf-8")


def checked(name: str, scratch: Path, version: str) -> dict[str, Any]:
    """The output of `overton gate --json` for a gate that a version stored."""
    folder, case = SETS / version / "gates" / name, GATES[name]
    candidate = _model_of(case.candidate, scratch, version)
    made = overton.gate(folder / "baseline.json", candidate, folder / "gate.toml", although="runs differ on purpose")
    return json.loads(json.dumps(made.to_json()).replace(json.dumps(str(scratch))[1:-1], "FOLDER"))


def _model_of(name: str, scratch: Path, version: str) -> str:
    run, _, model = name.partition("#")
    folder = scratch / run
    return f"{folder if folder.exists() else unpack(run, scratch, version)}#{model}"


def _guard(measure: str, margin: float, direction: str) -> str:
    return f'[[guard]]\nmeasure = "{measure}"\nmargin = {margin}\ndirection = "{direction}"\n'


def _pack(name: str, files: list[Path], root: Path) -> None:
    target, preset = SETS / _VERSION / f"{name}.tar.xz", 9 | lzma.PRESET_EXTREME
    with lzma.open(target, "wb", preset=preset) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for file in files:
            archive.add(file, file.relative_to(root), filter=_anonymous)
    print(f"{name}: {target.stat().st_size:,} bytes")


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info


def record(names: list[str]) -> None:
    """Record the named cases, in the order in which they need each other; all of them if none is named."""
    if not _RELEASE.fullmatch(_VERSION):
        sys.exit(f"{_VERSION} is no release: set the version that is released first")
    folder = SETS / _VERSION
    stored = {path.name.removesuffix(".tar.xz") for path in [*folder.glob("*.tar.xz"), *folder.glob("gates/*")]}
    if again := sorted(stored & {*(names or [*RUNS, *LABELS, *GATES])}):
        sys.exit(f"already in {folder}: {', '.join(again)}")
    folder.mkdir(exist_ok=True)
    for cases, make in ((RUNS, record_run), (LABELS, record_labels), (GATES, record_gate)):
        for name, case in cases.items():
            if not names or name in names:
                with tempfile.TemporaryDirectory() as scratch:
                    make(name, case, Path(scratch))


if __name__ == "__main__":
    record(sys.argv[1:])
