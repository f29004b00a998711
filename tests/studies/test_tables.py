"""One declaration of columns reads a table, checks a frame and documents both."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies import table_frames
from overton.studies.deliberation.record import DECISIONS
from overton.studies.deliberation.record import Record as Message
from overton.studies.even_handedness.measures import GRADES
from overton.studies.open_mindedness.record import COUNTS, RECORDS
from overton.studies.open_mindedness.record import Record as Answer
from overton.studies.pluralism.record import Record as Asked
from overton.studies.pluralism.record import Response
from overton.studies.pluralism.tables import MATCHES, OPINIONS, PAIRS, RANKINGS, SUMMARIES
from overton.studies.stance_stability.record import TURNS
from overton.studies.stance_stability.record import Record as Turn
from overton.studies.tables import ColumnRules, Once, RawTable, Rule, TableField, TableKind, columns_of_record, means

ALL = (DECISIONS, GRADES, TURNS, RECORDS, COUNTS, MATCHES, SUMMARIES, RANKINGS, PAIRS, OPINIONS)

COLOURS = ("red", "light-blue")
TABLE = TableKind(
    name="things",
    columns=(
        TableField("thing", "name", "its name", needed=True, filled=True),
        TableField("colour", "name", "its colour", known=COLOURS, words={"azure": "light-blue"}, none=("none",)),
        TableField("size", "whole", "in steps", least=0, most=9, aliases=("steps",)),
        TableField("weight", "number", "in grams", least=0),
        TableField("sold", "flag", "whether it was", added=True, usual=False),
        TableField("parts", "names", "what it has"),
        TableField("note", "text", "as it stands"),
        TableField("owner", "name", "whose it is", together=True),
    ),
    rules=(Rule("weight", lambda: (pl.col("colour") == "red") & pl.col("weight").is_null(), "must be there", "red"),),
    once=Once(("thing", ("colour", "owner")), "is {first} again", "stands there more than once"),
)


def raw(columns: dict[str, Any], suffix: str = ".csv", **types: Any) -> RawTable:
    frame = pl.DataFrame(columns, strict=False, **types)
    return RawTable(f"things{suffix}", suffix, tuple(frame.columns), lambda: frame)


def reasons(made: Callable[[], object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        made()
    return [f"{problem.key}: {problem.reason}" for problem in caught.value.problems]


def test_two_columns_are_a_mapping_in_the_order_of_rows() -> None:
    table = raw({"colour": [" red ", "blue"], "more": ["x", "y"], "size": ["2", " 1"]})
    assert list(table.mapping("colour", "size").items()) == [("red", "2"), ("blue", "1")]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"size": ["1"]}, [": has no column colour; a table of sizes has colour, size"]),
        ({"x": ["1"]}, [": has no column colour and size; a table of sizes has colour, size"]),
        (
            {"colour": ["red", "blue", " ", "red"], "size": ["1", None, "2", "1"]},
            ["line 3: has an empty cell", "line 4: has an empty cell", "line 5: red already has the size 1"],
        ),
    ],
)
def test_every_row_that_is_wrong_in_a_mapping_is_named(columns: dict[str, Any], said: list[str]) -> None:
    assert reasons(lambda: raw(columns).mapping("colour", "size")) == said


def test_cells_of_text_get_the_type_of_their_column() -> None:
    read = table_frames.read(
        TABLE,
        raw(
            {
                "steps": ["3", " 3.0 ", "3e0", ""],
                "thing": ["a ", "b", "c", "d"],
                "colour": ["Light Blue", "light_blue", "azure", "None"],
                "weight": ["1.5", "1e3", None, "0"],
                "sold": ["TRUE", "no", "0", ""],
                "parts": ["x  y", "", None, "x"],
                "note": [" as is ", "", None, "\n"],
                "more": ["", "", "", ""],
            }
        ),
    )
    assert read.columns == ["thing", "colour", "size", "weight", "sold", "parts", "note"]
    assert read["thing"].to_list() == ["a", "b", "c", "d"]
    assert read["size"].to_list() == [3, 3, 3, None]
    assert read["colour"].to_list() == ["light-blue"] * 3 + [None]
    assert read["weight"].to_list() == [1.5, 1000, None, 0]
    assert read["sold"].to_list() == [True, False, False, None]
    assert read["parts"].to_list() == [["x", "y"], None, None, ["x"]]
    assert read["note"].to_list() == [" as is ", "", None, "\n"]


def test_every_kind_of_wrong_cell_is_reported_by_its_line() -> None:
    columns = {
        "thing": ["", "b", "c"],
        "colour": ["pink", "azure", "red"],
        "size": ["10", "1.5", "9223372036854775808"],
        "weight": ["nan", "inf", None],
        "sold": ["perhaps", "2", "yes"],
        "owner": ["me", "", "me"],
    }
    assert reasons(lambda: table_frames.read(TABLE, raw(columns))) == [
        "line 2, colour: is 'pink'; it must be one of red, light-blue, azure, or empty",
        "line 2, size: is '10'; it must be a whole number, 0 to 9",
        "line 2, sold: is 'perhaps'; it must be true or false, or empty",
        "line 2, thing: is empty; it must not be empty",
        "line 2, weight: is 'nan'; it must be a number from 0",
        "line 3, owner: is empty; it must be present in every row or in none",
        "line 3, size: is '1.5'; it must be a whole number, 0 to 9",
        "line 3, sold: is '2'; it must be true or false, or empty",
        "line 3, weight: is 'inf'; it must be a number from 0",
        "line 4, size: is '9223372036854775808'; it must be a whole number, 0 to 9",
        "line 4, weight: is empty; it must be there",
    ]


def test_rows_of_other_files_are_numbered_from_one() -> None:
    assert reasons(lambda: table_frames.read(TABLE, raw({"thing": ["a", "b"], "size": [1, -1]}, ".jsonl")))[
        0
    ].startswith("row 2, size")


def test_a_row_that_occurs_twice_is_reported_with_the_first() -> None:
    columns = {"thing": ["a", "a", "a"], "colour": [None, "azure", None], "owner": ["me", "me", "me"]}
    assert reasons(lambda: table_frames.read(TABLE, raw(columns))) == ["line 4: is line 2 again"]


def test_columns_that_are_missing_or_occur_twice_are_named() -> None:
    assert reasons(lambda: table_frames.read(TABLE, raw({"size": ["1"]}))) == [
        ": has no column thing; a table of things has thing"
    ]
    twice = raw({"thing": ["a"], "size": ["1"], "steps": ["1"]})
    assert reasons(lambda: table_frames.read(TABLE, twice)) == [": has the column size twice, as size and steps"]


def test_other_columns_of_a_parquet_may_be_kept_under_any_name() -> None:
    table = TableKind("things", TABLE.columns, others=True)
    names = ["*", "^.*$", "", "(row)", "row"]
    read = table_frames.read(table, raw({"thing": ["a"], **{name: [1] for name in names}}, ".parquet"))
    assert read.columns == ["thing", "*", "^.*$", "row"]
    assert table_frames.read(table, raw({"thing": ["a"], "*": [1]}, ".jsonl")).columns == ["thing"]


def test_blank_rows_are_left_out() -> None:
    assert table_frames.read(TABLE, raw({"thing": ["a", None, "b"], "size": [None, None, "1"]}))["thing"].to_list() == [
        "a",
        "b",
    ]


def test_a_frame_is_checked_by_the_same_declaration() -> None:
    frame = pl.DataFrame({"thing": ["a", "b"], "colour": ["red", None], "weight": [1.0, 2.0], "x": [1, 2]})
    checked = table_frames.check(TABLE, frame)
    assert checked.columns == ["thing", "colour", "weight", "sold"]
    assert checked["sold"].to_list() == [False, False]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"size": [1]}, "thing: this column is missing"),
        ({"thing": []}, ": has no rows"),
        ({"thing": ["a", None]}, "thing: is empty in at least one row"),
        ({"thing": ["a", ""]}, "thing: is empty in at least one row"),
        ({"thing": ["a", "b"], "owner": ["me", None]}, "owner: is empty in at least one row"),
        ({"thing": ["a"], "colour": ["pink"]}, "colour: 'pink' is not one of red, light-blue"),
        ({"thing": ["a"], "size": [10]}, "size: must be 0 to 9"),
        ({"thing": ["a"], "size": [1.5]}, "size: contains values other than whole numbers"),
        ({"thing": ["a"], "size": [float("nan")]}, "size: contains values other than whole numbers"),
        ({"thing": ["a"], "size": ["one"]}, "size: contains values other than whole numbers"),
        ({"thing": ["a"], "weight": [float("inf")]}, "weight: must be from 0"),
        ({"thing": ["a"], "parts": ["x y"]}, "parts: contains values other than lists"),
        ({"thing": [["a"]]}, "thing: contains values other than texts"),
        ({"thing": [{"a": 1}]}, "thing: contains values other than texts"),
        ({"thing": [b"\xff"]}, "thing: contains values other than texts"),
        ({"thing": [object()]}, "thing: contains values other than texts"),
        ({"thing": ["a"], "colour": ["red"], "weight": pl.Series([None], dtype=pl.Float64)}, ""),
        ({"thing": ["a", "a"], "colour": ["red"] * 2, "weight": [1, 1]}, "thing a: stands there more than once"),
    ],
)
def test_problems_of_a_frame_are_reported_by_column(columns: dict[str, Any], said: str) -> None:
    if not said:  # an optional column that is empty throughout counts as absent
        assert "weight" not in table_frames.check(TABLE, pl.DataFrame(columns)).columns
        return
    assert reasons(lambda: table_frames.check(TABLE, pl.DataFrame(columns)))[0].startswith(said)


def test_a_column_that_measures_need_besides_must_be_there() -> None:
    assert reasons(lambda: table_frames.check(TABLE, pl.DataFrame({"thing": ["a"]}), ["size"])) == [
        "size: this column is missing"
    ]


def test_a_rule_applies_where_all_its_columns_are_present() -> None:
    assert table_frames.read(TABLE, raw({"thing": ["a"], "weight": [""]})).height == 1
    assert table_frames.check(TABLE, pl.DataFrame({"thing": ["a"], "weight": [1.0]})).height == 1


def test_problems_by_column_name_the_rows() -> None:
    table = TableKind("things", TABLE.columns, by_column=True)
    columns = {"thing": [*"abcdefg", None], "size": ["10"] * 7 + [None]}
    assert reasons(lambda: table_frames.read(table, raw(columns))) == [
        "size: '10' in rows 1, 2, 3, 4, 5 and 2 more must be a whole number, 0 to 9"
    ]


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_every_column_is_documented(table: TableKind) -> None:
    rows = table.documented()
    assert [row.column for row in rows] == [column.name for column in table.columns]
    assert all(row.meaning and row.kind for row in rows)
    assert {row.column for row in rows if row.needed} == set(table.needed)


def test_values_are_documented() -> None:
    rows = {row.column: row for row in TABLE.documented()}
    assert rows["colour"].values == "red, light-blue, azure"
    assert rows["size"] == ("size", "whole number", False, "in steps", "0 to 9")


@pytest.mark.parametrize("record", [Message, Turn, Answer, Asked, Response])
def test_every_column_of_a_record_is_documented(record: type[msgspec.Struct]) -> None:
    rows = columns_of_record(record)
    assert [row.column for row in rows] == list(record.__struct_fields__)
    assert all(row.meaning for row in rows)


def test_a_records_columns_say_their_kinds_and_values() -> None:
    class Row(msgspec.Struct):
        side: Annotated[Literal["pro", "con"] | None, means("whose")]
        places: Annotated[tuple[int, ...], means("where")]
        share: Annotated[float, means("how much")]

    assert columns_of_record(Row) == (
        ("side", "text", False, "whose", "pro, con"),
        ("places", "list", True, "where", ""),
        ("share", "number", True, "how much", ""),
    )

    class Silent(msgspec.Struct):
        side: str

    with pytest.raises(TypeError, match="'side' has no description"):
        columns_of_record(Silent)


FIELDS = json.loads(Path(__file__).with_name("table_fields.json").read_text("utf-8"))
"""The columns of every kind of table, without their meanings: what is not mentioned has the value of `TableField`."""


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_columns_are_those_that_stored_tables_were_written_for(table: TableKind) -> None:
    (known,) = [rows for name, rows in FIELDS.items() if name.endswith(f".{table.name.upper()}")]
    assert [column.name for column in table.columns] == [row["name"] for row in known]
    for column, row in zip(table.columns, known, strict=True):
        plain = TableField(column.name, column.kind, column.help)
        found = {field.name: getattr(column, field.name) for field in fields(column) if field.name != "help"}
        found["lists"] = getattr(column.lists, "__name__", None)
        wanted = {name: row.get(name, getattr(plain, name)) for name in found}
        assert json.loads(json.dumps(found)) == json.loads(json.dumps(wanted)), column.name


TYPES: dict[Any, tuple[str, tuple[str, ...], Any]] = {
    str: ("name", (), st.sampled_from(["a", "b c", "7"])),
    Literal["red", "blue"]: ("name", ("red", "blue"), st.sampled_from(["red", "blue"])),
    int: ("whole", (), st.integers(0, 9)),
    float: ("number", (), st.floats(0, 9)),
    bool: ("flag", (), st.booleans()),
    tuple[str, ...]: ("names", (), st.lists(st.sampled_from("ab"), max_size=2).map(tuple)),
    tuple[Literal["x"], ...]: ("names", (), st.just(("x",))),
}
"""Types of a record's fields, each with the kind of its column, the values known, and some of them."""
DECLARED = st.lists(
    st.tuples(
        st.sampled_from(list(TYPES)), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([None, 0, 0.5])
    ),
    min_size=1,
    max_size=6,
)


