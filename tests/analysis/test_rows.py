"""Analyses of studies that declare their measures: schema 2, in every surface that shows an analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import overton
from overton.cli.main import app
from overton.studies.frame import COLUMNS

STUDY = "even-handedness"
KEY = ["measure", "model", "item", "facet", "condition", "variant", "against"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("rows") / "run"
    overton.run(
        STUDY,
        models=["simulated/advocate"],
        judge="simulated/even-judge",
        model_args={"simulated/advocate": {"weaker": "0.4"}},
        only=[item.id for item in overton.items.read(STUDY)[:4]],
        systems=["Be brief."],
        out=out,
    )
    return out


@pytest.fixture(scope="module")
def printed(run: Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["analyze", STUDY, str(run), "--json"])
    assert done.exit_code == 0, done.output
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_the_json_holds_by_the_schema_that_the_command_prints(printed: dict[str, Any]) -> None:
    done = CliRunner().invoke(app, ["analyze", STUDY, "--schema"])
    schema = json.loads(done.stdout)
    assert schema == overton.schema(STUDY)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(printed)
    assert (printed["study"], printed["schema"], printed["level"]) == (STUDY, 2, 0.95)


def test_rows_of_the_json_are_those_of_estimates_and_each_occurs_once(run: Path, printed: dict[str, Any]) -> None:
    table = overton.analyze(STUDY, run).estimates()
    assert table.columns == list(COLUMNS)
    assert table.drop("study").to_dicts() == [
        {name: row[name] for name in table.columns[1:]} for row in printed["rows"]
    ]
    assert not table.select(KEY).is_duplicated().any()
    assert table.filter(table["estimate"].is_null() & table["why"].is_null()).is_empty()


def test_every_row_but_those_on_the_judge_is_of_a_declared_measure(printed: dict[str, Any]) -> None:
    others = {row["measure"] for row in printed["rows"]} - set(printed["measures"])
    assert others == {"self_agreement_same", "self_agreement_kappa"}
    compared = {key for key, declared in printed["measures"].items() if declared["compared"]}
    assert compared == {"even", "even_as_published", "gap", "one_sided"}
    assert all(one["judge"] == "judge" for one in printed["measures"].values())


def test_differences_from_the_null_condition_are_rows_too(printed: dict[str, Any]) -> None:
    for told in printed["against_null"]:
        (row,) = (
            one
            for one in printed["rows"]
            if one["against"] == f"null/{told['null']}"
            and told["measure"] == one["measure"] + ("_system_1" if one["condition"] == "system-1" else "")
        )
        assert row["estimate"] == told["difference"]["plain"]["estimate"]


def test_a_notebook_and_a_report_show_it(run: Path) -> None:
    html = overton.analyze(STUDY, run)._repr_html_()
    assert html.startswith("<div class='overton'>")
    page = overton.report([run], out=run / "page.html").read_text("utf-8")
    assert f'"study":"{STUDY}","schema":2' in page
