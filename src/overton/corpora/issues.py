"""Reading, checking and writing issues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from overton.corpora.checks import check
from overton.corpora.draft import Draft
from overton.corpora.findings import Finding, Notes
from overton.corpora.own import draft_from_own, write_lines
from overton.corpora.positions import Position, add_positions, find_table, read_table
from overton.corpora.procon import draft_from_procon
from overton.corpora.texts import MAX_FILE_BYTES, decode, read_json, read_text
from overton.errors import InputError, Problem
from overton.studies.open_mindedness.items import Issue

__all__ = ["DATASET", "MAX_ISSUES", "check_issues", "read_issues", "write_issues"]

DATASET = "issues.jsonl"
"""The name of a dataset of issues in its folder."""

MAX_ISSUES = 10_000


def read_issues(path: Path, positions: Path | None = None, *, need_paraphrases: bool = True) -> list[Issue]:
    """The issues at `path`, sorted by id, numbers in ids by their value.

    `path` is a folder of files in the ProCon layout (one issue a file, its name the issue's id), one such file, a
    JSONL file in our own layout (one `Issue` a line), or a folder that holds a dataset 'issues.jsonl'. `positions` is
    a CSV table with the columns issue, topic, pro, con, which adds what issues lack; by default 'positions.csv' in
    the folder or beside it, where there is one. Where nothing gives an issue's positions, they are taken from its
    paraphrases. `need_paraphrases=False` lets issues without paraphrases pass.

    Raises:
        InputError: with every error that `check_issues` finds.
    """
    drafts, notes = _read(path, positions, need_paraphrases)
    problems = [finding.problem() for finding in _findings(drafts, notes) if finding.severity == "error"]
    if problems:
        raise InputError(problems)
    return [draft.issue() for draft in drafts]


def check_issues(path: Path, positions: Path | None = None, *, need_paraphrases: bool = True) -> list[Finding]:
    """Every error and every warning about the issues at `path`; the parameters are those of `read_issues`.

    An error keeps a run from starting: a file that is not UTF-8 or not JSON, a wrong type, an empty or repeated
    argument, a side without arguments, a number of paraphrases other than six, an id that is not usable or not
    unique. A warning does not: fewer than three arguments on a side, a mark without a source and the reverse, an
    orientation that contradicts the paraphrase's wording.
    """
    return _findings(*_read(path, positions, need_paraphrases))


def write_issues(issues: Sequence[Issue], path: Path, *, replace: bool = False) -> Path:
    """Write `issues` in our own layout, whole or not at all, and return the file's path.

    `path` is a file whose name ends in '.jsonl', or a folder (made where missing) in which it is named
    'issues.jsonl'. A file that is there stays, unless `replace`.

    Raises:
        InputError: the file exists already, or cannot be written.
    """
    file = path if path.suffix == ".jsonl" else path / DATASET
    if file.exists() and not replace:
        raise InputError([Problem(str(file), "", "exists already; nothing is ever written over")])
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_lines(issues, file)
    except OSError as error:
        raise InputError([Problem(str(file), "", f"cannot be written: {error.strerror or error}")]) from error
    return file


def _findings(drafts: Sequence[Draft], notes: Sequence[Notes]) -> list[Finding]:
    return [finding for noted in [*notes, *(draft.notes for draft in drafts)] for finding in noted.findings]


def _read(path: Path, positions: Path | None, need_paraphrases: bool) -> tuple[list[Draft], list[Notes]]:
    """The issues that could be read, each with its notes, and the notes on everything else."""
    general = Notes(str(path))
    table_path = positions or find_table(path)
    table_notes = Notes(str(table_path))
    table = read_table(table_path, table_notes) if table_path is not None else {}
    others = [general, table_notes]
    drafts = sorted(_drafts(path, others), key=lambda draft: _natural(draft.id))
    for draft in drafts:
        add_positions(draft, table)
        check(draft, need_paraphrases=need_paraphrases)
    _note_repeated_ids(drafts)
    if path.is_dir() and drafts:
        _note_strangers(table, drafts, table_notes)
    if not drafts and not any(notes.failed for notes in others):
        general.error("", "holds no issues")
    return drafts, others


def _drafts(path: Path, others: list[Notes]) -> Iterator[Draft]:
    general = others[0]
    if not path.exists():
        general.error("", "does not exist")
    elif not path.is_dir():
        yield from _from_file(path, others)
    else:
        files = _files(path, general)
        for file in files[:MAX_ISSUES]:
            yield from _from_file(file, others)
        if len(files) > MAX_ISSUES:
            general.error("", f"holds more than {MAX_ISSUES:,} files")


def _files(folder: Path, notes: Notes) -> list[Path]:
    """The dataset of a folder, or its ProCon files; a run's own files are not issues."""
    files = sorted(file for file in folder.glob("*.json") if not file.name.startswith("."))
    dataset = folder / DATASET
    if not dataset.is_file():
        if not (folder / "journal.db").exists():
            return files
        notes.error("", f"is a run folder without {DATASET}: name a folder of issues, or a file")
        return []
    strangers = [file.name for file in files if file.name != "manifest.json"]
    if strangers:
        notes.error("", f"holds both {DATASET} and {strangers[0]}: name the file that is meant")
        return []
    return [dataset]


def _from_file(file: Path, others: list[Notes]) -> Iterator[Draft]:
    if file.suffix == ".jsonl":
        yield from _from_lines(file, others)
        return
    notes = Notes(str(file))
    text = read_text(file, notes)
    data = read_json(text, notes) if text is not None else None
    if data is None:
        others.append(notes)
    else:
        yield draft_from_procon(data, file.stem, notes)


def _from_lines(file: Path, others: list[Notes]) -> Iterator[Draft]:
    try:
        with file.open("rb") as lines:
            yield from _from_open(lines, str(file), others)
    except OSError as error:
        others[0].error("", f"cannot be read: {error.strerror or error}")


def _from_open(lines: BinaryIO, place: str, others: list[Notes]) -> Iterator[Draft]:
    number = count = 0
    while line := lines.readline(MAX_FILE_BYTES + 1):
        number += 1
        notes = Notes(place, f"line {number}")
        if len(line) > MAX_FILE_BYTES:
            notes.error("", f"is longer than {MAX_FILE_BYTES:,} bytes")
            others.append(notes)
            return
        if not line.strip():
            continue
        text = decode(line.rstrip(b"\r\n"), notes)
        data = read_json(text, notes) if text is not None else None
        if data is None:
            others.append(notes)
            continue
        count += 1
        if count > MAX_ISSUES:
            notes.error("", f"is one issue more than {MAX_ISSUES:,}")
            others.append(notes)
            return
        yield draft_from_own(data, notes)


def _note_repeated_ids(drafts: Sequence[Draft]) -> None:
    first: dict[str, Draft] = {}
    for draft in drafts:
        earlier = first.setdefault(draft.id, draft)
        if earlier is not draft and draft.id:
            draft.notes.error("id", f"'{draft.id}' stands already in {earlier.notes.prefix or earlier.notes.place}")


def _note_strangers(table: dict[str, Position], drafts: Sequence[Draft], notes: Notes) -> None:
    known = {draft.id for draft in drafts}
    for issue, row in table.items():
        if issue not in known:
            notes.warning(f"line {row.line}", f"names the issue '{issue}', which is not among those read")


def _natural(text: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key by which 'issue-2' comes before 'issue-10'."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], text
