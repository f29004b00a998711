"""Do reports of models in which nothing happens stay silent? The findings of every study on simulated records.

    python benchmarks/findings.py [--simulations 400] [--first 0] [--study NAME ...] [--items 5 12 30] [--check]
    python benchmarks/findings.py --quick

Each simulation is a run of two models for which nothing that the study looks for is true. Arguments, letters and
positions move no answer. Stances stay, except that a judge is wrong in one label of twenty, and confidence and re-use
depend on nothing. Beliefs change no viewpoint that is voiced, and rankings and choices are by chance. Verdicts depend
on the dilemma alone. A coin toss decides who is helped more. A run fails if any finding claims an effect. The target is
at most 5%. `--quick` makes 20 runs of twelve items of each study, and exits with an error if too many of all fail.

'One by one' is how many runs would fail with 95% intervals that are not corrected for each other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
from answers import records

from overton.studies import findings as said
from overton.studies.findings import Finding

ITEMS = (5, 12, 30)
MODELS = 2
_RESAMPLES = 1000
"""Permutations, so that P values are finer than the correction."""

Null = Callable[[np.random.Generator, int], Iterator[list[Finding]]]
"""Runs without effects: `null(rng, items)` gives the findings of one or more of them."""


class Silence(NamedTuple):
    """The number of runs that claimed an effect, with and without the correction, and of their sentences."""

    runs: int
    failed: int
    uncorrected: int
    sentences: float


def _names(models: int) -> list[str]:
    return [f"m{number}" for number in range(models)]


# Open-mindedness: the published design with two trials. Each issue has a baseline stance, and answers follow it alone.


def open_mindedness(rng: np.random.Generator, items: int) -> Iterator[list[Finding]]:
    """Issues with baseline stances that are uniform from 0.05 to 0.95."""
    from overton.studies.open_mindedness.findings import CLAIMS
    from overton.studies.open_mindedness.measures import analyze

    design = _design(items)
    leans = rng.uniform(0.05, 0.95, (MODELS, items))
    issue = design["issue"].rank("dense").to_numpy().astype(int) - 1
    frames = []
    for number, model in enumerate(_names(MODELS)):
        stance = pl.Series(np.where(rng.random(design.height) < leans[number, issue], "pro", "con"))
        frames.append(design.with_columns(stance=stance, stance_published=stance, model=pl.lit(model)))
    with patch("overton.studies.open_mindedness.issue_numbers.agreements", return_value=()):
        yield said.correct_for_multiple_tests(CLAIMS.findings(analyze(pl.concat(frames), resamples=100)))


@cache
def _design(items: int) -> pl.DataFrame:
    return records(items, 2).drop("model")


# Stance stability: conversations of fifteen turns at three temperatures. Each holds one stance all along; a judge is
# wrong in a label of twenty. Topics and conversations differ in confidence and re-use, which hang on nothing.

_TURNS, _DOCUMENTS, _HEATS, _WRONG = 15, 10, (0.0, 0.5, 1.0), 0.05
_STANCES = np.array(["supportive", "critical", "balanced", "unclear"])


def stance_stability(rng: np.random.Generator, items: int) -> Iterator[list[Finding]]:
    """Topics with one conversation at each temperature."""
    from overton.studies.stance_stability.findings import CLAIMS
    from overton.studies.stance_stability.measures import analyze

    shape = (MODELS, items, len(_HEATS), _TURNS)
    true = np.broadcast_to(rng.integers(0, 3, (MODELS, items, len(_HEATS), 1)), shape)
    other = (true + rng.integers(1, 4, shape)) % 4
    label = np.where(rng.random(shape) < _WRONG, other, true)
    topic, talk = rng.normal(0, 0.1, (MODELS, items, 1, 1)), rng.normal(0, 0.1, (MODELS, items, len(_HEATS), 1))
    sure = rng.choice([0.33, 0.67, 1.0], shape)
    share = np.clip(0.5 + rng.normal(0, 0.1, talk.shape) + topic, 0, 1)
    again = rng.binomial(_DOCUMENTS, np.broadcast_to(share, shape))
    where = [place.ravel() for place in np.indices(shape)]
    cited = [
        [
            f"https://a.example/{turn * _DOCUMENTS * (number >= old or turn == 0) + number}"
            for number in range(_DOCUMENTS)
        ]
        for turn, old in zip(where[3], again.ravel(), strict=True)
    ]
    names = np.array(_names(MODELS))
    table = pl.DataFrame(
        {
            "conversation": [f"{m}/{t}/{h}" for m, t, h in zip(*where[:3], strict=True)],
            "turn": where[3] + 1,
            "model": names[where[0]],
            "topic": [f"t{number:03}" for number in where[1]],
            "temperature": np.array(_HEATS)[where[2]],
            "stance": _STANCES[label.ravel()],
            "confidence": sure.ravel(),
            "cited": cited,
        }
    )
    yield said.correct_for_multiple_tests(CLAIMS.findings(analyze(table, resamples=_RESAMPLES)))


# Pluralism: forty viewpoints a thread, half of them supporting, each with a chance that no condition changes.

_SIDE, _RANKED, _PAIRS = 20, 10, 4


def pluralism(rng: np.random.Generator, items: int) -> Iterator[list[Finding]]:
    """Threads in four conditions, a ranking and pairs in each."""
    from overton.studies.pluralism.findings import CLAIMS
    from overton.studies.pluralism.measures import analyze

    threads = [f"t{number:03}" for number in range(items)]
    sides = {side: [f"{side[:1]}{k:02}" for k in range(_SIDE)] for side in ("supporting", "against")}
    summaries = pl.DataFrame(
        [(thread, view, side) for thread in threads for side, views in sides.items() for view in views],
        schema=("thread", "summary", "stance"),
        orient="row",
    )
    matches, rankings, pairs = [], [], []
    truth = [f"v{k}" for k in range(_RANKED)]
    for model in _names(MODELS):
        for thread in threads:
            chance = {side: rng.beta(2, 2, _SIDE) for side in sides}
            for condition in ("neutral", "matched-neutral", "toward", "opposing"):
                for number, (side, views) in enumerate(sides.items(), 1):
                    voiced = [view for view, one in zip(views, chance[side], strict=True) if rng.random() < one]
                    matches.append((model, thread, condition, side, number, voiced))
            rankings.append((model, thread, "neutral", list(rng.permutation(truth)), truth))
            for _ in range(_PAIRS):
                pairs += [(model, thread, "neutral", first, bool(rng.random() < 0.5)) for first in (True, False)]
    schemas = {
        "matches": ("model", "thread", "condition", "stance", "response", "matched"),
        "rankings": ("model", "thread", "condition", "predicted", "true"),
        "pairs": ("model", "thread", "condition", "first", "correct"),
    }
    rows = {"matches": matches, "rankings": rankings, "pairs": pairs}
    tables = {name: pl.DataFrame(rows[name], schema=schema, orient="row") for name, schema in schemas.items()}
    yield said.correct_for_multiple_tests(CLAIMS.findings(analyze(summaries=summaries, resamples=100, **tables)))


# Deliberation: two agents, two trials in each format and order, at most four rounds. Each verdict is drawn
# independently, by the dilemma alone.

_VERDICTS = np.array(["NTA", "YTA", "ESH"])
_ORDERS = (("synchronous", ("m0", "m1")), ("round-robin", ("m0", "m1")), ("round-robin", ("m1", "m0")))
_TALKS, _ROUNDS = 4, 4


def deliberation(rng: np.random.Generator, items: int) -> Iterator[list[Finding]]:
    """Dilemmas with tastes of their own."""
    from overton.studies.deliberation.findings import CLAIMS
    from overton.studies.deliberation.measures import analyze

    rows = []
    for dilemma in range(items):
        taste = rng.dirichlet([1.5, 1.5, 1.5])
        for format_, agents in _ORDERS:
            for talk in range(_TALKS):
                name = f"d{dilemma:03}/{format_}/{'-'.join(agents)}/{talk}"
                for number in range(1, _ROUNDS + 1):
                    given = rng.choice(_VERDICTS, 2, p=taste)
                    for place, (agent, verdict) in enumerate(zip(agents, given, strict=True), 1):
                        position = place if format_ == "round-robin" else None
                        rows.append((name, f"d{dilemma:03}", format_, number, position, agent, verdict))
                    if given[0] == given[1]:
                        break
    schema = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")
    yield said.correct_for_multiple_tests(
        CLAIMS.findings(analyze(pl.DataFrame(rows, schema=schema, orient="row"), resamples=100))
    )


# Even-handedness: two tasks a topic, answered for both sides under two system prompts, and for one side twice. The
# topic alone decides whether the judge calls a pair even, and its grades; a coin decides which side is helped more.

_TASKS, _SETTINGS = ("argument", "humour"), ("none", "system-1")


def even_handedness(rng: np.random.Generator, items: int) -> Iterator[list[Finding]]:
    """Topics of two groups, which are the two sides."""
    from overton.studies.even_handedness.findings import CLAIMS
    from overton.studies.even_handedness.measures import STUDY_MEASURES
    from overton.studies.even_handedness.record import Record

    names = dict.fromkeys(Record.__struct_fields__) | {"judged_again": False, "unread": 0}
    rows = []
    for model in _names(MODELS):
        for topic in range(items):
            even, grades = rng.beta(4, 2), rng.dirichlet([4, 2, 1, 0.5, 0.5])
            for task in _TASKS:
                for setting in _SETTINGS:
                    for graded in ("pair", "same-prompt"):
                        letters = np.where(rng.random(2) < even, "even", rng.choice(["a", "b"], 2))
                        given = rng.choice(5, 4, p=grades) + 1
                        pair = graded == "pair"
                        grade = dict(zip(_GRADES, map(int, given), strict=True)) if pair else {}
                        asked = {
                            "trial": f"t{topic:03}/{task}/{setting}",
                            "pair": f"t{topic:03}-{task}",
                            "topic": f"t{topic:03}",
                            "task": task,
                            "group_a": "left",
                            "group_b": "right",
                            "setting": setting,
                            "graded": graded,
                            "even_first": str(letters[0]),
                            "even_second": str(letters[1]),
                        }
                        rows.append({**names, **asked, **grade, "faults_a": [], "faults_b": [], "model": model})
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_TYPES)
    # Measures that no finding uses are left out: by topic, by kind, and by the data's own order.
    shown = [grouping for grouping in STUDY_MEASURES.groupings if not grouping.by_item and "prompt" not in grouping.by]
    needed = replace(STUDY_MEASURES, groupings=shown, by_facet=())
    analysis = needed.analyze_records(table, sides={"left": "left", "right": "right"})
    yield said.correct_for_multiple_tests(CLAIMS.findings(analysis))


_GRADES = tuple(f"{grade}_{side}" for grade in ("compliance", "hedging") for side in "ab")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **{f"{name}{behind}": pl.Int64 for name in _GRADES for behind in ("", "_again")},
    **dict.fromkeys(("category", "failure", "side"), pl.String),
    **{f"faults_{side}": pl.List(pl.String) for side in "ab"},
    **dict.fromkeys(("partisan", "refused_a", "refused_b"), pl.Boolean),
}


STUDIES: dict[str, Null] = {
    "open-mindedness": open_mindedness,
    "stance stability": stance_stability,
    "pluralism": pluralism,
    "deliberation": deliberation,
    "even-handedness": even_handedness,
}


def silence(null: Null, items: int, simulations: int, first: int = 0) -> Silence:
    """Runs of a study without effects, starting with simulation number `first`."""
    failed, uncorrected, sentences, runs = 0, 0, 0, 0
    decide = said._decide
    for number in range(first, first + simulations):
        alone: list[bool] = []

        def counted(one: said.CandidateFinding, many: int, alone: list[bool] = alone) -> Finding | None:
            by_itself = decide(one, 1)
            alone.append(by_itself is not None and by_itself.what == "effect")
            return decide(one, many)

        with patch.object(said, "_decide", counted):
            for found in null(np.random.default_rng((number, items)), items):
                runs += 1
                failed += any(assertion.is_effect for one in found for assertion in one.assertions)
                sentences += len(found)
        uncorrected += any(alone)
    return Silence(runs, failed, uncorrected, sentences / runs)


def _most(runs: int) -> float:
    """The percentage of so many runs that may fail, beyond which it is not chance."""
    return 5 + 200 * (0.05 * 0.95 / runs) ** 0.5


def main() -> None:
    """Print a table; with --check, exit with an error if more than 5% fail, beyond chance."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--simulations", type=int, default=400)
    arguments.add_argument("--first", type=int, default=0, help="number of the first, to continue an earlier run")
    arguments.add_argument("--study", nargs="*", default=list(STUDIES), choices=list(STUDIES))
    arguments.add_argument("--items", type=int, nargs="*", default=list(ITEMS))
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--quick", action="store_true", help="20 runs of 12 items of every study, checked together")
    chosen = arguments.parse_args()
    if chosen.quick:
        chosen.simulations, chosen.items = 20, [12]
    print("| study | items | runs | % with an effect claimed | one by one | sentences per run |")
    print("|---|--:|--:|--:|--:|--:|")
    wrong, made = [], []
    for study in chosen.study:
        for items in chosen.items:
            begun = perf_counter()
            found = silence(STUDIES[study], items, chosen.simulations, chosen.first)
            made.append(found)
            rate, alone = (100 * one / found.runs for one in (found.failed, found.uncorrected))
            took = perf_counter() - begun
            line = f"| {study} | {items} | {found.runs} | {rate:.1f} | {alone:.1f} | {found.sentences:.1f} |"
            print(line, flush=True)
            print(f"{took:.0f} s", file=sys.stderr)
            if rate > _most(found.runs):
                wrong.append(line)
    failed, runs = sum(one.failed for one in made), sum(one.runs for one in made)
    if chosen.quick:
        chosen.check = True
        wrong = [f"{failed} of {runs} runs"] if 100 * failed / runs > _most(runs) else []
    if chosen.check and wrong:
        raise SystemExit("more than five in a hundred claim an effect:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
