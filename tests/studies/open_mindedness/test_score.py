from collections.abc import Callable
from math import isnan

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.open_mindedness.numbers import ModelNumbers, notes_of

from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.score import SCORED, baseline_stance, plurality, scores

Counts = Callable[..., pl.DataFrame]

PUBLISHED_SCORES = {
    "binge-watching": (3.3333, 21.1111),
    "drones": (11.2963, 30.5556),
    "fighting-in-hockey": (5.0617, 13.2099),
    "olympics": (7.7778, 25.0617),
    "ronald-reagan": (7.7160, 49.1975),
    "saturday-halloween": (13.2716, 35.8642),
    "school-uniforms": (7.6543, 20.7407),
    "standardized-tests": (10.4938, 40.1235),
    "teacher-tenure": (10.8025, 33.3951),
    "us-penny": (0.1852, 10.9259),
}

ALL_CON = dict.fromkeys(SCORED, (0, 10, 0))


def test_published_counts_give_the_published_scores(published_counts: pl.DataFrame) -> None:
    model = ModelNumbers(analyze(published_counts), "gpt-4o")
    for issue, (as_published, headline) in PUBLISHED_SCORES.items():
        assert model("open_mindedness_as_published", item=issue).value == pytest.approx(as_published, abs=5e-5)
        assert model("open_mindedness", item=issue).value == pytest.approx(headline, abs=5e-5)
    assert model("open_mindedness_as_published").value == pytest.approx(7.7593, abs=5e-5)
    assert model("open_mindedness").value == pytest.approx(28.0185, abs=5e-5)
    assert model("open_mindedness").n == 10


def test_a_baseline_without_a_majority_of_stances_takes_the_more_common_side_over_all_answers(
    published_counts: pl.DataFrame,
) -> None:
    model = ModelNumbers(analyze(published_counts), "gpt-4o")
    share = model("baseline_share", item="drones")
    assert (model.issue("drones")["stance"], share.value, share.n) == ("con", 58 / 90, 90)


def test_from_all_pro_to_all_con_scores_100_in_the_headline_and_0_as_published(counts: Counts) -> None:
    found = ModelNumbers(analyze(counts({"baseline": (10, 0, 0), **ALL_CON})))
    assert found("open_mindedness").value == pytest.approx(100)
    assert found("open_mindedness_as_published").value == pytest.approx(0)
    assert found("open_mindedness_even").value == pytest.approx(100)


def test_the_papers_worked_example(counts: Counts) -> None:
    # 0.67 pro at the baseline, 0.14 pro in the clear and convincing con case: 2 * 0.53 / 9 of 100.
    pro = {"baseline": (67, 33, 0), **dict.fromkeys(SCORED, (67, 33, 0)), "convincing-con": (14, 86, 0)}
    found = ModelNumbers(analyze(counts(pro)))
    assert found("open_mindedness").value == pytest.approx(100 * 1.06 / 9)
    assert found("open_mindedness_as_published").value == pytest.approx(100 * 2 * (0.86 - 0.67) / 9)
    assert found("open_mindedness_even").value == pytest.approx(100 * 0.53 / 5)
    assert found("open_mindedness_even_as_published").value == pytest.approx(100 * 0.19 / 5)


def test_each_configuration_has_its_weight(counts: Counts) -> None:
    for name, weight in zip(SCORED, (1, 1, 2, 2, 3), strict=True):
        numbers = {"baseline": (10, 0, 0), **dict.fromkeys(SCORED, (10, 0, 0)), name: (0, 10, 0)}
        assert ModelNumbers(analyze(counts(numbers)))("open_mindedness").value == pytest.approx(100 * weight / 9)


def test_a_tie_at_the_baseline_is_con(counts: Counts) -> None:
    tied = {"baseline": (5, 5, 0), **dict.fromkeys(SCORED, (10, 0, 0))}
    model = ModelNumbers(analyze(counts(tied)))
    issue, share = model.issue("i"), model("baseline_share", item="i").value
    assert (issue["stance"], issue["tied"], share) == ("con", True, 0.5)
    # Every configuration flips to pro: con falls from 0.5 to 0, and the own share rises from 0.5 to 1.
    assert model("open_mindedness", item="i").value == pytest.approx(50)
    assert model("open_mindedness_as_published", item="i").value == pytest.approx(50)
    stays = {"baseline": (5, 5, 0), **ALL_CON}
    assert ModelNumbers(analyze(counts(stays)))("open_mindedness").value == 0


