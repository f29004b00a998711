"""Lists made in runs: simulated annotators with a known truth, people on sheets, limits, failures, and plans."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.calls import Reply, Request
from overton.errors import InputError, RejectedError
from overton.studies.deliberation.collection import STUDY
from overton.studies.deliberation.collection.record import ValueFate
from overton.studies.deliberation.collection.sheets import INCLUDED
from overton.studies.deliberation.collection.simulated import Annotator, same_as, truth_of
from overton.studies.deliberation.value_lists import Value

WAYS = ("Care for", "Kindness to", "Loyalty to", "Honesty with", "Patience with", "Courage for", "Fairness to")
WHOM = ("guests", "friends", "neighbours", "strangers", "children")
NAMES = [f"{way} {whom}" for way in WAYS for whom in WHOM]
FIVE = [f"simulated/value-annotator/{letter}" for letter in "abcde"]


def collected(path: Path, names: list[str] = NAMES) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [(name, f"What {name.casefold()} asks of us.") for name in names]
        csv.writer(file).writerows([("value", "definition"), *rows])
    return path


def explanations(path: Path, count: int = 60) -> Path:
    """Explanations that name three values about the same people, word for word."""
    chance = random.Random(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("dilemma", "verdict", "explanation"))
        for number in range(count):
            whom = chance.choice(WHOM)
            named = "; ".join(f"{way} {whom}" for way in chance.sample(WAYS, 3))
            writer.writerow((f"d{number // 2}", "NTA", f"What weighs most here: {named}."))
    return path


Make = Callable[..., overton.Run]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A run of the pipeline: `make(name, **arguments)`."""
    values, texts = collected(tmp_path / "collected.csv"), explanations(tmp_path / "texts.csv")

    def made(name: str, **more: Any) -> overton.Run:
        given = {"models": FIVE, "texts": texts, "judge": "simulated/values-judge", "together": 0.1}
        return overton.run("values", items=values, out=tmp_path / name, **given | more)

    return made


def fates(run: overton.Run) -> dict[str, ValueFate]:
    return {fate.value: fate for fate in run.rows()}


def the_list(run: overton.Run) -> list[Value]:
    return [Value(**json.loads(line)) for line in (run.path / "values.jsonl").read_text().splitlines()]


def moral(seed: int = 0) -> set[str]:
    return {name for name in NAMES if truth_of(name, seed).category == "moral"}


def included(seed: int = 0) -> set[str]:
    return {name for name in moral(seed) if truth_of(name, seed).code in INCLUDED}


@pytest.mark.parametrize("seed", range(4))
def test_annotators_who_know_the_truth_give_it_back(make: Make, seed: int) -> None:
    run = make("run", model_args={name: {"seed": str(seed)} for name in FIVE})
    found = fates(run)
    assert list(found) == NAMES
    assert {name for name, fate in found.items() if fate.kept} == moral(seed)
    assert {name for name, fate in found.items() if fate.code in INCLUDED} == included(seed)
    assert {fate.code for fate in found.values() if fate.kept} <= set("123456")
    for name in included(seed):
        # All values about the same people that occur together become one.
        assert (found[name].merged_into or name) in same_as(name, included(seed))
    assert {whom for whom in WHOM if same_as(whom, included(seed))} == {
        fate.value.rpartition(" ")[2] for fate in found.values() if fate.status == "in the list"
    }
    assert [value.value for value in the_list(run)] == [
        name for name, fate in found.items() if fate.status == "in the list"
    ]


def test_a_finished_list_is_one_that_runs_of_deliberation_take(make: Make, tmp_path: Path) -> None:
    made = make("run")
    run = overton.run(
        "deliberation",
        models=["simulated/deliberator/a", "simulated/deliberator/b"],
        values_judge="simulated/values-judge",
        values=made.path / "values.jsonl",
        only=["quarter-to-eight"],
        rounds=1,
        out=tmp_path / "deliberation",
    )
    assert run.options.values == tuple(the_list(made))
    assert any(value.definition.endswith(".") and "This includes" in value.definition for value in run.options.values)


def test_disagreement_is_resolved_as_the_paper_says(make: Make) -> None:
    """With errors, a moral value is kept if four of five annotators see it, which is so with a known probability."""
    kept, truly, wrongly, others = 0, 0, 0, 0
    for seed in range(6):
        args = {name: {"seed": str(seed), "error": "0.2"} for name in FIVE}
        run = make(f"run-{seed}", model_args=args, texts=None, judge=None, deciding="people", seed=seed)
        for name, fate in fates(run).items():
            assert fate.kept == (fate.categories.count("moral") >= 4)
            assert fate.votes == fate.categories.count("moral")
            if name in moral(seed):
                truly, kept = truly + 1, kept + fate.kept
            else:
                others, wrongly = others + 1, wrongly + fate.kept
    # P(at least 4 of 5 right at 0.8) = 5 * 0.8^4 * 0.2 + 0.8^5 = 0.737; of others, 5 * (0.2 / 3)^4 < 0.0001 are kept.
    assert kept / truly == pytest.approx(0.737, abs=3.5 * (0.737 * 0.263 / truly) ** 0.5)
    assert wrongly <= 1
    assert (truly > 60, others > 60) == (True, True)


