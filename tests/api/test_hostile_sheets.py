"""Sheets, their keys and agreement from anybody: read, or refused with file and place."""

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
from overton.api.results import AGREEMENT, agreements_of
from overton.api.sheets import read_agreement, write_files
from overton.errors import InputError, RunError
from overton.judging.sheets import KeyRow, key_of

LABELS = ("supporting", "neutral", "against")
KEY = key_of(
    [KeyRow(f"u{number}", LABELS[number % 3], f"g{number // 2}") for number in range(6)],
    study="open-mindedness",
    what="stance",
    judge="a judge",
    labels=LABELS,
    seed=0,
    stratified=False,
    population=dict.fromkeys(LABELS, 20),
)


def filled(folder: Path) -> Path:
    """A sheet that a person filled in, with its key beside it."""
    sheet = folder / "s.csv"
    write_files((sheet, folder / "s.key.json"), KEY, [{"text": f'a "text",\n{number}'} for number in range(6)])
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))
    made = io.StringIO()
    writer = csv.DictWriter(made, list(rows[0]))
    writer.writeheader()
    writer.writerows(row | {"person": LABELS[number % 2]} for number, row in enumerate(rows))
    sheet.write_text(made.getvalue(), "utf-8", newline="")
    return sheet


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    held = json.loads(msgspec.json.encode(KEY))
    change(held)
    return json.dumps(held).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"sheet": "\xff"}', "is not the key of a sheet: is not UTF-8"),
        (b"[" * 200_000, "is not the key of a sheet: "),
        (b'{"sheet": ' + b"[" * 200_000, "is not the key of a sheet: "),
        (b'{"seed": ' + b"9" * 5000 + b"}", "is not the key of a sheet: "),
        (b"", "is not the key of a sheet: is not complete JSON"),
        (changed(lambda held: held.update(labels=[1])), "is not the key of a sheet: Expected `str`"),
        (changed(lambda held: held.update(labels=["supporting"])), "was changed after it was written"),
        (changed(lambda held: held["rows"].pop()), "was changed after it was written"),
        (changed(lambda held: held.update(population={})), "was changed after it was written"),
    ],
)
def test_a_file_that_is_not_a_key_is_refused_by_name(content: bytes, said: str, tmp_path: Path) -> None:
    sheet, key = filled(tmp_path), tmp_path / "s.key.json"
    key.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_agreement(sheet)
    assert str(refused.value).startswith(f"{key}: {said}")


def test_a_key_of_another_kind_of_sheet_is_refused(tmp_path: Path) -> None:
    row = [KeyRow("t", "opinion-tree", "t")]
    of_two = key_of(row, study="s", what="w", judge="j", labels=LABELS, seed=0, stratified=False, population={"a": 1})
    sheet = tmp_path / "s.csv"
    write_files((sheet, tmp_path / "s.key.json"), of_two, [{"text": "x"}])
    with pytest.raises(InputError, match="is not the key of a sheet on which a judge's labels are checked"):
        read_agreement(sheet)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_of_a_damaged_sheet_or_key_there_is_agreement_or_an_input_error(data: st.DataObject, tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    file = data.draw(st.sampled_from([sheet, tmp_path / "s.key.json"]))
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    try:
        found = read_agreement(sheet)
    except InputError as refused:
        places = {problem.place for problem in refused.problems}
    else:
        assert found.drawn == 6
        places = set()
    assert places <= {str(sheet), str(tmp_path / "s.key.json")}


def test_a_row_of_thousands_of_digits_is_told(tmp_path: Path) -> None:
    sheet = filled(tmp_path)
    sheet.write_bytes(sheet.read_bytes().replace(b"\r\n1,", b"\r\n" + b"1" * 5000 + b","))
    with pytest.raises(InputError, match=f"line 2: row '{'1' * 20}' is not one of 1 to 6"):
        read_agreement(sheet)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    out = tmp_path_factory.mktemp("run") / "run"
    return overton.run("open-mindedness", models=["simulated/open-minded"], only=["museum-returns"], trials=1, out=out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: b"\xff", "cannot be read: is not complete JSON|cannot be read: is not UTF-8"),
        (lambda held: b'[{"a":' + b"[" * 200_000, "cannot be read: is nested too deeply"),
        (lambda held: held.replace(b'"drawn":6', b'"drawn":' + b"9" * 400), "cannot be read: "),
        (lambda held: held.replace(b'"supporting":1', b'"supporting":4611686018427387904'), "do not add up"),
        (lambda held: held.replace(b'"drawn":6', b'"drawn":-6'), "do not add up"),
    ],
)
def test_agreement_with_impossible_counts_is_refused(
    change: Callable[[bytes], bytes], said: str, run: overton.Run, tmp_path: Path
) -> None:
    read_agreement(filled(tmp_path), run=run.path)
    file = run.path / AGREEMENT
    whole = msgspec.json.encode(msgspec.json.decode(file.read_bytes()))
    assert change(whole) != whole
    file.write_bytes(change(whole))
    with pytest.raises(RunError, match=said) as refused:
        agreements_of(run)
    assert str(file) in str(refused.value)
    file.unlink()