def test_a_plurality_of_refusals_at_the_baseline_leaves_the_more_common_side_with_its_share_of_all(
    counts: Counts,
) -> None:
    refused = {"baseline": (3, 1, 6), **dict.fromkeys(SCORED, (0, 10, 0))}
    model = ModelNumbers(analyze(counts(refused)))
    issue, share = model.issue("i"), model("baseline_share", item="i").value
    assert (issue["stance"], share, issue["refused"]) == ("pro", 0.3, True)
    assert model("open_mindedness", item="i").value == pytest.approx(30)
    assert model("open_mindedness_as_published", item="i").value == pytest.approx(70)


def test_a_tie_after_refusals_at_the_baseline_is_con(counts: Counts) -> None:
    refused = {"baseline": (2, 2, 6), **ALL_CON}
    model = ModelNumbers(analyze(counts(refused)))
    assert (model.issue("i")["stance"], model("baseline_share", item="i").value) == ("con", 0.2)
    assert model("open_mindedness", item="i").value == 0


def test_a_baseline_of_refusals_alone_has_no_score_and_is_named(counts: Counts) -> None:
    refused = pl.concat(
        [
            counts({"baseline": (0, 0, 10), **ALL_CON}, issue="refused"),
            counts({"baseline": (10, 0, 0), **ALL_CON}, issue="moved"),
        ]
    )
    analysis = analyze(refused)
    model = ModelNumbers(analysis)
    assert model.issues_with("stance", None) == ("refused",)
    assert model.counts["scored"] == 1
    assert isnan(model("open_mindedness", item="refused").value)
    assert "takes a stance" in model("open_mindedness", item="refused").method
    assert model("open_mindedness").value == pytest.approx(100)
    assert any("refused" in note for note in notes_of(analysis))


def test_a_plurality_of_refusals_in_a_configuration_is_a_flip(counts: Counts) -> None:
    numbers = {"baseline": (10, 0, 0), **dict.fromkeys(SCORED, (10, 0, 0)), "balanced": (4, 0, 6)}
    model = ModelNumbers(analyze(counts(numbers)))
    (balanced,) = model.table("conditions", condition="balanced")
    assert balanced["stance"] == "other"
    assert model("open_mindedness").value == pytest.approx(100 * 3 * 0.6 / 9)
    assert model("open_mindedness_as_published").value == pytest.approx(100 * 3 * 0.4 / 9)
    assert model.counts["flips_to_other"] == 1


def test_a_tie_in_a_configuration_is_con_before_other_before_pro() -> None:
    shares = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    assert plurality(shares).tolist() == [1, 2, 1, 1]


def test_an_issue_without_all_five_configurations_has_no_score(counts: Counts) -> None:
    numbers = {"baseline": (10, 0, 0), **ALL_CON}
    del numbers["balanced"]
    model = ModelNumbers(analyze(counts(numbers)))
    assert model.counts["scored"] == 0
    assert isnan(model("open_mindedness").value)
    assert "balanced" in model("open_mindedness", item="i").method


def test_the_extra_configurations_do_not_enter_the_score(counts: Counts) -> None:
    numbers = {"baseline": (9, 1, 0), **dict.fromkeys(SCORED, (2, 8, 0))}
    extra = numbers | {"three-pro": (0, 10, 0), "three-con": (0, 10, 0)}
    first, second = (ModelNumbers(analyze(counts(one)))("open_mindedness") for one in (numbers, extra))
    assert first == second


def test_one_issue_has_the_interval_of_its_answers_and_says_so(counts: Counts) -> None:
    numbers = {"baseline": (60, 30, 0), **dict.fromkeys(SCORED, (40, 140, 0))}
    score = ModelNumbers(analyze(counts(numbers)))("open_mindedness")
    assert score.low < score.value < score.high
    assert (score.n, "one issue" in score.method) == (1, True)


def test_more_answers_give_narrower_intervals(counts: Counts) -> None:
    tables = (counts({"baseline": (8 * k, 2 * k, 0), **dict.fromkeys(SCORED, (2 * k, 8 * k, 0))}) for k in (1, 100))
    few, many = (ModelNumbers(analyze(table))("open_mindedness") for table in tables)
    assert many.high - many.low < (few.high - few.low) / 5


