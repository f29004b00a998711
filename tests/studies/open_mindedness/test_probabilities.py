"""Proportions by token probabilities: a respondent that reports them, through the whole study."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import msgspec
import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.calls import Form, Message, Reply, Request, Settings
from overton.engine.identity import CallKey, identify
from overton.runs.items import read_items
from overton.studies.open_mindedness import STUDY, Options
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.protocol import ANSWER, WEIGHED, conduct, trials
from overton.studies.open_mindedness.simulated import OpenMinded, Parameters

ISSUES = read_items("open-mindedness")[:5]
PAIR: dict[str, Any] = {"templates": (2, 5), "wordings": (1,)}


class Hearing:
    """An `Ask` of one trial that a respondent answers, with what it was asked."""

    def __init__(self, respondent: OpenMinded, trial: str) -> None:
        self.respondent, self.trial = respondent, trial
        self.asked: list[tuple[str | None, Form | None]] = []

    async def __call__(
        self, role: str, messages: Sequence[Message], *, speaker: str | None = None, form: Form | None = None, **_: Any
    ) -> Reply:
        self.asked.append((speaker, form))
        seed = crc32(f"{self.trial}/{speaker}".encode())
        return self.respondent.reply(Request(tuple(messages), Settings(), form, seed))


def held(
    options: Options, parameters: Parameters | None = None, model: str = "m"
) -> tuple[pl.DataFrame, list[Hearing]]:
    respondent = OpenMinded(ISSUES, parameters)
    hearings, rows = [], []
    for trial in trials(ISSUES, options, 1):
        hearings.append(Hearing(respondent, trial.name))
        rows += asyncio.run(conduct(trial, hearings[-1]))  # type: ignore[arg-type]
    made = [{"model": model, **msgspec.structs.asdict(one)} for one in rows]
    types = {"topic": pl.String, "draw": pl.Int64, "failure": pl.String, "p_a": pl.Float64, "p_b": pl.Float64}
    types |= {"sampled": pl.List(pl.String), "faults": pl.List(pl.String), "last_argument": pl.String}
    types |= {"input_tokens": pl.Int64, "output_tokens": pl.Int64, "shares": pl.String, "letter": pl.String}
    return pl.DataFrame(made, schema_overrides=types), hearings


def test_requests_do_not_change_if_no_probabilities_are_requested() -> None:
    place, messages = CallKey("t", "subject", 0, "m"), (Message("user", "A or B?"),)
    plain, weighed = (identify(place, messages, Settings(), form) for form in (ANSWER, WEIGHED))
    assert plain == identify(place, messages, Settings(), Form(choices=ANSWER.choices, weigh=()))
    assert plain != weighed
    assert b"weigh" not in msgspec.json.encode(ANSWER)
    assert msgspec.json.encode(Reply("position <<A>>")) == b'{"text":"position <<A>>"}'


def test_one_call_per_prompt_gives_the_respondents_probabilities() -> None:
    parameters = Parameters(lean_spread=1.5, letter=0.7)
    records, _ = held(Options(trials=1, shares="probabilities", calibrate=0, **PAIR), parameters)
    analysis = analyze(records)
    assert analysis.weighing is not None
    assert analysis.weighing.used
    pull = 0.7
    model = ModelNumbers(analysis)
    for name in (cells["issue"] for cells in model.table("issues")):
        lean = parameters.lean_of(name)
        truth = sum(1 / (1 + 2.718281828459045 ** -(lean + way * pull)) for way in (1, -1)) / 2
        share = model("pro", "baseline", item=name)
        assert share.value == pytest.approx(truth, abs=1e-6)  # a mirrored pair takes the letter out of neither logit
        assert share.low <= truth <= share.high


def test_shares_by_probabilities_are_those_of_many_samples_and_their_intervals_are_narrower_than_of_as_few() -> None:
    parameters = Parameters(lean_spread=1.0)
    weighed, _ = held(Options(trials=1, shares="probabilities", calibrate=0, **PAIR), parameters)
    sampled, _ = held(Options(trials=100, **PAIR), parameters)
    one, many = ModelNumbers(analyze(weighed)), ModelNumbers(analyze(sampled))
    few = ModelNumbers(analyze(weighed, shares="sampled"))
    for cells in one.table("conditions"):
        found, beside, single = (model("pro", cells["condition"], item=cells["issue"]) for model in (one, many, few))
        assert found.value == pytest.approx(beside.value, abs=0.11)
        assert found.high - found.low < single.high - single.low
    assert one("open_mindedness").value == pytest.approx(many("open_mindedness").value, abs=6)


def test_a_reply_without_a_letter_is_other_and_refusals_between_prompts_widen_the_interval() -> None:
    records, _ = held(Options(trials=4, shares="probabilities", calibrate=0, **PAIR), Parameters(lean=0.0, refusal=0.5))
    refused = records.filter(pl.col("letter").is_null())
    assert refused.height > 5
    assert refused["p_a"].to_list() == refused["p_b"].to_list() == [0.0] * refused.height
    never, _ = held(Options(trials=4, shares="probabilities", calibrate=0, **PAIR), Parameters(lean=0.0))
    wide, narrow = (ModelNumbers(analyze(one))("other", "baseline", item=ISSUES[0].id) for one in (records, never))
    assert wide.value > 0
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_drawn_prompts_are_also_sampled_by_speakers_of_their_own_and_not_weighed_there() -> None:
    records, hearings = held(Options(trials=1, shares="probabilities", **PAIR))
    drawn = records.filter(pl.col("sampled").is_not_null())
    assert drawn.height == 20
    assert drawn["sampled"].list.len().sum() == 200
    asked = [one for hearing in hearings for one in hearing.asked if one[0] is not None]
    assert len(asked) == 200
    assert all(speaker.startswith("subject/sampled/") and form == ANSWER for speaker, form in asked if speaker)
    found = analyze(records).weighing
    assert found is not None
    assert found.calibrations["m"].verdict != "differ"


def test_auto_uses_probabilities_of_all_models_or_of_none() -> None:
    records, _ = held(Options(trials=1, shares="auto", calibrate=1000, **PAIR))
    # Another model of the same run answers the letter A whatever it reports: its answers differ from its probabilities.
    untrue = records.with_columns(
        model=pl.lit("untrue"),
        sampled=pl.when(pl.col("sampled").is_not_null()).then(pl.lit(["A"] * 10)),
        p_a=pl.lit(0.3),
        p_b=pl.lit(0.7),
    )
    alone, both = analyze(records), analyze(pl.concat([records, untrue]))
    assert alone.weighing is not None
    assert alone.weighing.used
    assert both.weighing is not None
    assert both.weighing.calibrations["untrue"].verdict == "differ"
    assert not both.weighing.used
    assert "untrue" in both.weighing.why
    counted = analyze(records, shares="sampled")
    assert ModelNumbers(both)("pro", "baseline") == ModelNumbers(counted)("pro", "baseline")


def test_runs_with_and_without_probabilities_are_not_mixed() -> None:
    weighed, _ = held(Options(trials=1, shares="probabilities", calibrate=0, **PAIR), model="weighed")
    sampled, _ = held(Options(trials=1, **PAIR), model="sampled")
    found = analyze(pl.concat([weighed, sampled])).weighing
    assert found is not None
    assert not found.used


def test_each_prompt_has_one_trial_unless_the_user_says_how_many() -> None:
    assert STUDY.options.complete({"shares": "probabilities"}, {})["trials"] == 1
    assert STUDY.options.complete({"shares": "probabilities", "trials": 3}, {})["trials"] == 3
    assert "trials" not in STUDY.options.complete({}, {})
