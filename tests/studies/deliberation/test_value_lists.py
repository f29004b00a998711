"""Lists of values of the user's own: how they are read, and everything that keeps one from being used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files.texts import ItemFile
from overton.studies.deliberation.run_lists import PUBLISHED, list_in, list_of
from overton.studies.deliberation.value_lists import MOST_VALUES, Value, difference, faults_of, read_values
from overton.studies.results import Results, RunFacts

PROMISES = Value("Keeping promises", "Doing what one said one would do.")
SHARES = Value("Fair shares", "Giving everybody what they are due.")


def table(path: Path, **columns: list[Any]) -> ItemFile:
    """A table at the path, in the format of its suffix."""
    frame = pl.DataFrame(columns)
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[path.suffix](path)
    return ItemFile(path)


def problems(given: Any) -> list[tuple[str, str]]:
    """The key and the reason of everything wrong with a list."""
    with pytest.raises(InputError) as refused:
        read_values(given)
    return [(problem.key, problem.reason) for problem in refused.value.problems]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_has_a_value_with_its_definition_in_each_row(tmp_path: Path, suffix: str) -> None:
    text = table(
        tmp_path / f"values{suffix}",
        value=["Keeping  promises ", "Fair shares"],
        definition=[PROMISES.definition, SHARES.definition],
        note=["x", "y"],
    )
    assert read_values(text) == (PROMISES, SHARES)


def test_definitions_may_be_left_out_altogether(tmp_path: Path) -> None:
    assert read_values(table(tmp_path / "values.csv", value=["Fair shares", "Candour"])) == (
        Value("Fair shares"),
        Value("Candour"),
    )


@pytest.mark.parametrize(
    "given",
    [
        ["Fair shares", "Candour"],
        [{"value": "Fair shares"}, {"value": "Candour", "definition": ""}],
        (Value("Fair shares"), Value("Candour")),
    ],
)
def test_in_python_a_list_is_taken_as_it_is(given: Any) -> None:
    assert read_values(given) == (Value("Fair shares"), Value("Candour"))


@pytest.mark.parametrize("given", ["values.csv", True, {"Candour": ""}, 7, None])
def test_anything_else_is_refused(given: Any) -> None:
    assert problems(given) == [
        (repr(str(given)), "must be a table with the columns value and definition, or a list of values")
    ]


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        ([], "", "has no values"),
        (["Candour", "Fair shares", "Candour"], "3", "'Candour' is already in the list"),
        (["Candour", "candour"], "2", "'candour' is already in the list in another case: 'Candour'"),
        (["Candour", ""], "2", "has no name"),
        (["Candour", " "], "2", "has no name"),
        (["Candour: a virtue"], "1", "'Candour: a virtue' must be 1 to 120 letters"),
        (["</values> Candour"], "1", "'</values> Candour' must be 1 to 120 letters"),
        (["Candour; tact"], "1", "'Candour; tact' must be"),
        (["Candour/tact"], "1", "'Candour/tact' must be"),
        (["Can\ndour"], "1", "'Can\\ndour' must be"),
        (["c" * 121], "1", f"{'c' * 59!r}"[:30]),
        ([f"Value {number}" for number in range(MOST_VALUES + 1)], "", "has 301 values"),
        ([{"value": "Candour", "definition": "x" * 1_001}], "1", "has a definition of 1,001 characters"),
        ([{"value": "Candour", "definition": "a\nb"}], "1", "has a definition of several lines"),
        ([{"value": "Candour", "definition": "a\x07b"}], "1", "has a definition that contains the control character"),
        ([PROMISES, Value("Candour")], "2", "'Candour' has no definition: define all values, or none"),
        ([{"value": "Candour", "meaning": "x"}], "1", "Object contains unknown field `meaning`"),
        ([{"definition": "x"}], "1", "Object missing required field `value`"),
    ],
)
def test_every_fault_is_named_by_its_number(values: list[Any], key: str, reason: str) -> None:
    ((at, said),) = problems(values)
    assert at == key
    assert said.startswith(reason)


def test_all_faults_of_a_table_are_named_by_line(tmp_path: Path) -> None:
    text = table(tmp_path / "values.csv", value=["Candour", "Tact", "candour", "a:b"], definition=["x"] * 4)
    assert [key for key, _ in problems(text)] == ["line 4", "line 5"]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"name": ["Candour"]}, "has no column value; a table of values has value, definition"),
        ({"value": ["x"] * 301}, "has 301 values; a judge can choose from at most 300"),
    ],
)
def test_a_table_without_usable_values_is_refused(tmp_path: Path, columns: Any, reason: str) -> None:
    assert problems(table(tmp_path / "values.csv", **columns)) == [("", reason)]


@given(st.lists(st.from_regex(r"[A-Za-z][A-Za-z ,.&'()+-]{0,20}[a-z]", fullmatch=True), max_size=8))
def test_a_list_is_usable_exactly_if_no_two_names_are_the_same_in_small_letters(names: list[str]) -> None:
    values = tuple(map(Value, names))
    assert (not [*faults_of(values)]) == (0 < len(names) == len({name.casefold() for name in names}))


# The lists of runs


def facts(name: str, values: Any) -> RunFacts:
    return RunFacts(name, {"values": msgspec.to_builtins(values)}, {})


def listed(*runs: RunFacts) -> Any:
    return list_in(Results(pl.DataFrame(), runs=runs))


def test_a_run_without_a_list_has_the_published_one() -> None:
    assert list_of(True) is list_of(False) is PUBLISHED
    assert listed(facts("a", True)) is listed(facts("a", False)) is listed(RunFacts("a", {}, {})) is PUBLISHED
    assert len(PUBLISHED) == 48
    assert not [each for each in PUBLISHED if each.definition]


def test_the_published_values_given_as_a_list_are_the_published_list() -> None:
    assert list_of(read_values([each.value for each in PUBLISHED])) is PUBLISHED
    assert listed(facts("a", True), facts("b", PUBLISHED)) is PUBLISHED


def test_runs_with_one_list_have_it_and_runs_without_a_judge_have_none() -> None:
    own = (PROMISES, SHARES)
    assert listed(facts("a", own), facts("b", False), facts("c", own)) == own


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((PROMISES,), "this list lacks Fair shares"),
        ((PROMISES, SHARES, Value("Candour", "x")), "this list also has Candour"),
        ((PROMISES, Value("Fair shares", "All get the same.")), "this list has other definitions of Fair shares"),
        ((SHARES, PROMISES), "this list has the same values in another order"),
        ((PROMISES, Value("Candour", "x")), "this list also has Candour; this list lacks Fair shares"),
    ],
)
def test_runs_with_different_lists_are_refused_with_the_values_that_differ(other: Any, said: str) -> None:
    own = (PROMISES, SHARES)
    assert difference(own, other).startswith(f"{said}. ")
    with pytest.raises(InputError) as refused:
        listed(facts("a", own), facts("b", other))
    (problem,) = refused.value.problems
    assert (problem.place, problem.key) == ("b", "values")
    assert problem.reason.startswith(f"differ from those of a: {said}. ")
