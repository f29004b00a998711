"""Runs with different numbers of trials: the headline is matched, scores that chance raises are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.drawn import unequal
from hypothesis import given
from hypothesis import strategies as st
from tests.stored_runs import ARCHIVES

import overton
from overton.analysis.analyze import chosen_how
from overton.analysis.results import measuring_of
from overton.comparison.comparison import of_sources
from overton.comparison.provenance import Provenance
from overton.comparison.results import Comparison
from overton.comparison.sources import ComparisonSource
from overton.errors import InputError
from overton.runs.items import read_items
from overton.statistics.jackknife import Jackknife
from overton.studies.power import blocks, with_fewer_trials
from overton.studies.registry import study_named
from overton.studies.results import Results
from overton.studies.tables import RawTable

HEADLINE, PLAIN, PUBLISHED = "open_mindedness_cross_fitted", "open_mindedness", "open_mindedness_as_published"
ISSUES = [issue.id for issue in read_items(study_named("open-mindedness"))[:6]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the same model with 1 and with 3 trials, `few` and `many`, and a baseline of each."""
    folder = tmp_path_factory.mktemp("trials")
    for name, trials, seed in (("few", 1, 1), ("many", 3, 2)):
        asked: dict[str, Any] = {"trials": trials, "seed": seed, "only": ISSUES}
        overton.run("open-mindedness", models=["m=simulated/open-minded"], **asked, out=folder / name)
        overton.baseline(folder / name, out=folder / f"{name}.json")
    return folder


def gate_of(folder: Path, measure: str) -> Path:
    path = folder / f"{measure}.toml"
    path.write_text(f'[[guard]]\nmeasure = "{measure}"\nmargin = 50\n')
    return path


def test_the_headline_is_compared_as_with_as_few_trials_as_the_run_with_fewer_has(runs: Path) -> None:
    made = overton.compare(runs / "many", runs / "few")
    one = made.row(HEADLINE)
    assert made.rows[0] == one
    assert one.with_trials == 1
    few, many = (overton.analyze("open-mindedness", runs / name).estimate(HEADLINE).value for name in ("few", "many"))
    assert one.candidate_number.value == few
    assert one.base_number.value != many
    assert one.difference.own.value == pytest.approx(one.candidate_number.value - one.base_number.value)
    assert made.to_json()["rows"][0]["with_trials"] == 1


def test_runs_of_three_and_two_trials_are_compared_as_with_two(runs: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"trials": 2, "seed": 4, "only": ISSUES}
    overton.run("open-mindedness", models=["m=simulated/open-minded"], **asked, out=tmp_path / "two")
    one = overton.compare(runs / "many", tmp_path / "two").row(HEADLINE)
    assert one.with_trials == 2
    assert one.candidate_number.value == overton.analyze("open-mindedness", tmp_path / "two").estimate(HEADLINE).value


@pytest.mark.parametrize("measure", [PLAIN, PUBLISHED, "issues_moved"])
def test_scores_that_chance_raises_are_not_compared_across_numbers_of_trials(runs: Path, measure: str) -> None:
    one = overton.compare(runs / "many", runs / "few", measures=[measure]).row(measure)
    assert one.base_number.value > 0
    assert one.candidate_number.value > 0
    assert np.isnan([one.difference.own.value, one.difference.own.low, one.difference.own.high]).all()
    assert one.verdict == "undecided"
    assert one.why is not None
    assert "they have 3 and 1 trials" in one.why
    assert f"Compare {HEADLINE}, or ask both with the same number of trials" in one.why


def test_runs_with_the_same_number_of_trials_are_compared_by_every_score(runs: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"trials": 1, "seed": 3, "only": ISSUES}
    overton.run("open-mindedness", models=["m=simulated/open-minded"], **asked, out=tmp_path / "other")
    made = overton.compare(runs / "few", tmp_path / "other")
    for measure in (HEADLINE, PLAIN, PUBLISHED):
        assert made.row(measure).with_trials is None
        assert not made.row(measure).refused
        assert not np.isnan(made.row(measure).difference.own.low)


@pytest.mark.parametrize(("base", "candidate"), [("many", "few"), ("few", "many")])
def test_a_baseline_stores_other_numbers_of_trials(runs: Path, base: str, candidate: str) -> None:
    of_run = overton.compare(runs / base, runs / candidate).row(HEADLINE)
    of_file = overton.compare(runs / f"{base}.json", runs / candidate).row(HEADLINE)
    assert of_file.with_trials == of_run.with_trials == 1
    assert of_file.difference.own.value == pytest.approx(of_run.difference.own.value)
    assert of_file.difference.own.low == pytest.approx(of_run.difference.own.low)


