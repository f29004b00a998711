"""Threads and viewpoints from tables of others by a mapping: rows for comments, lists in rows, joined tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.pluralism import STUDY
from overton.studies.pluralism.items import Thread, ThreadComment, Viewpoint
from overton.studies.pluralism.references import REFERENCING

POST = {"post": "a1", "title": "Should buses be free?", "text": "We argue.", "sub": "economics"}
OTHER = {"post": "b2", "title": "Is the park too loud?", "text": "", "sub": "city"}
ROWS: list[dict[str, Any]] = [
    {**POST, "name": "k1", "parent": "t3_a1", "body": "Everyone gains.", "score": 12, "group": "for it"},
    {**POST, "name": "k2", "parent": "t3_a1", "body": "Someone pays.", "score": 7, "group": "against it"},
    {**POST, "name": "k3", "parent": "t1_k1", "body": "I agree with you.", "score": 3, "group": "for it"},
    {**POST, "name": "k4", "parent": "t3_a1", "body": "[deleted]", "score": 1, "group": None},
    {**POST, "name": "k5", "parent": "t3_a1", "body": "Everyone pays.", "score": 4, "group": "against it"},
    {**OTHER, "name": "k6", "parent": "t3_b2", "body": "It is.", "score": 5, "group": "for it"},
    {**OTHER, "name": "k7", "parent": "t3_b2", "body": "It is not.", "score": -2, "group": "against it"},
]
ABOUT = 'id = "post"\ntitle = "title"\ntext = "text"\ncommunity = "sub"\n'
COMMENTS = '[comments]\nid = "name"\ntext = "body"\nvotes = "score"\nparent = "parent"\nviewpoint = "group"\n'


def write_rows(folder: Path, suffix: str, rows: list[dict[str, Any]] = ROWS) -> str:
    """The rows as a table of this kind; returns its name."""
    file = folder / f"table{suffix}"
    match suffix:
        case ".csv":
            pl.DataFrame(rows).write_csv(file)
        case ".parquet":
            pl.DataFrame(rows).write_parquet(file)
        case ".jsonl":
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case _:
            file.write_text(json.dumps(rows))
    return file.name


def write_mapping(folder: Path, text: str, name: str = "mapping.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json", ".jsonl"])
def test_rows_for_comments_become_threads_with_comments(suffix: str, tmp_path: Path) -> None:
    mapping = write_mapping(tmp_path, f'table = "{write_rows(tmp_path, suffix)}"\n{ABOUT}{COMMENTS}')
    first, second = read_items(REFERENCING, mapping)
    kept = (
        ThreadComment("k1", "Everyone gains.", 12),
        ThreadComment("k2", "Someone pays.", 7),
        ThreadComment("k5", "Everyone pays.", 4),
    )
    assert first == Thread("a1", "economics", "Should buses be free?", "We argue.", kept)
    assert (second.id, second.text, [comment.votes for comment in second.comments]) == ("b2", "", [5, -2])
    found = [(finding.severity, finding.reason.rpartition(": ")) for finding in check_items(REFERENCING, mapping)]
    assert [(severity, count) for severity, (_, _, count) in found] == [("warning", "1"), ("warning", "1")]


def test_viewpoints_are_counted_from_the_comments_that_are_in_them(tmp_path: Path) -> None:
    mapping = write_mapping(tmp_path, f'table = "{write_rows(tmp_path, ".csv")}"\n{ABOUT}{COMMENTS}')
    first, second = read_items(STUDY, mapping)
    assert first.viewpoints == (
        Viewpoint("v1", "for it", 12, ("k1",), 1),
        Viewpoint("v2", "against it", 11, ("k2", "k5"), 2),
    )
    assert [view.votes for view in second.viewpoints] == [5, -2]
    assert (first.method, first.lost) == ("table", ())


def test_answers_to_comments_count_where_no_parents_are_named(tmp_path: Path) -> None:
    text = f'table = "{write_rows(tmp_path, ".csv")}"\n{ABOUT}{COMMENTS}'.replace('parent = "parent"\n', "")
    first, _ = read_items(STUDY, write_mapping(tmp_path, text))
    assert first.viewpoints[0] == Viewpoint("v1", "for it", 15, ("k1", "k3"), 2)


def test_answers_to_comments_are_known_without_ids_of_threads(tmp_path: Path) -> None:
    rows = [{**row, "parent": row["parent"] if row["name"] != "k5" else "k2"} for row in ROWS]
    text = f'table = "{write_rows(tmp_path, ".csv", rows)}"\n{ABOUT}{COMMENTS}'.replace('id = "post"\n', "")
    first, second = read_items(REFERENCING, write_mapping(tmp_path, text))
    assert (first.id, [comment.id for comment in first.comments]) == ("thread-0001", ["k1", "k2"])
    assert (second.id, len(second.comments)) == ("thread-0002", 2)


RELEASED = [
    {
        "title": "AITA for leaving early?",
        "post": {"selftext": "I left before the cake."},
        "comments": [{"body": "You were right.", "score": 4}, {"body": "You were wrong.", "score": 9}],
        "clusters": [
            {"summary": "They were right to leave.", "votes": 4, "opinions": ["You were right."]},
            {"summary": "They should have stayed.", "votes": 9, "opinions": ["You were wrong.", "Cake matters."]},
        ],
    }
]
"""As WildScope may be released: a file for each community, no names or ids, lists in each thread's object."""

