"""Nulls as a study declares them: an option and trials that follow, and headlines against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from overton.errors import InputError
from overton.statistics import Estimate
from overton.statistics.estimate import DIFFERENCE
from overton.statistics.jackknife import Jackknife
from overton.studies.contrasts import compare_with_nulls
from overton.studies.contributions import Contribution, of_pairs
from overton.studies.findings import CandidateFinding
from overton.studies.measurement import Comparing, How
from overton.studies.measures import Measure
from overton.studies.null_conditions import Null, askable, condition_of, null_of, prompts_changed, split_nulls
from overton.studies.options import changed, fields_of, options_of
from overton.studies.registry import asking_names, study_named
from overton.studies.results import Results
from overton.studies.standard_parts import findings_against, sections_against, with_variants

WITH_NULLS = [name for name in asking_names() if askable(study_named(name).nulls)]


def test_the_option_follows_from_the_declaration() -> None:
    study = study_named("open-mindedness")
    (field,) = (one for one in fields_of(study.options) if one.name == "nulls")
    assert field.flag == "--null"
    assert field.option.extends
    names = tuple(null.name for null in askable(study.nulls))
    assert options_of(study.options, {"nulls": ["all"]}).nulls == names
    assert options_of(study.options, {}).nulls == ()
    with pytest.raises(InputError, match="must be one of"):
        options_of(study.options, {"nulls": ["nothing"]})


def test_a_run_is_extended_by_null_conditions_one_after_the_other() -> None:
    study = study_named("open-mindedness")
    first = options_of(study.options, {"nulls": ["irrelevant"]})
    assert changed(first, {"nulls": ["elsewhere"]}).nulls == ("irrelevant", "elsewhere")


def test_a_study_without_null_conditions_has_no_such_option() -> None:
    assert "nulls" not in study_named("rephrase").options.__struct_fields__


def test_a_copy_of_a_study_has_its_null_conditions_once() -> None:
    study = study_named("open-mindedness")
    copy = replace(replace(study, title="A copy"), title="Another")
    assert copy.trials == study.trials
    assert copy.options is study.options


@pytest.mark.parametrize("name", WITH_NULLS)
def test_the_design_is_the_same_with_null_conditions_and_without(name: str, starter: Any) -> None:
    study = study_named(name)
    items, options = starter(study)
    plain = list(study.trials(items, options, 7))
    chosen = msgspec.structs.replace(options, nulls=tuple(null.name for null in askable(study.nulls)))
    every = list(study.trials(items, chosen, 7))
    # The options of the run that a trial keeps may name the null conditions; all else is the same.
    assert [one.name for one in every if not null_of(one.name)] == [one.name for one in plain]
    if "options" not in plain[0].__struct_fields__:
        assert [one for one in every if not null_of(one.name)] == plain
    names = [trial.name for trial in every]
    assert len(set(names)) == len(names)
    assert {null_of(one) for one in names} == {"", *chosen.nulls}
    assert [item for item, _ in groupby(trial.item for trial in every)] == [item.id for item in items]


@pytest.mark.parametrize("name", WITH_NULLS)
def test_conditions_of_null_conditions_are_distinguished(name: str, starter: Any) -> None:
    study = study_named(name)
    items, options = starter(study)
    chosen = msgspec.structs.replace(options, nulls=(askable(study.nulls)[0].name,))
    conditions = {bool(null_of(one.name)): condition_of(one) for one in study.trials(items, chosen, 7)}
    assert conditions[True].startswith(f"{askable(study.nulls)[0].name}/")


@pytest.fixture
def starter() -> Any:
    from overton.runs.setup import set_up

    def made(study: Any) -> tuple[Sequence[Any], Any]:
        models = [f"simulated/{next(iter(study.simulated))}"] * (2 if study.together else 1)
        models = [f"{one}/{number}" for number, one in enumerate(models)] if study.together else models
        judges = [f"simulated/{one}" for one in study.simulated if "judge" in one]
        others = {"judge": judges[:1]} if "judge" in study.role_names else {}
        ready = set_up(study, models=models, others=others)
        return ready.experiment.items[:3], ready.experiment.options

    return made


SHARE = Measure("share", "Share", leads=True)
OTHER = Measure("beside", "Beside", DIFFERENCE)


def records(observed: Sequence[float], null: Sequence[float]) -> pl.DataFrame:
    """An item a row, and the null's rows, behind each other."""
    rows = [("", place, value) for place, value in enumerate(observed)]
    rows += [("null/nothing/", place, value) for place, value in enumerate(null)]
    return pl.DataFrame(
        {"trial": [f"{what}{place}" for what, place, _ in rows], "item": [str(place) for _, place, _ in rows]}
        | {"value": [value for _, _, value in rows], "model": ["m"] * len(rows)}
    )