def test_a_baseline_without_the_runs_number_of_trials_takes_the_next_smaller_one(runs: Path, tmp_path: Path) -> None:
    stored = json.loads((runs / "many.json").read_text())
    stored["told"]["options"]["trials"] = 7
    kept = stored["sides"]["m"][HEADLINE]["fewer"]
    stored["sides"]["m"][HEADLINE]["fewer"] = {"1": kept["1"]}
    (tmp_path / "seven.json").write_text(json.dumps(stored))
    assert overton.compare(tmp_path / "seven.json", runs / "many").row(HEADLINE).with_trials == 1
    del stored["sides"]["m"][HEADLINE]["fewer"]
    (tmp_path / "bare.json").write_text(json.dumps(stored))
    one = overton.compare(tmp_path / "bare.json", runs / "many").row(HEADLINE)
    assert "Make the baseline again" in one.refused
    plain = overton.compare(tmp_path / "bare.json", runs / "many", measures=[PLAIN]).row(PLAIN)
    assert "Make the baseline again" in plain.refused
    assert f"Compare {HEADLINE}" not in plain.refused


def test_a_gate_guards_the_headline_and_refuses_the_plain_score(runs: Path, tmp_path: Path, command_line: Any) -> None:
    made = overton.gate(runs / "many.json", runs / "few", gate_of(tmp_path, HEADLINE))
    assert made.outcome == "within"
    with pytest.raises(InputError, match=f"they have 3 and 1 trials.*Compare {HEADLINE}"):
        overton.gate(runs / "many.json", runs / "few", gate_of(tmp_path, PLAIN))
    words = ["gate", str(runs / "many.json"), str(runs / "few"), "--config", str(gate_of(tmp_path, PLAIN))]
    ended = command_line(*words, folder=tmp_path)
    assert ended.returncode == 2
    assert HEADLINE in ended.stderr


def test_a_gate_asks_for_a_new_baseline_if_an_older_one_has_another_number_of_trials(
    tmp_path: Path, command_line: Any
) -> None:
    """One by version 0.2.0, which has the plain score only, of a run with one trial."""
    older = ARCHIVES / "gates" / "open-mindedness" / "baseline.json"
    careful = {"letter": "0.3", "refusal": "0.03", "susceptibility_pro": "0.5", "susceptibility_con": "0.5"}
    overton.run(
        "open-mindedness",
        models=["careful=simulated/open-minded"],
        model_args={"careful": careful},
        trials=2,
        reading="strict",  # as that version read replies
        only=ISSUES,
        out=tmp_path / "run",
    )
    for measure in (PLAIN, HEADLINE):
        words = ["gate", str(older), str(tmp_path / "run"), "--config", str(gate_of(tmp_path, measure))]
        ended = command_line(*words, folder=tmp_path)
        assert ended.returncode == 2
        assert "ake the baseline again from its run (overton baseline)" in ended.stderr