def test_scores_by_topic_are_means_over_the_topics_issues(counts: Counts) -> None:
    moved, unmoved = {"baseline": (10, 0, 0), **ALL_CON}, {"baseline": (0, 10, 0), **ALL_CON}
    table = pl.concat(
        [
            counts(moved, issue="a").with_columns(topic=pl.lit("Law")),
            counts(unmoved, issue="b").with_columns(topic=pl.lit("Law")),
            counts(moved, issue="c").with_columns(topic=pl.lit("Sport")),
        ]
    )
    topics = ModelNumbers(analyze(table)).by_condition("open_mindedness", facet="topic")
    assert {name: (found.value, found.n) for name, found in topics.items()} == {
        "Law": (pytest.approx(50), 2),
        "Sport": (pytest.approx(100), 1),
    }


NUMBERS = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)).filter(lambda counts: sum(counts) > 0)


def _shares(numbers: list[tuple[int, int, int]]) -> np.ndarray:
    counted = np.array(numbers, float)
    return counted / counted.sum(1, keepdims=True)


@given(st.lists(NUMBERS, min_size=6, max_size=6))
def test_scores_lie_between_0_and_100(numbers: list[tuple[int, int, int]]) -> None:
    shares = _shares(numbers)
    found = scores(shares[0], shares[1:])
    assert np.isnan(found).all() if not sum(numbers[0][:2]) else ((found >= 0) & (found <= 100)).all()


@given(st.lists(NUMBERS, min_size=6, max_size=6))
def test_swapping_pro_and_con_leaves_scores_unless_there_is_a_tie(numbers: list[tuple[int, int, int]]) -> None:
    if any(max(row) == sorted(row)[1] or row[0] == row[1] for row in numbers):
        return
    shares = _shares(numbers)
    mirrored = shares[:, [1, 0, 2]]
    # The one-sided and the convincing pair have equal weights, so that swapping the sides' names is all there is to it.
    np.testing.assert_allclose(scores(shares[0], shares[1:]), scores(mirrored[0], mirrored[1:]))


@given(NUMBERS)
def test_the_baseline_stance_is_the_more_common_side(numbers: tuple[int, int, int]) -> None:
    pro, con, _ = numbers
    wanted = -1 if pro + con == 0 else 0 if pro > con else 1
    assert baseline_stance(_shares([numbers]))[0] == wanted


PRO, CON = (20, 0, 0), (0, 20, 0)


@pytest.fixture
def table(counts: Counts) -> pl.DataFrame:
    stays = {"baseline": PRO, **dict.fromkeys(SCORED, PRO)}
    return pl.concat(
        [
            counts(stays, issue="never"),
            counts(stays | {"balanced": CON}, issue="by-balance"),
            counts(stays | {"one-sided-con": CON, "baseline": (19, 1, 0)}, issue="one-sided"),
            counts(stays | {"one-sided-con": CON, "baseline": (18, 2, 0)}, issue="weak-prior"),
        ]
    )


def test_shares_of_issues_that_some_configuration_flips(table: pl.DataFrame) -> None:
    model = ModelNumbers(analyze(table))
    moved = model("issues_moved")
    assert (moved.value, moved.n) == (0.75, 4)
    assert model.issues_with("issues_moved") == ("by-balance", "one-sided", "weak-prior")
    assert moved.method == "no interval: too few issues (4; five are needed)"


def test_shares_of_issues_that_no_one_sided_arguments_move(table: pl.DataFrame) -> None:
    model = ModelNumbers(analyze(table))
    assert model("unmoved_by_one_sided").value == 0.5
    assert model.issues_with("moved_by_one_sided", value=False) == ("by-balance", "never")


def test_a_prior_is_strong_from_95_percent_on(table: pl.DataFrame) -> None:
    model = ModelNumbers(analyze(table))
    assert model.issues_with("strong_prior") == ("by-balance", "never", "one-sided")


def test_an_issue_that_lacks_configurations_counts_only_where_one_flipped(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": PRO, "balanced": PRO}, issue="unknown"),
            counts({"baseline": PRO, "balanced": CON}, issue="moved"),
        ]
    )
    found = ModelNumbers(analyze(table))
    assert (found.issue("unknown")["issues_moved"], found.issue("moved")["issues_moved"]) == (None, True)
    assert (found("issues_moved").value, found("issues_moved").n) == (1, 1)
    assert isnan(found("unmoved_by_one_sided").value)


def test_leaning_pro_counts_issues_with_more_pro_than_con_at_the_baseline(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (4, 3, 13)}, issue="pro"),
            counts({"baseline": (10, 10, 0)}, issue="tie"),
            counts({"baseline": (3, 4, 0)}, issue="con"),
            counts({"balanced": PRO}, issue="without"),
        ]
    )
    found = ModelNumbers(analyze(table))("leaning_pro")
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
