"""Reading tables of decisions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies import table_frames
from overton.studies.deliberation.record import DECISIONS

HEAD = "deliberation,dilemma,format,round,position,model,verdict"
GOOD = f"{HEAD}\nt1,d1,synchronous,1,,gpt,NTA\nt1,d1,synchronous,1,,claude,YTA\n"


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read_decisions(path: Path) -> pl.DataFrame:
    return table_frames.read(DECISIONS, open_table(path))


def reasons(path: Path) -> list[str]:
    with pytest.raises(InputError) as raised:
        read_decisions(path)
    return [f"{problem.key}: {problem.reason}" for problem in raised.value.problems]


def test_a_csv_gives_typed_columns_and_an_empty_position_as_null(tmp_path):
    table = read_decisions(written(tmp_path, GOOD))
    assert table.schema["round"] == pl.Int64
    assert table["position"].to_list() == [None, None]
    assert table["verdict"].to_list() == ["NTA", "YTA"]


def test_all_three_file_types_give_the_same_table(tmp_path):
    table = read_decisions(written(tmp_path, GOOD))
    table.write_parquet(tmp_path / "table.parquet")
    table.write_ndjson(tmp_path / "table.jsonl")
    for name in ("table.parquet", "table.jsonl"):
        again = read_decisions(tmp_path / name)
        assert again.with_columns(pl.col("position").cast(pl.Int64)).equals(table)


def test_a_run_folder_is_read_by_its_records(tmp_path):
    read_decisions(written(tmp_path, GOOD)).with_columns(answer=pl.lit("as said")).write_parquet(
        tmp_path / "records.parquet"
    )
    assert "answer" in read_decisions(tmp_path).columns


def test_an_empty_verdict_and_the_word_invalid_are_null_and_small_letters_are_read(tmp_path):
    text = f"{HEAD}\nt,d,Round Robin,1,1,a,nta\nt,d,round-robin,1,2,b,invalid\nt,d,round_robin,2,1,a,\n"
    table = read_decisions(written(tmp_path, text))
    assert table["verdict"].to_list() == ["NTA", None, None]
    assert table["format"].unique().to_list() == ["round-robin"]


def test_values_are_lists_separated_or_as_json_and_an_empty_list_differs_from_not_known(tmp_path):
    text = f"{HEAD},values\n" + "\n".join(
        f"t,d,synchronous,{k},,a,NTA,{cell}"
        for k, cell in enumerate(("Personal growth; Honest communication", '"[""Accessibility""]"', "[]", ""), 1)
    )
    table = read_decisions(written(tmp_path, text))
    assert table["values"].to_list() == [["Personal growth", "Honest communication"], ["Accessibility"], [], None]


def test_missing_columns_are_named(tmp_path):
    (reason,) = reasons(written(tmp_path, "deliberation,dilemma,round,model\nt,d,1,a\n"))
    assert "no column format, position, verdict" in reason


def test_every_bad_cell_is_named_by_line_with_its_demand(tmp_path):
    text = (
        f"{HEAD},crowd,values\nt,d,debate,1,,a,NTA,,\nt,d,round-robin,1,,a,NTA,,\nt,d,synchronous,0,,a,YES,MAYBE,\n"
        't,,synchronous,1.5,,b,NTA,,"[1]"\n'
    )
    assert reasons(written(tmp_path, text)) == [
        "line 2, format: is 'debate'; it must be one of synchronous, round-robin",
        "line 3, position: is empty; it must be a whole number from 1 in round-robin",
        "line 4, crowd: is 'MAYBE'; it must be one of YTA, NTA, ESH, NAH, INFO, or empty",
        "line 4, round: is '0'; it must be a whole number, 1 to 100",
        "line 4, verdict: is 'YES'; it must be one of YTA, NTA, ESH, NAH, INFO, or empty",
        "line 5, dilemma: is empty; it must not be empty",
        "line 5, round: is '1.5'; it must be a whole number, 1 to 100",
        "line 5, values: is '[1]'; it must be a list of texts: JSON, or names separated by ';'",
    ]


def test_an_agent_that_speaks_twice_in_a_round_is_named_with_both_lines(tmp_path):
    (reason,) = reasons(written(tmp_path, GOOD + "t1,d1,synchronous,1,,gpt,ESH\n"))
    assert reason.startswith("line 4: the agent of line 2 speaks twice")


def test_agents_that_share_a_model_are_distinguished_by_their_names(tmp_path):
    text = f"{HEAD},agent\nt,d,synchronous,1,,gpt,NTA,Agent 1\nt,d,synchronous,1,,gpt,YTA,Agent 2\n"
    assert read_decisions(written(tmp_path, text))["agent"].to_list() == ["Agent 1", "Agent 2"]


def test_no_cell_of_json_lines_can_bring_the_reader_down(tmp_path):
    nested = "[" * 3000 + "]" * 3000
    text = f'{HEAD},values\nt,d,synchronous,1,,a,NTA,"{nested}"\n'
    (reason,) = reasons(written(tmp_path, text))
    assert reason.startswith("line 2, values")
