import json
from collections.abc import Callable

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers, notes_of

from overton.errors import InputError
from overton.studies.open_mindedness.measures import analyze
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
    own = [row for row in again["rows"] if row["model"] == "a" and row["facet"] is None]

    def found(measure: str, item: str | None = None, condition: str | None = None) -> dict[str, float]:
        rows = [row for row in own if (row["measure"], row["item"], row["condition"]) == (measure, item, condition)]
        return {row["variant"]: row["estimate"] for row in rows}

    score = found("open_mindedness")
    assert score["plain"] == pytest.approx(100 * (1 * 0.6 + 2 * 0.4) / 9)
    assert set(score) == {"plain", "letter_balanced"}
    assert set(found("open_mindedness_cross_fitted")) == {"plain"}
    assert found("open_mindedness_as_published")["plain"] == pytest.approx(100 * (2 * 0.2) / 9)
    assert found("baseline_share", "x")["plain"] == pytest.approx(0.8)
    (issue,) = (row for row in again["tables"]["issues"] if (row["model"], row["issue"]) == ("a", "x"))
    assert issue["stance"] == "pro"
    assert set(found("open_mindedness_as_published", "x")) == {"plain", "letter_balanced"}
    assert set(found("pro", "x", "balanced")) == {"plain", "letter_balanced"}
    assert {row["issue"] for row in again["tables"]["disagreements"]} == {"x", "y", "z"}


def test_counts_give_none_with_a_reason_where_records_are_needed(counts: Counts) -> None:
    table = counts({"baseline": (9, 1, 0), **dict.fromkeys(PUBLISHED[1:], (5, 5, 0))})
    model = ModelNumbers(analyze(table))
    for name in ("corrected", "pulls", "draws", "respondent", "arguments"):
        assert "records" in model.missing(name)
    for measure in ("pulls_letter", "flips_extra", "respondent_letter"):
        assert not model.has(measure)
    assert "records" in model.issue("i")["why_not_corrected"]
    made = analyze(table).to_json()
    assert json.dumps(made, allow_nan=False)
    (row,) = (
        row
        for row in made["rows"]
        if (row["measure"], row["item"], row["variant"]) == ("open_mindedness", None, "letter_balanced")
    )
    assert (row["estimate"], row["low"], row["high"]) == (None, None, None)
    assert "records" in row["why"]


def test_the_order_of_rows_changes_nothing(records: pl.DataFrame) -> None:
    shuffled = records.sample(fraction=1, shuffle=True, seed=1)
    assert analyze(records).to_json() == analyze(shuffled).to_json()


def test_the_seed_changes_intervals_and_no_value(records: pl.DataFrame) -> None:
    first, second = (ModelNumbers(analyze(records, seed=seed), "a")("open_mindedness", item="x") for seed in (0, 1))
    assert first.value == second.value
    assert (first.low, first.high) != (second.low, second.high)


def test_a_lower_level_gives_narrower_intervals(records: pl.DataFrame) -> None:
    wide, narrow = (ModelNumbers(analyze(records, level=level), "a") for level in (0.95, 0.5))
    for measure, condition in (("open_mindedness", None), ("pro", "baseline")):
        one, other = (found(measure, condition, item="x") for found in (wide, narrow))
        assert other.high - other.low < one.high - one.low
        assert other.level == 0.5


def test_counts_of_records_give_the_same_scores_as_the_records(records: pl.DataFrame) -> None:
    table = records.group_by("model", "issue", "condition", "stance").len("count")
    from_records, from_counts = analyze(records), analyze(table)
    for name in ("a", "b"):
        counted, recorded = (ModelNumbers(found, name) for found in (from_counts, from_records))
        for measure in ("open_mindedness", "issues_moved", "unmoved_by_one_sided", "strong_prior"):
            assert counted(measure) == recorded(measure)


def test_two_to_one_baselines_of_counts_are_pointed_out(counts: Counts) -> None:
    analysis = analyze(pl.concat([counts({"baseline": (60, 30, 0)}), counts({"baseline": (61, 29, 0)}, issue="j")]))
    assert [
        note
        for note in notes_of(analysis)
        if "A model that always answers A" in note and " i " in note and "j" not in note.split()
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
        analyze(counts({"baseline": (1, 1, 0)}).with_columns(count=count))