def sides(table: pl.DataFrame) -> dict[str, list[Contribution]]:
    items, values = table["item"].to_list(), table["value"].to_numpy()
    ones = np.ones(len(items))
    return {"m": [of_pairs(SHARE, items, values, ones), of_pairs(OTHER, items, values, ones)]}


NOTHING = Null(
    "nothing", "nothing at all", ("share",), lambda results, rows, how: sides(rows), trials=lambda *_: iter(())
)
COMPARING = Comparing(
    "items",
    lambda results, how: sides(results.records),
    None,
    place=lambda measure, model: ("models", model, measure),  # type: ignore[arg-type]
)
COMPARING_HEADLINES = replace(COMPARING, place=lambda measure, model: ("m", measure) if measure == "share" else ())


def found(observed: Sequence[float], null: Sequence[float]) -> Any:
    design, nulls = split_nulls(records(observed, null), [NOTHING])
    return compare_with_nulls([NOTHING], COMPARING, Results(design, nulls=nulls), How())


def test_records_of_null_conditions_stay_out_of_the_design() -> None:
    design, nulls = split_nulls(records([0.5] * 3, [0.1] * 2), [NOTHING])
    assert design.height == 3
    assert nulls["nothing"]["value"].to_list() == [0.1, 0.1]


@pytest.mark.parametrize(
    ("observed", "null", "verdict"),
    [
        ([0.8, 0.9, 0.7, 0.8, 0.9, 0.8], [0.1, 0.2, 0.1, 0.0, 0.1, 0.2], "clear"),
        ([0.5, 0.51, 0.5, 0.49, 0.5, 0.5], [0.5, 0.5, 0.51, 0.5, 0.49, 0.5], "not clear"),
        ([0.9, 0.1, 0.8, 0.2, 0.7, 0.3], [0.2, 0.8, 0.1, 0.6, 0.4, 0.3], "cannot tell"),
        ([0.8, 0.9], [0.1, 0.2], "cannot tell"),
    ],
)
def test_a_headline_is_clear_of_its_null_or_not(observed: Sequence[float], null: Sequence[float], verdict: str) -> None:
    ((measure, _, one),) = found(observed, null)
    assert measure is SHARE
    assert one.verdict == verdict
    assert one.difference.value == pytest.approx(np.mean(observed) - np.mean(null))
    (said,) = findings_against(found(observed, null), COMPARING)
    assert (said.what == "effect") == (verdict == "clear")
    assert "'nothing'" in said.sentence


def test_the_interval_from_a_null_covers_those_with_and_without_skewness_correction() -> None:
    """The difference from a null condition is within a model: Student's limits alone are those of two models."""
    observed, null = [0.1, 0.1, 0.2, 0.1, 0.1, 0.9], [0.1, 0.0, 0.1, 0.1, 0.0, 0.1]
    ((_, _, one),) = found(observed, null)
    assert one.difference.method == "Student's t over items, the wider of with and without correction for skewness"
    values = np.subtract(observed, null)
    half = student.ppf(0.975, 5) * values.std(ddof=1) / np.sqrt(6)
    rule = Jackknife().mean(values)
    assert (one.difference.low, one.difference.high) == pytest.approx((values.mean() - half, rule.high))
    assert rule.high > values.mean() + half


