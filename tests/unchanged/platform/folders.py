"""Run folders: names of files, the manifest, the items, the journal's tables and rows, and columns of records."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
from tests.unchanged.platform import wire
from tests.unchanged.platform.listening import listening

import overton

__all__ = ["CASES", "SIMULATED", "making", "pinned", "simulated"]

SIMULATED: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": ["careful=simulated/open-minded"],
        "model_args": {"careful": {"letter": "0.3", "refusal": "0.1"}},
        **{"trials": 1, "templates": [1, 2], "conditions": ["baseline", "balanced"]},
    },
    "stance-stability": {
        "models": ["drifting=simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        **{"turns": 3, "temperatures": [0.5], "pages_per_turn": 2, "page_characters": 200, "retest": 0.5},
    },
    "pluralism": {
        "models": ["blunt=simulated/pluralist"],
        "others": {"judge": ["simulated/pluralist-judge"]},
        "model_args": {"blunt": {"suppress": "0.8"}, "simulated/pluralist-judge": {"miss": "0.1"}},
        **{"responses": 3, "candidates": 3, "ranked": 4, "pairs": 1},
    },
    "deliberation": {
        "models": ["open=simulated/deliberator", "firm=simulated/deliberator"],
        "others": {"values": ["simulated/values-judge"]},
        "model_args": {"firm": {"inertia": "2.5"}},
        "rounds": 3,
    },
    "even-handedness": {
        "models": ["partial=simulated/advocate"],
        "others": {"judge": ["simulated/even-judge"]},
        "model_args": {"partial": {"weaker": "0.3", "hedges": "0.2"}},
        "trials": 1,
    },
}
"""A small run of each study: options of `overton.run`. It is about the first of the sample items."""

_ISSUE = Path(__file__).parents[2] / "data" / "procon" / "night-buses.json"
_REJECTED = "Consider the following issue"
"""Words of some prompts: a server rejects these in the run that has failures."""
_LONG = re.compile(r"-?\d+\.\d{10,}")
"""A number whose last digits depend on the machine."""


def simulated(study: str, out: Path, *, items: int = 1, **more: Any) -> Any:
    """Run a study on simulated models."""
    only = [item.id for item in overton.items.read(study)[:items]]
    return overton.run(study, only=only, out=out, **SIMULATED[study] | more)


def making(name: str) -> Callable[[Path], Any]:
    """The function that makes the folders of a case and describes them by name."""

    def make(scratch: Path) -> Any:
        folders = CASES[name](scratch)
        return {title: _described(folder) for title, folder in folders.items()}

    return make


def _described(folder: Path) -> dict[str, Any]:
    """A run folder; of any other folder, its files and the keys of those that are JSON."""
    return pinned(folder) if (folder / "manifest.json").exists() else {"files": _files(folder), "keys": _json(folder)}


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _json(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): _keys(json.loads(path.read_bytes()))
        for path in sorted(folder.rglob("*.json"))
        if path.name != "manifest.json"
    }


def pinned(folder: Path) -> dict[str, Any]:
    """Everything that a run folder stores, without what differs from run to run."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    rows = pl.read_parquet_schema(folder / "records.parquet") if (folder / "records.parquet").exists() else {}
    about = pl.read_parquet_metadata(folder / "records.parquet") if rows else {}
    files = _files(folder)
    journal = _journal(folder / "journal.db")
    if journal["notes of batches"]:  # their number depends on the clock
        manifest["spent"]["outcomes"] = journal["spent"][0][1] = "N"
    return {
        "files": files,
        "manifest": _settled(manifest),
        "items": (folder / "items.jsonl").read_text("utf-8").splitlines(),
        "columns": {name: str(kind) for name, kind in rows.items()},
        "notes of records": sorted(set(about) - {"ARROW:schema"}),
        "journal": journal,
        "keys": _json(folder),
    }