def record_of(declared: list[Any]) -> type[msgspec.Struct]:
    made: list[Any] = []
    for number, (type_, optional, has_default, needed, least) in enumerate(declared):
        bounds = ColumnRules(needed=needed, least=least if type_ in (int, float) else None)
        hint = Annotated[type_ | None if optional else type_, means(f"meaning {number}"), bounds]
        made.append((f"c{number}", hint, None) if has_default and optional else (f"c{number}", hint))
    return msgspec.defstruct("Row", made, kw_only=True)


@settings(max_examples=100, deadline=None)
@given(declared=DECLARED, completed=st.booleans())
def test_a_column_follows_from_its_fields_type_and_default(declared: list[Any], completed: bool) -> None:
    record = record_of(declared)
    table = TableKind.of(record, "rows", record.__struct_fields__, completed=completed)
    assert [(row.column, row.meaning) for row in table.documented()] == [
        (row.column, row.meaning) for row in columns_of_record(record)
    ]
    for column, (type_, optional, _, needed, least) in zip(table.columns, declared, strict=True):
        kind, known, _ = TYPES[type_]
        assert (column.kind, column.known, column.needed) == (kind, known, needed)
        assert column.filled == (needed and not optional)
        assert column.added == (completed and not needed)
        assert column.least == (least if type_ in (int, float) else None)
        assert column.usual is None


