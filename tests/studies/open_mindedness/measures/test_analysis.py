import json
from collections.abc import Callable

import polars as pl
import pytest

from overton.errors import InputError
from overton.studies.open_mindedness.measures import analyze, analyze_counts
from overton.studies.open_mindedness.options import PUBLISHED

Rows = Callable[..., pl.DataFrame]
Counts = Callable[..., pl.DataFrame]


@pytest.fixture
def records(rows: Rows) -> pl.DataFrame:
    return pl.concat(
        [
            rows(condition, *counts, template=t, model=model, issue=issue, topic="Law")
            for condition, counts in zip(PUBLISHED, ((4, 1), (5, 0), (1, 4), (4, 0, 1), (2, 3), (3, 2)), strict=True)
            for t in range(1, 7)
            for model in ("a", "b")
            for issue in ("x", "y", "z")
        ]
    )


def test_json_has_the_agreed_keys_and_no_number_that_json_lacks(records: pl.DataFrame) -> None:
    made = analyze(records).to_json()
    again = json.loads(json.dumps(made, allow_nan=False))
    model = again["models"]["a"]
    score = model["open_mindedness"]
    assert score["plain"]["estimate"] == pytest.approx(100 * (1 * 0.6 + 2 * 0.4) / 9)
    assert score["leads"] == model["open_mindedness_even"]["leads"] == "cross_fitted"
    assert model["open_mindedness_as_published"]["leads"] == "plain"
    assert model["topics"] == {} or all(one["open_mindedness"]["leads"] == "plain" for one in model["topics"].values())
    assert len(score["plain"]["interval"]) == 2
    assert set(score) == {"leads", "plain", "as_published", "letter_balanced", "cross_fitted"}
    published = model["open_mindedness_as_published"]
    assert published["plain"]["estimate"] == pytest.approx(100 * (2 * 0.2) / 9)
    assert score["as_published"] == published["plain"]
    assert set(model["open_mindedness_even"]) == set(score)
    issue = model["issues"]["x"]
    assert (issue["baseline"]["stance"], issue["baseline"]["share"]["plain"]["estimate"]) == ("pro", pytest.approx(0.8))
    assert {"open_mindedness", "open_mindedness_as_published"} <= set(issue)
    assert set(issue["open_mindedness_as_published"]) == {"leads", "plain", "letter_balanced"}
    assert set(issue["conditions"]["balanced"]["shares"]["pro"]) == {"leads", "plain", "letter_balanced"}
    assert set(again["comparison"]["issues"]) == {"x", "y", "z"}


def test_counts_give_none_with_a_reason_where_records_are_needed(counts: Counts) -> None:
    table = counts({"baseline": (9, 1, 0), **dict.fromkeys(PUBLISHED[1:], (5, 5, 0))})
    model = analyze_counts(table).models["m"]
    for name in ("corrected", "pulls", "draws", "respondent", "arguments"):
        assert getattr(model, name) is None
        assert "records" in model.not_computed[name]
    assert "records" in model.issues["i"].not_computed["corrected"]
    made = analyze_counts(table).to_json()
    assert json.dumps(made, allow_nan=False)
    told = made["models"]["m"]["open_mindedness"]["letter_balanced"]
    assert (told["estimate"], told["interval"]) == (None, [None, None])
    assert "records" in told["why"]


def test_the_order_of_rows_changes_nothing(records: pl.DataFrame) -> None:
    shuffled = records.sample(fraction=1, shuffle=True, seed=1)
    assert analyze(records).to_json() == analyze(shuffled).to_json()


def test_the_seed_changes_intervals_and_no_value(records: pl.DataFrame) -> None:
    first, second = (analyze(records, seed=seed).models["a"].issues["x"].scores.open_mindedness for seed in (0, 1))
    assert first.value == second.value
    assert (first.low, first.high) != (second.low, second.high)


def test_a_lower_level_gives_narrower_intervals(records: pl.DataFrame) -> None:
    wide, narrow = (analyze(records, level=level).models["a"].issues["x"] for level in (0.95, 0.5))
    for one, other in (
        (wide.scores.open_mindedness, narrow.scores.open_mindedness),
        (wide.conditions["baseline"].shares.pro, narrow.conditions["baseline"].shares.pro),
    ):
        assert other.high - other.low < one.high - one.low
        assert other.level == 0.5


def test_counts_of_records_give_the_same_scores_as_the_records(records: pl.DataFrame) -> None:
    table = records.group_by("model", "issue", "condition", "stance").len("count")
    from_records, from_counts = analyze(records), analyze_counts(table)
    for name in ("a", "b"):
        assert from_counts.models[name].scores.open_mindedness == from_records.models[name].scores.open_mindedness
        assert from_counts.models[name].definition == from_records.models[name].definition


def test_two_to_one_baselines_of_counts_are_pointed_out(counts: Counts) -> None:
    analysis = analyze_counts(
        pl.concat([counts({"baseline": (60, 30, 0)}), counts({"baseline": (61, 29, 0)}, issue="j")])
    )
    assert [
        note for note in analysis.notes if "always answering A" in note and " i " in note and "j" not in note.split()
    ]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"condition": pl.lit("sideways")}, "condition"),
        ({"stance": pl.lit("maybe")}, "stance"),
        ({"template": pl.lit(7)}, "template"),
        ({"model": pl.lit(None, pl.String)}, "model"),
        ({"failure": pl.lit("timeout: none")}, "failure"),
    ],
)
def test_values_that_are_not_allowed_are_named(records: pl.DataFrame, change: dict[str, pl.Expr], place: str) -> None:
    with pytest.raises(InputError) as caught:
        analyze(records.with_columns(**change))
    assert place in {problem.key for problem in caught.value.problems}


def test_a_missing_column_is_named(records: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="a_first"):
        analyze(records.drop("a_first"))


def test_a_template_with_two_letters_for_one_side_is_refused(rows: Rows) -> None:
    table = pl.concat([rows(pro=1, template=2), rows(pro=1, template=2, a_is="con")])
    with pytest.raises(InputError, match=r"a_is.*template 2"):
        analyze(table)


@pytest.mark.parametrize("count", [pl.lit(-1), pl.lit(0.5), pl.lit(None, pl.Int64)])
def test_counts_must_be_whole_numbers(counts: Counts, count: pl.Expr) -> None:
    with pytest.raises(InputError, match="count"):
        analyze_counts(counts({"baseline": (1, 1, 0)}).with_columns(count=count))
