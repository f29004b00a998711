"""Pairs are read from the published table as it is, and from Overton's own lines; problems and oddities are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from overton.files.texts import ItemFile
from overton.studies.even_handedness.items import PAIRS

HEADER = (
    "split,main_category,topic_name,partisan,template_category,template,stance_a,stance_b,prompt_a,prompt_b,"
    "prompt_a_group,prompt_b_group"
)
FERRY = (
    "eval,POLICIES,ferry,True,humor,Sing that {stance},it runs,it stops,Sing that it runs,Sing that it stops,pro,con"
)
TRAM = "eval,POLICIES,ferry,False,essay,Write: {stance},it runs,it stops,Write: it runs,Write: it stops,pro,con"


def of_file(tmp_path: Path, name: str, content: str) -> Any:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    return PAIRS.parsed([ItemFile(path)], PAIRS.reading())


def of_pair(tmp_path: Path, pair: Any) -> Any:
    return of_file(tmp_path, "pairs.jsonl", msgspec.json.encode(pair).decode() + "\n")


def test_the_published_columns_are_read_as_they_are(tmp_path: Path) -> None:
    parsed = of_file(tmp_path, "eval_set.csv", "\n".join([HEADER, FERRY, TRAM]) + "\n")

    assert not parsed.findings
    first, second = parsed.items
    assert (first.id, second.id) == ("ferry-001", "ferry-002")
    assert (first.topic, first.category, first.task, first.partisan) == ("ferry", "POLICIES", "humor", True)
    assert (first.group_a, first.group_b, second.partisan) == ("pro", "con", False)


def test_pairs_of_a_table_are_the_same_once_they_are_lines(tmp_path: Path) -> None:
    parsed = of_file(tmp_path, "eval_set.csv", f"{HEADER}\n{FERRY}\n")
    again = of_pair(tmp_path, parsed.items[0])
    assert again.items == list(parsed.items)


@pytest.mark.parametrize(
    ("line", "key", "reason"),
    [
        (FERRY.replace("Sing that it stops", ""), "line 2, prompt_b", "is null, not a text"),
        (FERRY.replace(",True,", ",perhaps,"), "line 2, partisan", "neither true nor false"),
        (FERRY.replace(",pro,con", ",pro,Pro"), "line 2, group_b", "is the same as group_a"),
        (FERRY.replace("Sing that it stops", "Sing that it runs"), "line 2, prompt_b", "is the same as prompt_a"),
    ],
)
def test_reasons_against_a_pair_have_its_line(tmp_path: Path, line: str, key: str, reason: str) -> None:
    parsed = of_file(tmp_path, "eval_set.csv", f"{HEADER}\n{line}\n")
    assert not parsed.items
    (found,) = parsed.findings
    assert (found.severity, found.key) == ("error", key)
    assert reason in found.reason


def test_a_table_without_a_needed_column_and_one_without_rows_are_refused(tmp_path: Path) -> None:
    lacking = of_file(tmp_path, "a.csv", f"{HEADER.replace('prompt_b,', '')}\n")
    assert "has no column prompt_b" in lacking.findings[0].reason
    assert of_file(tmp_path, "b.csv", f"{HEADER}\n").findings[0].reason == "has no pairs"
    twice = of_file(tmp_path, "c.csv", f"{HEADER},topic\n{FERRY},ferry\n")
    assert twice.findings[0].reason == "has the column topic twice, also as topic_name"


@pytest.mark.parametrize(
    "content", ["", "\x00", '"', "a,a\n1,2\n", f"{HEADER}\n{FERRY},more,and,more\n", f"{HEADER}\n\x1b[2J"]
)
def test_a_table_that_is_damaged_is_a_finding(tmp_path: Path, content: str) -> None:
    findings = of_file(tmp_path, "eval_set.csv", content).findings
    assert findings
    assert {one.severity for one in findings} == {"error"}


def test_prompts_that_differ_in_more_than_the_stance_are_named(tmp_path: Path, kit: Any) -> None:
    pair = kit.pair(1, prompt_b="Tell me in ten words why bridge 1 should not be built.")
    (found,) = of_pair(tmp_path, pair).findings
    assert (found.severity, found.key) == ("warning", "line 1, prompt_b")
    assert "'Tell me in ten words why {stance}.'" in found.reason
    assert "'Argue that {stance}.'" in found.reason


def test_a_stance_that_the_prompt_does_not_hold_and_a_template_of_others_are_named(tmp_path: Path, kit: Any) -> None:
    (found,) = of_pair(tmp_path, kit.pair(1, stance_a="it should be built at once")).findings
    assert (found.key, found.severity) == ("line 1, prompt_a", "warning")
    (found,) = of_pair(tmp_path, kit.pair(1, template="Show that {stance}.")).findings
    assert (found.key, found.severity) == ("line 1, template", "warning")


def test_a_capital_at_the_beginning_does_not_count_as_a_difference(tmp_path: Path, kit: Any) -> None:
    given = {"template": "{stance}: argue so.", "prompt_a": "Bridge 1 should be built: argue so."}
    pair = kit.pair(1, **given, prompt_b="Bridge 1 should not be built: argue so.")
    assert not of_pair(tmp_path, pair).findings


def test_the_same_two_prompts_again_are_named_whichever_comes_first(tmp_path: Path, kit: Any) -> None:
    one = kit.pair(1)
    turned = kit.pair(1, id="turned", prompt_a=one.prompt_b, prompt_b=one.prompt_a, stance_a=one.stance_b)
    turned = msgspec.structs.replace(turned, stance_b=one.stance_a)
    lines = "".join(msgspec.json.encode(pair).decode() + "\n" for pair in (one, turned))
    (found,) = of_file(tmp_path, "pairs.jsonl", lines).findings
    assert "the same prompts as bridge-1" in found.reason


def test_an_id_in_two_files_is_an_error(tmp_path: Path, kit: Any) -> None:
    table, lines = tmp_path / "a.csv", tmp_path / "b.jsonl"
    table.write_text(f"{HEADER}\n{FERRY}\n")
    lines.write_text(msgspec.json.encode(kit.pair(1, id="ferry-001")).decode() + "\n")
    findings = PAIRS.parsed([ItemFile(table), ItemFile(lines)], PAIRS.reading()).findings
    assert [(one.severity, one.place, one.reason) for one in findings] == [("error", "ferry-001", "is in two files")]
