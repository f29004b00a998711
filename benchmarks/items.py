"""Simulated items of every study: tables of records whose items have values of known distributions.

Each study has a function that makes the table of many data sets at once. Each data set is a model (or a pair of models)
with the same number of items. A second function takes the estimates of each data set from the study's own analysis. The
truth is the analysis of a data set of many items by the same measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

Estimates = Mapping[str, Sequence[Estimate]]


class Distribution(NamedTuple):
    """A distribution of items' values in [0, 1], and the target for coverage ('even', 'skewed', 'other', 'heavy')."""

    name: str
    kind: str
    draw: Draw


def _within(values: Floats) -> Floats:
    return np.clip(values, 0, 1)


DISTRIBUTIONS = (
    Distribution("normal (0.5, 0.12)", "even", lambda rng, size: _within(rng.normal(0.5, 0.12, size))),
    Distribution("uniform (0.2 to 0.8)", "even", lambda rng, size: rng.uniform(0.2, 0.8, size)),
    Distribution(
        "exponential (0.1 + 0.1 E)", "skewed", lambda rng, size: _within(0.1 + 0.1 * rng.exponential(size=size))
    ),
    Distribution("yes or no (0.3)", "other", lambda rng, size: (rng.random(size) < 0.3).astype(float)),
    Distribution("lognormal (0.05 e^N)", "heavy", lambda rng, size: _within(0.05 * rng.lognormal(size=size))),
    Distribution(
        "three quarters zero, else 0.1 e^N",
        "heavy",
        lambda rng, size: _within((rng.random(size) < 0.25) * 0.1 * rng.lognormal(size=size)),
    ),
)


class Study(NamedTuple):
    """Functions to make a table of (data sets, items) and to read its estimates.

    `at_once` data sets are made in one table, and `population` items give the truth. `distributions` are those
    simulated.
    """

    name: str
    table: Callable[[np.random.Generator, Draw, int, int], pl.DataFrame]
    estimates: Callable[[pl.DataFrame], Estimates]
    at_once: int
    population: int = 20_000
    distributions: Sequence[Distribution] = DISTRIBUTIONS


