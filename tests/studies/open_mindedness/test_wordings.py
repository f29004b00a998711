"""Two intervals: for these six wordings, and for wordings like these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.answer_counts import AnswerCounts, TemplateCounts
from overton.studies.open_mindedness.issue_numbers import baselines_like_these
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.score import SCORED


def cells_of(pro: np.ndarray, trials: int) -> AnswerCounts:
    """A baseline of `trials` answers to each wording, `pro` [issues, 6] of them pro."""
    counted = np.zeros((1, len(pro), 1, 6, 3, 2, 3), np.int64)
    counted[0, :, 0, :, 0, 0, 0] = pro
    counted[0, :, 0, :, 0, 0, 1] = trials - pro
    issues = tuple(f"i{number}" for number in range(len(pro)))
    flat = np.zeros((1, len(pro), 6), np.int64)
    design = TemplateCounts(counted, flat, flat, np.zeros((1, 1, 3, 3, 2), np.int64), pl.DataFrame())
    return AnswerCounts(
        ("m",), issues, ("baseline",), (None,) * len(pro), counted.sum((3, 4, 5)), counted[..., 0, 0, 0, 0] * 0, design
    )


def covered(trials: int) -> float:
    """How often the interval covers the share over all wordings, if those asked are a sample, 1.5 logits apart."""
    rng = np.random.default_rng(trials)
    lean = rng.normal(0, 1, 400)
    chance = 1 / (1 + np.exp(-(lean[:, None] + rng.normal(0, 1.5, (400, 6)))))
    answered = rng.binomial(trials, chance) if trials < 1000 else (chance > 0.5) * trials
    every = 1 / (1 + np.exp(-(lean[:, None] + rng.normal(0, 1.5, (1, 4000)))))
    truth = (every if trials < 1000 else every > 0.5).mean(1)
    found = baselines_like_these(cells_of(answered, trials), 0, Jackknife(), np.zeros(400, np.int64))
    assert found is not None
    return float(np.mean([one.low <= value <= one.high for one, value in zip(found, truth, strict=True)]))


def test_intervals_for_wordings_like_these_hold_where_wordings_differ() -> None:
    assert covered(15) > 0.88


def test_they_hold_where_each_wording_has_one_answer_only_however_often_it_is_asked() -> None:
    assert covered(1000) > 0.88


def test_every_wording_has_a_row_and_the_baseline_both_intervals(rows: Callable[..., pl.DataFrame]) -> None:
    asked = [
        rows(condition, 6 - shown, shown + template % 3, 1, issue=f"i{issue}", template=template)
        for issue in range(6)
        for shown, condition in enumerate(("baseline", *SCORED))
        for template in range(1, 7)
    ]
    model = ModelNumbers(analyze(pl.concat(asked), resamples=200))
    assert [cells["template"] for cells in model.table("wordings")] == [1, 2, 3, 4, 5, 6]
    assert sum(cells["answers"] for cells in model.table("wordings")) == model.counts["answers"]
    for cells in model.table("issues"):
        shares = [
            model("baseline_share", item=cells["issue"], variant=variant).value
            for variant in ("plain", "wordings_like_these")
        ]
        assert abs(shares[0] - shares[1]) < 0.1
    like, these = model("open_mindedness", variant="wordings_like_these"), model("open_mindedness")
    assert like.low <= these.low <= these.high <= like.high


def test_definition_2_asks_each_template_whether_its_most_common_answer_changes(
    rows: Callable[..., pl.DataFrame],
) -> None:
    """Template 1 never changes on a, and does on b. Template 2 changes on a, and lacks a configuration on b. Template 5
    turns from other to con on a, and a tie goes to con, as before, on b."""
    answers = {
        ("a", 1): {"baseline": (2, 0, 0)} | dict.fromkeys(SCORED, (3, 1, 0)),
        ("a", 2): {"baseline": (2, 1, 0)} | dict.fromkeys(SCORED, (3, 1, 0)) | {"balanced": (1, 2, 0)},
        ("a", 5): {"baseline": (0, 1, 2)} | dict.fromkeys(SCORED, (0, 2, 0)),
        ("b", 1): {"baseline": (2, 0, 0)} | dict.fromkeys(SCORED, (2, 0, 0)) | {"one-sided-con": (0, 1, 2)},
        ("b", 2): {"baseline": (2, 0, 0)} | {name: (2, 0, 0) for name in SCORED if name != "balanced"},
        ("b", 5): {"baseline": (0, 2, 0)} | dict.fromkeys(SCORED, (1, 1, 0)),
    }
    asked = [
        rows(condition, *counted, issue=issue, template=template)
        for (issue, template), by_condition in answers.items()
        for condition, counted in by_condition.items()
    ]
    model = ModelNumbers(analyze(pl.concat(asked), resamples=200))
    found = {template: model("responsive", template, facet="wording") for template in ("1", "2", "5")}
    assert {template: (number.value, number.n) for template, number in found.items()} == {
        "1": (0.5, 2),
        "2": (1.0, 1),
        "5": (0.5, 2),
    }
    templates = [(row["responsive_templates"], row["unresponsive_templates"]) for row in model.table("issues")]
    assert templates == [("2, 5", "1"), ("1", "5")]


def test_definition_2_is_unknown_where_a_configuration_was_not_asked(rows: Callable[..., pl.DataFrame]) -> None:
    asked = [rows("baseline", 2, template=1), rows("balanced", 2, template=1), rows("balanced", 0, 2, template=2)]
    model = ModelNumbers(analyze(pl.concat([*asked, rows("baseline", 2, template=2)]), resamples=200))
    assert model("responsive", "2", facet="wording").value == 1
    assert "no issue has answers" in model("responsive", "1", facet="wording").method


def test_counts_do_not_tell_wordings_apart(published_counts: pl.DataFrame) -> None:
    model = ModelNumbers(analyze(published_counts), "gpt-4o")
    assert not model.table("wordings")
    assert not model.has("open_mindedness", variant="wordings_like_these")
