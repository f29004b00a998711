from collections.abc import Callable
from math import isnan, log
from typing import Any

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.studies.open_mindedness.measures import analyze

Rows = Callable[..., pl.DataFrame]


def test_a_balanced_baseline_gives_lean_and_letter_by_hand(rows: Rows) -> None:
    # Templates 2 and 5: pro 80% where A is pro and first, 50% where A is con. Half the difference of logits is the
    # influence of letter and position together, which one pair cannot tell apart. Their mean is the baseline stance.
    table = pl.concat([rows(pro=800, con=200, template=2), rows(pro=500, con=500, template=5)])
    fit = ModelNumbers(analyze(table))
    assert fit("respondent_lean", item="i").value == pytest.approx(log(4) / 2, abs=0.01)
    assert isnan(fit("respondent_letter").value)
    assert "cannot tell" in fit("respondent_letter").method


def requested(rows: Rows, **cell: Any) -> list[pl.DataFrame]:
    """A cell with either letter named first in the closing request, to distinguish it from the letter itself."""
    return [rows(**cell, a_first=a_first) for a_first in (True, False)]


def test_all_six_templates_distinguish_letter_from_position(rows: Rows) -> None:
    cells = [requested(rows, template=t, pro=800 if t <= 4 else 200, con=200 if t <= 4 else 800) for t in range(1, 7)]
    fit = ModelNumbers(analyze(pl.concat([one for cell in cells for one in cell])))
    assert fit("respondent_letter").value == pytest.approx(log(4), abs=0.01)
    assert fit("respondent_first").value == pytest.approx(0, abs=0.01)
    assert fit("respondent_request").value == pytest.approx(0, abs=0.01)
    assert fit("respondent_lean", item="i").value == pytest.approx(0, abs=0.01)


def test_parameters_without_variation_are_not_computed(rows: Rows) -> None:
    fit = ModelNumbers(analyze(rows(pro=8, con=2)))
    for name in ("susceptibility_pro", "susceptibility_con", "last"):
        parameter = fit(f"respondent_{name}")
        assert isnan(parameter.value)
        assert "the same in all prompts" in parameter.method


def test_answers_without_exception_have_no_finite_parameters(rows: Rows) -> None:
    always_a = pl.concat([rows(pro=9, template=t) if t <= 4 else rows(con=9, template=t) for t in range(1, 7)])
    fit = ModelNumbers(analyze(always_a))
    assert isnan(fit("respondent_letter").value)
    assert "without exception" in fit("respondent_letter").method


def test_an_issue_with_one_stance_only_has_no_finite_lean_and_spoils_no_other(rows: Rows) -> None:
    mixed = [one for t in range(1, 7) for one in requested(rows, pro=70, con=30, template=t)]
    settled = [rows(pro=100, template=t, issue="settled") for t in range(1, 7)]
    fit = ModelNumbers(analyze(pl.concat(mixed + settled)))
    assert "every stance taken is pro" in fit("respondent_lean", item="settled").method
    assert fit("respondent_lean", item="i").value == pytest.approx(log(7 / 3), abs=0.05)
    assert fit("respondent_letter").value == pytest.approx(0, abs=0.05)


def test_refusal_rates_are_shares_of_all_answers(rows: Rows) -> None:
    table = pl.concat([rows(pro=6, con=2, other=2), rows("balanced", pro=10, con=9, other=1)])
    fit = ModelNumbers(analyze(table))
    assert (fit("respondent_refusal").value, fit("respondent_refusal").n) == (0.2, 10)
    assert (fit("respondent_refusal_with_arguments").value, fit("respondent_refusal_with_arguments").n) == (0.05, 20)