def test_majorities_repair_errors_of_single_annotators(make: Make) -> None:
    right: Counter[str] = Counter()
    for seed in range(4):
        args = {name: {"seed": str(seed), "error": "0.1"} for name in FIVE}
        found = fates(make(f"run-{seed}", model_args=args, texts=None, judge=None, seed=seed, agree=0.5))
        for name, fate in found.items():
            truth = truth_of(name, seed)
            right["category"] += fate.kept == (truth.category == "moral")
            right["values"] += 1
            if fate.kept and truth.category == "moral":
                right["inclusion"] += (fate.code in INCLUDED) == (truth.code in INCLUDED)
                right["kept"] += 1
                right["single"] += sum((code in INCLUDED) == (truth.code in INCLUDED) for code in fate.codes)
    # At least 3 of 5 are right with probability 0.991 at an error of 0.1. An error moves a code to the other side in 3
    # of 5 cases, so a single decision is right in 94% and a majority in 99.8%.
    assert right["category"] / right["values"] > 0.96
    assert right["inclusion"] / right["kept"] > 0.97
    assert right["single"] / (5 * right["kept"]) == pytest.approx(0.94, abs=0.05)


# Steps that are left out


def test_without_explanations_nothing_is_merged(make: Make) -> None:
    found = fates(make("run", texts=None, judge=None))
    assert {fate.status for fate in found.values()} == {"in the list", "left out"}
    assert {name for name, fate in found.items() if fate.status == "in the list"} == included()
    assert {(fate.texts, fate.times, fate.companions) for fate in found.values()} == {(0, (), ())}


def test_a_list_is_not_made_if_no_value_is_kept(make: Make) -> None:
    args = {name: {"seed": str(number)} for number, name in enumerate(FIVE)}  # they share no truth
    run = make("run", category="aesthetic", agree=1.0, model_args=args)
    assert {fate.status for fate in run.rows()} == {"left out"}
    assert not (run.path / "values.jsonl").exists()
    assert run.manifest.spent.requests == 5 * len(NAMES)


# People


def filled(sheet: Path, person: Path, said: Callable[[Mapping[str, str]], str]) -> Path:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with person.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "person": said(row)} for row in rows)
    return person


def test_people_sort_as_models_do(make: Make, tmp_path: Path) -> None:
    sheet = overton.items.values_sheet(tmp_path / "collected.csv", out=tmp_path / "sheet.csv").path
    anna = filled(sheet, tmp_path / "anna.csv", lambda row: truth_of(row["value"]).category)
    bert = filled(sheet, tmp_path / "bert.csv", lambda row: "moral" if row["value"] == NAMES[0] else "")
    run = make("run", models=FIVE[:3], people=[anna, bert], texts=None, judge=None)
    found = fates(run)
    assert found[NAMES[0]].annotators == (*FIVE[:3], "anna", "bert")
    assert all(fate.categories[3] == truth_of(name).category for name, fate in found.items())
    assert Counter(fate.categories[4] for fate in found.values()) == {None: len(NAMES) - 1, "moral": 1}
    # Four of five are enough: all but Bert know the truth.
    assert {name for name, fate in found.items() if fate.kept} == moral()
    anna.unlink()
    assert fates(overton.resume(run.path)) == found


def test_people_alone_sort(make: Make, tmp_path: Path) -> None:
    sheet = overton.items.values_sheet(tmp_path / "collected.csv", out=tmp_path / "sheet.csv").path
    people = [
        filled(sheet, tmp_path / f"{name}.csv", lambda row: truth_of(row["value"]).category) for name in ("a", "b")
    ]
    run = make("run", models=FIVE[:1], people=people, sorting="people", texts=None, judge=None)
    assert {fate.annotators for fate in fates(run).values()} == {("a", "b")}
    assert {name for name, fate in fates(run).items() if fate.kept} == moral()
    with pytest.raises(InputError, match="needs at least one person's sheet"):
        make("other", models=FIVE[:1], sorting="people")


def test_people_decide_and_merge_after_the_run(make: Make, tmp_path: Path) -> None:
    run = make("run", deciding="people")
    assert not (run.path / "values.jsonl").exists()
    assert {fate.status for fate in run.rows()} == {"undecided", "left out"}
    codes = overton.items.values_sheet(run.path, out=tmp_path / "codes.csv").path
    merges = overton.items.values_sheet(run.path, step="merges", out=tmp_path / "merges.csv").path
    sheets = [
        filled(codes, tmp_path / "anna.csv", lambda row: truth_of(row["value"]).code),
        filled(codes, tmp_path / "bert.csv", lambda row: ""),
        filled(
            merges,
            tmp_path / "anna-merges.csv",
            lambda row: "merge" if row["first"].split()[-1] == row["second"].split()[-1] else "apart",
        ),
    ]
    decided = overton.items.values_table(run.path, sheets, out=tmp_path / "made" / "values.csv")
    by_models = make("models")
    assert decided.values == the_list(by_models)
    statuses = {fate.value: (fate.status, fate.merged_into) for fate in decided.fates}
    assert statuses == {name: (fate.status, fate.merged_into) for name, fate in fates(by_models).items()}
    assert decided.list_path is not None
    assert [json.loads(line)["value"] for line in decided.list_path.read_text().splitlines()] == [
        value.value for value in decided.values
    ]
    with decided.path.open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["value"] for row in table] == NAMES
    assert {row["decision of anna"] for row in table if row["status"] == "in the list"} <= set(INCLUDED)
    assert all(row["why"] for row in table)
    assert all((row["merged_into"] != "") == (row["status"] == "merged") for row in table)


