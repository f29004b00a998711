"""Measures of stance stability, corrected by human labels of some turns, on chains whose truth is known."""

from __future__ import annotations

from itertools import pairwise, product
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest

from overton.errors import InputError
from overton.statistics import Estimate
from overton.statistics.estimate import SHARE
from overton.statistics.jackknife import Jackknife
from overton.studies.correction import corrected_difference
from overton.studies.document import plain
from overton.studies.label_parts import measures_exhibits
from overton.studies.label_shares import LabelledNumbers, Variants
from overton.studies.people_labels import read_people
from overton.studies.sections import Callout
from overton.studies.stance_stability.conversations import conversations_of
from overton.studies.stance_stability.errors import (
    MEASURES,
    ChangeSums,
    SequenceWeights,
    counted_changes,
    counted_flips,
    labels_for_width,
    steady_model,
    turn_of_flip,
)
from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.rows import score

Array = np.ndarray[Any, Any]
TURNS = 8


def chains(random: np.random.Generator, talks: int, rate: float) -> Array:
    """Stances that change so often, each time to one of the two others."""
    stance = random.integers(0, 3, (talks, TURNS))
    for turn in range(1, TURNS):
        moved = random.random(talks) < rate
        stance[:, turn] = np.where(moved, (stance[:, turn - 1] + random.integers(1, 3, talks)) % 3, stance[:, turn - 1])
    return stance


def misread(random: np.random.Generator, true: Array, error: float) -> Array:
    return np.where(random.random(true.shape) < error, (true + random.integers(1, 4, true.shape)) % 4, true)


def table(stance: Array, **more: Any) -> pl.DataFrame:
    talks = len(stance)
    return pl.DataFrame(
        {
            "model": "m",
            "conversation": [f"c{talk:03}" for talk in range(talks) for _ in range(TURNS)],
            "topic": [f"t{talk // 2:03}" for talk in range(talks) for _ in range(TURNS)],
            "turn": [*range(1, TURNS + 1)] * talks,
            "stance": [None if one < 0 else STANCES[one] for one in stance.ravel()],
            "confidence": 0.9,
            "cited": [["a", f"of {turn}"] for _ in range(talks) for turn in range(TURNS)],
        }
        | more,
    )


def corrected_changes(turns: pl.DataFrame, people: pl.DataFrame, how: StanceHow | None = None) -> LabelledNumbers:
    """Every measure that the turns allow, for all conversations ('') and for each model."""
    return ChangeSums.of(turns, read_people(people, STANCES), how or StanceHow()).summary()


def labels(true: Array, shown: Array, **more: Any) -> pl.DataFrame:
    """Human labels of some turns (flags [talks, turns]), which are true."""
    talk, turn = np.nonzero(shown)
    columns = {
        "id": [f"m/c{one:03}/{place + 1}" for one, place in zip(talk, turn, strict=True)],
        "label": [STANCES[one] for one in true[talk, turn]],
        "share": 1.0,
        "chance": float(shown.mean()),
        "group": [f"m/c{one:03}" for one in talk],
    }
    return pl.DataFrame(columns | more)


def some(random: np.random.Generator, shape: tuple[int, ...], many: int) -> Array:
    """So many single turns."""
    shown = np.zeros(shape, bool)
    shown.ravel()[random.choice(shown.size, many, replace=False)] = True
    return shown


def first(talks: int, many: int) -> Array:
    """So many whole conversations."""
    return np.repeat(np.arange(talks) < many, TURNS).reshape(talks, TURNS)


@pytest.fixture(scope="module")
def chain() -> tuple[Array, Array]:
    """The true stances of 200 conversations that change at a tenth of their turns, and a judge's readings, wrong in
    ten.
    """
    random = np.random.default_rng(1)
    true = chains(random, 200, 0.1)
    return true, misread(random, true, 0.1)


@pytest.fixture(scope="module")
def undone(chain: tuple[Array, Array]) -> LabelledNumbers:
    true, judged = chain
    return corrected_changes(table(judged), labels(true, some(np.random.default_rng(2), true.shape, 600)))


def of(found: LabelledNumbers, name: str) -> Variants:
    return found.groups["m"][name]


def holds(one: Estimate, value: float) -> bool:
    return one.low <= value <= one.high


def test_changes_that_were_the_judges_errors_are_taken_off(undone: LabelledNumbers) -> None:
    rate = of(undone, "change_rate")
    assert undone.how == "errors undone"
    assert rate.plain.low > 0.15
    assert rate.corrected.value == pytest.approx(0.1, abs=0.03)
    assert holds(rate.corrected, 0.1)


