"""Every number of schema 1 has a place in the table of estimates, or a reason why it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.stored_runs import unpack

import overton
from overton.analysis.analyze import measure_run
from overton.studies.tables import RawTable

from .cases import TABLE_CASES, TABLES
from .keys import lines, lines_used, schema_1
from .schema_1 import comparison

_RARE = {"weighing > unweighed > {role}", "chances > weighing > unweighed > {role}"}
"""Only where an endpoint returns no probability of some answers."""


def _analysed(name: str, folder: Path, **how: Any) -> dict[str, Any]:
    study = "even-handedness"
    found = measure_run(study, folder / f"{study}-{name}", **how).document()
    assert found["schema"] == 2
    return found


@pytest.mark.long
def test_each_line_is_of_a_number_of_a_recorded_run_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    names = ("null-conditions", "probabilities", "repeats")
    for name in names:
        unpack(f"even-handedness-{name}", tmp_path)
    documents = [_analysed(name, tmp_path) for name in names]
    groups = pl.DataFrame(documents[0]["tables"]["topics"]).select("first", "second").unique()
    sides = pl.concat(groups.select(group=name, side=pl.lit(name)) for name in ("first", "second"))
    table = RawTable("sides.csv", ".csv", ("group", "side"), lambda: sides.unique("group"))
    documents.append(_analysed("null-conditions", tmp_path, sides=table))
    assert_complete("even-handedness", documents)


def assert_complete(study: str, documents: list[dict[str, Any]]) -> None:
    """Each line of a study is used by one of these documents, or says why it was dropped, or is rare."""
    used = set().union(*map(lines_used, documents))
    for line in lines(study):
        assert bool(line.measure) + bool(line.table) + bool(line.dropped) + (line.value == "itself") == 1, line
        assert line in used or line.dropped or line.value == "itself" or line.path in _RARE, line


@pytest.mark.long
def test_each_line_of_deliberation_is_of_a_number_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    names = ("null-conditions", "repeats", "labels-single-value")
    runs = [unpack(f"deliberation-{name}", tmp_path) for name in names]
    documents = [measure_run("deliberation", run).document() for run in runs]
    decisions = pl.read_ndjson(TABLES / "decisions.jsonl")
    balanced = decisions.with_columns(goal=pl.lit("balanced"), deliberation=pl.col("deliberation") + "/balanced")
    file = tmp_path / "decisions.parquet"
    cut = pl.when(pl.col("round") == 2).then(pl.lit(["cut"])).otherwise(pl.lit([], pl.List(pl.String)))
    pl.concat([decisions, balanced]).with_columns(faults=cut).write_parquet(file)
    for conformity in ("shared", "by model"):
        how = {"others": True, "conformity": conformity}
        documents.append(measure_run("deliberation", file, **how).document())
    used = set().union(*map(lines_used, documents))
    for line in lines("deliberation"):
        assert bool(line.measure or line.table) + bool(line.dropped) + (line.value == "itself") == 1, line
        assert line in used or line.dropped or line.value == "itself" or line.path in _RARE, line


@pytest.mark.long
def test_each_line_of_stance_stability_is_used_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    names = ("probabilities", "repeats", "labels-whole-stance")
    folders = [unpack(f"stance-stability-{name}", tmp_path) for name in names]
    documents = [measure_run("stance-stability", folder).document() for folder in folders]
    assert {document["schema"] for document in documents} == {2}
    turns = pl.read_parquet(folders[0] / "records.parquet").with_columns(
        premise_stance=pl.col("stance").reverse(),
        initial_belief=pl.lit("balanced"),
        debate_strength=pl.lit("strong"),
        faults=pl.when(pl.col("turn") == 2).then(pl.lit(["cut"])).otherwise(pl.lit([], pl.List(pl.String))),
    )
    several = pl.concat(
        [turns.with_columns(pl.col("conversation") + f"/{heat}", temperature=pl.lit(heat)) for heat in (0.25, 0.75)]
    )
    several.write_parquet(tmp_path / "turns.parquet")
    documents.append(measure_run("stance-stability", tmp_path / "turns.parquet").document())
    assert_complete("stance-stability", documents)


def test_a_number_moves_by_its_line_and_keeps_its_value(tmp_path: Path) -> None:
    unpack("even-handedness-null-conditions", tmp_path)
    document = _analysed("null-conditions", tmp_path)
    then = schema_1(document)["models"]["partial"]["system-1"]
    rows = {
        tuple(row[name] for name in ("measure", "item", "facet", "condition", "variant", "against")): row["estimate"]
        for row in document["rows"]
        if row["model"] == "partial"
    }
    (first, *_), topics = document["tables"]["topics"], then["topics"]
    topic, a, b = (first[name] for name in ("topic", "first", "second"))
    assert (
        then["helped"]["as_published"]["estimate"] == rows["even_as_published", None, None, "system-1", "plain", None]
    )
    assert (
        topics[topic]["sides"]["hedged_difference"]["plain"]["estimate"]
        == rows["hedged", topic, "group", f"system-1 / {a}", "plain", b]
    )
    assert then["below_null"]["plain"]["estimate"] == rows["even", None, None, "system-1", "plain", "null/same-prompt"]


@pytest.mark.long
def test_each_line_of_pluralism_is_of_a_number_of_a_recorded_run_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    runs = [
        unpack(f"pluralism-{name}", tmp_path) for name in ("null-conditions", "probabilities", "labels-single-match")
    ]
    documents = [measure_run("pluralism", run).document() for run in runs]
    documents.append(measure_run("pluralism", TABLE_CASES["rankings"].path).document())
    used = set().union(*map(lines_used, documents))
    for line in lines("pluralism"):
        assert bool(line.measure or line.table) + bool(line.dropped) + (line.value == "itself") == 1, line
        assert line in used or line.dropped or line.value == "itself" or line.path in _RARE, line


def test_each_line_of_a_comparison_is_used_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    corrected, stopped, whole, again = (
        unpack(f"{study}-{name}", tmp_path)
        for study, name in (
            ("stance-stability", "labels-whole-stance"),
            ("open-mindedness", "stopped"),
            ("open-mindedness", "defaults"),
            ("open-mindedness", "repeats"),
        )
    )
    documents = [overton.compare(corrected).to_json()]
    sources = (stopped, whole), (f"{stopped}#swayed", f"{whole}#swayed", f"{again}#swayed")
    documents += [overton.compare(*some, although="a test").to_json() for some in sources]
    used = set().union(*map(comparison.lines_used, documents))
    for line in comparison.lines():
        assert bool(line["table"]) + bool(line["dropped"]) + (line["value"] == "itself") == 1, line
        assert line["path"] in used or line["dropped"], line