def test_a_null_that_lacks_items_leaves_the_headline_as_it_is_elsewhere() -> None:
    ((measure, _, one),) = found([0.8, 0.9, 0.7, 0.8, 0.9, 0.2], [0.1, 0.2, 0.1, 0.0, 0.1])
    assert one.items == 6
    assert one.observed.value == pytest.approx(4.3 / 6)
    assert one.under_null.value == pytest.approx(0.5 / 5)
    assert one.difference.value == pytest.approx(4.3 / 6 - 0.1)
    assert one.difference.n == 5
    (said,) = findings_against([(measure, NOTHING, one)], COMPARING)
    assert "m scores 72% on" in said.sentence


def test_too_few_items_for_an_interval_still_give_the_difference() -> None:
    (said,) = findings_against(found([0.8, 0.9], [0.1, 0.2]), COMPARING)
    assert (
        "was not tested against the null condition 'nothing' (15%, difference 70; no interval: too few items (2"
        in said.sentence
    )


def test_a_variant_of_a_headline_is_in_the_table_but_not_a_finding() -> None:
    ((measure, null, one),) = found([0.8] * 5 + [0.7], [0.1] * 5 + [0.2])
    variant = [(replace(measure, variant=True), null, one)]
    assert findings_against(variant, COMPARING) == []
    assert len(sections_against(variant, "items", 0.95)[0].exhibits[1].rows) == 1  # type: ignore[union-attr]


def test_null_conditions_of_one_verdict_are_joined_in_the_sentence() -> None:
    observed = [0.8, 0.9, 0.7, 0.8, 0.9, 0.8]
    nulls = {
        "low": [0.1, 0.2, 0.1, 0.0, 0.1, 0.2],
        "lower": [0.1, 0.1, 0.1, 0.0, 0.1, 0.1],
        "wild": [0.1, 1.0, 0.6, 0.9, 0.4, 1.0],
        "wilder": [0.0, 1.0, 0.6, 1.0, 0.4, 1.0],
    }
    declared = [
        replace(NOTHING, name=name, what="null" if name != "wilder" else "factor", trials=None, sides=of_values(values))
        for name, values in nulls.items()
    ]
    made = compare_with_nulls(declared, COMPARING, Results(records(observed, [])), How())
    (said,) = findings_against(made, COMPARING)
    level, above, untold, factor = said.sentence.removesuffix(".").split(". ")
    assert level == f"m scores 82% on '{SHARE.title}'"
    assert above.startswith("That is clearly higher than in the null conditions 'low' (12%, difference 70 [")
    assert " and 'lower' (8%, difference 73 [" in above
    assert untold.startswith("That is not clearly different from the null condition 'wild' (67%, difference 15 [−")
    assert factor.startswith("It is not clearly different with 'wilder' (67%, difference 15 [−")
    assert said.number == made[0][2].together


def test_the_number_of_a_sentence_is_of_the_null_that_decided_it() -> None:
    observed = [0.8, 0.9, 0.7, 0.8, 0.9, 0.8]
    nulls = {"wild": [0.1, 1.0, 0.6, 0.9, 0.4, 1.0], "low": [0.1, 0.2, 0.1, 0.0, 0.1, 0.2]}
    declared = [replace(NOTHING, name=name, trials=None, sides=of_values(values)) for name, values in nulls.items()]
    wild, low = compare_with_nulls(declared, COMPARING, Results(records(observed, [])), How())
    assert (wild[2].verdict, low[2].verdict) == ("cannot tell", "clear")
    (said,) = findings_against([wild, low], COMPARING)
    assert said.what == "effect"
    assert said.number == low[2].together
    (untold,) = findings_against([wild], COMPARING)
    assert (untold.what, untold.number) == ("standing", wild[2].together)