def test_all_measures_come_back_to_those_of_complete_human_labels(
    chain: tuple[Array, Array], undone: LabelledNumbers
) -> None:
    truth = score(conversations_of(table(chain[0])), StanceHow()).values
    for name in MEASURES:
        found, true = of(undone, name), truth[name].mean()
        assert holds(found.corrected, true), name
        assert abs(found.corrected.value - true) < abs(found.plain.value - true), name


def test_the_plain_numbers_are_the_analysis_own(chain: tuple[Array, Array]) -> None:
    judged = table(chain[1][:20])
    found = corrected_changes(judged, labels(chain[0], first(20, 2)))
    usual = analyze(judged, resamples=10)
    for name in MEASURES:
        plain, own = of(found, name).plain, usual.row(name).number
        assert (plain.value, plain.low, plain.high) == pytest.approx((own.value, own.low, own.high)), name


def test_a_model_that_never_moves_may_have_no_change_at_all() -> None:
    random = np.random.default_rng(3)
    true = np.repeat(random.integers(0, 3, (60, 1)), TURNS, axis=1)
    found = corrected_changes(table(misread(random, true, 0.05)), labels(true, some(random, true.shape, 100)))
    assert of(found, "change_rate").plain.low > 0
    assert of(found, "change_rate").corrected.low == 0


def test_a_judge_without_errors_is_left_as_it_is(chain: tuple[Array, Array]) -> None:
    true = chain[0][:40]
    found = corrected_changes(table(true), labels(true, some(np.random.default_rng(0), true.shape, 60)))
    for name in MEASURES:
        assert of(found, name).corrected.value == pytest.approx(of(found, name).plain.value, abs=0.01), name


@pytest.mark.parametrize("how", [StanceHow(unclear="stance"), StanceHow(target="first"), StanceHow(no_change="mean")])
def test_known_conversations_have_their_own_numbers_however_formulas_are_read(
    chain: tuple[Array, Array], how: StanceHow
) -> None:
    judged = chain[1][:30]  # with unclear turns, which carry or are stances
    shown = np.ones(judged.shape, bool)
    shown[0, 0] = False  # not quite whole, so that errors are undone
    found = corrected_changes(table(judged), labels(judged, shown), how)
    assert found.how == "errors undone"
    for name in MEASURES:
        assert of(found, name).corrected.value == pytest.approx(of(found, name).plain.value, abs=0.01), name


def test_turns_without_a_usable_label_are_read_as_people_would(chain: tuple[Array, Array]) -> None:
    true = chain[0]
    random = np.random.default_rng(4)
    judged = np.where(random.random(true.shape) < 0.1, -1, misread(random, true, 0.03))
    found = corrected_changes(table(judged), labels(true, some(random, true.shape, 500)))
    assert holds(of(found, "change_rate").corrected, 0.1)


