"""What a judge's errors alone give, against a simulated judge and by hand."""

import numpy as np
import polars as pl
import pytest
from overton.studies.stance_stability.measures.judge_alone import changes_by_errors, score_by_errors

from overton.studies.stance_stability.measures import analyze

near = pytest.approx


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
    changes = analyze(rows, resamples=10).conversations["stance_changes"]
    expected = changes_by_errors(turns, error)
    assert changes.mean() == near(expected @ np.arange(turns), abs=0.1)
    assert (changes == 0).mean() == near(expected[0], abs=0.03)
    assert expected.sum() == near(1)


def test_an_analysis_says_it_for_each_models_own_turns_confidence_and_re_use(talk):
    turns = pl.concat([talk("s" * 15, cited=["a"] * 15, name=f"c{n}", confidence=1.0) for n in range(5)])
    alone = analyze(turns, resamples=10).judge_alone["unnamed"]
    assert alone.changes == near(changes_by_errors(15) @ np.arange(15))
    assert 0.8 < alone.changes < 1
    assert alone.without_errors == near(np.sqrt(1 / 3))
    assert alone.chameleon == near(score_by_errors(changes_by_errors(15), 1.0, 1.0))
    assert np.isnan(analyze(talk("ss"), resamples=10).judge_alone["unnamed"].chameleon)
