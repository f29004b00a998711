"""Mappings of tables: problems of a mapping or a table come with its key or its row and column."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import overton
from overton.errors import InputError
from overton.items import list_items, recognised
from overton.runs.items import check_items, read_items
from overton.studies import deliberation, open_mindedness
from overton.studies.mapped_rows import value_of

DILEMMAS = 'table = "table.csv"\nid = "n"\ntitle = "heading"\ntext = "story"\n'
TABLE = "n,heading,story,asshole,not\n1,AITA for singing?,I sang.,3,12\n2,AITA for leaving?,I left.,9,1\n"


def write_files(folder: Path, mapping: str, table: str = TABLE) -> Path:
    (folder / "table.csv").write_text(table)
    (folder / "mapping.toml").write_text(mapping)
    return folder / "mapping.toml"


def found_keys(mapping: Path) -> list[tuple[str, str]]:
    found = check_items(deliberation.STUDY, mapping)
    return [(Path(finding.place).name, finding.key) for finding in found if finding.severity == "error"]


def test_a_column_for_each_verdict_gives_the_crowds_counts(tmp_path: Path) -> None:
    mapping = write_files(tmp_path, f'{DILEMMAS}[crowd]\nYTA = "asshole"\nNTA = "not"\n')
    first, second = read_items(deliberation.STUDY, mapping)
    assert (first.id, first.title, first.text) == ("1", "AITA for singing?", "I sang.")
    assert [dilemma.crowd.counts for dilemma in (first, second)] == [{"YTA": 3, "NTA": 12}, {"YTA": 9, "NTA": 1}]


def test_proportions_become_counts_with_the_number_of_comments(tmp_path: Path) -> None:
    table = 'title,text,crowd,n\nAITA?,I sang.,"{""yta"": 0.25, ""NTA"": 0.75}",40\n'
    same = "".join(f'{name} = "{name}"\n' for name in ("title", "text", "crowd"))
    mapping = write_files(tmp_path, f'table = "table.csv"\n{same}comment_count = "n"\n', table)
    (dilemma,) = read_items(deliberation.STUDY, mapping)
    assert (dilemma.id, dilemma.crowd.counts) == ("dilemma-0001", {"YTA": 10, "NTA": 30})
    (tmp_path / "table.csv").write_text(table.replace("0.75", "1.75"))
    assert found_keys(mapping) == [("table.csv", "row 1, n")]


def test_verdicts_of_comments_are_counted(tmp_path: Path) -> None:
    rows = [
        {"n": "x", "heading": "AITA?", "story": "I sang.", "label": word} for word in ("nta", "NTA", "yta", "", "?")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "table.csv")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(f'{DILEMMAS}[comments]\nverdict = "label"\n')
    (dilemma,) = read_items(deliberation.STUDY, mapping)
    assert (dilemma.crowd.counts, dilemma.crowd.simulated) == ({"NTA": 2, "YTA": 1}, False)
    assert [finding.reason.rpartition(": ")[2] for finding in check_items(deliberation.STUDY, mapping)] == ["2"]


def test_a_dilemma_without_counts_has_no_crowd(tmp_path: Path) -> None:
    assert [dilemma.crowd for dilemma in read_items(deliberation.STUDY, write_files(tmp_path, DILEMMAS))] == [None] * 2


def test_rows_under_a_key_of_a_json_object_are_read(tmp_path: Path) -> None:
    rows = [{"n": 7, "heading": "AITA?", "story": "I sang."}]
    (tmp_path / "table.json").write_text(json.dumps({"licence": "none", "data": {"rows": rows}}))
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(DILEMMAS.replace("table.csv", "table.json"))
    assert [key for _, key in found_keys(mapping)] == [""]
    mapping.write_text(DILEMMAS.replace('"table.csv"', '"table.json"\nrows = "data.rows"'))
    assert [dilemma.id for dilemma in read_items(deliberation.STUDY, mapping)] == ["7"]


@pytest.mark.parametrize(
    ("mapping", "key", "word"),
    [
        (DILEMMAS.replace("title", "titel"), "titel", "did you mean 'title'?"),
        (DILEMMAS.replace('text = "story"', ""), "text", "is missing"),
        (DILEMMAS.replace('"story"', "{columns = 3}"), "text", "an object"),
        (DILEMMAS.replace('table = "table.csv"', ""), "table", "is missing"),
        (DILEMMAS + "[comments]\ntext = 1\n", "comments.text", "not a key"),
        (DILEMMAS + '[comments]\nverdict = "n"\njoin = "n"\n', "comments.join", "name both"),
        (DILEMMAS + '[comments]\nlist = "n"\ntable = "table.csv"\njoin = "n"\n', "comments.list", "combined"),
        (DILEMMAS + "crowd = [1]\n", "crowd", "a list"),
        ("table = x", "line 1", "TOML"),
    ],
)
def test_problems_of_a_mapping_have_their_key(mapping: str, key: str, word: str, tmp_path: Path) -> None:
    found = check_items(deliberation.STUDY, write_files(tmp_path, mapping))
    assert any(finding.key == key and word in finding.reason for finding in found)
    assert {finding.severity for finding in found} == {"error"}


def test_an_unknown_column_is_named_once_with_the_nearest_known_one(tmp_path: Path) -> None:
    (finding,) = check_items(deliberation.STUDY, write_files(tmp_path, DILEMMAS.replace("heading", "headding")))
    assert (Path(finding.place).name, finding.key) == ("table.csv", "headding")
    assert "did you mean 'heading'?" in finding.reason


def test_a_key_that_no_object_of_a_list_has_is_named_with_its_place(tmp_path: Path) -> None:
    row = {"n": 7, "heading": "AITA?", "story": "I sang.", "answers": [{"verdict": "NTA"}, {"verdct": "YTA"}, 3]}
    (tmp_path / "table.json").write_text(json.dumps([row]))
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(DILEMMAS.replace(".csv", ".json") + '[comments]\nlist = "answers"\nverdict = "verdict"\n')
    places = ["object 1, answers[1], verdict", "object 1, answers[2]"]
    assert [key for _, key in found_keys(mapping)] == places


def test_repeated_and_empty_ids_are_named_by_their_rows(tmp_path: Path) -> None:
    mapping = write_files(tmp_path, DILEMMAS, TABLE + "2,AITA?,Again.,1,1\n,AITA?,Nameless.,1,1\n")
    assert found_keys(mapping) == [("table.csv", "row 4, n"), ("table.csv", "row 3, id")]


def test_only_the_first_of_many_problems_are_listed(tmp_path: Path) -> None:
    table = "n,heading,story,asshole,not\n" + "".join(f"{n},AITA?,I sang.,x,1\n" for n in range(150))
    mapping = write_files(tmp_path, f'{DILEMMAS}[crowd]\nYTA = "asshole"\n', table)
    found = check_items(deliberation.STUDY, mapping)
    assert (len(found), "50 more" in found[-1].reason) == (101, True)


@pytest.mark.parametrize("name", ["../table.csv", "/etc/hostname.csv", "missing.csv", "mapping.toml", "x\\u0000.csv"])
def test_a_mapping_reaches_only_tables_in_its_own_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "inner").mkdir()
    mapping = tmp_path / "inner" / "mapping.toml"
    mapping.write_text(DILEMMAS.replace("table.csv", name))
    ((place, _),) = found_keys(mapping)
    assert place == "mapping.toml"


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(TABLE)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "table.csv").symlink_to(tmp_path / "secret.csv")
    mapping = tmp_path / "inner" / "mapping.toml"
    mapping.write_text(DILEMMAS)
    with pytest.raises(InputError, match="outside of its folder"):
        read_items(deliberation.STUDY, mapping)


def test_a_table_without_a_mapping_is_told_that_it_needs_one(tmp_path: Path) -> None:
    write_files(tmp_path, DILEMMAS)
    with pytest.raises(InputError, match="TOML"):
        read_items(deliberation.STUDY, tmp_path / "table.csv")


def test_a_mapping_is_recognised_by_its_keys(tmp_path: Path) -> None:
    mapping = write_files(tmp_path, f'{DILEMMAS}[crowd]\nYTA = "asshole"\n')
    assert recognised(mapping).name == "deliberation"
    assert [item.id for item in list_items(mapping)] == ["1", "2"]
    assert overton.items.check(mapping) == []


def test_a_study_that_declares_no_mapping_reads_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        read_items(open_mindedness.STUDY, write_files(tmp_path, DILEMMAS))


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("whole", "12", 12),
        ("whole", 12.0, 12),
        ("whole", "-3.0", -3),
        ("whole", float("nan"), None),
        ("whole", "", None),
        ("sum", [3, "4", None], 7),
        ("sum", "-2", -2),
        ("id", 31.0, "31"),
        ("id", " t3_x ", "t3_x"),
        ("count", ["a", "b"], 2),
        ("count", '["a", "b", "c"]', 3),
        ("count", "4", 4),
        ("ids", "k1", ["k1"]),
        ("ids", '["k1", 2]', ["k1", "2"]),
        ("ids", None, None),
        ("flag", "Yes", True),
        ("text", None, ""),
        ("counts", {"a": "0.5", "b": None}, {"a": 0.5}),
    ],
)
def test_cells_become_values_of_their_kind(kind: str, cell: object, value: object) -> None:
    assert value_of(kind, cell) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        ("whole", "1,234"),
        ("whole", 1.5),
        ("whole", "inf"),
        ("whole", True),
        ("sum", [1, "many"]),
        ("id", 1.5),
        ("text", ["a"]),
        ("ids", "['k1']"),
        ("counts", "3"),
        ("flag", "perhaps"),
    ],
)
def test_cells_of_another_kind_are_refused(kind: str, cell: object) -> None:
    with pytest.raises(ValueError, match=r"^(is|starts) "):
        value_of(kind, cell)  # type: ignore[arg-type]
