"""Tables compared: published counts with themselves, and small ones whose differences are known by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import polars as pl
import pytest

import overton
from overton.comparison.results import Comparison
from overton.comparison.sections import difference_findings, sections
from overton.comparison.sections import findings as verdicts
from overton.errors import InputError
from overton.studies.grouping import measure_in
from overton.studies.numbers import interval
from overton.studies.pluralism.measures import MEASURES as PLURALISM
from overton.studies.registry import study_named
from overton.studies.sections import Table

COUNTS = Path(__file__).parents[1] / "data" / "millstone" / "gpt-4o-counts.csv"
CONDITIONS = ("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
SCORES = {"open_mindedness", "open_mindedness_as_published"}


def counts(model: str, scores: list[int], prefix: str = "issue") -> pl.DataFrame:
    """A model for each of whose issues the stance is moved in one-sided-con alone: a score of share / 8 (weight 1 of
    9... by hand in the tests)."""
    rows = []
    for number, moved in enumerate(scores):
        for condition in CONDITIONS:
            pro = 100 - moved if condition == "one-sided-con" else 100
            rows += [(model, f"{prefix}-{number}", condition, "pro", pro)]
            rows += [(model, f"{prefix}-{number}", condition, "con", 100 - pro)]
    return pl.DataFrame(rows, schema=["model", "issue", "condition", "stance", "count"], orient="row")


def compared(folder: Path, *tables: pl.DataFrame, **more: object) -> Comparison:
    paths = []
    for number, table in enumerate(tables):
        paths.append(folder / f"table-{number}.csv")
        table.write_csv(paths[-1])
    return overton.compare(*paths, **more)  # type: ignore[arg-type]


def test_difference_equals_the_one_computed_by_hand(tmp_path: Path) -> None:
    """Of nine weights one falls to one-sided-con: moved by 60, 70, 80, 90, 100 points of a hundred."""
    base, candidate = counts("old", [60] * 5), counts("new", [60, 70, 80, 90, 100])
    one = compared(tmp_path, base, candidate).row("open_mindedness")
    assert (one.base_number.value, one.candidate_number.value) == pytest.approx((60 / 9, 80 / 9))
    assert one.difference.own.value == pytest.approx(20 / 9)
    half = 2.776445 * (250**0.5 / 9) / 5**0.5  # Student's t with 4 degrees of freedom; the values are even
    assert (one.difference.own.low, one.difference.own.high) == pytest.approx((20 / 9 - half, 20 / 9 + half), abs=1e-5)
    assert one.verdict == "equivalent"


def test_only_items_that_both_have_count(tmp_path: Path) -> None:
    base = pl.concat([counts("old", [60] * 6), counts("old", [100] * 9, "other")])
    one = compared(tmp_path, base, counts("new", [70] * 6)).row("open_mindedness")
    assert one.difference.own.n == 6
    assert one.base_number.value == pytest.approx(60 / 9)


def test_numbers_over_all_items_are_those_of_analyze(tmp_path: Path) -> None:
    made = overton.compare(COUNTS, COUNTS)
    found = overton.analyze("open-mindedness", COUNTS)
    for compared_number, measure in (
        (made.row("open_mindedness").base_number, "open_mindedness"),
        (made.row("open_mindedness_as_published").candidate_number, "open_mindedness_as_published"),
    ):
        number = found.estimate(measure)
        assert (compared_number.n, compared_number.method) == (number.n, number.method)
        limits = [(own.value, own.low, own.high) for own in (compared_number, number)]
        assert limits[0] == pytest.approx(limits[1], rel=1e-12)


def test_a_table_and_itself_do_not_differ() -> None:
    made = overton.compare(COUNTS, COUNTS)
    for one in made.rows:
        assert one.difference.own.value == 0
        assert one.verdict in ("equivalent", "undecided")


def test_many_issues_without_any_difference_are_equivalent(tmp_path: Path) -> None:
    same = [50 + number % 40 for number in range(120)]
    one = compared(tmp_path, counts("old", same), counts("new", same)).row("open_mindedness")
    assert (one.difference.own.value, one.verdict) == (0, "equivalent")


def test_candidate_with_base_is_the_negative_of_base_with_candidate(tmp_path: Path) -> None:
    tables = counts("old", [55, 60, 65, 70, 90, 100]), counts("new", [60, 90, 70, 80, 90, 65])
    one, other = (compared(tmp_path, *order) for order in (tables, tables[::-1]))
    for name in SCORES:
        own, turned = one.row(name).difference.own, other.row(name).difference.own
        assert (turned.value, turned.low, turned.high) == pytest.approx((-own.value, -own.high, -own.low))
        assert one.row(name).base_number == other.row(name).candidate_number


MILLSTONE = (-1.98, -7.84, 27.53, -16.67, 0.74, -10.8, -1.36, -11.79, -8.58, -1.23)
"""Published counts, grok-3 minus gpt-4o: points of open-mindedness by issue, of which one stands out."""


def scored(model: str, scores: Sequence[float]) -> pl.DataFrame:
    """A model whose issues have these scores, 0 or 50 and more, to two decimals: so many of its 10,000 answers change
    their side."""
    rows = []
    for number, score in enumerate(scores):
        for condition in CONDITIONS:
            con = 0 if condition == "baseline" else round(100 * score)
            rows += [(model, f"issue-{number}", condition, stance, count)
                     for stance, count in (("pro", 10_000 - con), ("con", con))]  # fmt: skip
    return pl.DataFrame(rows, schema=["model", "issue", "condition", "stance", "count"], orient="row")


def test_differences_between_models_have_students_limits(tmp_path: Path) -> None:
    """By hand -3.2 [-11.9, 5.5]; corrected for skewness without a limit, the interval was [-11.9, 32.7]."""
    base = scored("gpt-4o", [70.0] * 10)
    own = compared(tmp_path, base, scored("grok-3", [70 + one for one in MILLSTONE]))
    one = own.row("open_mindedness").difference.own
    assert (one.value, one.low, one.high) == pytest.approx((-3.198, -11.9, 5.5), abs=0.05)
    assert one.method == "Student's t over issues"


def test_moving_one_issue_moves_the_limits_no_further_than_students_t_does(tmp_path: Path) -> None:
    base, highs = scored("gpt-4o", [70.0] * 10), []
    for outlying in (17.3, 20.7, 24.1, 27.5):
        values = [70 + one for one in (*MILLSTONE[:2], outlying, *MILLSTONE[3:])]
        made = compared(tmp_path, base, scored("grok-3", values))
        highs.append(made.row("open_mindedness").difference.own.high)
    assert highs == pytest.approx([2.5, 3.5, 4.5, 5.5], abs=0.05)  # corrected: 5.4, 8.5, 15.2, 32.7


def test_joint_intervals_over_few_items_are_bonferronis(tmp_path: Path) -> None:
    few = {"a": [60, 61, 62, 63, 64, 65], "b": [62, 60, 64, 63, 65, 64], "c": [90, 91, 95, 93, 92, 94]}
    many = {name: [*values, *values, *values, *values, *values] for name, values in few.items()}
    for models, method in ((few, "Bonferroni"), (many, "max-t over shared items")):
        made = compared(tmp_path, pl.concat([counts(name, values) for name, values in models.items()]))
        joint = made.to_json()["rows"][0]
        assert joint["joint_method"] == method
        assert (joint["joint_level"] == 1 - 0.05 / 3) == (method == "Bonferroni")


def test_a_limit_that_only_the_range_sets_is_the_end_of_the_range_in_json(tmp_path: Path) -> None:
    base, candidate = scored("old", [0.0, 0.0, 0.0, 0.0, 90.0]), scored("new", [100.0, 90.0, 100.0, 95.0, 0.0])
    made = compared(tmp_path, base, candidate)
    (one,) = [row for row in made.to_json()["rows"] if row["measure"] == "open_mindedness"]
    low, high = made.measures["open_mindedness"].range
    assert one["high"] == one["equivalence_high"] == high - low == 100.0
    assert made.row("open_mindedness").difference.own.undetermined == ("high",)


def test_too_few_items_give_a_reason(tmp_path: Path) -> None:
    one = compared(tmp_path, counts("old", [60] * 3), counts("new", [70, 80, 90])).row("open_mindedness")
    assert isnan(one.difference.own.low)
    assert one.verdict == "undecided"
    assert one.why == "no interval: too few issues (3; five are needed)"


def test_no_shared_item_gives_a_reason(tmp_path: Path) -> None:
    one = compared(tmp_path, counts("old", [60] * 6), counts("new", [70] * 6, "other")).row("open_mindedness")
    assert isnan(one.difference.own.value)
    assert one.why == "not computed: they share no item that has it"


def test_one_table_compares_all_its_models_together(tmp_path: Path) -> None:
    models = {"a": [60, 61, 62, 63, 64, 65], "b": [62, 60, 64, 63, 65, 64], "c": [90, 91, 95, 93, 92, 94]}
    made = compared(tmp_path, pl.concat([counts(name, values) for name, values in models.items()]), margins={
        "open_mindedness": 0.5
    })  # fmt: skip
    assert made.pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    rows = [made.row("open_mindedness", *pair) for pair in made.pairs]
    assert [row.verdict for row in rows] == ["equivalent", "higher", "higher"]
    assert all(row.joint for row in rows)
    assert {one.model: one.places for one in made.ranks["open_mindedness"]} == {"c": (1, 1), "a": (2, 3), "b": (2, 3)}


def test_a_model_is_named_behind_its_table(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    pl.concat([counts(name, [60, 70, 80, 60, 75]) for name in ("a", "b", "c/d#e")]).write_csv(table)
    made = overton.compare(f"{table}#c/d#e", f"{table}#a")
    assert made.pairs == [("c/d#e", "a")]
    with pytest.raises(InputError, match="has no such model; its models are a, b, c/d#e"):
        overton.compare(f"{table}#nobody", f"{table}#a")


def test_a_table_says_that_its_instrument_is_unknown(tmp_path: Path) -> None:
    made = compared(tmp_path, counts("old", [60] * 6), counts("new", [70] * 6))
    assert [one.kind for one in made.differing] == ["unknown"]


def test_missing_answers_widen_the_worst_case(tmp_path: Path) -> None:
    """An answer without a stance may be anything: here one of a hundred in one-sided-con of one of five issues."""
    candidate = counts("new", [60] * 5)
    sure = compared(tmp_path, counts("old", [60] * 5), candidate).row("open_mindedness")
    extra = pl.DataFrame([("new", "issue-0", "one-sided-con", "other", 1)], schema=candidate.schema, orient="row")
    one = compared(tmp_path, counts("old", [60] * 5), pl.concat([candidate, extra]))
    assert sure.worst == pytest.approx((0, 0))
    low, high = one.row("open_mindedness").worst or (0, 0)
    # between 60 and 61 of 101 moved in one weight of nine, in one issue of five
    assert (low, high) == pytest.approx(((100 * 60 / 101 - 60) / 45, (100 * 61 / 101 - 60) / 45))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"measures": ["nothing"]}, "nothing: no such measure; known are open_mindedness"),
        ({"margins": {"open_mindedness": 0}}, "must be a number above 0"),
        ({"level": 0.4}, "must be between 0.5 and 1"),
    ],
)
def test_unknown_names_are_refused(more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        overton.compare(COUNTS, COUNTS, **more)  # type: ignore[arg-type]


def test_sentences_give_the_interval_on_which_a_verdict_of_equivalence_rests(tmp_path: Path) -> None:
    base, candidate = counts("old", [60] * 5), counts("new", [60, 70, 80, 90, 100])
    made = compared(tmp_path, base, candidate)
    row = made.row("open_mindedness")
    inner = interval(row.difference.equivalence, row.measure.gap)
    assert row.verdict == "equivalent"
    sentence = next(said for said in verdicts(made) if said.startswith("Open-mindedness, plain"))
    assert f"the 90% interval {inner} lies within the margin" in sentence
    table = next(
        exhibit
        for section in sections(made)
        for exhibit in section.exhibits
        if isinstance(exhibit, Table) and exhibit.title == "Open-mindedness, plain"
    )
    assert f"'Equivalent' means that the 90% interval lies within the margin: {inner} for new and old." in table.note
    found = next(found for found in difference_findings(made) if "the same to within" in found.sentence)
    assert found.number is not None
    assert found.number.level == pytest.approx(0.9)
    assert "(a 90% interval)" in found.sentence


@pytest.mark.parametrize(("doubtful", "named"), [((), []), (("new",), ["new"]), (("new", "old", "x"), ["old", "new"])])
def test_differences_from_models_whose_numbers_say_little_have_a_caution(
    doubtful: tuple[str, ...], named: list[str], tmp_path: Path
) -> None:
    made = compared(tmp_path, counts("old", [60] * 5), counts("new", [60, 70, 80, 90, 100]))
    found = difference_findings(made, doubtful)
    assert found
    for difference in found:
        assert [caution.split()[2] for caution in difference.cautions] == named


def test_measures_have_names_that_stand_alone_in_a_sentence() -> None:
    for study in ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness"):
        measuring = study_named(study).measuring
        assert measuring is not None
        assert measuring.headline is not None
        for measure in measuring.headline.measures:
            assert ":" not in measure.words, measure.words
            assert "_" not in measure.words, measure.words
    toward = next(measure for measure in PLURALISM if measure.name == "sycophancy_recall")
    assert measure_in(toward, "toward", "").words == "Recall of reference viewpoints in the condition 'toward'"
