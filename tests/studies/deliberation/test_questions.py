"""The question about values: the request, its answer, and the sheets for human labels of the same rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import overton
from overton.calls import system, user
from overton.errors import CallFailed, InputError, Stopped
from overton.studies.deliberation import prompts
from overton.studies.deliberation.prompts import VALUES
from overton.studies.deliberation.protocol import conduct
from overton.studies.deliberation.questions import MOST, QUESTIONS, VALUE, schema
from overton.studies.judged_rows import rows_of
from overton.studies.orders import OWN
from overton.studies.results import Results

CARE, TRUTH, FAMILY = "Parental care", "Honest communication", "Family bonds and cohesion"


def answers(*values: Any) -> str:
    return json.dumps({"answers": values})


async def valued(ask: Any) -> Any:
    material = {"verdict": "NTA", "explanation": "He asked first."}
    (answer,) = await QUESTIONS.ask_about(ask, [(VALUE, material, OWN)])
    return answer


async def judged(table: Any, *replies: str | Exception) -> Any:
    """The values and how many others were named; None if there is no usable answer."""
    return (await valued(table({"values": replies}))).value


async def test_the_judge_is_shown_the_list_and_the_evaluation_and_held_to_the_schema(table: Any) -> None:
    ask = table({"values": [answers(CARE)]})
    await valued(ask)
    (asked,) = ask.asked
    assert asked.messages == (
        system(prompts.values_prompt()),
        user("My current verdict: NTA.\n\nHere's my thinking: He asked first."),
    )
    assert asked.form.schema == schema()


def test_the_schema_allows_five_of_the_published_values_and_nothing_else() -> None:
    made = schema()
    answers_ = made["properties"]["answers"]
    assert (answers_["maxItems"], len(answers_["items"]["enum"]), len(set(answers_["items"]["enum"]))) == (5, 48, 48)
    assert (made["required"], made["additionalProperties"]) == (["answers"], False)


async def test_values_of_the_list_are_kept_in_the_judges_order(table: Any) -> None:
    assert await judged(table, answers(TRUTH, CARE)) == ((TRUTH, CARE), 0)


async def test_no_value_is_an_answer_too(table: Any) -> None:
    assert await judged(table, answers()) == ((), 0)


async def test_values_outside_the_list_are_dropped_and_counted(table: Any) -> None:
    assert await judged(table, answers("Fairness", TRUTH, "honest communication", "Fairness")) == ((TRUTH,), 3)


async def test_only_the_first_five_are_kept_and_the_others_are_not_outside_the_list(table: Any) -> None:
    assert await judged(table, answers(*prompts.VALUES[:8])) == (prompts.VALUES[:MOST], 0)


async def test_a_value_that_is_named_twice_counts_once(table: Any) -> None:
    assert await judged(table, answers(TRUTH, TRUTH, CARE)) == ((TRUTH, CARE), 0)


async def test_outside_values_take_no_place_of_the_five(table: Any) -> None:
    assert await judged(table, answers("Fairness", *prompts.VALUES[:6])) == (prompts.VALUES[:MOST], 1)


async def test_json_in_a_fence_is_read(table: Any) -> None:
    assert await judged(table, f"Here it is:\n```json\n{answers(FAMILY)}\n```") == ((FAMILY,), 0)


@pytest.mark.parametrize("reply", ["", "Honesty, I think.", '["Parental care"]', '{"answers": "Parental care"}', "{}"])
async def test_an_answer_of_another_form_gives_no_values_and_is_not_requested_again(table: Any, reply: str) -> None:
    ask = table({"values": [reply]})
    answer = await valued(ask)
    assert (answer.value, answer.labels, len(ask.asked)) == (None, {}, 1)
    assert VALUE.record_values("values", answer) == {"values": None, "values_dropped": None}


async def test_a_failed_call_gives_no_values(table: Any) -> None:
    assert await judged(table, CallFailed("timeout", "no reply")) is None


async def test_each_value_has_a_label(table: Any) -> None:
    answer = await valued(table({"values": [answers(CARE)]}))
    assert len(answer.labels) == 48
    assert [value for value, label in answer.labels.items() if label == "used"] == [CARE]


async def test_a_stop_passes(table: Any) -> None:
    with pytest.raises(Stopped):
        await judged(table, Stopped("enough"))


async def test_without_an_explanation_nothing_is_asked(trial: Any, table: Any) -> None:
    ask = table({"agent/1": [""], "agent/2": ["NTA"], "values": [answers(CARE)]})
    records = await conduct(trial("synchronous", rounds=1, values=True), ask)
    assert [(r.explanation.strip() == "", r.values) for r in records] == [(True, None), (False, (CARE,))]
    assert len(ask.by("values")) == 1


async def test_every_explanation_of_a_deliberation_is_judged_each_for_itself(trial: Any, table: Any) -> None:
    script = {
        "agent/1": ["NTA", "ESH"],
        "agent/2": ["ESH"],
        "values": [answers(CARE), "nothing", answers(), answers("x")],
    }
    ask = table(script)
    records = await conduct(trial("round-robin", values=True), ask)
    assert [(r.values, r.values_dropped) for r in records] == [((CARE,), 0), (None, None), ((), 0), ((), 1)]
    assert [one.messages[1].content.partition("thinking: ")[2] for one in ask.by("values")] == [
        r.explanation for r in records
    ]


async def test_an_explanation_without_a_readable_verdict_is_judged_too(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["Hard to say."], "agent/2": ["NTA"], "values": [answers(CARE)]})
    records = await conduct(trial("synchronous", rounds=1, values=True), ask)
    assert [(r.verdict, r.values) for r in records] == [(None, (CARE,)), ("NTA", (CARE,))]


async def test_a_deliberation_that_failed_is_not_judged_so_that_its_calls_can_be_asked_again(
    trial: Any, table: Any
) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": [CallFailed("timeout", "no reply")], "values": [answers(CARE)]})
    records = await conduct(trial("synchronous", values=True), ask)
    assert [r.values for r in records] == [None, None]
    assert not ask.by("values")


async def test_values_are_not_requested_without_a_judge(trial: Any, table: Any) -> None:
    ask = table({"agent/1": ["NTA"], "agent/2": ["NTA"]})
    assert [r.values for r in await conduct(trial("synchronous"), ask)] == [None, None]


async def test_values_that_are_requested_again_are_listed_in_another_order(trial: Any, table: Any) -> None:
    ask = table(
        {
            "agent/1": ["NTA"],
            "agent/2": ["NTA"],
            "values": [answers(CARE, TRUTH)],
            "values/again/1": [answers(TRUTH)],
            "values/again/2": [CallFailed("timeout", "no reply")],
        }
    )
    records = await conduct(msgspec.structs.replace(trial("synchronous", values=True), retest=1.0), ask)
    assert [(r.values, r.valued_again, r.values_again) for r in records] == [
        ((CARE, TRUTH), True, (TRUTH,)),
        ((CARE, TRUTH), True, None),
    ]
    for one, other in zip(ask.by("values"), ask.by("values/again/1") + ask.by("values/again/2"), strict=True):
        assert one.messages[1] == other.messages[1]
        first, second = (say.messages[0].content.split("\n") for say in (one, other))
        assert first != second
        assert sorted(first) == sorted(second)
        enums = [say.form.schema["properties"]["answers"]["items"]["enum"] for say in (one, other)]
        assert enums[0] != enums[1]
        assert sorted(enums[0]) == sorted(enums[1]) == sorted(prompts.VALUES)


FIRST, SECOND, LAST = VALUES[0], VALUES[1], VALUES[-1]


def message(number: int, *values: str, known: bool = True) -> dict[str, Any]:
    return {
        "deliberation": f"d{number}/a+b",
        "dilemma": f"d{number}",
        "round": 1,
        "agent": "Agent 1",
        "format": "synchronous",
        "goal": "balanced",
        "model": "m",
        "verdict": "NTA",
        "explanation": f"Reason {number}.",
        "values": list(values) if known else None,
    }


def test_each_explanation_stands_with_each_value_and_unknown_ones_are_left_out() -> None:
    records = pl.DataFrame([message(1, FIRST, LAST), message(2, known=False), message(3)])
    judged = rows_of(QUESTIONS, Results(records), "value")

    assert len(judged.given) == 2 * len(VALUES)
    assert [place for place, label in enumerate(judged.given) if label == "used"] == [0, len(VALUES) - 1]
    last, other = judged.drawn([len(VALUES) - 1, len(VALUES) + 1]).to_dicts()
    expected = {
        "id": f"d1/a+b/1/Agent 1/{LAST}",
        "label": "used",
        "group": "d1",
        "model": "m",
        "whole": "d1/a+b/1/Agent 1",
        "evaluation": "My current verdict: NTA.\n\nHere's my thinking: Reason 1.",
        "value": LAST,
    }
    assert {name: last[name] for name in expected} == expected
    assert (other["evaluation"][-9:], other["value"], other["label"]) == ("Reason 3.", SECOND, "not used")
    every, units = judged.drawn(range(2 * len(VALUES))), judged.units("whole")
    assert (units.id, units.label, units.group) == tuple(every[name].to_list() for name in ("id", "label", "whole"))
    assert (units.alike, units.model) == (every["group"].to_list(), every["model"].to_list())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    return overton.run(
        "deliberation",
        models=["simulated/deliberator/a", "simulated/deliberator/b"],
        others={"values": ["simulated/values-judge"]},
        items=_one_dilemma(tmp_path_factory.mktemp("items") / "dilemmas.jsonl"),
        rounds=2,
        out=tmp_path_factory.mktemp("runs") / "run",
    )


def _one_dilemma(path: Path) -> Path:
    path.write_text('{"id": "d1", "title": "Was I wrong?", "text": "I took the last seat."}\n')
    return path


def filled(sheet: Path, said: str) -> Path:
    """The sheet with the same word in every row."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    made = sheet.with_name("filled.csv")
    with made.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"person": said} for line in lines)
    return made


def test_a_persons_answers_stand_with_the_judge_in_the_sections_on_values(run: overton.Run, tmp_path: Path) -> None:
    sheet, key = overton.judge.sample(run.path, tmp_path / "sheet.csv", size=20, stratified=True)
    assert "used" not in sheet.read_text("utf-8-sig").splitlines()[0]
    found = overton.judge.agreement(filled(sheet, "used"), key=key, run=run.path).people.judge

    assert found.by_label["used"].value == 1
    assert found.by_label["not used"].value == 0
    report = overton.report([run.path], out=tmp_path / "report.html").read_text("utf-8")
    assert "People labelled 20 of the judged units (value) and agreed with the judge on" in report


def test_checks_are_absent_without_a_judge_of_values(tmp_path: Path) -> None:
    unvalued = overton.run(
        "deliberation",
        models=["simulated/deliberator/a", "simulated/deliberator/b"],
        items=_one_dilemma(tmp_path / "dilemmas.jsonl"),
        rounds=1,
        out=tmp_path / "run",
    )
    with pytest.raises(InputError, match="no labelled unit"):
        overton.judge.sample(unvalued.path, tmp_path / "sheet.csv")
