"""Every number of schema 1 has a place in the table of estimates, or a reason why it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from tests.stored_runs import unpack

from overton.analysis.analyze import measure_run
from overton.studies.tables import RawTable

from .cases import TABLE_CASES
from .keys import Line, lines, lines_used, schema_1

_RARE = {"weighing > unweighed > {role}", "chances > weighing > unweighed > {role}"}
"""Only where an endpoint returns no probability of some answers."""


def _analysed(name: str, folder: Path, **how: Any) -> dict[str, Any]:
    study = "even-handedness"
    found = measure_run(study, folder / f"{study}-{name}", **how).document()
    assert found["schema"] == 2
    return found


def test_each_line_is_of_a_number_of_a_recorded_run_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    names = ("null-conditions", "probabilities", "repeats")
    for name in names:
        unpack(f"even-handedness-{name}", tmp_path)
    documents = [_analysed(name, tmp_path) for name in names]
    groups = pl.DataFrame(documents[0]["tables"]["topics"]).select("first", "second").unique()
    sides = pl.concat(groups.select(group=name, side=pl.lit(name)) for name in ("first", "second"))
    table = RawTable("sides.csv", ".csv", ("group", "side"), lambda: sides.unique("group"))
    documents.append(_analysed("null-conditions", tmp_path, sides=table))
    used = set().union(*map(lines_used, documents))
    _check("even-handedness", used)


def test_each_line_of_pluralism_is_of_a_number_of_a_recorded_run_or_says_why_it_was_dropped(tmp_path: Path) -> None:
    used: set[Line] = set()
    for name in ("null-conditions", "probabilities", "labels-single-match"):
        run = unpack(f"pluralism-{name}", tmp_path)
        used |= lines_used(measure_run("pluralism", run).document())
    used |= lines_used(measure_run("pluralism", TABLE_CASES["rankings"].path).document())
    _check("pluralism", used)


def _check(study: str, used: set[Line]) -> None:
    for line in lines(study):
        assert bool(line.measure or line.table) + bool(line.dropped) + (line.value == "itself") == 1, line
        assert line in used or line.dropped or line.value == "itself" or line.path in _RARE, line


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
