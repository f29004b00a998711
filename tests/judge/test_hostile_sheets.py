"""Sheets, their keys, and what 0.2.0 stored of them, from anybody: read, or refused with file and place."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import overton
from overton.analysis.results import AGREEMENT, agreements_of
from overton.errors import InputError, RunError
from overton.judge import agreement
from overton.judge.sheets import write_files
from overton.judging.label_tasks import LabelRequest, task_of
from overton.judging.sheets import KeyRow, SheetKey

pytestmark = pytest.mark.hostile

LABELS = ("supporting", "neutral", "against")
ROWS = tuple(KeyRow(f"u{number}", LABELS[number % 3], f"g{number // 2}") for number in range(6))
TASK = SheetKey("s", "open-mindedness", "stance", "a judge", LABELS, 0, False, dict.fromkeys(LABELS, 20), ROWS).task()


def filled(folder: Path) -> Path:
    """A sheet that a person filled in, with its key next to it."""
    sheet = folder / "s.csv"
    write_files((sheet, folder / "s.key.json"), TASK, [{"text": f'a "text",\n{number}'} for number in range(6)])
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))
    made = io.StringIO()
    writer = csv.DictWriter(made, list(rows[0]))
    writer.writeheader()
    writer.writerows(row | {"person": LABELS[number % 2]} for number, row in enumerate(rows))
    sheet.write_text(made.getvalue(), "utf-8", newline="")
    return sheet


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    held = json.loads(msgspec.json.encode(TASK))
    change(held)
    return json.dumps(held).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name": "\xff"}', "is not the key of a sheet: is not UTF-8"),
        (b"[" * 200_000, "is not the key of a sheet: "),
        (b'{"sheet": ' + b"[" * 200_000, "is not the key of a sheet: "),
        (b'{"seed": ' + b"9" * 5000 + b"}", "is not the key of a sheet: "),
        (b"", "is not the key of a sheet: is not complete JSON"),
        (b'{"sheet": "s1", "rows": []}', "is not the key of a sheet: Object missing required field"),
        (changed(lambda held: held.update(labels=[1])), "is not the key of a sheet: Expected `object`"),
        (changed(lambda held: held.update(labels={"supporting": ""})), "was changed after it was written"),
        (changed(lambda held: held["rows"].pop()), "was changed after it was written"),
        (changed(lambda held: held.update(population={})), "was changed after it was written"),
    ],
)
def test_a_file_that_is_not_a_key_is_refused_by_name(content: bytes, said: str, tmp_path: Path) -> None:
    sheet, key = filled(tmp_path), tmp_path / "s.key.json"
    key.write_bytes(content)
    with pytest.raises(InputError) as refused:
        agreement(sheet)
    assert str(refused.value).startswith(f"{key}: {said}")


def test_a_key_of_another_kind_of_sheet_is_refused(tmp_path: Path) -> None:
    row = (LabelRequest("t", "opinion-tree", "t", 0.5),)
    of_two = task_of(msgspec.structs.replace(TASK, rows=row, people=((0,),)))
    sheet = tmp_path / "s.csv"
    write_files((sheet, tmp_path / "s.key.json"), of_two, [{"text": "x"}])
    with pytest.raises(InputError, match=r"rows\[0\].judged: is 'opinion-tree', which is not one of the task's labels"):
        agreement(sheet)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_of_a_damaged_sheet_or_key_there_is_agreement_or_an_input_error(data: st.DataObject, tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    file = data.draw(st.sampled_from([sheet, tmp_path / "s.key.json"]))
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    try:
        found = agreement(sheet)
    except InputError as refused:
        places = {problem.place for problem in refused.problems}
    else:
        assert found.people.asked == 6
        places = set()
    assert places <= {str(sheet), str(tmp_path / "s.key.json")}


def test_a_row_number_of_thousands_of_digits_is_reported(tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    sheet.write_bytes(sheet.read_bytes().replace(b"\r\n1,", b"\r\n" + b"1" * 5000 + b","))
    with pytest.raises(InputError, match=f"line 2: row '{'1' * 20}' is not one of 1 to 6"):
        agreement(sheet)


def rewritten(sheet: Path, change: Callable[[list[list[str]]], list[list[str]]]) -> None:
    """Change the rows of a sheet, its header first."""
    made = io.StringIO()
    csv.writer(made).writerows(change(list(csv.reader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))))
    sheet.write_text(made.getvalue(), "utf-8", newline="")


UNUSABLE: dict[str, tuple[Callable[[list[list[str]]], list[list[str]]], str]] = {
    "a row twice": (lambda rows: [*rows, rows[1]], "row 1 is already in line 2"),
    "a row twice, with another label": (
        lambda rows: [*rows, [*rows[1][:2], "against", rows[1][3]]],
        "row 1 is already in line 2",
    ),
    "a row twice, once empty": (lambda rows: [*rows, [*rows[1][:2], "", rows[1][3]]], "row 1 is already in line 2"),
    "the person's column twice": (
        lambda rows: [[*row, "person" if not number else "neutral"] for number, row in enumerate(rows)],
        "line 1: has column person more than once; keep one",
    ),
    "no column for the person": (lambda rows: [[*row[:2], row[3]] for row in rows], "line 1: has no column person"),
    "a formula": (lambda rows: [*rows[:-1], [*rows[-1][:2], "=1+1", rows[-1][3]]], "is '=1[+]1'; it must be one of"),
    "a formula's value": (lambda rows: [*rows[:-1], [*rows[-1][:2], "#NAME?", rows[-1][3]]], "is '#NAME"),
    "a number for a row": (lambda rows: [*rows[:-1], ["6.0", *rows[-1][1:]]], "row '6.0' is not one of 1 to 6"),
}


@pytest.mark.parametrize(("change", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_sheet_with_rows_or_columns_that_contradict_is_refused(
    change: Callable[[list[list[str]]], list[list[str]]], said: str, tmp_path: Path
) -> None:
    sheet = filled(tmp_path)
    rewritten(sheet, change)
    with pytest.raises(InputError, match=said):
        agreement(sheet)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"])
def test_a_sheet_in_another_encoding_is_refused_and_one_with_a_mark_is_read(encoding: str, tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    text = sheet.read_text("utf-8").replace("text", "t\xe9xt")
    sheet.write_bytes(text.encode("utf-8-sig"))
    assert agreement(sheet).people.asked == 6
    sheet.write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"is not UTF-8; save the sheet as UTF-8|line 1: has no column"):
        agreement(sheet)


def test_a_sheet_of_a_gigabyte_is_refused_unread(tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    with sheet.open("r+b") as file:
        file.truncate(10**9)
    with pytest.raises(InputError, match="is larger than 200,000,000 bytes"):
        agreement(sheet)


def test_of_a_sheet_with_a_million_wrong_rows_twenty_are_listed(tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    rewritten(sheet, lambda rows: [*rows, *[rows[1]] * 1000])
    with pytest.raises(InputError) as refused:
        agreement(sheet)
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1].reason == "was not checked, nor were later lines, because 20 lines are wrong"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    out = tmp_path_factory.mktemp("run") / "run"
    return overton.run("open-mindedness", models=["simulated/open-minded"], only=["museum-returns"], trials=1, out=out)


STORED = b'[{"sheet":"s1","what":"stance","same":{"value":0.9,"low":0.7,"high":0.97,"n":20,"method":"Wilson"}}]'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "cannot be read: is not complete JSON|cannot be read: is not UTF-8"),
        (b'[{"a":' + b"[" * 200_000, "cannot be read: is nested too deeply"),
        (STORED, "cannot be read: Object missing required field `kappa`"),
        (b'[{"sheet": 1}]', "read the sheet again"),
    ],
)
def test_a_damaged_file_of_agreement_is_refused(content: bytes, said: str, run: overton.Run) -> None:
    file = run.path / AGREEMENT
    file.write_bytes(content)
    with pytest.raises(RunError, match=said) as refused:
        agreements_of(run)
    assert str(file) in str(refused.value)
    file.unlink()