def _places(sets: int, items: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The data set and the item at every place."""
    return np.repeat(np.arange(sets), items), np.tile(np.arange(items), sets)


def _names(prefix: str, numbers: NDArray[np.int64]) -> pl.Series:
    return pl.select(pl.format(prefix + "{}", pl.Series(numbers).cast(pl.String).str.zfill(6))).to_series()


# Open-mindedness: counts of 1,000 answers in each configuration. Arguments move so many of them from pro to con, or if
# they move few, none. A score is a tenth of that number, so that scores follow the distribution up to 33.

_ANSWERS = 1_000
_BASELINE = (360, 340, 300)
_MOVED = 330
_FLIPS = 11
_CONFIGURATIONS = ("one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")


def open_mindedness(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Counts by model, issue, condition and stance."""
    number, issue = _places(sets, items)
    moved = np.rint(_MOVED * draw(rng, (len(number),)))
    moved = np.where(moved < _FLIPS, 0, moved)
    places = pl.DataFrame({"model": _names("m", number), "issue": _names("i", issue)})
    pro, con, other = _BASELINE
    frames = [
        places.with_columns(condition=pl.lit(name), stance=pl.lit(stance), count=pl.Series(count.astype(np.int64)))
        for name, by in (("baseline", np.zeros(len(number))), *((name, moved) for name in _CONFIGURATIONS))
        for stance, count in (("pro", pro - by), ("con", con + by), ("other", other + 0 * by))
    ]
    return pl.concat(frames)


def of_open_mindedness(table: pl.DataFrame) -> Estimates:
    """Score, mean share, shift, and share of issues that are moved."""
    from overton.studies.open_mindedness.measures import analyze

    found = analyze(table, resamples=100)

    def over_issues(measure: str, condition: str | None = None) -> list[Estimate]:
        return [row.number for row in found.rows_of(measure, item=None, condition=condition, variant="plain")]

    return {
        "score (mean over issues)": over_issues("open_mindedness"),
        "share con with balanced arguments": over_issues("con", "balanced"),
        "shift by balanced arguments": over_issues("shift", "balanced"),
        "share of issues moved": over_issues("issues_moved"),
    }


# Open-mindedness, records: two trials of each template and configuration. An issue's answers follow the letter, and the
# last argument, as far as its values say.


def pulls(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Records with the published design, answered by chance."""
    from answers import records

    design = records(1, 2).drop("issue", "model")
    number, issue = _places(sets, items)
    letter, last = (draw(rng, (len(number),)) / 2 for _ in range(2))
    places = pl.DataFrame({"model": _names("m", number), "issue": _names("i", issue), "letter": letter, "last": last})
    table = places.join(design, how="cross")
    sides = {"pro": 0.5, "con": -0.5}
    towards = table.select(pl.col("a_is", "last_argument").replace_strict(sides, default=0.0, return_dtype=pl.Float64))
    share = 0.5 + (table["letter"] * towards["a_is"] + table["last"] * towards["last_argument"]).to_numpy()
    stance = pl.Series(np.where(rng.random(table.height) < share, "pro", "con"))
    return table.drop("letter", "last").with_columns(stance=stance, stance_published=stance)


def of_pulls(table: pl.DataFrame) -> Estimates:
    """Label and position bias over issues, and how much answers depend on the sample of arguments."""
    from overton.studies.open_mindedness.measures import analyze

    with patch("overton.studies.open_mindedness.issue_numbers.agreements", return_value=()):
        found = analyze(table, resamples=100)
    return {
        "label bias (mean over issues)": [row.number for row in found.rows_of("pulls_letter", item=None)],
        "bias towards the last argument (ratio over issues)": [
            row.number for row in found.rows_of("pulls_last", item=None)
        ],
    }


# Stance stability: a topic's value is how sure its conversations are, with something of each conversation's own. They
# are at three temperatures, of which the highest adds 0.05. In eleven turns the number of changes follows the same
# value. The share of documents re-used follows the mean of it and of another value of the topic.

_TURNS, _DOCUMENTS = 11, 10
_ADDRESSES = pl.Series([f"https://a.example/{number}" for number in range(_TURNS * _DOCUMENTS)])
_TEMPERATURES = (0.0, 0.5, 1.0)
_HOTTER = np.array([0.0, 0.0, 0.05])


def stance_stability(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Turns of conversations."""
    number, topic = _places(sets, items)
    value = draw(rng, (len(number), 1))
    spread = np.where((value > 0) & (value < 1), rng.normal(0, 0.03, (len(number), 3)), 0.0)
    value = np.round(_within(value + spread + _HOTTER * (value > 0) * (value < 1)), 4).ravel()
    at, turn = np.repeat(np.arange(len(value)), _TURNS), np.tile(np.arange(_TURNS), len(value))
    reused = np.rint((value + np.repeat(draw(rng, (len(number),)), 3)) / 2 * _DOCUMENTS)[at]
    changes = np.rint(value * (_TURNS - 1))[at]
    stance = np.where(np.minimum(turn, changes) % 2 == 0, "supportive", "critical")
    documents = np.arange(_DOCUMENTS)
    fresh = (documents >= reused[:, None]) | (turn == 0)[:, None]
    cited = np.where(fresh, turn[:, None] * _DOCUMENTS, 0) + documents
    return pl.DataFrame(
        {
            "conversation": _names("c", at),
            "turn": turn + 1,
            "model": _names("m", np.repeat(number, 3)[at]),
            "topic": _names("t", np.repeat(topic, 3)[at]),
            "temperature": np.tile(_TEMPERATURES, len(number))[at],
            "stance": stance,
            "confidence": value[at],
            "cited": pl.Series(_ADDRESSES.gather(cited.ravel())).reshape(cited.shape).cast(pl.List(pl.String)),
        }
    )


def of_stance_stability(table: pl.DataFrame) -> Estimates:
    """Means, deviations, bands, a turn, a correlation, and what temperature changes."""
    from overton.studies.stance_stability.measures import analyze

    analysis = analyze(table, resamples=100)

    def of_models(measure: str, **place: str) -> list[Estimate]:
        return [analysis.estimate(measure, model=model, **place) for model in analysis.models]

    made = {
        name: of_models(measure)
        for name, measure in {
            "Chameleon score": "chameleon",
            "confidence": "confidence",
            "source re-use": "source_reuse",
            "stance changes": "stance_changes",
            "share that ends on another stance": "drifted",
            "share of conversations in the high band": "chameleon_high",
            "correlation of re-use and confidence": "reuse_with_confidence",
            "confidence: variance across temperatures": "confidence_temperature_variance",
            "confidence: variance within a topic": "confidence_temperature_within_topics",
        }.items()
    }
    return made | {
        "confidence: standard deviation": of_models("confidence", variant="sd"),
        "share that changes at turn 3": of_models("changed_at_turn", facet="turn", condition="3"),
    }


# Pluralism: forty viewpoints a thread, half of them supporting. The responses voice as many of each side as the
# thread's values say, under 'toward' with a value of its own. Twenty pairs of viewpoints in either order.

_VIEWS = 40
_PAIRS = 20


def pluralism(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Responses of two stances in two conditions, each with the number of viewpoints that it voices."""
    number, thread = _places(sets, items)
    frames = [
        pl.DataFrame({"model": _names("m", number), "thread": _names("t", thread)}).with_columns(
            condition=pl.lit(condition),
            stance=pl.lit(stance),
            response=pl.lit(response),
            voiced=pl.Series(np.rint(draw(rng, (len(number),)) * _VIEWS / 2).astype(np.int64)),
        )
        for condition in ("neutral", "toward")
        for response, stance in enumerate(("supporting", "against"), 1)
    ]
    return pl.concat(frames)


def of_pluralism(table: pl.DataFrame) -> Estimates:
    """Set measures, their change under a stated belief, accuracy on pairs and the position bias to the first."""
    from overton.studies.pluralism.measures import analyze

    half = _VIEWS // 2
    names = {side: [f"{side[:1]}{k:02}" for k in range(half)] for side in ("supporting", "against")}
    summaries = pl.DataFrame(
        {"summary": [*names["supporting"], *names["against"]], "stance": ["supporting"] * half + ["against"] * half}
    )
    lists = pl.Series([names[side][:many] for side in names for many in range(half + 1)])
    code = table["voiced"] + (table["stance"] == "against").cast(pl.Int64) * (half + 1)
    matches = table.drop("voiced").with_columns(matched=lists.gather(code))
    pairs = table.filter(condition="neutral").with_columns(
        right=(pl.col("voiced") * _PAIRS / half).round(), first=pl.col("stance") == "supporting"
    )
    pairs = pairs.join(pl.DataFrame({"pair": range(_PAIRS)}), how="cross").with_columns(
        correct=pl.col("pair") < pl.col("right")
    )
    analysis = analyze(
        matches=matches,
        summaries=table.select("thread").unique().join(summaries, how="cross"),
        pairs=pairs.select("model", "thread", "condition", "first", "correct"),
        resamples=100,
    )

    def of_models(measure: str, condition: str, against: str | None = None) -> list[Estimate]:
        rows = analysis.rows_of(measure, condition=condition, against=against, variant="plain")
        return [row.number for row in rows if row.model is not None]

    return {
        "recall": of_models("sycophancy_recall", "neutral"),
        "F1": of_models("sycophancy_global_f1", "neutral"),
        "recall, toward minus neutral": of_models("sycophancy_recall", "toward", "neutral"),
        "amplification, as published": of_models("amplification_as_published", "toward", "neutral"),
        "amplification (logits)": of_models("amplification", "toward", "neutral"),
        "asymmetry (logits)": of_models("asymmetry", "toward", "neutral"),
        "accuracy on pairs": of_models("pairwise_accuracy", "neutral"),
        "bias towards the first-named (difference)": of_models("pairwise_first_pull", "neutral"),
    }


# Deliberation: two agents, ten deliberations a dilemma. The dilemma's value is how many of them come to agree, by
# chance at once or because the second agent gives in. Another value is in how many the first agent is unsteady.

_TALKS = 10


def deliberation(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Decisions of at most two rounds."""
    number, dilemma = _places(sets, items)
    value, other = (np.rint(draw(rng, (len(number),)) * _TALKS) for _ in range(2))
    agreeing = rng.binomial(value.astype(np.int64), 0.5)
    at, talk = np.repeat(np.arange(len(number)), _TALKS), np.tile(np.arange(_TALKS), len(number))
    at_once, later = talk < agreeing[at], (talk >= agreeing[at]) & (talk < value[at])
    unsteady = (~at_once) & ~later & (_TALKS - 1 - talk < other[at])
    verdicts = {
        ("a", 1): np.full(len(at), "NTA"),
        ("b", 1): np.where(at_once, "NTA", "YTA"),
        ("a", 2): np.where(unsteady, "ESH", "NTA"),
        ("b", 2): np.where(later, "NTA", "YTA"),
    }
    places = pl.DataFrame(
        {"deliberation": _names("d", np.arange(len(at))), "dilemma": _names("d", dilemma[at]), "set": number[at]}
    )
    frames = [
        places.with_columns(
            format=pl.lit("synchronous"),
            round=pl.lit(round_),
            position=pl.lit(None, pl.Int64),
            model=_names(agent, number[at]),
            verdict=pl.Series(verdict),
            there=pl.Series(~at_once if round_ == 2 else np.ones(len(at), bool)),
        )
        for (agent, round_), verdict in verdicts.items()
    ]
    return pl.concat(frames).filter("there").drop("there", "set")


def of_deliberation(table: pl.DataFrame) -> Estimates:
    """Consensus and its round, changes of verdict and their difference, verdicts, what became of them."""
    from overton.studies.deliberation import choice
    from overton.studies.deliberation.measures import analyze

    with patch.object(choice, "fit_choices", return_value=[]):
        analysis = analyze(table, resamples=100)

    def numbers(measure: str, facet: str, *, compared: bool = False, second: bool = True) -> list[Estimate]:
        rows = analysis.rows_of(measure, facet, variant="plain")
        own = [row for row in rows if (row.against is not None) == compared]
        return [row.number for row in own if not second or str(row.model).startswith("b")]

    last = analysis.rows_of("last_verdict", "setting / verdict")
    return {
        "consensus": numbers("consensus", "setting", second=False),
        "rounds to consensus (ratio)": numbers("rounds_to_consensus", "setting", second=False),
        "changes of verdict": [analysis.estimate("changed", model=name) for name in analysis.models if name[0] == "b"],
        "changes, second minus first agent": numbers("changed", "setting", compared=True),
        "share of last verdicts NTA": [
            row.number for row in last if str(row.model).startswith("b") and str(row.condition).endswith(" / NTA")
        ],
    }


# Even-handedness: ten pairs a topic. So many as the topic's value says are called even in both orders, and of the
# others so many lean to a as another value says.

_TASKS = 10


def even_handedness(rng: np.random.Generator, draw: Draw, sets: int, items: int) -> pl.DataFrame:
    """Graded pairs of one order of groups, all complied with."""
    number, topic = _places(sets, items)
    even = np.rint(draw(rng, (len(number),)) * _TASKS)
    to_a = np.rint(draw(rng, (len(number),)) * (_TASKS - even))
    at, task = np.repeat(np.arange(len(number)), _TASKS), np.tile(np.arange(_TASKS), len(number))
    helped = np.where(task < even[at], "even", np.where(task < (even + to_a)[at], "a", "b"))
    return pl.DataFrame(
        {
            "model": _names("m", number[at]),
            "topic": _names("t", topic[at]),
            "pair": _names("p", topic[at] * _TASKS + task),
            "even_first": helped,
            "even_second": helped,
        }
    ).with_columns(group_a=pl.lit("left"), group_b=pl.lit("right"), compliance_a=pl.lit(1), compliance_b=pl.lit(1))


STUDIES = (
    Study("open-mindedness", open_mindedness, of_open_mindedness, 40),
    Study("open-mindedness, pulls", pulls, of_pulls, 40, 5_000),
    Study("stance stability", stance_stability, of_stance_stability, 100),
    Study("pluralism", pluralism, of_pluralism, 200),
    Study("deliberation", deliberation, of_deliberation, 100),
)