@settings(max_examples=100, deadline=None)
@given(declared=DECLARED, data=st.data())
def test_rows_of_a_record_are_rows_of_its_table(declared: list[Any], data: st.DataObject) -> None:
    declared = [(*parts[:3], True, None) for parts in declared]
    record = record_of(declared)
    table = TableKind.of(record, "rows", record.__struct_fields__)
    cells = [st.none() | TYPES[type_][2] if optional else TYPES[type_][2] for type_, optional, *_ in declared]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=4))
    polars = {"name": pl.String, "whole": pl.Int64, "number": pl.Float64, "flag": pl.Boolean}
    schema = {column.name: polars.get(column.kind, pl.List(pl.String)) for column in table.columns}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    assert table_frames.check(table, frame).equals(frame)


def test_a_field_says_what_a_column_is() -> None:
    class Row(msgspec.Struct, kw_only=True):
        size: Annotated[Annotated[int, msgspec.Meta(ge=1, le=5)] | None, means("in steps")]
        colour: Annotated[
            Literal["red", "blue"],
            means("its colour"),
            ColumnRules("as seen", needed=True, known=(), words={"azure": "blue"}, none=("none",), aliases=("hue",)),
        ]
        parts: Annotated[tuple[str, ...], means("what it has"), ColumnRules(needed=True, hollow=True)] = ()
        note: Annotated[str, means("as it stands"), ColumnRules(text=True, usual="-")] = "?"
        sold: Annotated[bool, means("whether it was")] = False
        owner: Annotated[str, means("whose it is"), ColumnRules(must="must name one", added=True)] = "nobody"

    own = TableField("shop", "name", "where")
    assert TableKind.of(Row, "rows", ("colour", own, "size", "parts", "note", "sold", "owner")).columns == (
        TableField(
            "colour",
            "name",
            "as seen",
            needed=True,
            filled=True,
            words={"azure": "blue"},
            none=("none",),
            aliases=("hue",),
        ),
        own,
        TableField("size", "whole", "in steps", least=1, most=5),
        TableField("parts", "names", "what it has", needed=True, hollow=True),
        TableField("note", "text", "as it stands"),
        TableField("sold", "flag", "whether it was"),
        TableField("owner", "name", "whose it is", must="must name one", added=True, usual="nobody"),
    )
    completed = TableKind.of(Row, "rows", ("note", "sold"), completed=True)
    assert [(column.added, column.usual) for column in completed.columns] == [(True, "-"), (True, False)]
    assert TableField.of(Row, "sold", help="now", filled=True) == TableField("sold", "flag", "now", filled=True)