NESTED = """
table = ["AmItheAsshole.json", "AskEconomics.json"]
title = "title"
text = "post.selftext"
community = {file = true}
method = {value = "algorithm-1"}

[comments]
list = "comments"
text = "body"
votes = "score"

[viewpoints]
list = "clusters"
summary = "summary"
votes = "votes"
opinions = "opinions"
"""


def test_lists_within_objects_of_several_files_are_read_and_files_name_communities(tmp_path: Path) -> None:
    (tmp_path / "AmItheAsshole.json").write_text(json.dumps(RELEASED))
    (tmp_path / "AskEconomics.json").write_text(json.dumps({"x9": {**RELEASED[0], "title": "Why tax land?"}}))
    mapping = write_mapping(tmp_path, NESTED)
    first, second = read_items(STUDY, mapping)
    assert (first.id, first.community, first.text) == ("thread-0001", "AmItheAsshole", "I left before the cake.")
    assert (second.id, second.community, second.method) == ("x9", "AskEconomics", "algorithm-1")
    assert [(view.id, view.votes, view.opinions) for view in first.viewpoints] == [("v1", 4, 1), ("v2", 9, 2)]
    assert [comment.id for comment in read_items(REFERENCING, mapping)[1].comments] == ["c1", "c2"]


def test_votes_and_ids_within_the_members_of_a_viewpoint_are_added_up_and_listed(tmp_path: Path) -> None:
    members = [{"id": "k1", "score": 12}, {"id": "k5", "score": -2}]
    row = {
        **POST,
        "groups": [{"says": "Yes.", "members": members}, {"says": "No.", "members": [{"id": 7, "score": 3}]}],
    }
    text = f'table = "{write_rows(tmp_path, ".json", [row])}"\n{ABOUT}[viewpoints]\nlist = "groups"\nsummary = "says"\n'
    text += 'votes = "members.score"\ncomments = "members.id"\nopinions = "members"\n'
    (thread,) = read_items(STUDY, write_mapping(tmp_path, text))
    assert thread.viewpoints == (Viewpoint("v1", "Yes.", 10, ("k1", "k5"), 2), Viewpoint("v2", "No.", 3, ("7",), 1))


def test_lists_as_json_in_cells_and_as_plain_texts_are_read(tmp_path: Path) -> None:
    row = {**POST, "comments": json.dumps(["Everyone gains.", "Someone pays."]), "views": json.dumps({"p": "Yes."})}
    text = f'table = "{write_rows(tmp_path, ".csv", [row])}"\n{ABOUT}[comments]\nlist = "comments"\n'
    text += 'votes = {value = 1}\n[viewpoints]\nlist = "views"\nvotes = {value = 3}\n'
    mapping = write_mapping(tmp_path, text)
    (thread,) = read_items(REFERENCING, mapping)
    assert thread.comments == (ThreadComment("c1", "Everyone gains.", 1), ThreadComment("c2", "Someone pays.", 1))
    (reference,) = read_items(STUDY, mapping)
    assert reference.viewpoints == (Viewpoint("p", "Yes.", 3, (), 1),)


