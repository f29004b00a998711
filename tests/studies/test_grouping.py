"""One declaration gives what the statistics give for the same sums, by any grouping."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.statistics import Estimate
from overton.statistics.comparison import Gap
from overton.statistics.estimate import DIFFERENCE
from overton.statistics.jackknife import Jackknife
from overton.studies.contrasts import contrast
from overton.studies.contributions import Contribution, find_shared_items
from overton.studies.frame import EstimateRow
from overton.studies.grouping import Frame, compared, no_contribution
from overton.studies.items import Facet
from overton.studies.measures import Grouping, Measure, key_in
from overton.studies.units import Units, with_facets

NOTHING = "nobody was asked"
AGREES = Measure("agrees", "Agrees", units="answers", leads=True, compared=True, nothing=NOTHING)
LENGTH = Measure("length", "Length", (0.0, 9.0), units="answers", value="words", weight="sentences", nothing=NOTHING)
AHEAD = Measure("ahead", "Ahead", DIFFERENCE, units="answers", value="signed_value", signed=True, nothing=NOTHING)
MEASURES = (AGREES, LENGTH, AHEAD)
JACKKNIFE = Jackknife(unit="topics")


def frame(rows: list[dict[str, Any]], **more: Any) -> Frame:
    usual = {"model": "m", "condition": "plain", "words": None, "sentences": 1.0, "signed_value": None, "agrees": None}
    usual |= {"kind": None, "side": None, "side_place": None, "known": True, "failed": False, "refused": False}
    floats = dict.fromkeys(("words", "sentences", "signed_value", "agrees"), pl.Float64)
    texts = dict.fromkeys(("kind", "side"), pl.String)
    schema = {**floats, **texts, "side_place": pl.Int64}
    table = pl.DataFrame([usual | row for row in rows], schema_overrides=schema, infer_schema_length=None)
    units = {"answers": Units(table, "topic", ("kind", "side", "side_place"))}
    settings = table.select("model", "condition").unique().sort("model", "condition").rows()
    return Frame(units, MEASURES, JACKKNIFE, more.pop("settings", settings), **more)


def only(rows: Any) -> EstimateRow:
    (row,) = rows
    assert isinstance(row, EstimateRow)
    return row


VALUES = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from([0.0, 0.5, 1.0, None]), st.sampled_from(["x", "y"])), min_size=1
)


@given(VALUES)
def test_an_estimate_is_the_rule_for_the_same_sums(values: list[tuple[int, float | None, str]]) -> None:
    made = frame([{"topic": f"t{topic}", "agrees": value, "kind": kind} for topic, value, kind in values])
    for kind in (None, *sorted({kind for _, _, kind in values})):
        own = [(topic, value) for topic, value, of in values if value is not None and kind in {None, of}]
        sums, counts = np.zeros(8), np.zeros(8)
        for topic, value in own:
            sums[topic] += value
            counts[topic] += 1
        by = {} if kind is None else {"kind": "kind"}
        rows = [row for row in made.estimates([AGREES], by) if kind is None or row.condition == f"plain / {kind}"]
        found = only(rows)
        assert found.facet == ("kind" if by else None)
        if not own:
            assert (isnan(found.number.value), found.why, found.n) == (True, NOTHING, 0)
            continue
        wanted = JACKKNIFE.ratio(sums, counts, (0.0, 1.0))
        assert (found.estimate, found.n) == (pytest.approx(wanted.value), len(own))
        assert (found.number.low, found.number.high) == (
            pytest.approx(wanted.low, nan_ok=True),
            pytest.approx(wanted.high, nan_ok=True),
        )
        assert found.clusters == np.count_nonzero(counts)


def test_a_weighted_value_is_a_ratio_and_counts_its_weight() -> None:
    made = frame([{"topic": f"t{at}", "words": 4.0 * at, "sentences": 2.0} for at in range(6)])
    row = only(made.estimates([LENGTH]))
    assert (row.estimate, row.n, row.clusters) == (5.0, 12, 6)


def test_a_model_without_units_has_a_reason_in_its_row() -> None:
    rows = [{"topic": "t1", "agrees": 1.0, "kind": "x"}, {"topic": "t2", "kind": "y", "known": False}]
    made = frame(rows, settings=[("m", "plain"), ("n", "plain")])
    assert [(row.model, row.estimate, row.why) for row in made.estimates([AGREES])] == [
        ("m", 1.0, "no interval: too few topics (1; five are needed)"),
        ("n", None, NOTHING),
    ]
    assert [row.condition for row in made.estimates([AGREES], {"kind": "kind"})] == ["plain / x"]
    assert made.counts("answers", {"kind": "kind"}).rows() == [("m", "plain", "x", 1, 1)]


def test_sums_of_groups_are_over_the_same_clusters_in_order() -> None:
    rows = [
        {"topic": "t2", "agrees": 1.0, "kind": "x"},
        {"topic": "t0", "agrees": 0.0, "kind": "x"},
        {"topic": "t2", "agrees": 1.0, "kind": "y"},
        {"topic": "t1", "kind": "y"},
    ]
    found = frame(rows).sums(AGREES, {"kind": "kind"})
    assert list(found) == [("m", "plain", "x"), ("m", "plain", "y")]
    assert [found["m", "plain", kind].above.tolist() for kind in "xy"] == [[0, 0, 1], [0, 0, 1]]
    assert [found["m", "plain", kind].below.tolist() for kind in "xy"] == [[1, 0, 1], [0, 0, 1]]
    assert frame(rows).sums(AGREES)["m", "plain"].above.tolist() == [0, 0, 2]


def sided(left: list[float], right: list[float]) -> list[dict[str, Any]]:
    return [
        {"topic": f"t{at}", "agrees": value, "side": name, "side_place": place, "signed_value": sign * (at % 2)}
        for place, (name, values, sign) in enumerate((("left", left, 1.0), ("right", right, -1.0)))
        for at, value in enumerate(values)
    ]


def test_a_difference_of_sides_leaves_each_cluster_out_of_both() -> None:
    left, right = [1.0, 1, 0, 1, 1, 0], [0.0, 1, 0, 0, 1, 0]
    row, signed = frame(sided(left, right)).differences([AGREES, AHEAD], {"side": "side"})
    wanted = JACKKNIFE.mean(np.subtract(left, right), DIFFERENCE)
    assert (row.condition, row.against, row.facet) == ("plain / left", "right", "side")
    assert (row.estimate, row.low, row.high) == pytest.approx((wanted.value, wanted.low, wanted.high))
    assert (signed.measure, signed.estimate, signed.against) == ("ahead", 0.5, "right")


def test_two_fixed_sides_have_rows_without_units_and_others_have_none() -> None:
    made = frame([{"topic": "t1", "agrees": 1.0}])
    assert not list(made.differences([AGREES], {"side": "side"}))
    row = only(made.differences([AGREES], {"side": "side"}, names=("left", "right")))
    assert (row.condition, row.against, row.why) == ("plain / left", "right", NOTHING)


def test_by_item_each_cluster_has_a_row() -> None:
    made = frame([{"topic": f"t{at % 3}", "agrees": float(at < 4)} for at in range(6)])
    found = [(row.item, row.estimate) for row in made.estimates([AGREES], by_item=True)]
    assert found == [("t0", 1.0), ("t1", 0.5), ("t2", 0.5)]


def test_a_deviation_is_that_of_the_units() -> None:
    values = [0.0, 1.0, 2.0, 4.0, 5.0, 9.0]
    made = frame([{"topic": f"t{at}", "words": value} for at, value in enumerate(values)])
    _, row = made.estimates([LENGTH], deviations=True)
    assert (row.variant, row.estimate, row.n) == ("sd", pytest.approx(np.std(values, ddof=1)), 6)
    assert row.number.low < np.std(values, ddof=1) < row.number.high


def test_a_deviation_counts_units_of_one_topic_and_those_of_all_models_together() -> None:
    values = [3e8, 3e8 + 1, 3e8 + 2, 3e8 + 4, 3e8 + 9, 3e8 + 5]
    rows = [
        {"topic": f"t{at % 2}", "words": value, "model": "mn"[at // 3], "condition": ""}
        for at, value in enumerate(values)
    ]
    made = frame(rows).rows([Grouping([LENGTH], together=together, deviations=True) for together in (False, True)])
    found = {row.model: row.estimate for row in made if row.variant == "sd"}
    expected = {"m": values[:3], "n": values[3:], None: values}
    assert found == pytest.approx({model: np.std(own, ddof=1) for model, own in expected.items()})


def test_contributions_sum_to_the_estimate_and_count_failures_and_refusals() -> None:
    rows = [{"topic": f"t{at}", "agrees": float(at < 2), "refused": at == 1} for at in range(4)]
    rows += [{"topic": "t0", "failed": True, "refused": True}]
    made = frame(rows)
    own = made.contributions(AGREES)["m", "plain"]
    assert (own.parts[:, 0].sum() / own.parts[:, 1].sum(), own.items) == (0.5, ("t0", "t1", "t2", "t3"))
    assert own.failed_weight is not None
    assert own.refused_weight is not None
    assert (own.failed_weight.tolist(), own.refused_weight.tolist()) == ([1, 0, 0, 0], [0, 1, 0, 0])
    assert made.contributions(AGREES, pl.col("topic") == "t9") == {}


def test_a_measure_in_a_condition_has_the_key_of_stored_baselines() -> None:
    rows = [{"topic": f"t{at}", "agrees": 1.0, "condition": name} for at in range(2) for name in ("plain", "a-b+c")]
    found = compared([(AGREES, frame(rows).contributions(AGREES))], "plain")
    assert [(one.measure.name, one.measure.leads) for one in found["m"]] == [("agrees_a_b_c", False), ("agrees", True)]
    assert key_in("agrees", "plain", "plain") == "agrees"


def test_a_contrast_is_over_all_clusters_of_either_number() -> None:
    rows = [
        {"topic": f"t{at}", "agrees": float(at % 3 == 0), "condition": condition}
        for condition, some in (("plain", range(7)), ("other", range(1, 9)))
        for at in some
    ]
    made = frame(rows).contributions(AGREES)
    first, second = made["m", "plain"], made["m", "other"]
    gap: Gap = find_shared_items(second, first, JACKKNIFE, within_model=True).gap(JACKKNIFE)
    wider, own = (contrast(first, second, JACKKNIFE, wider=wider) for wider in (True, False))
    assert (wider.value, wider.low, wider.high, wider.n) == (gap.own.value, gap.own.low, gap.own.high, 7)
    assert wider.low <= own.low <= own.value == wider.value <= own.high <= wider.high
    none = contrast(first, no_contribution(AGREES), JACKKNIFE)
    assert (isnan(none.value), none.method) == (True, f"not computed: {NOTHING}")


class Item(msgspec.Struct):
    id: str
    language: str | None
    formal: bool


FACETS = (Facet("language", "Language"), Facet("formal", "Register", {True: "formal", False: "informal"}))
ITEMS = [Item("a", "de", formal=True), Item("b", None, formal=False)]


def test_a_facet_is_joined_from_the_items_in_words() -> None:
    made = with_facets(pl.DataFrame({"item": ["a", "b", "c", "a"]}), FACETS, ITEMS, "item")
    assert made["language"].to_list() == ["de", None, None, "de"]
    assert made["formal"].to_list() == ["formal", "informal", None, "formal"]


@pytest.mark.parametrize(
    ("languages", "known"),
    [(["de", "de", "fr"], False), (["de", "fr", "fr"], True), ([f"language {n}" for n in range(101)], False)],
)
def test_a_facet_within_another_is_known_if_it_divides_it_into_few_groups(languages: list[str], known: bool) -> None:
    items = [Item(str(n), language, formal=n < 2) for n, language in enumerate(languages)]
    made = with_facets(pl.DataFrame({"item": ["0"]}), [Facet("language", "Language", within="formal")], items, "item")
    assert made["language"].to_list() == [languages[0] if known else None]


def test_records_that_have_a_facets_column_keep_its_values() -> None:
    table = pl.DataFrame({"item": ["a", "b"], "language": ["fr", "en"], "formal": [None, True]})
    made = with_facets(table, FACETS, ITEMS, "item")
    assert made.select("language", "formal").rows() == [("fr", None), ("en", "formal")]


def test_without_items_nothing_is_known_of_a_facet() -> None:
    made = with_facets(pl.DataFrame({"item": ["a"]}), FACETS, [], "item")
    assert made.select("language", "formal").rows() == [(None, None)]
    empty = with_facets(pl.DataFrame({"item": ["a"], "formal": [None]}), FACETS, [], "item")
    assert dict(made.schema) == dict(empty.schema) == dict.fromkeys(("item", "language", "formal"), pl.String)


def test_numbers_of_all_models_together_and_without_conditions_name_neither() -> None:
    made = frame([{"topic": "t1", "model": name, "condition": "", "agrees": value} for name, value in ONE_EACH])
    rows = list(
        made.rows([Grouping([AGREES]), Grouping([AGREES], {"kind": "kind"}), Grouping([AGREES], together=True)])
    )
    assert [(row.model, row.condition, row.estimate) for row in rows] == [
        ("m", None, 1.0),
        ("n", None, 0.0),
        (None, None, 0.5),
    ]
    by_kind = frame([{"topic": "t1", "condition": "", "kind": "x", "agrees": 1.0}]).estimates(
        [AGREES], {"kind": "kind"}
    )
    assert only(by_kind).condition == "x"


ONE_EACH = (("m", 1.0), ("n", 0.0))


def test_weights_move_a_mean_and_not_its_count() -> None:
    rows = [{"topic": f"t{at}", "agrees": float(at == 0), "counts": 3.0 if at == 0 else 1.0} for at in range(6)]
    made = frame(rows)
    weighted = replace(made, units={"answers": replace(made.units["answers"], weight="counts")})
    row, deviation = weighted.estimates([AGREES], deviations=True)
    assert (row.estimate, row.n, deviation.n) == (pytest.approx(3 / 8), 6, 6)
    assert deviation.estimate == pytest.approx((3 * (5 / 8) ** 2 + 5 * (3 / 8) ** 2) ** 0.5 / 7**0.5)
    own = weighted.contributions(AGREES)["m", "plain"]
    assert own.parts.sum(0).tolist() == [3, 8]


def test_a_group_of_void_units_alone_has_no_number_for_that_reason() -> None:
    rows = [{"topic": "t1", "kind": "x", "void": True}, {"topic": "t2", "kind": "y", "void": False, "agrees": 1.0}]
    made = frame([*rows, {"topic": "t3", "kind": "z", "void": False}])
    void = replace(made, units={"answers": replace(made.units["answers"], void="nothing was said")})
    whys = {row.condition: row.why for row in void.estimates([AGREES], {"kind": "kind"})}
    assert (whys["plain / x"], whys["plain / z"]) == ("nothing was said", NOTHING)


class OneTopicKnown:
    """Properties of one topic alone, and how many answers each topic has."""

    def number(self, measure: Measure, model: str, condition: str, number: Estimate, cluster: str) -> Estimate:
        return Estimate(number.value, 0.1, 0.9, 1, f"of {cluster} alone") if cluster else number

    def contribution(self, made: Contribution, model: str, condition: str) -> Contribution:
        return replace(made, answers=7.0)


def test_a_number_over_one_cluster_may_be_known_from_within_it() -> None:
    made = frame([{"topic": "a", "agrees": 1.0, "kind": "x"}, {"topic": "b", "agrees": 0.0}])
    units = replace(made.units["answers"], finisher=OneTopicKnown())
    known = replace(made, units={"answers": units})
    assert only(known.estimates([AGREES])).number == only(made.estimates([AGREES])).number
    alone = only(known.estimates([AGREES], {"kind": "kind"})).number
    assert (alone.value, alone.low, alone.method) == (1.0, 0.1, "of a alone")
    assert known.contributions(AGREES)["m", "plain"].answers == 7.0