@pytest.mark.parametrize(
    ("source", "step", "reason"),
    [("run", "categories", "needs collected values, not a run"), ("collected.csv", "codes", "needs a run of")],
)
def test_a_sheet_of_the_wrong_step_is_refused(make: Make, tmp_path: Path, source: str, step: Any, reason: str) -> None:
    make("run", texts=None, judge=None)
    with pytest.raises(InputError, match=reason):
        overton.items.values_sheet(tmp_path / source, step=step, out=tmp_path / "sheet.csv")


def test_a_sheet_of_other_values_is_refused(make: Make, tmp_path: Path) -> None:
    other = overton.items.values_sheet(collected(tmp_path / "other.csv", NAMES[:3]), out=tmp_path / "sheet.csv").path
    with pytest.raises(InputError, match="does not belong to this key's sheet"):
        make("run", people=[filled(other, tmp_path / "anna.csv", lambda row: "moral")])
    run = make("run", texts=None, judge=None)
    with pytest.raises(InputError, match="is not a sheet of codes or merges of this run's values"):
        overton.items.values_table(run.path, [tmp_path / "anna.csv"], out=tmp_path / "values.csv")


def test_nothing_is_written_over(make: Make, tmp_path: Path) -> None:
    run = make("run", texts=None, judge=None)
    (tmp_path / "there.jsonl").write_text("mine")
    (tmp_path / "sheet.csv").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        overton.items.values_table(run.path, out=tmp_path / "there.csv")
    with pytest.raises(InputError, match="exists already"):
        overton.items.values_sheet(run.path, out=tmp_path / "sheet.csv")
    assert not (tmp_path / "there.csv").exists()


# Nothing is paid for twice


def test_a_run_that_was_stopped_goes_on_where_it_was(make: Make) -> None:
    whole = make("whole")
    calls = whole.manifest.spent.outcomes
    stopped = make("stopped", max_calls=calls // 2)
    assert not stopped.finished
    assert not (stopped.path / "values.jsonl").exists()
    resumed = overton.resume(stopped.path, max_calls=calls)
    assert resumed.finished
    assert resumed.manifest.spent.requests == calls
    assert fates(resumed) == fates(whole)
    assert the_list(resumed) == the_list(whole)


@pytest.mark.parametrize("asked", ["Which category fits", "Which of these decisions", "Should they become one"])
def test_a_failed_call_is_made_again_and_nothing_else(make: Make, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    usual, failed = Annotator.reply, []

    def reply(self: Annotator, request: Request) -> Reply:
        if asked in request.messages[0].content and self.name == FIVE[1] and not failed:
            failed.append(request)
            raise RejectedError("refused", "not now")
        return usual(self, request)

    monkeypatch.setattr(Annotator, "reply", reply)
    run = make("run")
    assert {fate.status for fate in run.rows()} <= {"failed", "left out"}
    assert not (run.path / "values.jsonl").exists()
    before = run.manifest.spent.requests
    again = overton.resume(run.path, retry_failed=True)
    whole = make("whole")
    assert fates(again) == fates(whole)
    assert the_list(again) == the_list(whole)
    assert before < again.manifest.spent.requests == whole.manifest.spent.requests + len(failed)


def test_another_annotator_cannot_be_added_to_a_run(make: Make) -> None:
    run = make("run", models=FIVE[:3])
    before = fates(run)
    with pytest.raises(InputError, match="would drop 1 of the run's trials"):
        overton.extend(run.path, models=FIVE[3:4])
    assert fates(overton.resume(run.path)) == before


def test_a_plan_counts_the_steps(make: Make, tmp_path: Path) -> None:
    planned = overton.plan(
        "values",
        items=tmp_path / "collected.csv",
        models=FIVE,
        judge="simulated/values-judge",
        texts=tmp_path / "texts.csv",
    )
    by_role = Counter[str]()
    for row in planned.models:
        by_role[row.role] += row.calls
    # 35 categories, 14 decisions (two values in five are kept) and one pair by each of five; 60 texts five times.
    assert by_role == {"annotator": 5 * (35 + 14 + 1), "judge": 300}
    made = make("run")
    assert made.manifest.spent.requests <= planned.calls_at_most


def test_prompts_that_are_ours_and_those_of_the_paper_are_named() -> None:
    texts = STUDY.prompts()
    assert {name.partition(".")[0] for name in texts} == {"collection", "values", "own_values"}
    assert texts["collection.codes.4"] == "omit because of overlap with other values"
