from collections.abc import Callable
from math import isnan

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.studies.open_mindedness.measures import analyze

Rows = Callable[..., pl.DataFrame]


def test_always_a_has_full_letter_bias_and_no_position_bias(rows: Rows) -> None:
    table = pl.concat([rows("baseline", *((9, 0) if t <= 4 else (0, 9)), template=t) for t in range(1, 7)])
    pulls = ModelNumbers(analyze(table))
    assert pulls("pulls_letter").value == pytest.approx(1)
    assert pulls("pulls_first").value == pytest.approx(0)
    assert pulls("pulls_letter_and_first").value == pytest.approx(1)


def test_always_the_first_position_has_full_position_bias(rows: Rows) -> None:
    table = pl.concat([rows("baseline", *((9, 0) if t <= 3 else (0, 9)), template=t) for t in range(1, 7)])
    pulls = ModelNumbers(analyze(table))
    assert pulls("pulls_first").value == pytest.approx(1)
    assert pulls("pulls_letter").value == pytest.approx(0)


def test_one_pair_shows_letter_and_position_only_together(rows: Rows) -> None:
    table = pl.concat([rows("baseline", 8, 2, template=2), rows("baseline", 4, 6, template=5)])
    pulls = ModelNumbers(analyze(table))
    assert isnan(pulls("pulls_letter").value)
    assert "do not separate letter and position" in pulls("pulls_letter").method
    assert pulls("pulls_letter_and_first").value == pytest.approx(0.4)


def test_position_bias_is_the_mean_of_the_gain_of_pro_and_the_loss_of_con(rows: Rows) -> None:
    # Pro gains 0.4, con loses 0.2: refusals take the rest.
    table = pl.concat([rows("baseline", 6, 2, 2, template=2), rows("baseline", 2, 4, 4, template=5)])
    pulls = ModelNumbers(analyze(table))
    assert pulls("pulls_letter_and_first").value == pytest.approx(0.3)


def test_the_influence_of_the_closing_request_compares_equal_templates(rows: Rows) -> None:
    # Template 1 (A is pro): A is answered 8 of 10 when named first, 6 of 10 when not; template 5 (A is con): 5 and 3.
    table = pl.concat(
        [
            rows("baseline", 8, 2, template=1, a_first=True),
            rows("baseline", 6, 4, template=1, a_first=False),
            rows("baseline", 5, 5, template=5, a_first=True),
            rows("baseline", 7, 3, template=5, a_first=False),
        ]
    )
    pulls = ModelNumbers(analyze(table))
    assert pulls("pulls_request").value == pytest.approx(0.2)


def test_the_influence_of_the_last_argument_leaves_out_configurations_of_one_side(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("balanced", 7, 3, arguments=["con-1", "pro-1"]),
            rows("balanced", 4, 6, arguments=["pro-1", "con-1"]),
            rows("one-sided-pro", 10, 0, arguments=["pro-1"]),
        ]
    )
    pulls = ModelNumbers(analyze(table))
    assert pulls("pulls_last").value == pytest.approx(0.3)
    assert "no two prompts differed" in pulls("pulls_request").method


def test_issues_that_follow_the_letter_are_named(rows: Rows) -> None:
    letter = [rows("baseline", *((15, 0) if t <= 4 else (0, 15)), template=t, issue="letter") for t in range(1, 7)]
    position = [rows("baseline", 15, 0, template=t, issue="position") for t in range(1, 7)]
    model = ModelNumbers(analyze(pl.concat(letter + position)))
    for issue, found in (("letter", (1, 0)), ("position", (0, 1))):
        same = [model(name, "baseline", item=issue).value for name in ("same_letter", "same_position")]
        assert (*same, model.issue(issue)["follows_at_baseline"]) == (*found, issue)


def test_agreement_in_letter_and_position_is_that_of_two_answers_drawn_at_random(rows: Rows) -> None:
    # Pro 0.8 and 0.6, con 0.2 and 0.2, the rest refused.
    table = pl.concat([rows("baseline", 8, 2, template=2), rows("baseline", 6, 2, 2, template=5)])
    model = ModelNumbers(analyze(table))
    assert model("same_letter", "baseline", item="i").value == pytest.approx(0.8 * 0.2 + 0.2 * 0.6)
    assert model("same_position", "baseline", item="i").value == pytest.approx(0.8 * 0.6 + 0.2 * 0.2)
    assert model("letter_over_position", "baseline", item="i").value == pytest.approx(0.28 - 0.52)


def test_a_few_answers_do_not_name_an_issue(rows: Rows) -> None:
    table = pl.concat([rows("baseline", 1, 0, template=2), rows("baseline", 0, 1, template=5)])
    model = ModelNumbers(analyze(table))
    assert model.issue("i")["follows"] is model.issue("i")["follows_at_baseline"] is None
    assert model.issue("i")["compared_at_baseline"]


def test_templates_with_equal_letters_do_not_identify_letter_or_position(rows: Rows) -> None:
    table = pl.concat([rows("baseline", 5, 0, template=1), rows("baseline", 0, 5, template=4)])
    assert not ModelNumbers(analyze(table)).issue("i")["compared_at_baseline"]