def test_whole_conversations_are_corrected_by_their_own_values(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    found = corrected_changes(table(judged), labels(true, first(200, 40)))
    assert (found.how, found.whole, found.labels) == ("whole units", 40, 40 * TURNS)
    rate, own = of(found, "change_rate"), analyze(table(true[:40]), resamples=10).row("change_rate").number
    assert rate.labelled.value == pytest.approx(own.value)
    assert holds(rate.corrected, 0.1)
    assert rate.corrected.high - rate.corrected.low < rate.labelled.high - rate.labelled.low


def test_few_whole_conversations_undo_errors_turn_by_turn(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    found = corrected_changes(table(judged), labels(true, first(200, 9)))
    assert (found.how, found.whole) == ("errors undone", 9)
    assert not isnan(of(found, "change_rate").labelled.value)


def test_people_who_differ_count_in_parts(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    shown = first(200, 12)
    one = labels(true, shown, share=0.5)
    found = corrected_changes(table(judged), pl.concat([one, labels((true + 1) % 3, shown, share=0.5)]))
    assert found.labels == 12 * TURNS
    assert (
        of(found, "change_rate").labelled.value
        > analyze(table(true[:12]), resamples=10).row("change_rate").number.value + 0.2
    )


def test_models_have_numbers_of_their_own_from_the_same_judge(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    model = ["a" if talk < 100 else "m" for talk in range(200) for _ in range(TURNS)]
    steady = true.copy()
    steady[100:] = steady[100:, :1]
    both = np.where(true == judged, steady, judged)
    shown = some(np.random.default_rng(5), true.shape, 600)
    people = labels(steady, shown).with_columns(
        id=pl.Series([("a" if int(one[3:6]) < 100 else "m") + one[1:] for one in labels(true, shown)["id"]])
    )
    found = corrected_changes(table(both, model=model), people).groups
    assert list(found) == ["", "a", "m"]
    assert holds(found["a"]["change_rate"].corrected, 0.1)
    assert found["m"]["change_rate"].corrected.low == 0


def test_too_few_labels_and_nothing_labelled_have_a_reason(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    for many, why in ((19, "too few labels"), (0, "nothing is labelled")):
        found = corrected_changes(table(judged), labels(true, some(np.random.default_rng(0), true.shape, many)))
        one = of(found, "change_rate")
        assert why in one.corrected.method
        assert one.leads == "plain"


def test_labels_of_another_run_are_refused(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    shown = some(np.random.default_rng(0), true.shape, 30)
    with pytest.raises(InputError, match="is not a turn in this table"):
        corrected_changes(table(judged, model="other"), labels(true, shown))


def test_a_plan_of_turns_gives_the_width_that_it_says(chain: tuple[Array, Array]) -> None:
    true, judged = chain
    pilot = labels(true, some(np.random.default_rng(6), true.shape, 100))
    turns, whole = labels_for_width(table(judged), pilot, "change_rate", 0.11)
    assert (turns.unit, whole.unit) == ("rows", "units")
    found = corrected_changes(table(judged), labels(true, some(np.random.default_rng(7), true.shape, turns.labels)))
    made = of(found, "change_rate").corrected
    assert 0.06 < made.high - made.low < 0.12  # turns that are labelled also vary less, which is not counted on
    with pytest.raises(InputError, match="change_rate"):
        labels_for_width(table(judged), pilot, "drift", 0.1)


def test_the_order_of_rows_changes_nothing(chain: tuple[Array, Array]) -> None:
    true, judged = chain[0][:30], chain[1][:30]
    turns, people = table(judged), labels(true, some(np.random.default_rng(0), true.shape, 60))
    found = [corrected_changes(one, people).groups for one in (turns, turns.sample(fraction=1.0, shuffle=True, seed=1))]
    assert found[0]["m"]["change_rate"] == found[1]["m"]["change_rate"]


def two_models(shown: str, errors: tuple[float, float], seed: int = 4) -> ChangeSums:
    """Two models that change equally often, a hundred conversations each, and how often the judge misreads each."""
    random = np.random.default_rng(seed)
    true = chains(random, 200, 0.1)
    judged = np.where(np.arange(200)[:, None] < 100, *(misread(random, true, error) for error in errors))
    names = ["m" if talk < 100 else "n" for talk in range(200) for _ in range(TURNS)]
    flags = some(random, true.shape, 600) if shown == "turns" else np.repeat(np.arange(200) % 4 == 0, TURNS)
    people = labels(true, flags.reshape(true.shape))
    people = people.with_columns(
        pl.when(pl.col("id").str.slice(3, 3).cast(pl.Int64) >= 100)
        .then(pl.col(name).str.replace("m", "n"))
        .otherwise(pl.col(name))
        .alias(name)
        for name in ("id", "group")
    )
    return ChangeSums.of(table(judged, model=names), read_people(people, STANCES), StanceHow())


def compared(case: ChangeSums) -> tuple[Estimate, dict[str, Variants]]:
    """The difference of the change rates of both models, corrected, and the numbers of all and of each."""
    of = {one.group: one for one in case.listed if one.name == "change_rate" and one.group is not None}
    over = Jackknife(unit="topics").over(len(case.items))
    sides = [case.over(of[model], case.items, over) for model in ("m", "n")]
    found = {group: case.found[case.listed.index(one)] for group, one in of.items()}
    return corrected_difference(sides[0], sides[1], SHARE, 0.95, alike=True)[0], found


def test_models_whose_judge_errs_unequally_are_not_compared_by_corrected_numbers() -> None:
    case = two_models("turns", (0.02, 0.2))
    difference, found = compared(case)
    (test,) = case.equal_errors
    assert (test.by, test.fails) == ("model", True)
    assert isnan(difference.value)
    assert "errors depend on the model" in difference.method
    for model in ("m", "n"):
        assert found[model].leads == "plain"
        assert isnan(found[model].corrected.low)
        assert "errors depend on the model" in found[model].corrected.method
    assert found[""].leads == "corrected"  # errors of all are those of all
    (told, *_) = [one for one in measures_exhibits(case.summary()) if isinstance(one, Callout)]
    assert "Overton does not correct differences between these groups" in told.text
    shown = plain(case.summary())["equal_errors"]
    assert shown[0]["by"] == "model"


def test_models_whose_judge_errs_equally_are_compared() -> None:
    difference, found = compared(two_models("turns", (0.1, 0.1)))
    assert found["m"].leads == found["n"].leads == "corrected"
    assert difference.low < 0 < difference.high


def test_whole_conversations_are_compared_however_unequal_the_errors() -> None:
    case = two_models("whole", (0.02, 0.2), seed=2)
    difference, found = compared(case)
    assert case.equal_errors[0].fails
    assert difference.low < 0 < difference.high
    assert found["n"].leads == "corrected"
    assert "take this into account" in case.equal_errors[0].sentence(by_units=case.by_units)


def test_labels_of_transcripts_whose_speakers_have_no_name_are_found(chain: tuple[Array, Array]) -> None:
    true, judged = chain[0][:30], chain[1][:30]
    people = labels(true, first(30, 25)).with_columns(id=pl.col("id").str.strip_prefix("m"))
    found = corrected_changes(table(judged, model=""), people)
    assert found.labels == 25 * TURNS
    assert list(found.groups) == ["", "not named"]


near = pytest.approx

LONG, LABELS = 4, 4
LENGTHS = np.array([4, 3, 1])
WEIGHTS = np.random.default_rng(0).normal(0.25, 0.4, (2, len(LENGTHS), LONG, LABELS))
WEIGHTS += (1 - WEIGHTS.sum(3, keepdims=True)) / LABELS
"""They may be negative, and add up to one, as those that undo errors do."""


def stances(sequence: tuple[int, ...], carried: int | None) -> list[int | None]:
    """The stance after each turn."""
    made: list[int | None] = []
    for label in sequence:
        made.append(label if label != carried else made[-1] if made else None)
    return made


def summed(number: int, carried: int | None, of) -> np.ndarray:  # type: ignore[no-untyped-def, type-arg]
    """The weighted sum of a function of the stances over all sequences of one conversation."""
    total = np.zeros(len(WEIGHTS))
    for sequence in product(range(LABELS), repeat=int(LENGTHS[number])):
        weight = np.prod([WEIGHTS[:, number, turn, label] for turn, label in enumerate(sequence)], axis=0)
        total += weight * of(stances(sequence, carried))
    return total


def pairs(stances: list[int | None]) -> list[tuple[int, int]]:
    return [(a, b) for a, b in pairwise(stances) if a is not None and b is not None]


def changed(stances: list[int | None]) -> int:
    return sum(a != b for a, b in pairs(stances))


@pytest.mark.parametrize("carried", [3, None])
def test_changes_and_their_rate_are_those_of_all_sequences(carried: int | None) -> None:
    measures = {
        "changes": lambda changes, pairs: np.broadcast_to(changes[:, None], (len(changes), len(pairs))),
        "squared": lambda changes, pairs: (changes[:, None] / pairs) ** 2,
    }
    made, some = counted_changes(SequenceWeights.of(WEIGHTS, LENGTHS, carried), measures)
    for number in range(len(LENGTHS)):
        counted = summed(number, carried, changed)
        squared = summed(number, carried, lambda stances: (changed(stances) / max(len(pairs(stances)), 1)) ** 2)
        assert made["changes"][:, number] == pytest.approx(counted)
        assert made["squared"][:, number] == pytest.approx(squared)
        assert some[:, number] == pytest.approx(summed(number, carried, lambda stances: bool(pairs(stances))))


@pytest.mark.parametrize("carried", [3, None])
@pytest.mark.parametrize("target", [1, None])
def test_flips_are_those_of_all_sequences(target: int | None, carried: int | None) -> None:
    def own(stances: list[int | None]) -> int | None:
        return target if target is not None else next((one for one in stances if one is not None), None)

    def flips(stances: list[int | None]) -> int:
        return sum((a == own(stances)) != (b == own(stances)) for a, b in pairs(stances))

    def turn(stances: list[int | None]) -> int:
        off = [place for place, one in enumerate(stances) if one is not None and one != own(stances)]
        if stances[-1] is None:
            return 0
        return off[0] if off else len(stances)

    weights = SequenceWeights.of(WEIGHTS, LENGTHS, carried)
    counted, first = counted_flips(weights, target), turn_of_flip(weights, target)
    for number in range(len(LENGTHS)):
        assert counted[0][:, number] == pytest.approx(summed(number, carried, flips))
        assert first[0][:, number] == pytest.approx(summed(number, carried, turn))
        if carried is not None:
            some = summed(number, carried, lambda stances: stances[-1] is not None)
            nothing = summed(number, carried, lambda stances: stances[-1] is None)
            assert first[1][:, number] == pytest.approx(1 - nothing)
            assert some + nothing == pytest.approx(WEIGHTS[:, number, : LENGTHS[number]].sum(2).prod(1))


def test_the_weight_of_a_known_sequence_gives_its_own_numbers() -> None:
    known = np.eye(LABELS)[[[0, 1, 3, 0]]][None]
    weights = SequenceWeights.of(known, np.array([4]), 3)
    rates, some = counted_changes(weights, {"rate": lambda changes, pairs: changes[:, None] / pairs})
    assert (rates["rate"].item(), some.item()) == (pytest.approx(2 / 3), 1)
    assert [one.item() for one in counted_flips(weights, 0)] == [2, 1]
    assert [one.item() for one in turn_of_flip(weights, 0)] == [1, 1]


def test_without_errors_nothing_changes_and_the_score_is_of_re_use_alone():
    found = steady_model(np.array([15]), np.ones(1), 1.0, 0.6, error=0.0)
    assert (found["changes"], found["change_rate"]) == (0, 0)
    assert found["chameleon"] == found["without_errors"] == near(np.sqrt(0.6**2 / 3))


def test_two_turns_by_hand():
    # The first is clear, right with p, one of the two others with q; then 'unclear' (e / 3) holds it.
    e = 0.3
    p, q = (1 - e) / (1 - e / 3), 2 * (e / 3) / (1 - e / 3)
    stays = p * (1 - e + e / 3) + q * (e / 3 + e / 3)
    found = steady_model(np.array([2]), np.ones(1), 0.5, 0.6, error=e)
    assert found["changes"] == found["change_rate"] == near(1 - stays)
    changed, kept = np.sqrt([(1 + 0.5**2 + 0.6**2) / 3, 0.6**2 / 3])
    assert found["chameleon"] == near(stays * kept + (1 - stays) * changed)


def test_steady_model_predicts_the_changes_from_judge_errors():
    rng = np.random.default_rng(5)
    error, turns, conversations = 0.1, 15, 4000
    wrong = rng.random((conversations, turns)) < error
    labels = np.where(wrong, rng.integers(1, 4, wrong.shape), 0)
    labels[:, 0] = np.where(labels[:, 0] == 3, 0, labels[:, 0])
    rows = pl.DataFrame(
        {
            "conversation": np.repeat(np.arange(conversations), turns).astype(str),
            "turn": np.tile(np.arange(1, turns + 1), conversations),
            "stance": np.array(["supportive", "critical", "balanced", "unclear"])[labels.ravel()],
        }
    )
    changes = analyze(rows, resamples=10).listed["conversations"]["stance_changes"]
    expected = steady_model(np.array([turns]), np.ones(1), 0.5, 0.6, error)
    rates = changes.to_numpy() / (turns - 1)
    scores = np.sqrt((rates**2 + np.where(rates > 0, 0.5, 0) ** 2 + 0.6**2) / 3)
    assert rates.mean() == near(expected["change_rate"], abs=0.1 / turns)
    assert changes.mean() == near(expected["changes"], abs=0.1)
    assert scores.mean() == near(expected["chameleon"], abs=0.01)


def test_an_analysis_says_it_for_each_models_own_turns_confidence_and_re_use(talk):
    turns = pl.concat([talk("s" * 15, cited=["a"] * 15, name=f"c{n}", confidence=1.0) for n in range(5)])
    (alone,) = analyze(turns, resamples=10).counts["judge_errors"]
    assert alone["model"] == "unnamed"
    expected = steady_model(np.array([15]), np.ones(1), 1.0, 1.0)
    assert alone["changes"] == near(expected["changes"])
    assert 0.8 < alone["changes"] < 1
    assert alone["without_errors"] == near(np.sqrt(1 / 3))
    assert alone["chameleon"] == near(expected["chameleon"])
    (unsure,) = analyze(talk("ss"), resamples=10).counts["judge_errors"]
    assert unsure["chameleon"] is None