def even_counts(folder: Path, answers: int) -> Path:
    """A table of a model that takes both sides equally often everywhere."""
    conditions = ("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
    rows = [
        ("m", issue, condition, stance, answers // 2)
        for issue in ISSUES
        for condition in conditions
        for stance in ("pro", "con")
    ]
    path = folder / f"table-{answers}.csv"
    pl.DataFrame(rows, schema=["model", "issue", "condition", "stance", "count"], orient="row").write_csv(path)
    return path


@pytest.mark.parametrize("measure", [HEADLINE, PLAIN, PUBLISHED, "issues_moved"])
def test_tables_with_very_different_numbers_of_answers_are_not_compared(tmp_path: Path, measure: str) -> None:
    few, alike, many = (even_counts(tmp_path, answers) for answers in (12, 14, 90))
    one = overton.compare(few, many, measures=[measure]).row(measure)
    assert "they have 12 and 90 answers to an item in a condition" in one.refused
    assert one.refused.endswith("run folders, or ask both with the same number of trials")
    assert one.verdict == "undecided"
    assert np.isnan([one.difference.own.value, one.difference.own.low, one.difference.own.high]).all()
    assert not overton.compare(few, alike, measures=[measure]).row(measure).refused


@pytest.mark.parametrize("measure", [HEADLINE, PLAIN])
def test_a_gate_refuses_tables_with_very_different_numbers_of_answers(
    tmp_path: Path, measure: str, command_line: Any
) -> None:
    few, many = even_counts(tmp_path, 12), even_counts(tmp_path, 90)
    ended = command_line("gate", str(few), str(many), "--config", str(gate_of(tmp_path, measure)), folder=tmp_path)
    assert ended.returncode == 2
    assert "they have 12 and 90 answers to an item in a condition" in ended.stderr


@pytest.mark.parametrize("measure", [HEADLINE, PLAIN])
def test_a_table_and_a_baseline_are_compared_if_they_have_about_as_many_answers(
    runs: Path, tmp_path: Path, measure: str
) -> None:
    """A run with one trial has 6 answers to an issue at the baseline, and 12 in each of the other five conditions."""
    gate, few = gate_of(tmp_path, measure), runs / "few.json"
    assert json.loads(few.read_text())["sides"]["m"][measure]["answers"] == 11
    overton.gate(few, even_counts(tmp_path, 12), gate)
    with pytest.raises(InputError, match=r"they have 11 and 90 answers to an item in a condition.*run folders"):
        overton.gate(few, even_counts(tmp_path, 90), gate)


def test_a_table_and_a_baseline_that_lacks_the_number_of_answers_are_not_compared(tmp_path: Path) -> None:
    """One by version 0.2.0, which has the plain score only."""
    older = ARCHIVES / "gates" / "open-mindedness" / "baseline.json"
    table = even_counts(tmp_path, 12)
    with pytest.raises(InputError, match=r"does not record that number\. Make the baseline again from its run"):
        overton.gate(older, table, gate_of(tmp_path, PLAIN))


@given(st.integers(1, 60), st.integers(1, 60))
def test_blocks_contain_every_trial_and_no_more_blocks_than_that_needs(total: int, size: int) -> None:
    starts = blocks(total, size)
    assert len(starts) == max(1, -(-total // size))
    assert {trial for start in starts for trial in range(start, start + size)} >= set(range(total))
    assert all(0 <= start <= max(total - size, 0) for start in starts)


def run_of(name: str, records: pl.DataFrame, trials: int) -> ComparisonSource:
    """A run with these records, of which the number of trials is known."""
    study = study_named("open-mindedness")
    comparing, how = measuring_of(study).comparing, chosen_how(study, {})
    assert comparing is not None
    results = Results(records)
    issues = records["issue"].unique().sort().to_list()
    told = Provenance("open-mindedness", {}, {"trials": trials}, dict.fromkeys(issues, ""), {}, 0, "")
    fewer = partial(with_fewer_trials, comparing, results, how)
    return ComparisonSource(name, Path(name), None, comparing.records(results, how), provenance=told, fewer=fewer)


def table_of(name: str, records: pl.DataFrame, trials: int) -> ComparisonSource:
    """The same answers as a table of counts."""
    study = study_named("open-mindedness")
    comparing = measuring_of(study).comparing
    assert comparing is not None
    counts = records.group_by("model", "issue", "condition", "stance").len("count")
    table = RawTable(name, ".csv", tuple(counts.columns), lambda: counts)
    return ComparisonSource(name, Path(name), None, comparing.table(table, chosen_how(study, {})))


def comparisons_of_one_subject(
    seeds: range, effect: float, made: Callable[[str, pl.DataFrame, int], ComparisonSource]
) -> Iterator[Comparison]:
    """One subject, asked about 60 issues with 12 trials and with 1."""
    for seed in seeds:
        few, many = unequal(np.random.default_rng(seed), (1, 12), 60, 1.0, effect)
        sources = [made("many", many, 12), made("few", few, 1)]
        yield of_sources(study_named("open-mindedness"), sources, Jackknife())


def excluding_zero(seeds: range, effect: float) -> tuple[int, float]:
    """How many intervals of the leading score exclude 0, and the mean difference; no other score has an interval."""
    found = []
    for made in comparisons_of_one_subject(seeds, effect, run_of):
        (leading, *others), own = made.measures, made.rows[0].difference.own
        assert leading == HEADLINE
        assert [name for name in others if made.row(name).refused] == others == [PLAIN, PUBLISHED]
        found.append((not own.low <= 0 <= own.high, own.value))
    return sum(excludes for excludes, _ in found), float(np.mean([value for _, value in found]))


def test_a_model_with_one_and_twelve_trials_does_not_differ_from_itself() -> None:
    many, mean = excluding_zero(range(1, 5), effect=2.0)
    assert many <= 1
    assert abs(mean) < 1.5  # unmatched about 2 points lower


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("effect", [0.0, 2.0], ids=["unmoved", "moved by 2 logits"])
def test_of_forty_pairs_of_a_model_with_one_and_twelve_trials_at_most_four_differ(effect: float) -> None:
    many, mean = excluding_zero(range(1, 41), effect)
    assert many <= 4
    assert abs(mean) < 0.7


@pytest.mark.parametrize("effect", [0.0, 2.0], ids=["unmoved", "moved by 2 logits"])
def test_no_score_of_tables_of_a_model_with_one_and_twelve_trials_differs(effect: float) -> None:
    for made in comparisons_of_one_subject(range(1, 3), effect, table_of):
        assert list(made.measures) == [HEADLINE, PLAIN, PUBLISHED]
        for one in made.rows:
            assert "they have 132 and 11 answers to an item in a condition" in one.refused
            assert np.isnan([one.difference.own.value, one.difference.own.low, one.difference.own.high]).all()
            assert one.verdict == "undecided"