def _journal(path: Path) -> dict[str, Any]:
    """Tables with their columns, format, and rows by slot; rows have no number, checksum or time."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        names = sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        tables = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
        columns = [column[1] for column in tables["calls"] if column[1] not in ("row", "checksum")]
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM calls ORDER BY slot, content, row").fetchall()
        spent = connection.execute("SELECT one, outcomes, requests, cost FROM spent").fetchall()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    notes = [row for row in rows if row[columns.index("speaker")].startswith("~batch/")]
    return {
        "format": version,
        "mode": mode,
        "tables": {name: [list(column[1:]) for column in found] for name, found in tables.items()},
        "columns": columns,
        "calls": [[_cell(value) for value in row] for row in rows if row not in notes],
        "notes of batches": sorted({_note(dict(zip(columns, row, strict=True))) for row in notes}),
        "spent": [list(row) for row in spent],
    }


def _note(row: Mapping[str, Any]) -> str:
    """A note about a batch without its name, slots and times: which calls share a batch depends on the clock."""
    outcome = json.loads(row["outcome"])
    inner = json.loads(outcome["text"])
    kept = {name: row[name] for name in ("trial", "number", "answerer", "failed")}
    kept["speaker"] = re.sub(r"/[a-z2-7]{8}$", "/NAME", row["speaker"])
    return json.dumps(kept | {"outcome": _keys(outcome), "finish": outcome["finish"], "text": _keys(inner)})


def _cell(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else _plain(value) if isinstance(value, str) else value


def _settled(manifest: dict[str, Any]) -> Any:
    """A manifest without the time, the version, and which row is last: that depends on the order of replies. Digests
    of a finished run are of a key that 0.2.0 did not have."""
    manifest.pop("digests", None)
    manifest |= {"created": type(manifest["created"]).__name__, "overton": "VERSION"}
    manifest["spent"]["last"] = "N"
    if shard := manifest["shard"]:
        shard["split"] = re.sub(r"^[0-9a-f]{16}$", "16 DIGITS", shard["split"])
    return json.loads(_plain(json.dumps(manifest, ensure_ascii=False)))


def _plain(text: str) -> str:
    text = re.sub(r"127\.0\.0\.1:\d{2,}", "127.0.0.1:PORT", text)
    return _LONG.sub(lambda number: f"{float(number[0]):.8g}", text)


def _keys(value: Any) -> Any:
    """The keys of JSON with the types of their values; of a list, those of its first element."""
    if isinstance(value, Mapping):
        plain = {"KEY" if re.fullmatch(r"\d+|[0-9a-f]{16,}", key) else key: _keys(one) for key, one in value.items()}
        return plain or "an empty object"
    if isinstance(value, list):
        return [_keys(value[0])] if value else []
    return type(value).__name__


def _alone(study: str) -> Callable[[Path], dict[str, Path]]:
    return lambda scratch: {"run": simulated(study, scratch / "run").path}


def _batched(study: str, form: str) -> Callable[[Path], dict[str, Path]]:
    def make(scratch: Path) -> dict[str, Path]:
        with wire.keys(), listening() as listener:
            return {"run": wire.run_at(listener, wire.RUNS[study], form, scratch / "run", batch=True).path}

    return make


def _failed(scratch: Path) -> dict[str, Path]:
    """A run some of whose calls are rejected."""
    with wire.keys(), listening() as listener:
        listener.refused = _REJECTED
        return {"run": wire.run_at(listener, wire.RUNS["open-mindedness"], "openai", scratch / "run").path}


def _nulls(study: str, nulls: Any) -> Callable[[Path], dict[str, Path]]:
    return lambda scratch: {"run": simulated(study, scratch / "run", nulls=nulls).path}


def _probabilities(study: str) -> Callable[[Path], dict[str, Path]]:
    return lambda scratch: {"run": simulated(study, scratch / "run", shares="probabilities", calibrate=2).path}


def _rounds(scratch: Path) -> dict[str, Path]:
    """A run until its intervals are narrow: the journal has a note for each round."""
    aim = {"precision": {"open_mindedness": 40.0}, "at_most_calls": 400}
    who = {"models": ["simulated/open-minded"], "trials": 3, "templates": [1]}
    only = [item.id for item in overton.items.read("open-mindedness")[:6]]
    return {"run": overton.run("open-mindedness", only=only, out=scratch / "run", **who, **aim).path}


def _shards(scratch: Path) -> dict[str, Path]:
    only = [item.id for item in overton.items.read("open-mindedness")[:2]]
    given = SIMULATED["open-mindedness"]
    shards = overton.split("open-mindedness", into=2, out=scratch / "shards", only=only, **given)
    for shard in shards:
        overton.resume(shard.path)
    merged = overton.merge([shard.path for shard in shards], scratch / "merged")
    return {**{shard.path.name: shard.path for shard in shards}, "merged": merged.path}


def _imported(scratch: Path) -> dict[str, Path]:
    run = simulated("even-handedness", scratch / "run")
    logs = overton.export_run(run.path, out=scratch / "logs")
    return {"imported": overton.import_logs([log.path for log in logs], out=scratch / "imported").path}


def _labelled(scratch: Path) -> dict[str, Path]:
    """A run with labels by two people and a report; the task, a sheet, and a second run of its judge."""
    run = simulated("even-handedness", scratch / "run", items=6).path
    overton.judge.draw_labels(run, scratch / "task", people=2, size=6, what="compliance")
    task = json.loads((scratch / "task" / "task.json").read_bytes())
    rows = range(len(task["rows"]))
    files = []
    for number in (1, 2):
        said = {str(place): list(task["labels"])[place % number] for place in rows}
        files.append(scratch / "task" / f"person-{number}.json")
        answers = {"task": task["name"], "page": number, "person": f"person {number}", "labels": said}
        files[-1].write_text(json.dumps(answers))
    overton.judge.agreement(files, run=run)
    overton.report(run)
    (scratch / "sheet").mkdir()
    overton.judge.sample(run, scratch / "sheet" / "rows.csv", what="compliance")
    again = overton.judge.again(run, what="compliance", size=4, out=scratch / "again")
    controls = overton.judge.controls(run, out=scratch / "controls")
    found = {"run": run, "task": scratch / "task", "sheet": scratch / "sheet"}
    return found | {"again": again.path, "controls": controls.path}


def _audited(scratch: Path) -> dict[str, Path]:
    """A run that judges items by two models that a server plays."""
    with wire.keys(), listening() as listener:
        judges = [f"{name}={listener.url}/v1#{name}-judge" for name in ("first", "second")]
        return {"run": overton.items.audit(items=_ISSUE, models=judges, out=scratch / "run").path}


CASES: dict[str, Callable[[Path], dict[str, Path]]] = {
    **{study: _alone(study) for study in SIMULATED},
    **{f"batch-{study}": _batched(study, "openai") for study in SIMULATED},
    "batch-anthropic": _batched("open-mindedness", "anthropic"),
    "failures": _failed,
    "nulls-open-mindedness": _nulls("open-mindedness", ["all"]),
    "nulls-stance-stability": _nulls("stance-stability", ["all"]),
    "nulls-pluralism": _nulls("pluralism", ["all"]),
    "nulls-deliberation": _nulls("deliberation", ["all"]),
    "without-nulls-even-handedness": _nulls("even-handedness", 0.0),
    "probabilities-open-mindedness": _probabilities("open-mindedness"),
    "probabilities-stance-stability": _probabilities("stance-stability"),
    "rounds": _rounds,
    "shards": _shards,
    "imported": _imported,
    "labelled": _labelled,
    "audited": _audited,
}
