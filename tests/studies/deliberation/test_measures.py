import json
import math

import numpy as np
import polars as pl
import pytest
from tests.studies.deliberation.choice_model.tables import decisions_of_columns

from overton.errors import InputError
from overton.studies.deliberation.choice_model import fit
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import analyze

COLUMNS = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")


@pytest.fixture(scope="module")
def simulated() -> pl.DataFrame:
    """Both formats, orders and goals, with models that stick to their verdicts to different degrees."""
    rng = np.random.default_rng(4)
    stay = {"claude": 0.5, "gpt": 0.9}
    rows = []
    for dilemma in range(40):
        leaning = rng.dirichlet([0.6, 1.2, 0.6, 0.4, 0.4])
        for goal in ("balanced", "correctness"):
            for format_, order in (
                ("synchronous", ("claude", "gpt")),
                ("round-robin", ("claude", "gpt")),
                ("round-robin", ("gpt", "claude")),
            ):
                own: dict[str, int] = {}
                for round_ in range(1, 5):
                    for place, model in enumerate(order, 1):
                        if model not in own or rng.random() > stay[model]:
                            own[model] = int(rng.choice(5, p=leaning))
                        name = f"{dilemma}/{format_}/{goal}/{'-'.join(order)}"
                        position = place if format_ == "round-robin" else None
                        rows.append((name, str(dilemma), format_, round_, position, model, VERDICTS[own[model]], goal))
                    if len(set(own.values())) == 1:
                        break
    return pl.DataFrame(rows, schema=[*COLUMNS, "goal"], orient="row")


@pytest.fixture(scope="module")
def analysis(simulated):
    return analyze(simulated, resamples=50)


def test_the_json_is_valid_and_has_the_numbers_of_the_fits(analysis):
    made = analysis.to_json()
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    parameters = {(row["measure"], row["model"], row["condition"]): row for row in made["tables"]["parameters"]}
    (decisions, _) = (fit["decisions"] for fit in made["tables"]["fits"])
    rows = {(row["measure"], row["model"], row["condition"]): row for row in made["rows"] if row["facet"] == "goal"}
    for model in ("claude", "gpt"):
        found, beside = rows["inertia", model, "correctness"], parameters["inertia", model, "correctness"]
        assert beside["odds_ratio"] == pytest.approx(math.exp(found["estimate"]))
        assert found["low"] < found["estimate"] < found["high"]
        assert beside["se"] > 0
        assert found["n"] == decisions
        assert 0 <= analysis.estimate("changed", model=model).value <= 1
    for kind in ("previous", "within"):
        assert parameters[f"conformity_{kind}", None, "correctness"]["odds_ratio"] > 0
    assert analysis.estimate("consensus").value + analysis.estimate("no_consensus").value == pytest.approx(1)


def test_no_two_rows_have_one_key_and_each_is_of_a_declared_measure(analysis):
    keys = [row.key for row in analysis.rows]
    assert len(keys) == len(set(keys))
    assert {row.measure for row in analysis.rows} <= set(analysis.measures)
    assert all(row.estimate is not None or row.why for row in analysis.rows)


def fits(analysis, variant="plain"):
    return [fit for fit in analysis.counts["fits"] if fit["variant"] == variant]


def test_goals_are_fitted_apart_and_correctness_comes_first(analysis, simulated):
    assert [fit["goal"] for fit in fits(analysis)] == ["correctness", "balanced"]
    together = analyze(simulated, resamples=20, goals="together")
    (one,) = fits(together)
    assert (one["goal"], one["condition"]) == (None, "all")
    assert one["decisions"] == sum(fit["decisions"] for fit in fits(analysis)) == simulated.height


def inertia(analysis, model, goal="correctness"):
    (row,) = analysis.rows_of("inertia", "goal", model=model, condition=goal, variant="plain")
    return row


def test_the_choice_model_is_fitted_to_these_decisions(analysis, simulated):
    part = simulated.filter(pl.col("goal") == "correctness")
    columns = {name: part[name].to_list() for name in COLUMNS}
    columns["discussion"] = columns.pop("deliberation")
    expected = fit(decisions_of_columns(**columns, verdicts=VERDICTS))
    for model in ("claude", "gpt"):
        assert inertia(analysis, model).estimate == pytest.approx(expected.inertia[model].estimate, abs=1e-3)
    assert inertia(analysis, "gpt").estimate > inertia(analysis, "claude").estimate


def test_conformity_can_be_estimated_by_model(simulated):
    made = analyze(simulated, resamples=20, conformity="by model")
    rows = made.rows_of("conformity_within", "goal", condition="correctness")
    assert [row.model for row in rows] == ["claude", "gpt"]


