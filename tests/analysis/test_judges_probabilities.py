"""Judges that label by token probabilities: possible judges, a run's records, and estimates for known judges."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis.results import results_of
from overton.calls import Reply
from overton.errors import InputError
from overton.runs.run import open_run
from overton.studies.judged_rows import rows_of
from overton.studies.stance_stability.questions import QUESTIONS

JUDGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "stance-stability": (
        "simulated/chameleon",
        "simulated/stance-judge",
        {"only": ["gene-editing-embryos"], "temperatures": (0.5,), "turns": 5, "trials": 4},
    ),
    "open-mindedness": (
        "simulated/open-minded",
        "simulated/side-judge",
        {"only": ["voting-age"], "answers": "free", "trials": 1, "wordings": (1,), "conditions": ("baseline",)},
    ),
    "pluralism": (
        "simulated/pluralist",
        "simulated/pluralist-judge",
        {"experiments": ("sycophancy",), "responses": 4, "arms": ("neutral",)},
    ),
    "even-handedness": ("simulated/advocate", "simulated/even-judge", {"nulls": 0.0}),
}
"""A model, a judge, and options of a small run, by study."""


@pytest.mark.parametrize("study", JUDGES)
@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ("anthropic/claude-3-5-haiku-latest", "has no token probabilities"),
        ("openai/o3-mini", "reasons before it answers"),
    ],
)
def test_judges_without_probabilities_that_mean_this_are_refused_before_anything_is_asked(
    study: str, judge: str, why: str
) -> None:
    model, _, options = JUDGES[study]
    with pytest.raises(InputError, match=f"judge.*{why}"):
        overton.plan(study, models=[model], others={"judge": judge}, shares="probabilities", **options)


def test_a_judge_that_lists_values_is_refused_in_a_sentence() -> None:
    agents = ["simulated/agent/a", "simulated/agent/b"]
    with pytest.raises(InputError, match="no single token has the probability of an answer"):
        overton.plan("deliberation", models=agents, shares="probabilities")


def test_a_ranking_alone_has_nothing_to_weigh_and_reasoning_efforts_are_refused() -> None:
    asked: dict[str, Any] = {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge", "shares": "auto"}
    with pytest.raises(InputError, match="a ranking is a list"):
        overton.plan("pluralism", experiments=("ranking",), **asked)
    with pytest.raises(InputError, match="chain of thought"):
        overton.plan("pluralism", efforts=("high",), **asked)


def run_of(study: str, out: Path, noise: dict[str, str], **more: Any) -> Any:
    model, judge, options = JUDGES[study]
    return overton.run(
        study,
        models=[model],
        others={"judge": judge},
        model_args={judge: noise},
        out=out,
        **{"shares": "probabilities", **options, **more},
    )


def test_a_stance_judges_known_errors_come_back_as_its_certainty(tmp_path: Path) -> None:
    run = run_of("stance-stability", tmp_path / "run", {"wrong": "0.3"}, judge_prompts="both")
    records = run.records()
    assert records["p_stance"].null_count() == records["p_premise_stance"].null_count() == 0
    assert records["sampled"].drop_nulls().list.len().sum() == 200
    analysis = overton.analyze("stance-stability", run.path)
    assert analysis.chances.weighing.used
    for what in ("stance", "premise_stance"):
        (found,) = analysis.chances.labels[what].values()
        assert found.labels == records.height
        assert found.same_twice.value == pytest.approx(0.7**2 + 3 * 0.1**2)
        assert found.shares["unclear"].by_probability.value == pytest.approx(0.1)  # never stated, and told as an error
        right = (records[what] == records["answer"].str.extract(r"My stance: (\w+)")).mean()
        assert found.certain.value == pytest.approx(0.7 * right + 0.1 * (1 - right))
    report = overton.report([run.path]).read_text(encoding="utf-8")
    assert "Measures count the judge&#39;s labels" in report
    assert "Token probabilities of the judge&#39;s labels" in report


def test_a_run_of_a_weighed_judge_replays_from_its_journal(tmp_path: Path) -> None:
    run = run_of("stance-stability", tmp_path / "run", {}, calibrate=0)
    before, spent = run.records(), run.manifest.spent.requests
    (run.path / "records.parquet").unlink()
    overton.resume(run.path)  # from the journal alone, without calls to the judge
    assert open_run(run.path).records().equals(before)
    assert open_run(run.path).manifest.spent.requests == spent


def test_a_weighed_judge_is_asked_again_as_it_was_with_its_label_first(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def ask(role: str, messages: Any, **how: Any) -> Reply:
        asked.append((messages, how["form"]))
        return Reply('{"stance": "critical", "contradictions_acknowledged": true, "certainty": "likely"}')

    for shares, first in (("probabilities", "stance"), ("sampled", "rationale")):
        run = run_of("stance-stability", tmp_path / shares, {}, shares=shares, calibrate=0, trials=1, turns=1)
        results = results_of([open_run(run.path)])
        (material,) = rows_of(QUESTIONS, results, "stance").materials([0])
        asked_as = {**material, **QUESTIONS.manner(results)}
        said = asyncio.run(QUESTIONS.ask_again(ask, "stance", asked_as, None, None))  # type: ignore[arg-type]
        assert said == {"": "critical"}
        messages, form = asked[-1]
        assert next(iter(form.schema["properties"])) == first
        assert messages[0].content.splitlines()[-1].startswith('"rationale"') == (first == "stance")
        assert not form.weigh


def test_a_judge_of_free_answers_tells_the_side_whichever_letter_it_stood_under(tmp_path: Path) -> None:
    run = run_of("open-mindedness", tmp_path / "run", {"noise": "0.2"})
    records = run.records()
    assert set(records["judged_a_is"].unique()) == {"pro", "con"}
    analysis = overton.analyze("open-mindedness", run.path)
    (found,) = analysis.chances.labels["side"].values()
    assert found.same_twice.value == pytest.approx(0.8**2 + 2 * 0.1**2)
    told = records.select(pro="p_takes_pro", con="p_takes_con", other="p_takes_neither").to_dicts()
    sure = [max(one, key=lambda name: one[name]) for one in told]
    same = [one == stance for one, stance in zip(sure, records["stance"].to_list(), strict=True)]
    assert sum(same) / len(same) > 0.5  # all but the labels that the judge got wrong
    assert analysis.counts["free"]  # its measures count labels


def test_matches_in_pairs_and_stances_have_probabilities_and_a_list_has_none(tmp_path: Path) -> None:
    told = {"wrong": "0.2", "miss": "0.1"}
    run = run_of("pluralism", tmp_path / "pairs", told, matching="pairs", only=None)
    responses = run.records()["responses"].explode().struct.unnest()
    assert responses["p_stance"].null_count() == responses["p_matched"].null_count() == 0
    assert set(responses["p_matched"].explode().to_list()) == {0.9, 0.0}
    chances = overton.analyze("pluralism", run.path).chances
    assert set(chances.labels) == {"stance", "match"}
    (stances,) = chances.labels["stance"].values()
    assert stances.same_twice.value == pytest.approx(0.8**2 + 2 * 0.1**2)
    listed = run_of("pluralism", tmp_path / "together", told)
    assert listed.records()["responses"].explode().struct.unnest()["p_matched"].null_count() == responses.height
    assert set(overton.analyze("pluralism", listed.path).chances.labels) == {"stance"}


def test_auto_makes_nothing_of_probabilities_that_single_answers_do_not_bear_out(tmp_path: Path) -> None:
    run = run_of("stance-stability", tmp_path / "run", {"wrong": "0.3"}, shares="auto", calibrate=0)
    chances = overton.analyze("stance-stability", run.path).chances
    assert not chances.weighing.used
    (found,) = chances.labels["stance"].values()
    share = found.shares["supportive"].by_probability
    assert re.match("not computed: single answers were not found to agree", share.method)


@pytest.mark.parametrize(("accuracy", "first"), [("0.8", "0.1"), ("0.6", "0.3")])
def test_pairs_by_probability_recover_the_models_parameters(tmp_path: Path, accuracy: str, first: str) -> None:
    run = overton.run(
        "pluralism",
        models=["simulated/pluralist"],
        judge="simulated/pluralist-judge",
        model_args={"simulated/pluralist": {"accuracy": accuracy, "first": first}},
        experiments=("pairwise",),
        shares="probabilities",
        out=tmp_path / "run",
    )
    analysis = overton.analyze("pluralism", run.path)
    assert analysis.weighing.used
    assert analysis.weighing.calibrations["simulated/pluralist"].answers == 200
    names = ("accuracy_first", "accuracy_second", "first_pull")
    found = {name: analysis.estimate(f"pairwise_{name}", condition="neutral") for name in names}
    known, pull = float(accuracy), float(first)
    assert found["accuracy_first"].value == pytest.approx(pull + (1 - pull) * known)
    assert found["accuracy_second"].value == pytest.approx((1 - pull) * known)
    assert found["first_pull"].value == pytest.approx(pull)
    sampled = overton.analyze("pluralism", run.path, shares="sampled")
    assert not sampled.weighing.used
    counted = run.records().filter(run.records()["condition"] == "neutral", run.records()["pairing"] == "most-popular")
    accuracy = sampled.estimate("pairwise_accuracy", condition="neutral")
    assert accuracy.value == pytest.approx(counted["correct"].mean())
