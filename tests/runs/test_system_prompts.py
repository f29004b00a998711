"""Runs with system prompts: refused before a call, extended, stored, compared, planned and stopped early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError, RunMismatch

ISSUES = ["cashless-shops", "facial-recognition-in-shops", "crewed-spaceflight", "congestion-charge", "school-grades"]
UNMOVED = "susceptibility_pro=0 susceptibility_con=0"
"""A system prompt that a simulated model follows: arguments do not move it."""


def asked(out: Path, **more: Any) -> Any:
    given = {"trials": 1, "conditions": ["balanced"], "models": ["m=simulated/open-minded"]} | more
    return overton.run("open-mindedness", out=out, **given)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a model that arguments move, and under a system prompt do not."""
    folder = tmp_path_factory.mktemp("moved")
    overton.run(
        "open-mindedness",
        models=["m=simulated/open-minded"],
        model_args={"m": {"susceptibility_pro": "6", "susceptibility_con": "6", "lean_spread": "0.2"}},
        trials=2,
        systems=(UNMOVED,),
        out=folder / "run",
    )
    return folder / "run"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe", "is not UTF-8"),
        (b" \n", "is empty"),
        (b"a" * 500_000, "is larger than"),
    ],
)
def test_a_file_without_a_usable_text_is_refused_naming_option_and_file(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "prompt.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=said) as refused:
        asked(tmp_path / "run", systems=[f"@{file}"])
    (problem,) = refused.value.problems
    assert (problem.place, problem.key) == ("option systems", f"@{file}")
    assert not (tmp_path / "run").exists()


def test_a_file_counts_by_its_text_however_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Be brief.\nBe kind.\r\n\n")
    runs = [asked(tmp_path / name, systems=[given]) for name, given in (("a", f"@{file}"), ("b", file))]
    assert [run.options.systems for run in runs] == [("Be brief.\nBe kind.",)] * 2
    with pytest.raises(InputError, match="number 1 and number 2"):
        asked(tmp_path / "run", systems=[f"@{file}", "Be brief.\nBe kind."])


def test_calls_without_a_system_prompt_do_not_change(tmp_path: Path) -> None:
    plain, both = asked(tmp_path / "plain"), asked(tmp_path / "both", systems=("Be brief.",))
    alone = asked(tmp_path / "alone", systems=("Be brief.",), no_plain=True)
    assert "system" not in plain.records().columns
    records = both.records()
    none, prompted = (records.filter(pl.col("system") == name) for name in ("none", "system-1"))
    assert none.drop("system").equals(plain.records())
    assert prompted.equals(alone.records())
    assert prompted["trial"].to_list() == [f"system-1/{trial}" for trial in none["trial"]]
    shown = ["arguments", "a_is", "a_first"]
    assert prompted.select(shown).equals(none.select(shown))


def test_a_run_extended_by_a_prompt_is_the_run_with_it(tmp_path: Path) -> None:
    run = asked(tmp_path / "run")
    before = run.manifest.spent.requests
    grown = overton.extend(tmp_path / "run", systems=("Be brief.",))
    whole = asked(tmp_path / "whole", systems=("Be brief.",))
    assert grown.records().equals(whole.records())
    assert grown.manifest.spent.requests == whole.manifest.spent.requests == 2 * before
    with pytest.raises(InputError, match="nothing to add"):
        overton.extend(tmp_path / "run", systems=("Be brief.",))
    assert overton.verify(tmp_path / "run").same


def test_a_changed_prompt_is_refused_on_resume(tmp_path: Path) -> None:
    asked(tmp_path / "run", systems=("Be brief.",), max_calls=100)
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["options"]["systems"] = ["Be long."]
    file.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(RunMismatch, match=r"system-1/.*this call's messages differ"):
        overton.resume(tmp_path / "run")


def test_shards_of_a_prompted_run_are_the_run(tmp_path: Path) -> None:
    given = {"models": ["m=simulated/open-minded"], "trials": 1, "conditions": ["balanced"], "systems": ("Be brief.",)}
    shards = overton.split("open-mindedness", out=tmp_path / "shards", into=2, **given)
    merged = overton.merge([overton.resume(shard).path for shard in shards], out=tmp_path / "merged")
    assert merged.records().equals(overton.run("open-mindedness", out=tmp_path / "run", **given).records())


def test_a_known_effect_of_a_prompt_is_a_difference_of_two_models(moved: Path) -> None:
    found = overton.compare(moved)
    row = found.row("open_mindedness", base="m", candidate="m with system-1")
    assert row.difference.own.high < 0
    assert row.candidate_number.low <= 0.05 * 100
    assert found.differing == []


@pytest.mark.parametrize(
    ("study", "given", "known"),
    [
        (
            "stance-stability",
            {"models": ["m=simulated/chameleon"], "judge": "simulated/stance-judge", "turns": 8},
            ("change=0.9", "change_rate", 0.9 - 0.3),
        ),
        (
            "pluralism",
            {
                "models": ["m=simulated/pluralist"],
                "model_args": {"m": {"noise": "0", "flatter": "0"}},
                "judge": "simulated/pluralist-judge",
                "experiments": ["ranking"],
            },
            ("noise=1", "ranking_spearman_biased", 0.0 - 1.0),
        ),
        (
            "deliberation",
            {
                "models": ["simulated/deliberator"] * 3,
                "model_args": {"simulated/deliberator": {"inertia": "-20", "conformity_previous": "0"}},
                "formats": ["synchronous"],
            },
            ("inertia=20", "changed", 0.0 - 1.0),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "-" in value else None,
)
def test_each_study_recovers_the_known_effect_of_a_prompt(
    study: str, given: dict[str, Any], known: tuple[str, str, float], tmp_path: Path
) -> None:
    prompt, measure, effect = known
    run = overton.run(study, systems=(prompt,), out=tmp_path / "run", **given)
    name = run.entries[0].name
    row = overton.compare(run.path).row(measure, base=name, candidate=f"{name} with system-1")
    assert row.difference.own.low - 0.1 <= effect <= row.difference.own.high + 0.1
    assert abs(row.difference.own.value) > abs(effect) / 2


def test_a_study_with_conditions_of_its_own_can_leave_out_the_plain_one(tmp_path: Path) -> None:
    given: dict[str, Any] = {"models": ["m=simulated/advocate"], "judge": "simulated/even-judge", "nulls": 0.0}
    both = overton.run("even-handedness", systems=("weaker=1",), out=tmp_path / "both", **given)
    alone = overton.run("even-handedness", systems=("weaker=1",), no_plain=True, out=tmp_path / "alone", **given)
    prompted = both.records().filter(pl.col("setting") == "system-1")
    assert alone.records().equals(prompted)
    assert "system" not in both.records().columns
    found = overton.analyze("even-handedness", both.path)
    assert found.estimate("even", condition="none").value == 1
    assert found.estimate("even", condition="system-1").value == 0
    assert overton.analyze("even-handedness", alone.path).estimate("even", condition="system-1").value == 0


def test_a_baseline_keeps_models_with_their_prompts(moved: Path, tmp_path: Path) -> None:
    overton.baseline(moved, out=tmp_path / "base.json")
    found = overton.compare(tmp_path / "base.json", moved)
    pairs = {(row.base.partition(" [")[0], row.candidate.partition(" [")[0]) for row in found.rows}
    assert pairs == {("m", "m"), ("m with system-1", "m with system-1")}
    for row in found.rows:
        assert row.difference.own.value == pytest.approx(0, abs=1e-9)


def test_other_words_under_the_same_name_are_another_instrument(tmp_path: Path) -> None:
    for name, systems in (("a", ("Be brief.",)), ("b", ("Be long.", "Be kind.")), ("c", ("Be brief.", "Be kind."))):
        asked(tmp_path / name, systems=systems)
    with pytest.raises(InputError, match=r"system-1 differs: Be brief\. and Be long\."):
        overton.compare(tmp_path / "a", tmp_path / "b")
    (difference,) = overton.compare(tmp_path / "a", tmp_path / "c").differing
    assert difference.kind == "precision"


def test_a_report_quotes_each_prompt_once_escaped_and_cut(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", systems=("Say <b>no</b>.", "long " * 500))
    page = overton.report(run.path).read_text("utf-8")
    facts = page[page.index("System prompts") : page.index("Trials planned")]
    assert "system-1: Say &lt;b&gt;no&lt;/b&gt;." in facts
    assert "<b>no" not in facts
    assert facts.count("long") == 120
    assert "…" in facts


def test_a_profile_has_a_model_behind_a_prompt_and_suggests_studies_for_the_model(moved: Path) -> None:
    found = overton.profile(moved)
    assert list(found.specs) == ["m", "m with system-1"]
    assert {row.trait.model for row in found.rows} == {"m", "m with system-1"}
    assert {missing.model for missing in found.missing} == {"m"}
    alone = overton.profile(f"{moved}#m with system-1")
    assert {row.trait.model for row in alone.rows} == {"m with system-1"}


def test_a_table_of_records_is_measured_as_its_run(moved: Path) -> None:
    import overton.analysis.analyze as analysis

    own, other = (
        analysis.analyze("open-mindedness", source).estimates() for source in (moved, moved / "records.parquet")
    )
    assert set(own["model"].drop_nulls()) == {"m", "m with system-1"}
    mine, theirs = (
        frame.filter(pl.col("measure") == "open_mindedness").select("model", "estimate") for frame in (own, other)
    )
    assert mine.equals(theirs)


def test_a_plan_counts_the_calls_of_each_condition() -> None:
    planned = overton.plan("open-mindedness", models=["simulated/open-minded"], systems=("a " * 400, "b"), trials=1)
    assert [(part.name, part.calls) for part in planned.systems] == [
        ("none", 792),
        ("system-1", 792),
        ("system-2", 792),
    ]
    assert planned.calls == sum(part.calls for part in planned.systems)
    assert overton.plan("open-mindedness", models=["simulated/open-minded"], trials=1).systems == []


def test_a_run_that_stops_early_reaches_its_precision_under_every_prompt(tmp_path: Path) -> None:
    run = overton.run(
        "open-mindedness",
        models=["m=simulated/open-minded"],
        model_args={"m": {"lean": "4"}},
        trials=8,
        precision={"open_mindedness": 12},
        systems=("lean=0", UNMOVED),
        out=tmp_path / "run",
    )
    (state,) = run.manifest.precise.values()
    limits = [limit for limit in state.last.limits if not limit.item]
    assert [limit.title.partition(", with ")[2] for limit in limits] == ["", "system-1", "system-2"]
    assert all(limit.half <= 12 for limit in limits)
    blocks = {(stop.arm.partition(" with ")[2], stop.blocks) for stop in state.last.stops}
    asked_of = {prompt: max(count for name, count in blocks if name == prompt) for prompt, _ in blocks}
    assert asked_of["system-1"] >= asked_of[""]
    assert overton.verify(run.path).same