def test_the_other_estimators_are_displayed_if_requested(talk):
    said = {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}
    made = analyze(pl.concat([talk(said, dilemma=name) for name in "xyz"]), resamples=20, others=True)
    names = ["plain", "taste_by_model", "taste", "penalised", "as_published"]
    assert [fit["variant"] for fit in made.counts["fits"]] == names
    rows = made.rows_of("inertia", "goal", model="a")
    assert [row.variant for row in rows] == names
    assert rows[1].why


def test_where_all_agree_in_round_1_the_fit_says_that_inertia_is_not_identified(talk):
    tables = [talk({"a": [v], "b": [v]}, dilemma=f"{v}{k}") for v in ("NTA", "YTA", "ESH") for k in range(4)]
    found = inertia(analyze(pl.concat(tables), resamples=20), "a")
    assert (found.estimate, found.why) == (None, "every discussion ends in its first round")


def test_without_a_valid_verdict_there_is_neither_fit_nor_rate_nor_consensus(talk):
    made = analyze(talk({"a": [None, None], "b": [None, None]}), resamples=20)
    assert "no decisions" in fits(made)[0]["not_computed"]
    rates = [made.estimate("changed", model=model) for model in made.models]
    for one in (made.estimate("no_consensus"), made.estimate("consensus"), *rates):
        assert one.method == "not computed: no verdict could be read"
    json.dumps(made.to_json(), allow_nan=False)


def test_verdicts_read_in_truncated_messages_are_not_called_unread(talk):
    table = talk({"a": ["NTA", "NTA"], "b": ["YTA", "NTA"]})
    made = analyze(table.with_columns(faults=pl.lit(["cut"], pl.List(pl.String))), resamples=20)
    assert made.estimate("consensus").value == 1
    said = " ".join(made.warnings)
    assert (
        "a: Overton could read the verdict in 2 of its 2 malformed messages. These verdicts count in the headlines."
        in said
    )
    for measure, model in (("consensus", None), ("changed", "a")):
        without = made.estimate(measure, model=model, variant="without_faults")
        assert without.method == "not computed: no well-formed message has a verdict"


def test_a_table_without_failures_is_one_in_which_none_failed(talk):
    table = talk({"a": ["NTA", "NTA"], "b": ["YTA", "NTA"]}).with_columns(faults=pl.lit(["cut"], pl.List(pl.String)))
    with_failures = analyze(table.with_columns(failure=pl.lit(None, pl.String)), resamples=20)
    assert analyze(table.drop("failure", strict=False), resamples=20).warnings == with_failures.warnings


def test_the_order_of_rows_changes_nothing(analysis, simulated):
    shuffled = analyze(simulated.sample(fraction=1, shuffle=True, seed=1), resamples=50)
    assert shuffled.to_json() == analysis.to_json()


def test_agent_and_goal_may_be_missing(simulated):
    made = analyze(simulated.filter(pl.col("goal") == "correctness").select(COLUMNS), resamples=20)
    assert [(fit["goal"], fit["condition"]) for fit in fits(made)] == [(None, "all")]


def problem(table: pl.DataFrame) -> str:
    with pytest.raises(InputError) as raised:
        analyze(table, resamples=20)
    return str(raised.value)


def test_an_agent_that_speaks_twice_in_a_round_is_refused_by_name(talk):
    table = talk({"gpt#1": ["NTA"], "gpt#2": ["YTA"]}).drop("agent")
    assert "round 1: agent gpt speaks more than once" in problem(table)


def test_an_agent_with_two_models_is_refused(talk):
    table = talk({"a": ["NTA", "NTA"], "b": ["YTA", "YTA"]}).with_columns(
        model=pl.when((pl.col("agent") == "a") & (pl.col("round") == 2)).then(pl.lit("c")).otherwise("model")
    )
    assert "agent a has more than one model" in problem(table)


def test_a_single_agent_does_not_make_a_deliberation(talk):
    assert "only one agent" in problem(talk({"a": ["NTA"]}))


def test_a_crowd_that_differs_between_rows_of_a_dilemma_is_refused(talk):
    said = {"a": ["NTA"], "b": ["YTA"]}
    table = pl.concat([talk(said, crowd="NTA"), talk(said, crowd="YTA", name="again")])
    assert "dilemma d1: the crowd's verdict differs" in problem(table)


def test_missing_columns_and_unknown_words_are_named(talk):
    table = talk({"a": ["NTA"], "b": ["YTA"]})
    assert "verdict: this column is missing" in problem(table.drop("verdict"))
    assert "format: 'chat' is not one of synchronous, round-robin" in problem(table.with_columns(format=pl.lit("chat")))
    turns = table.with_columns(format=pl.lit("round-robin"))
    assert "to show who spoke first" in problem(turns)


def test_measuring_is_refused_if_every_deliberation_failed(talk):
    assert "every deliberation has a failed call" in problem(talk({"a": ["NTA"], "b": [None]}, failure="timeout: late"))