@pytest.mark.parametrize("type_", [int | str, dict[str, str], tuple[int, ...], Literal[1, 2], bytes])
def test_a_field_of_another_type_makes_no_column(type_: Any) -> None:
    record = msgspec.defstruct("Row", [("it", Annotated[type_, means("whatever")])])
    with pytest.raises(TypeError, match="'it' has a type that no column has"):
        TableKind.of(record, "rows", ("it",))


def test_only_fields_of_the_record_make_columns() -> None:
    with pytest.raises(KeyError):
        TableKind.of(Answer, "rows", ("nothing",))


CELLS = st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["1", "0.5", "nan", "1e400", "true", "[1]", "red"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), table=st.sampled_from(ALL))
def test_tables_of_arbitrary_text_are_read_or_refused(data: st.DataObject, table: TableKind) -> None:
    names = [column.name for column in table.columns]
    rows = data.draw(st.lists(st.tuples(*(CELLS for _ in names)), min_size=1, max_size=4))
    given_ = raw(dict(zip(names, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(names, pl.String))
    try:
        read = table_frames.read(table, given_)
    except InputError:
        return
    if read.is_empty():
        return
    checked = table_frames.check(table, read)
    assert table_frames.check(table, checked).equals(checked)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(VALUES, min_size=8, max_size=8), min_size=1, max_size=3))
def test_arbitrary_json_lines_are_read_or_refused(
    rows: list[list[Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    names = [column.name for column in TABLE.columns]
    path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))
    with suppress(InputError):
        table_frames.read(TABLE, open_table(path))


@pytest.mark.parametrize("depth", [50, 500, 1000, 100_000])
@pytest.mark.parametrize("name", ["model", "values"])
def test_however_deep_a_cell_is_nested_the_table_is_refused(tmp_path: Path, depth: int, name: str) -> None:
    row = dict.fromkeys(DECISIONS.needed, "1") | {name: "DEEP"}
    line = json.dumps(row).replace('"DEEP"', "[" * depth + "]" * depth)
    (tmp_path / "t.jsonl").write_text(line + "\n")
    with pytest.raises(InputError):
        table_frames.read(DECISIONS, open_table(tmp_path / "t.jsonl"))
