"""Known shares come back: a model that picks when it must and takes no side when it need not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

import overton
from overton.analysis.analyze import measure_run
from overton.errors import InputError
from overton.statistics.jackknife import Jackknife
from overton.studies.grouping import Frame
from overton.studies.judged_rows import rows_of
from overton.studies.open_mindedness import Options
from overton.studies.open_mindedness.declarations import OF_PAIRS
from overton.studies.open_mindedness.free_answers import forced_again, free_counts, free_units, pairs_of
from overton.studies.open_mindedness.questions import QUESTIONS

MODEL, JUDGE = "simulated/open-minded", "simulated/side-judge"
STEADY = {"lean": "40", "susceptibility_pro": "0", "susceptibility_con": "0"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes a run of this many issues, once in each way."""

    @cache
    def run(answers: str, judge_noise: float = 0.0, **parameters: float) -> overton.Run:
        known = {name: str(one) for name, one in parameters.items()}
        return overton.run(
            "open-mindedness",
            models=[MODEL],
            judge=JUDGE,
            answers=answers,
            trials=2,
            conditions=["baseline", "one-sided-pro"],
            model_args={MODEL: {**STEADY, **known}, JUDGE: {"noise": str(judge_noise)}},
            out=tmp_path_factory.mktemp("free") / "run",
        )

    return run


def test_the_headline_finds_the_known_share(made: Any) -> None:
    run = made("both", free_abstains=0.4, free_declines=0.5)
    free = ModelNumbers(overton.analyze("open-mindedness", run.path), MODEL)
    assert free.table("free", condition=None)[0]["pairs"] == 12 * 36
    assert free("free_abstains").low < 0.4 < free("free_abstains").high
    assert free("free_differs").value == free("free_abstains").value
    assert free("free_opposite").value == free("free_speaks").value == 0
    assert free("free_declines").value == pytest.approx(0.5 * free("free_neither").value, abs=0.05)
    assert free("free_clear").value == 1
    assert set(free.by_condition("free_differs", facet="configuration")) == {"baseline", "one-sided-pro"}


def test_the_other_side_is_distinguished_from_no_side(made: Any) -> None:
    free = ModelNumbers(overton.analyze("open-mindedness", made("both", free_opposite=0.25).path), MODEL)
    assert free("free_opposite").low < 0.25 < free("free_opposite").high
    assert free("free_abstains").value == 0


def test_forced_measures_do_not_depend_on_free_answers(made: Any) -> None:
    both = overton.analyze("open-mindedness", made("both", free_abstains=0.4, free_declines=0.5).path)
    forced = overton.analyze("open-mindedness", made("forced").path)
    assert both.counts["counts"] == forced.counts["counts"]
    for stance in ("pro", "con", "other"):
        assert both.rows_of(stance) == forced.rows_of(stance)
    assert "free" not in forced.counts


def test_measures_can_be_of_free_answers(made: Any) -> None:
    run = made("both", free_opposite=0.25)
    forced, free = (
        ModelNumbers(overton.analyze("open-mindedness", run.path, answers=way), MODEL) for way in ("forced", "free")
    )
    assert forced("pro", "baseline").value == 1
    assert free("pro", "baseline").value == pytest.approx(0.75, abs=0.12)
    assert not free.has("pulls_letter")
    assert free.missing("pulls") == "free answers do not choose a letter"


def test_free_answers_alone_are_measured_without_sentences_about_forcing(made: Any) -> None:
    run = made("free")
    found = overton.analyze("open-mindedness", run.path)
    free = ModelNumbers(found, MODEL)
    assert found.counts["how"][0]["answers"] == "free"
    assert free("pro", "baseline").value == 1
    assert free.table("free", condition=None)[0]["pairs"] == 0
    assert free("free_differs").method.startswith("not computed")
    with pytest.raises(InputError, match="has no forced answers"):
        overton.analyze("open-mindedness", run.path, answers="forced")


def test_free_answers_need_a_judge() -> None:
    with pytest.raises(InputError, match="judge"):
        overton.plan("open-mindedness", models=[MODEL], answers="both")


def test_a_plan_prices_the_judge() -> None:
    plan = overton.plan("open-mindedness", models=[MODEL], judge=JUDGE, answers="both", trials=1)
    forced = overton.plan("open-mindedness", models=[MODEL], trials=1)
    assert plan.calls == 3 * forced.calls
    assert plan.calls_at_most == 5 * forced.calls


@pytest.mark.parametrize(
    ("answers", "weighed"), [("forced", ("subject",)), ("free", ("judge",)), ("both", ("subject", "judge"))]
)
def test_probabilities_are_requested_of_the_role_that_chooses_among_options(
    answers: Any, weighed: tuple[str, ...]
) -> None:
    assert Options(answers=answers, shares="probabilities").demands({}).probabilities == weighed
    assert Options(answers=answers).demands({}).probabilities == ()


