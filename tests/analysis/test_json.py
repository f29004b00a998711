"""JSON that `--json` prints and reports embed, in every study: one form for numbers, and a valid schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import overton
from overton.analysis.analyze import Measured, chosen_how
from overton.analysis.results import measuring_of, results_of
from overton.cli.main import app
from overton.errors import InputError
from overton.judge.people_labels import PeopleAgreement
from overton.runs.dry_run import Plan
from overton.runs.items import read_items
from overton.statistics import Estimate
from overton.studies import open_mindedness
from overton.studies.contrasts import Against
from overton.studies.document import SCHEMA, document, plain, schema, with_key
from overton.studies.findings import Finding
from overton.studies.frame import Analysis
from overton.studies.label_shares import with_labels
from overton.studies.measurement import How
from overton.studies.multiple_judges import Judges
from overton.studies.open_mindedness.paraphrases import audit
from overton.studies.open_mindedness.paraphrases.audit import Agreement
from overton.studies.pluralism.clustering_agreement import ClusteringAgreement, Preferences, ReferenceComparison
from overton.studies.registry import study_named

RUNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["simulated/open-minded"], "trials": 1},
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        "turns": 3,
        "pages_per_turn": 2,
    },
    "pluralism": {"models": ["simulated/pluralist"], "others": {"judge": ["simulated/pluralist-judge"]}},
}
ANALYSES: dict[str, type] = {
    "open-mindedness": Analysis,
    "stance-stability": Analysis,
    "pluralism": Analysis,
}
SCHEMAS = dict.fromkeys(ANALYSES, SCHEMA) | dict.fromkeys(("open-mindedness", "stance-stability", "pluralism"), 2)
"""The version of each study's JSON; from 2 on, numbers are rows of one table."""
FEW_ITEMS = 3
FINDINGS = {"findings": tuple[Finding, ...], "against_null": tuple[Against, ...]}
HALF = Estimate(0.5, 0.4, 0.6, 12, "Wilson", 0.9)
NUMBER = {"estimate", "interval", "n", "method", "why"}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small run of each study by simulated respondents."""
    study: str = request.param
    only = [item.id for item in read_items(study_named(study))[:FEW_ITEMS]]
    return overton.run(study, **RUNS[study], only=only, out=tmp_path_factory.mktemp(study) / "run")


@pytest.fixture(scope="module")
def printed(run: Any) -> dict[str, Any]:
    """The output of `analyze --json` for it."""
    study = run.manifest.study
    done = CliRunner().invoke(app, ["analyze", study, str(run.path), "--json", "--resamples", "100"])
    assert done.exit_code == 0, done.output
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def measures(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with `leads` in it, by its path; a row of the table of estimates is a number with one variant."""
    if isinstance(value, dict) and {"measure", "variant", "estimate"} <= value.keys():
        number = {**{name: value[name] for name in NUMBER - {"interval"}}, "interval": [value["low"], value["high"]]}
        yield f"{path} > {value['measure']}", {"leads": value["variant"], value["variant"]: number}
    elif isinstance(value, dict):
        if isinstance(value.get("leads"), str):
            yield path, value
            return
        for name, inner in value.items():
            yield from measures(inner, f"{path} > {name}")
    elif isinstance(value, list):
        for inner in value:
            yield from measures(inner, f"{path} > *")


def test_the_output_holds_by_the_schema_of_its_study(run: Any, printed: dict[str, Any]) -> None:
    study = run.manifest.study
    assert (printed["study"], printed["schema"]) == (study, SCHEMAS[study])
    assert printed["level"] == 0.95
    if SCHEMAS[study] == SCHEMA:
        assert (printed["resamples"], printed["seed"]) == (100, 0)
    derived = schema(ANALYSES[study], study, SCHEMAS[study], FINDINGS)
    Draft202012Validator.check_schema(derived)
    Draft202012Validator(derived).validate(printed)


def test_it_opens_with_the_findings(printed: dict[str, Any]) -> None:
    names = list(printed)
    assert names.index("findings") < names.index("models")
    assert {one["what"] for one in printed["findings"]} == {"standing"}, "three items have no intervals"
    assert all(one["sentence"].endswith(".") and one["n"] for one in printed["findings"])


def test_every_number_has_the_one_form(printed: dict[str, Any]) -> None:
    found = list(measures(printed))
    assert len(found) > 20
    for path, measure in found:
        assert measure["leads"] in measure, path
        for name, variant in measure.items():
            if name == "leads":
                continue
            assert variant.keys() >= NUMBER, path
            told = [variant["estimate"], *variant["interval"]]
            assert (variant["why"] is None) == (None not in told), (path, variant)
            assert variant["method"] or variant["why"], path
            if None not in told:
                low, high = variant["interval"]
                assert low <= variant["estimate"] <= high, path


