"""Every figure and table of the study, from measures of records with known properties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies.exhibits import chart, exhibits
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.calls import Draw
from overton.files.tables import open_table
from overton.statistics import Estimate
from overton.studies import table_frames
from overton.studies.charts import Axis, Dot, difference_axis, dots, series_of
from overton.studies.charts.drawing import shortened
from overton.studies.frame import Analysis
from overton.studies.open_mindedness import Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.layouts import sections
from overton.studies.open_mindedness.layouts.answers import trial_table
from overton.studies.open_mindedness.layouts.parts import PLAIN, SCORE
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.options import CONDITIONS, arguments_for
from overton.studies.open_mindedness.protocol import IssueTrial, prompt_parts, trials
from overton.studies.open_mindedness.record import COUNTS
from overton.studies.sections import Callout, Chart, Section, Table

HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
HELD = "embedded/tiny"
MODELS = ("openai/a", "openai/b", HELD)


def issue(name: str) -> Issue:
    def side(word: str) -> tuple[Argument, ...]:
        return tuple(Argument(f"{word}-{k}", f"{name}: {word} argument {k}.", (f"Source {k}",)) for k in range(1, 5))

    forms = tuple(Paraphrase(f"{name}, form {k}: A or B?", "pro" if k <= 4 else "con") for k in range(1, 7))
    return Issue(name, f"Is {name} right? {HOSTILE}", side("pro"), side("con"), "Topic " + name[-1], paraphrases=forms)


ISSUES = [issue(f"issue-{number}") for number in range(5)]


def record(trial: IssueTrial, model: str) -> dict[str, Any]:
    """An answer: one in seven is other, one fails, arguments move most of the rest."""
    shown = trial.draw("order").shuffle(arguments_for(trial.condition, trial.issue, trial.argument_draw()))
    chance = Draw(f"{model}/{trial.name}").uniform()
    lean = 0.35 + 0.1 * int(trial.item[-1])
    moved = sum(1 if one.id.startswith("pro") else -1 for one in shown) / max(1, len(shown))
    stance = "other" if chance > 0.86 and model != HELD else "pro" if chance < lean + 0.35 * moved else "con"
    a_is = trial.issue.paraphrases[trial.template - 1].orientation
    failed = trial.name == "issue-0/balanced/w1/t1/r1"
    return {
        "model": model,
        "trial": trial.name,
        "issue": trial.item,
        "topic": trial.issue.topic,
        "condition": trial.condition.name,
        "wording": trial.wording,
        "template": trial.template,
        "repetition": trial.repetition,
        "draw": trial.argument_set,
        "arguments": [one.id for one in shown],
        "last_argument": shown[-1].id[:3] if shown else None,
        "a_is": a_is,
        "pro_first": trial.template <= 3,
        "a_first": trial.draw("closing").coin(),
        "stance": "other" if failed else stance,
        "letter": None if failed or stance == "other" else "A" if stance == a_is else "B",
        "stance_published": "pro" if stance == "other" else stance,
        "refused": False,
        "failure": "timeout: no reply in 60 s" if failed else None,
        "answer": "" if failed else f"{model} says {stance}",
        "input_tokens": 100,
        "output_tokens": None,
    }


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    options = Options(trials=4, conditions=tuple(CONDITIONS), draws=2)
    rows = [record(trial, model) for model in MODELS for trial in trials(ISSUES, options, 1)]
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def analysis(records: pl.DataFrame) -> Analysis:
    return analyze(records, resamples=50, families={"openai/a": "a", "openai/b": "a", HELD: "b"})


@pytest.fixture(scope="module")
def one(records: pl.DataFrame) -> Analysis:
    return analyze(records.filter(pl.col("model") == "openai/a"), resamples=50)


def table(made: list[Section], title: str) -> Table:
    return next(table for table in exhibits(made, Table) if table.title == title)


def test_every_figure_and_table_of_the_paper_exists(analysis):
    made = sections(analysis)
    sources = {exhibit.source for kind in (Chart, Table) for exhibit in exhibits(made, kind)}
    assert {f"figure {number}" for number in range(2, 8)} <= sources
    assert {"table 1", "table 2", "table 3", "tables 4 and 5", "table 5"} <= sources


def test_names_of_sections_and_charts_are_unique(analysis):
    made = sections(analysis)
    assert len({section.key for section in made}) == len(made)
    names = [chart.name for chart in exhibits(made, Chart)]
    assert len(set(names)) == len(names)


def test_both_readings_of_the_score_stand_side_by_side_wherever_either_does(analysis):
    for shown in exhibits(sections(analysis), Table):
        heads = [column.title for column in shown.columns]
        plain = any(head.startswith("Plain") for head in heads)
        assert plain == ("By the published formula" in heads)


def test_open_mindedness_without_a_qualifier_is_the_cross_fitted_score(analysis):
    rows = [row for row in analysis.rows if row.measure == "open_mindedness_cross_fitted"]
    cross_fitted = [row.number for row in rows]
    for shown in exhibits(sections(analysis), Table):
        heads = [column.title for column in shown.columns]
        if "Open-mindedness" in heads:
            assert all(row[heads.index("Open-mindedness")] in cross_fitted for row in shown.rows)
        assert not any(head.startswith("Open-mindedness,") for head in heads)
    values = chart(sections(analysis), "open-mindedness").spec["data"]["values"]
    drawn = {value["row"]: value["value"] for value in values if value["series"] == "Open-mindedness"}
    assert drawn == {row.model: row.number.value for row in rows if row.facet is None}
    for name in ("scores-by-issue", "topics"):
        assert "Open-mindedness" not in str(chart(sections(analysis), name).spec)


def test_a_models_baseline_shares_and_share_without_a_stance_are_in_one_table_each(analysis):
    made = sections(analysis)

    def holders(number: Any) -> list[str]:
        return [shown.title for shown in exhibits(made, Table) if any(number in row for row in shown.rows)]

    for model in (ModelNumbers(analysis, name) for name in analysis.models):
        for variant in ("plain", "letter_balanced"):
            shares = [model(stance, "baseline", variant=variant) for stance in ("pro", "con")]
            assert holders(shares[0]) == holders(shares[1]) == ["Stances without arguments"]
        if model.model != HELD:  # a model held to the answer format always has a stance
            assert holders(model("other", "baseline")) == ["Answers without a stance"]
    assert "Other, of answers" not in {column.title for shown in exhibits(made, Table) for column in shown.columns}


def test_tables_are_rectangular(analysis, one):
    for made in (sections(analysis), sections(one)):
        for shown in exhibits(made, Table):
            assert {len(row) for row in shown.rows} <= {len(shown.columns)}, shown.title


def test_headline_table_holds_the_scores(analysis):
    rows = {row[0]: row for row in table(sections(analysis), "Open-mindedness by model").rows}
    for name in analysis.models:
        model = ModelNumbers(analysis, name)
        assert rows[name][1] == model("open_mindedness_cross_fitted")
        assert rows[name][2] == model("open_mindedness")
        assert rows[name][4] == model("open_mindedness_as_published")


def test_chart_draws_every_estimate_with_its_interval(one):
    values = chart(sections(one), "baseline").spec["data"]["values"]
    drawn = {value["row"]: (value["low"], value["value"], value["high"]) for value in values}
    expected = {}
    model = ModelNumbers(one, "openai/a")
    for name in (cells["issue"] for cells in model.table("issues")):
        pro = model("pro", "baseline", item=name)
        expected[name] = (pro.low, pro.value, pro.high)
    assert drawn == expected


def test_tooltips_describe_a_mark_with_value_interval_and_count(one):
    tips = [value["tip"] for value in chart(sections(one), "shifts").spec["data"]["values"]]
    assert all(tip.startswith("openai/a\n") and " [" in tip and "n = 5" in tip for tip in tips)


def test_axes_of_shares_and_scores_show_the_full_range(one):
    made = sections(one)
    for name, domain in (("baseline", [0, 1]), ("scores-by-issue", [0, 100]), ("refusals", [0, 1])):
        spec = chart(made, name).spec
        layers = spec.get("layer") or spec["spec"]["layer"]
        assert layers[0]["encoding"]["x"]["scale"]["domain"] == domain


def test_axis_of_differences_is_symmetric_and_holds_all_intervals(one):
    estimates = list(ModelNumbers(one, "openai/a").by_condition("shift").values())
    axis = difference_axis("Shift", estimates)
    assert axis.low == -axis.high
    assert all(axis.low <= estimate.low and estimate.high <= axis.high for estimate in estimates)


def test_text_of_items_reaches_charts_as_data_only(records):
    import vl_convert

    hostile = records.with_columns(issue=pl.col("issue") + HOSTILE, model=pl.col("model") + HOSTILE)
    made = sections(analyze(hostile, resamples=20), issues=[issue(f"issue-0{HOSTILE}")])
    for drawn in exhibits(made, Chart):
        for place in expressions(vl_convert.vegalite_to_vega(drawn.spec)):
            assert "onerror" not in place, (drawn.name, place)


def expressions(node: Any, inside: bool = False) -> Iterator[str]:
    """Every string of a Vega specification that its interpreter evaluates."""
    if isinstance(node, str) and inside:
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from expressions(value, key in {"expr", "signal", "test", "update", "init"})
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value, inside)


def test_sections_that_need_records_give_the_reason_for_their_absence():
    counts = Path(__file__).parents[2] / "data" / "millstone" / "gpt-4o-counts.csv"
    made = sections(analyze(table_frames.read(COUNTS, open_table(counts)), resamples=20))
    keys = [section.key for section in made]
    assert "agreement" not in keys
    assert "topics" not in keys
    notes = [
        one.text for section in made if section.key == "letter" for one in section.exhibits if isinstance(one, Callout)
    ]
    assert len(notes) == 1
    assert "not computed:" in notes[0]
    corrected = table(made, "Open-mindedness by model").rows[0][3]
    assert isinstance(corrected, Estimate)
    assert "which records have" in corrected.method
    assert table(made, "Open-mindedness by model").rows[0][4].value == pytest.approx(7.7593, abs=5e-5)


def test_many_series_and_long_names_stay_apart():
    names = [
        f"provider/a-model-with-a-very-long-name-{number:02}-of-the-preview-of-2026 (held to format)"
        for number in range(9)
    ]
    short = shortened(names)
    assert len(set(short.values())) == 9
    assert all(len(name) <= 40 or name in names for name in short.values())
    assert shortened(["short", "x" * 90 + " (held to format)"])["x" * 90 + " (held to format)"].endswith(
        "(held to format)"
    )
    series = series_of(names)
    assert len({one.shape for one in series}) == len({one.colour for one in series}) == 9


def test_estimates_without_a_value_are_not_drawn(one):
    from overton.statistics import not_computed

    axis = Axis("Share", 0, 1, "share")
    points = [Dot("a", 0, not_computed("why")), Dot("b", 0, ModelNumbers(one, "openai/a")("leaning_pro"))]
    spec = dots(points, ["a", "b"], series_of(["s"]), axis)
    assert [value["row"] for value in spec["data"]["values"]] == ["b"]


def test_prompts_are_rebuilt_from_texts_stored_once(records):
    made = trial_table(records, ISSUES)
    assert len(set(made.texts)) == len(made.texts)
    for row in (0, 17, 200, made.size - 1):
        seen = records.row(row, named=True)
        asked = next(one for one in ISSUES if one.id == seen["issue"])
        at_hand = {one.id: one for one in (*asked.pros, *asked.cons)}
        shown = [at_hand[name] for name in seen["arguments"]]
        parts = prompt_parts(asked, shown, seen["wording"], seen["template"], seen["a_first"])
        assert "".join(made.texts[index] for index in made.prompts(made.prompt[row])) == "".join(parts)
        assert made.answers(row, row + 1) == [seen["answer"]]


def test_models_share_the_prompts_they_share(records):
    made = trial_table(records, ISSUES)
    assert list(made.prompt[: made.size // 3]) == list(made.prompt[made.size // 3 : 2 * made.size // 3])


def test_trials_without_their_issues_have_no_prompt(records):
    assert set(trial_table(records).prompt) == {-1}
    changed = [replace_arguments(ISSUES[0]), *ISSUES[1:]]
    made = trial_table(records, changed)
    asked = (records["issue"] == "issue-0") & (records["arguments"].list.len() > 0)
    assert [number == -1 for number in made.prompt] == asked.to_list()


def replace_arguments(item: Issue) -> Issue:
    import msgspec

    return msgspec.structs.replace(item, pros=(), cons=())


def test_facets_tell_model_stance_and_failure(records):
    facets = {facet.title: facet for facet in trial_table(records).facets}
    assert list(facets["Model"].labels) == ["openai/a", "openai/b", HELD]
    row = records["trial"].to_list().index("issue-0/balanced/w1/t1/r1")
    assert facets["Failed"].labels[facets["Failed"].codes[row]] == "timeout"
    assert facets["Reason"].labels[facets["Reason"].codes[row]] == "timeout: no reply in 60 s"
    assert facets["Letter"].codes[row] == -1
    assert facets["Configuration"].labels[facets["Configuration"].codes[row]] == "Balanced"


def test_scale_of_a_score_corrected_for_chance_may_go_below_zero() -> None:
    assert "at most 100" in SCORE.title
    assert "0 to 100" not in SCORE.title
    assert PLAIN.title == "Plain score (0 to 100)"
    assert SCORE.containing([-12.0]).low <= -12.0