def test_the_report_the_profile_and_the_null_conditions_have_it(made: Any, tmp_path: Path) -> None:
    run = made("both", free_abstains=0.4, free_declines=0.5)
    page = overton.report([run.path], out=tmp_path / "r.html").read_text("utf-8")
    assert "Free answers compared with forced ones" in page
    assert "answers differently in its own words than when forced" in page
    found = {one.measure: one for one in run_against(run)}
    assert found["free_abstains"].null == "forced-again"
    assert found["free_abstains"].verdict == "clear"


def run_against(run: Any) -> Any:
    from overton.analysis.analyze import measure_run

    return [one for _, _, one in measure_run("open-mindedness", run.path).against if one.measure.startswith("free_")]


def test_the_judge_can_be_asked_again_and_its_labels_drawn_for_people(made: Any, tmp_path: Path) -> None:
    run = made("both", free_abstains=0.4, free_declines=0.5)
    again = overton.judge.again(run.path, size=20, out=tmp_path / "again")
    (steady,) = overton.analyze("again-open-mindedness", again.path).steady
    assert steady.what == "side"
    assert all(one.same.value == 1 for one in steady.compared)
    for what, label in (("side", "neither"), ("strength", "none"), ("declines", "declines")):
        rows = rows_of(QUESTIONS, results_of(run), what)
        assert label in rows.given
        assert set(rows.question.meanings()) == set(rows.question.labels)
        drawn = rows.drawn([0, 1])
        assert {*rows.question.sheet_columns, "id", "label", "group", "model"} <= set(drawn.columns)


def results_of(run: Any) -> Any:
    from overton.analysis.analyze import measure_run

    return measure_run("open-mindedness", run.path).results


def records(rows: list[tuple[str, str, str, str]]) -> pl.DataFrame:
    """Records of one prompt, by (trial, issue, answers, stance)."""
    made = pl.DataFrame(rows, schema=["trial", "issue", "answers", "stance"], orient="row")
    return made.with_columns(
        model=pl.lit("m"),
        condition=pl.lit("baseline"),
        wording=pl.lit(0),
        template=pl.lit(1),
        failure=pl.lit(None, pl.String),
        strength=pl.lit(None, pl.String),
        declines=pl.lit(None, pl.Boolean),
    )


def test_pairs_are_of_one_trial_and_parts_add_up() -> None:
    rows = [
        *(("a", "i", "forced", "pro"), ("a", "i", "free", "pro")),
        *(("b", "i", "forced", "pro"), ("b", "i", "free", "con")),
        *(("c", "i", "forced", "pro"), ("c", "i", "free", "other")),
        *(("d", "i", "forced", "other"), ("d", "i", "free", "con")),
        ("e", "i", "free", "con"),
    ]
    pairs = pairs_of(records(rows))
    assert pairs.height == 4
    assert pairs.select("differs", "abstains", "opposite", "speaks").sum().row(0) == (3, 1, 1, 1)
    assert next(free_counts(records(rows))).cells["answers"] == 5
    (differs,) = Frame(free_units(records(rows)), OF_PAIRS, Jackknife()).estimates(OF_PAIRS[:1])
    assert differs.number.value == 0.75


def test_chance_is_how_often_two_forced_answers_to_one_prompt_differ() -> None:
    stances = ("pro", "pro", "con", "other")
    rows = [(str(k), "i", "forced", one) for k, one in enumerate(stances)] + [("0", "i", "free", "pro")]
    (row,) = forced_again(records(rows)).table.iter_rows(named=True)
    differing = [(a, b) for a in range(4) for b in range(4) if a != b and stances[a] != stances[b]]
    assert row["free_differs"] == pytest.approx(len(differing) / 12)
    assert row["free_abstains"] == pytest.approx(3 / 12)
    assert row["free_opposite"] == pytest.approx(4 / 12)


def test_chance_is_unknown_for_a_single_trial() -> None:
    rows = [("a", "i", "forced", "pro"), ("a", "i", "free", "con")]
    assert forced_again(records(rows)).table.is_empty()


def test_findings_of_free_answers_are_not_to_be_quoted_if_their_judge_is_simulated(tmp_path: Path) -> None:
    def findings(answers: str) -> list[Any]:
        run = overton.run(
            "open-mindedness", models=[MODEL], judge=JUDGE, answers=answers, trials=1, out=tmp_path / answers
        )
        return measure_run("open-mindedness", run.path).findings

    judged = findings("free")
    assert judged
    for found in judged:
        assert not found.quotable, found.sentence
        assert any("simulated" in caution for caution in found.cautions)
    asked_both_ways = findings("both")
    assert {found.quotable for found in asked_both_ways} == {True, False}
    assert all(found.quotable for found in asked_both_ways if not found.judge)
