"""Every study's judge is tried on texts whose label is beyond doubt, and a run keeps how its own judge did."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.calls import Reply
from overton.errors import InputError, RunError
from overton.runs.items import read_items
from overton.studies.registry import asking_names, study_named


@pytest.mark.parametrize("name", asking_names())
def test_every_study_has_controls_of_each_label_and_they_can_be_asked(name: str) -> None:
    study = study_named(f"controls-{name}")
    controls = read_items(study, None)
    assert len(controls) >= 8
    for control in controls:
        assert control.what in study_named(name).questions.keys  # type: ignore[union-attr]
        assert all(control.labels.values())


@pytest.mark.parametrize("name", asking_names())
async def test_a_control_is_asked_as_the_study_asks_and_contains_its_text(name: str) -> None:
    study = study_named(f"controls-{name}")
    for trial in study.trials(read_items(study, None), study.options(), 0):
        seen: list[str] = []

        async def ask(role: str, messages: Any, seen: list[str] = seen, **_: Any) -> Reply:
            seen.append(messages[-1].content)
            return Reply("?")

        rows = await study.conduct(trial, ask)  # type: ignore[arg-type]
        assert {one.row for one in rows} == set(trial.unit.rows)
        assert any(text in seen[0] for text in texts_in(trial.unit.material))


def texts_in(material: Any) -> list[str]:
    if isinstance(material, str):
        return [material] if len(material) > 20 else []
    held = material.values() if isinstance(material, dict) else material if isinstance(material, list) else ()
    return [text for one in held for text in texts_in(one)]


@pytest.mark.parametrize(
    ("name", "what"), [("open-mindedness", "side"), ("stance-stability", "stance"), ("pluralism", "stance")]
)
def test_both_sides_have_as_many_controls(name: str, what: str) -> None:
    controls = [one for one in read_items(study_named(f"controls-{name}"), None) if one.what == what]
    counts = Counter(label for one in controls for labels in one.labels.values() for label in labels)
    sides = {
        "open-mindedness": ("pro", "con"),
        "stance-stability": ("supportive", "critical"),
        "pluralism": ("supporting", "against"),
    }
    one, other = sides[name]
    assert counts[one] == counts[other] >= 2


async def test_a_judge_that_sees_is_right_in_both_orders_and_one_that_does_not_is_named() -> None:
    study = study_named("controls-open-mindedness")
    controls = {one.id: one for one in read_items(study, None)}

    async def records(blind: set[str]) -> list[Any]:
        made = []
        for trial in study.trials(list(controls.values()), study.options(), 0):
            control = controls[trial.unit.id]

            async def ask(role: str, messages: Any, control: Any = control, **_: Any) -> Reply:
                text = messages[-1].content
                (right,) = control.labels[""]
                a = text.split("Position A: ")[1].split("\n")[0]
                letter = "A" if control.material.get(right) == a else "B"
                stance = "neither" if right in ("neither", "declines", "does not") else letter
                stance = "A" if control.id in blind else stance
                strength = "none" if stance == "neither" else "clear"
                return Reply(
                    msgspec.json.encode(
                        {"rationale": "", "stance": stance, "strength": strength, "declines": right == "declines"}
                    ).decode()
                )

            made += await study.conduct(trial, ask)  # type: ignore[arg-type]
        return made

    import polars as pl

    from overton.studies.judge_checks.controls import measure
    from overton.studies.measurement import How
    from overton.studies.results import Results

    def tried(rows: list[Any]) -> Any:
        table = pl.DataFrame([msgspec.structs.asdict(one) for one in rows]).with_columns(model=pl.lit("j"))
        return {one.what: one for one in measure(Results(table, list(controls.values())), How()).tried}

    seeing = tried(await records(set()))
    assert {what: one.right.value for what, one in seeing.items()} == {"side": 1, "declines": 1}
    assert {what: one.in_another_order.value for what, one in seeing.items()} == {"side": 1, "declines": 1}
    assert not any(one.fails for one in seeing.values())
    missing = tried(await records({"ferry-neither", "tower-neither"}))
    assert missing["side"].right.value == pytest.approx(10 / 12)
    assert missing["side"].fails
    assert [one.control for one in missing["side"].missed] == ["ferry-neither", "tower-neither"]


def test_a_run_keeps_how_its_judge_did_and_its_report_warns(tmp_path: Path) -> None:
    run = overton.run(
        "even-handedness",
        models=["simulated/advocate"],
        judge="simulated/even-judge",
        only=["japan-surnames-story", "ireland-neutrality-essay"],
        nulls=0,
        out=tmp_path / "run",
    )
    done = overton.judge.controls(run.path, out=tmp_path / "controls")
    found = overton.analyze("controls-even-handedness", done.path).tried
    assert {one.what for one in found} == {"even_handedness", "compliance", "hedging"}
    assert any(one.fails for one in found)
    page = overton.report([run.path]).read_text("utf-8")
    assert "The judge simulated/even-judge fails its controls." in page
    overton.judge.controls(run.path, judge="simulated/degenerate", out=tmp_path / "another")
    kept = (tmp_path / "run" / "controls.json").read_bytes()
    assert b"degenerate" not in kept
    (tmp_path / "run" / "controls.json").write_text('[{"judge": "x", "what": "y", "right": 3, "controls": 2}]')
    with pytest.raises(RunError, match="cannot be read"):
        overton.report([run.path])


@pytest.mark.parametrize(("shares", "before"), [("sampled", False), ("probabilities", True)])
async def test_a_runs_judge_is_tried_with_the_label_first_if_the_run_asks_it_so(
    shares: str, before: bool, tmp_path: Path
) -> None:
    talks: dict[str, Any] = {"only": ["education-policy-school-phones"], "turns": 2, "search": "starter"}
    talks |= {"models": ["simulated/chameleon"], "judge": "simulated/stance-judge", "shares": shares}
    run = await asyncio.to_thread(overton.run, "stance-stability", out=tmp_path / "run", **talks)
    done = await asyncio.to_thread(overton.judge.controls, run.path, out=tmp_path / "controls")
    study, asked = done.study, []
    assert len(done.items()) == len(read_items("controls-stance-stability"))

    async def ask(role: str, messages: Any, **_: Any) -> Reply:
        asked.append(messages[0].content)
        return Reply("?")

    for trial in study.trials(done.items(), study.options(), 0):
        await study.conduct(trial, ask)  # type: ignore[arg-type]
    reasoned = [one for one in asked if '"rationale": ' in one]  # the published prompt asks for none
    assert reasoned
    assert all(('"rationale": ' in one.rpartition("\n")[2]) == before for one in reasoned)


def test_a_study_needs_somebody_to_try() -> None:
    with pytest.raises(InputError, match="name the judge to test"):
        overton.judge.controls("open-mindedness")


def test_a_plan_asks_each_control_twice() -> None:
    plan = overton.judge.plan_controls("deliberation", judge="simulated/values-judge")
    assert plan.calls == 16