def test_intervals_and_levels_are_only_in_their_own_objects(printed: dict[str, Any]) -> None:
    def keys(value: Any) -> Iterator[str]:
        if isinstance(value, dict) and not isinstance(value.get("leads"), str):
            yield from value
            for name, inner in value.items():
                yield from keys(inner if name != "rows" else ())
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    told = list(keys({name: one for name, one in printed.items() if name not in ("level", "conversations")}))
    assert not {"interval", "low_interval", "value_interval", "level", "method"} & set(told)


def test_a_report_embeds_the_same_document(run: Any) -> None:
    page = overton.report([run.path], out=run.path / "page.html").read_text(encoding="utf-8")
    assert f'"study":"{run.manifest.study}","schema":{SCHEMAS[run.manifest.study]}' in page


def test_a_plan_is_a_document_too() -> None:
    done = CliRunner().invoke(app, ["plan", "open-mindedness", "--model", "simulated/open-minded", "--json"])
    made = json.loads(done.stdout)
    assert (made["study"], made["schema"]) == ("open-mindedness", SCHEMA)


@pytest.mark.parametrize("run", ["stance-stability"], indirect=True)
def test_a_report_of_many_conversations_leaves_them_out(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def embedded() -> dict[str, Any]:
        measuring, results = measuring_of(run.study), results_of([run])
        how = chosen_how(run.study, {"resamples": 100})
        analysis = measuring.records(results, how)
        return document(run.study.name, 2, analysis, without=measuring.exhibits(results, analysis, how).without)

    listed = embedded()
    assert len(listed["tables"]["conversations"]) == listed["tables"]["counts"][0]["conversations"]
    monkeypatch.setattr("overton.studies.stance_stability._MOST_LISTED", 1)
    left = embedded()
    assert listed["tables"].keys() - left["tables"].keys() == {"conversations"}
    Draft202012Validator(schema(Analysis, "stance-stability", 2)).validate(left)


def test_an_audit_is_a_document_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Measured(audit.STUDY, Agreement([], [], HALF, [], []), How(), None)
    monkeypatch.setattr("overton.analysis.analyze.measure_run", lambda *_, **__: made)
    done = CliRunner().invoke(app, ["analyze", "audit", "audited", "--json"])
    told = json.loads(done.stdout)
    assert (told["study"], told["schema"], told["level"]) == ("audit", SCHEMA, 0.9)
    assert told["fleiss"] == plain(HALF)


def test_a_comparison_of_references_is_a_document_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ReferenceComparison("a", "b", 2, 0, HALF, HALF, HALF, HALF, HALF)
    monkeypatch.setattr("overton.commands.pluralism.read_items", lambda *_: [])
    monkeypatch.setattr("overton.studies.pluralism.clustering_agreement.compare_references", lambda *_: found)
    done = CliRunner().invoke(app, ["items", "compare-references", "a", "b", "--json"])
    told = json.loads(done.stdout)
    assert (told["study"], told["schema"], told["level"]) == ("references", SCHEMA, 0.9)
    assert told["omega"] == plain(HALF)
    Draft202012Validator(schema(ReferenceComparison, "references", SCHEMA)).validate(told)


@pytest.mark.parametrize("kind", [Plan, PeopleAgreement, Agreement, ClusteringAgreement, Preferences])
def test_every_other_document_has_a_schema_too(kind: type) -> None:
    Draft202012Validator.check_schema(schema(kind, "any", SCHEMA))


@pytest.mark.parametrize("study", ANALYSES)
def test_the_schema_of_a_study_is_that_of_its_results(study: str) -> None:
    made = schema(ANALYSES[study], study, SCHEMAS[study], FINDINGS)
    made = with_key(made, "judges", Judges) if study_named(study).several else made
    assert overton.schema(study) == (made if study_named(study).questions is None else with_labels(made))
    done = CliRunner().invoke(app, ["analyze", study, "--schema"])
    assert json.loads(done.stdout) == overton.schema(study)


def test_a_schema_has_the_version_that_the_measuring_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_mindedness.STUDY
    assert study.measuring is not None
    newer = replace(study, measuring=replace(study.measuring, schema=7))
    monkeypatch.setattr(open_mindedness, "STUDY", newer)
    assert overton.schema("open-mindedness") == with_labels(schema(Analysis, "open-mindedness", 7, FINDINGS))


def test_a_study_that_makes_items_has_no_schema() -> None:
    with pytest.raises(InputError, match="study: rephrase: makes items, so it has nothing to measure"):
        overton.schema("rephrase")