def test_differences_from_null_conditions_and_the_tests_of_the_study_are_one_family() -> None:
    observed, null = [0.8, 0.9, 0.7, 0.8, 0.9, 0.8], [0.1, 0.2, 0.1, 0.0, 0.1, 0.2]
    design, nulls = split_nulls(records(observed, null), [NOTHING])
    more = [
        CandidateFinding(
            model="m",
            number=Estimate(0.0, -0.1, 0.1, 6, "Student's t over items"),
            clusters=6,
            n=6,
            units="items",
            exhibit="x",
            measure=measure,
        )
        for measure in ("share", "other", "third", "fourth")
    ]
    ((_, _, one),) = compare_with_nulls([NOTHING], COMPARING, Results(design, nulls=nulls), How(), more)
    assert one.together.level == pytest.approx(1 - 0.05 / 4)  # the sentence on the null takes the place of the first
    ((_, _, alone),) = compare_with_nulls([NOTHING], COMPARING, Results(design, nulls=nulls), How())
    assert alone.together.level == pytest.approx(0.95)
    both = replace(NOTHING, of=("share", "beside"))
    told, other = compare_with_nulls([both], COMPARING_HEADLINES, Results(design, nulls=nulls), How(), more)
    assert (told[2].together.level, other[2].together.level) == pytest.approx((1 - 0.05 / 4, 0.95))


def of_values(values: Sequence[float]) -> Any:
    return lambda results, rows, how: sides(records(values, []))


def test_chance_deviations_stay_with_their_item_if_another_has_no_number() -> None:
    noise = np.array([[0.5, 0.0, 0.1], [-0.5, 0.0, -0.1]])
    made = of_pairs(SHARE, ["a", "b", "c"], np.array([1.0, 0.0, 2.0]), np.array([1.0, 0.0, 1.0]), noise=noise)
    assert made.items == ("a", "c")
    assert made.noise is not None
    assert made.noise.tolist() == [[0.5, 0.1], [-0.5, -0.1]]


def test_a_null_condition_that_was_not_run_gives_no_comparison() -> None:
    assert found([0.5] * 6, []) == []


def test_a_null_all_of_whose_calls_failed_says_so() -> None:
    def failing(results: Any, rows: Any, how: Any) -> Any:
        raise InputError("every call failed")

    design, nulls = split_nulls(records([0.5] * 6, [0.1] * 6), [NOTHING])
    ((_, _, one),) = compare_with_nulls(
        [replace(NOTHING, sides=failing)], COMPARING, Results(design, nulls=nulls), How()
    )
    assert one.verdict == "cannot tell"
    assert one.observed.value == 0.5
    assert "every call failed" in one.under_null.method
    assert "every call failed" in one.difference.method


def test_the_json_of_a_headline_has_the_variant() -> None:
    document = {"models": {"m": {"share": {"leads": "plain", "plain": {}}}}}
    made = with_variants(document, found([0.8] * 5 + [0.7], [0.1] * 5 + [0.2]), COMPARING)
    variant = made["models"]["m"]["share"]["against_null"]
    assert variant["null"] == "nothing"
    assert variant["verdict"] == "clear"
    assert variant["interval"][0] > 0
    assert "against_null" not in document["models"]["m"]["share"]


def test_a_chart_and_a_table_show_every_headline_beside_its_null() -> None:
    (section,) = sections_against(found([0.8] * 5 + [0.7], [0.1] * 5 + [0.2]), "items", 0.95)
    chart, table, _ = section.exhibits
    assert [dot["series"] for dot in chart.spec["data"]["values"]] == ["observed", "nothing"]  # type: ignore[union-attr]
    assert len(table.rows) == 1  # type: ignore[union-attr]


def test_a_chart_shows_the_observed_number_of_the_first_null_as_the_sentence_does() -> None:
    (first,) = found([0.8] * 5 + [0.7], [0.1] * 5 + [0.2])
    (second,) = found([0.8] * 3, [0.1] * 3)
    section, *_ = sections_against([first, (second[0], replace(second[1], name="fewer"), second[2])], "items", 0.95)
    values = section.exhibits[0].spec["data"]["values"]  # type: ignore[union-attr]
    assert [dot["series"] for dot in values] == ["observed", "nothing", "fewer"]
    assert values[0]["value"] == pytest.approx(first[2].observed.value)


def test_texts_of_null_conditions_that_came_later_change_no_run() -> None:
    assert prompts_changed({"ask": "1"}, {"ask": "1", "nulls.new": "2"}) == []
    assert prompts_changed({"ask": "1", "nulls.new": "2"}, {"ask": "1", "nulls.new": "3"}) == ["nulls.new"]
    assert prompts_changed({"ask": "1"}, {"ask": "2"}) == ["ask"]
