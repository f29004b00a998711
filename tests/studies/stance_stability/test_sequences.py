"""Sums over sequences of stances, against going through each; and what a judge's errors alone give."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest

from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.sequences import (
    SequenceWeights,
    changes_by_errors,
    counted_changes,
    counted_flips,
    score_by_errors,
    turn_of_flip,
)

near = pytest.approx

TURNS, LABELS = 4, 4
LENGTHS = np.array([4, 3, 1])
WEIGHTS = np.random.default_rng(0).normal(0.25, 0.4, (2, len(LENGTHS), TURNS, LABELS))
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
    assert changes_by_errors(15, 0.0)[0] == 1
    assert score_by_errors(changes_by_errors(15, 0.0), 1.0, 0.6) == near(np.sqrt(0.6**2 / 3))


def test_two_turns_by_hand():
    # The first is clear: right with p, one of the two others with q; then 'unclear' (e / 3) holds it.
    e = 0.3
    p, q = (1 - e) / (1 - e / 3), 2 * (e / 3) / (1 - e / 3)
    stays = p * (1 - e + e / 3) + q * (e / 3 + e / 3)
    assert changes_by_errors(2, e) == near([stays, 1 - stays])


def test_it_is_what_a_simulated_judge_makes_of_a_steady_model():
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
    expected = changes_by_errors(turns, error)
    assert changes.mean() == near(expected @ np.arange(turns), abs=0.1)
    assert (changes == 0).mean() == near(expected[0], abs=0.03)
    assert expected.sum() == near(1)


def test_an_analysis_says_it_for_each_models_own_turns_confidence_and_re_use(talk):
    turns = pl.concat([talk("s" * 15, cited=["a"] * 15, name=f"c{n}", confidence=1.0) for n in range(5)])
    (alone,) = analyze(turns, resamples=10).counts["judge_errors"]
    assert alone["model"] == "unnamed"
    assert alone["changes"] == near(changes_by_errors(15) @ np.arange(15))
    assert 0.8 < alone["changes"] < 1
    assert alone["without_errors"] == near(np.sqrt(1 / 3))
    assert alone["chameleon"] == near(score_by_errors(changes_by_errors(15), 1.0, 1.0))
    (unsure,) = analyze(talk("ss"), resamples=10).counts["judge_errors"]
    assert unsure["chameleon"] is None