def test_tables_of_comments_and_opinions_are_joined_by_the_threads_id(tmp_path: Path) -> None:
    pl.DataFrame([POST, OTHER]).write_csv(tmp_path / "threads.csv")
    comments = [{"of": row["post"], **{key: row[key] for key in ("name", "body", "score")}} for row in ROWS]
    pl.DataFrame([*comments, {"of": "gone", "name": "k8", "body": "Hm.", "score": 1}]).write_parquet(
        tmp_path / "comments.parquet"
    )
    opinions = [
        {"thread": "a1", "says": "All gain.", "by": '["k1", "k3"]', "cluster": 1},
        {"thread": "a1", "says": "It costs.", "by": "k2", "cluster": 2},
        {"thread": "b2", "says": "Loud.", "by": "k6", "cluster": 1},
    ]
    pl.DataFrame(opinions).write_csv(tmp_path / "opinions.csv")
    text = f'table = "threads.csv"\n{ABOUT}[comments]\ntable = "comments.parquet"\njoin = "of"\nid = "name"\n'
    text += 'text = "body"\nvotes = "score"\n[opinions]\ntable = "opinions.csv"\njoin = "thread"\ntext = "says"\n'
    mapping = write_mapping(tmp_path, text + 'comments = "by"\nviewpoint = "cluster"\n')
    first, second = read_items(STUDY, mapping)
    assert first.viewpoints == (Viewpoint("v1", "1", 15, ("k1", "k3"), 1), Viewpoint("v2", "2", 7, ("k2",), 1))
    assert [(opinion.text, opinion.viewpoint) for opinion in first.opinions] == [
        ("All gain.", "v1"),
        ("It costs.", "v2"),
    ]
    assert [comment.id for comment in first.lost] == ["k5"]  # k4 is deleted
    assert second.viewpoints[0].votes == 5
    assert [finding.reason.rpartition(": ")[2] for finding in check_items(STUDY, mapping)] == ["1", "1"]


def test_a_viewpoint_whose_votes_are_unknown_is_refused(tmp_path: Path) -> None:
    mapping = write_mapping(tmp_path, NESTED.replace('votes = "votes"\n', "").replace(', "AskEconomics.json"', ""))
    (tmp_path / "AmItheAsshole.json").write_text(json.dumps(RELEASED))
    places = [(Path(finding.place).name, finding.key) for finding in check_items(STUDY, mapping)]
    assert places == [("AmItheAsshole.json", f"object 1, clusters[{number}], votes") for number in (0, 1)]


def test_rows_that_contradict_each_other_about_their_thread_are_named(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "title": "Another title"}]
    mapping = write_mapping(tmp_path, f'table = "{write_rows(tmp_path, ".csv", rows)}"\n{ABOUT}{COMMENTS}')
    (finding,) = check_items(STUDY, mapping)
    assert (Path(finding.place).name, finding.key) == ("table.csv", "row 2, title")
    assert "row 1" in finding.reason


def test_refusals_of_the_study_are_named_by_row_and_column(tmp_path: Path) -> None:
    rows = [
        {**ROWS[0], "body": "A bell:\x07"},
        {**ROWS[5], "post": "b 2", "title": " ", "parent": ""},
        {**ROWS[6], "post": "c3", "parent": "c3", "score": "many"},
    ]
    mapping = write_mapping(tmp_path, f'table = "{write_rows(tmp_path, ".json", rows)}"\n{ABOUT}{COMMENTS}')
    with pytest.raises(InputError) as refused:
        read_items(REFERENCING, mapping)
    keys = {problem.key for problem in refused.value.problems}
    assert {"object 1, body", "object 2, post", "object 2, title", "object 3, score"} <= keys
    assert {Path(problem.place).name for problem in refused.value.problems} == {"table.json"}


def test_threads_without_viewpoints_are_told_how_to_get_them(tmp_path: Path) -> None:
    text = f'table = "{write_rows(tmp_path, ".csv")}"\n{ABOUT}{COMMENTS}'.replace('viewpoint = "group"\n', "")
    found = check_items(STUDY, write_mapping(tmp_path, text))
    assert len([finding for finding in found if "items references" in finding.reason]) == 2


def test_threads_of_which_nothing_is_left_are_left_out(tmp_path: Path) -> None:
    rows = [*ROWS, {**ROWS[5], "post": "d4", "body": "[removed]"}]
    mapping = write_mapping(tmp_path, f'table = "{write_rows(tmp_path, ".csv", rows)}"\n{ABOUT}{COMMENTS}')
    assert [thread.id for thread in read_items(REFERENCING, mapping)] == ["a1", "b2"]
    assert [thread.id for thread in read_items(STUDY, mapping)] == ["a1", "b2"]
