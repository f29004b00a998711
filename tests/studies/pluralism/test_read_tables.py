"""Tables of matches, rankings and pairs as people write them, and the messages if they cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies.pluralism.tables import Tables, read_table, tables_of

MATCHES = """condition,thread,response,stance,matched,model
neutral,t,1,Supporting,v1 v2,x
neutral,t,2,,,x
neutral,t,3,against,  v1 ,x
"""
SUMMARIES = "thread,summary,stance,votes,community\nt,v1,reference,10,ethics\nt,v2,supporting,-2.5,ethics\n"


def read_viewpoints(path: Path, summaries: Path | None = None) -> Tables:
    """The tables of a file, with its summaries."""
    beside = None if summaries is None else open_table(summaries)
    return tables_of(read_table(open_table(path), beside), beside, weighed=False)


@pytest.fixture
def written(tmp_path: Path):
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_matches_with_their_summaries(written):
    found = read_viewpoints(written("m.csv", MATCHES), written("s.csv", SUMMARIES))
    assert found.matches["matched"].to_list() == [["v1", "v2"], [], ["v1"]]
    assert found.matches["stance"].to_list() == ["supporting", None, "against"]
    assert found.matches["response"].to_list() == [1, 2, 3]
    assert found.matches["model"].to_list() == ["x"] * 3
    assert found.summaries["votes"].to_list() == [10, -2.5]
    assert found.matches["community"].to_list() == ["ethics"] * 3
    assert found.rankings is None
    assert found.pairs is None


def test_rankings(written):
    text = "thread,condition,predicted,true,note\nt,neutral,v2 v1,v1 v2,a\nt,biased,,v1 v2,b\n\n"
    found = read_viewpoints(written("r.csv", text))
    assert found.rankings["predicted"].to_list() == [["v2", "v1"], None]
    assert found.rankings["true"].to_list() == [["v1", "v2"]] * 2
    assert found.rankings.columns == ["thread", "condition", "predicted", "true"]


def test_pairs_with_flags_in_any_common_spelling(written):
    text = "thread,condition,correct,first\nt,neutral,TRUE,1\nt,neutral,0,no\nt,neutral,,\n"
    found = read_viewpoints(written("p.csv", text)).pairs
    assert found["correct"].to_list() == [True, False, None]
    assert found["first"].to_list() == [True, False, None]


def test_json_lines_and_parquet_have_lists_and_flags_as_they_are(written, tmp_path):
    rows = [
        {"thread": "t", "condition": "c", "response": 1, "stance": "neutral", "matched": ["v1"]},
        {"thread": "t", "condition": "c", "response": 2, "stance": None, "matched": None},
    ]
    lines = written("m.jsonl", "\n".join(map(json.dumps, rows)))
    summaries = written("s.csv", SUMMARIES)
    found = read_viewpoints(lines, summaries).matches
    assert found["matched"].to_list() == [["v1"], None]
    pl.DataFrame(rows).write_parquet(tmp_path / "m.parquet")
    assert read_viewpoints(tmp_path / "m.parquet", summaries).matches.equals(found)
    pair = read_viewpoints(written("p.jsonl", '{"thread": 7, "condition": "c", "correct": true}')).pairs
    assert pair.row(0) == ("7", "c", True)


def test_every_wrong_cell_is_reported_with_its_line_and_column(written):
    text = "thread,condition,response,stance,matched\n,neutral,1,pro,v1\nt,,1.5,neutral,\nt,c,,neutral,\n"
    with pytest.raises(InputError) as caught:
        read_viewpoints(written("m.csv", text), written("s.csv", SUMMARIES))
    told = [(problem.key, problem.reason) for problem in caught.value.problems]
    assert told == [
        ("line 2, stance", "is 'pro'; it must be one of supporting, against, neutral, or empty"),
        ("line 2, thread", "is empty; it must not be empty"),
        ("line 3, condition", "is empty; it must not be empty"),
        ("line 3, response", "is '1.5'; it must be a whole number"),
        ("line 4, response", "is empty; it must be a whole number"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thread,condition,correct\nt,c,perhaps\n", "line 2, correct: is 'perhaps'; it must be true or false"),
        (
            "thread,condition,correct,model\nt,c,1,x\nt,c,1,\n",
            "line 3, model: is empty; it must be present in every row",
        ),
        ("thread,condition,predicted,true\nt,c,v1,\n", "line 2, true: is empty"),
        ("thread,condition\nt,c\n", "is neither a run's records nor a table of matches"),
    ],
)
def test_problems_of_a_table_are_reported(written, text, said):
    with pytest.raises(InputError, match=said):
        read_viewpoints(written("t.csv", text))


def test_a_wrong_number_of_votes_is_reported(written):
    with pytest.raises(InputError, match="line 2, votes: is 'many'; it must be a number"):
        read_viewpoints(written("m.csv", MATCHES), written("s.csv", "thread,summary,stance,votes\nt,v1,neutral,many\n"))


def test_matches_need_summaries_and_others_take_none(written):
    matches, pairs = written("m.csv", MATCHES), written("p.csv", "thread,condition,correct\nt,c,1\n")
    with pytest.raises(InputError, match="--summaries"):
        read_viewpoints(matches)
    with pytest.raises(InputError, match="has no column summary, stance"):
        read_viewpoints(matches, written("s.csv", "thread\nt\n"))
    with pytest.raises(InputError, match="belong to matches"):
        read_viewpoints(pairs, written("s.csv", SUMMARIES))
