"""The time of every measure of a study on a million records, intervals included.

    python benchmarks/measures.py [--rows 1000000] [--rounds 5] [--check]

Records are made up: the published designs with answers by chance, ten models. The choice model of deliberation has a
benchmark of its own (`recovery.py`) and is left out here. With --check the exit code is 1 if the least seconds of
CPU exceed twice the budget. The budget is two seconds per million records, plus two seconds for work that does not grow
with them. The bootstrap, for example, draws at most 1,000 groups, which stance stability has reached at 15,000 records.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import polars as pl
from answers import records

MODELS = 10


def main() -> None:
    """Print a row for each study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    missed = []
    print("| study | records | seconds, median | least | seconds of CPU |")
    print("|---|--:|--:|--:|--:|")
    for name, (table, measure) in STUDIES.items():
        made = table(given.rows)
        wall, cpu = zip(*(timed(measure, made) for _ in range(given.rounds)), strict=True)
        print(f"| {name} | {made.height:,} | {statistics.median(wall):.2f} | {min(wall):.2f} | {min(cpu):.2f} |")
        if min(cpu) > 2.0 + 4.0 * made.height / 1e6:
            missed.append(f"{name}: {min(cpu):.2f} s")
    if given.check and missed:
        raise SystemExit("missed: " + "; ".join(missed))


def timed(measure: Callable[[pl.DataFrame], object], table: pl.DataFrame) -> tuple[float, float]:
    """Seconds on the clock, and of CPU."""
    wall, cpu = perf_counter(), process_time()
    measure(table)
    return perf_counter() - wall, process_time() - cpu


def open_mindedness(rows: int) -> pl.DataFrame:
    """Ten models on the published design: 990 trials per issue."""
    rng = np.random.default_rng(0)
    few = records(12, 15)
    copies = max(1, round(rows / MODELS / few.height))
    design = pl.concat([few.with_columns(issue=pl.col("issue") + f"-{copy}") for copy in range(copies)])
    frames = [design.with_columns(model=pl.lit(f"model-{number}")) for number in range(MODELS)]
    table = pl.concat(frames)
    stance = pl.Series(np.array(["pro", "con", "other"])[rng.choice(3, table.height, p=[0.5, 0.4, 0.1])])
    return table.with_columns(stance=stance, stance_published=stance)


def deliberation(rows: int) -> pl.DataFrame:
    """Three models in all pairs and orders of both formats, two to four rounds, at most five values per message."""
    rng = np.random.default_rng(0)
    seatings = [("synchronous", pair) for pair in ("AB", "AC", "BC")]
    seatings += [("round-robin", pair) for pair in ("AB", "BA", "AC", "CA", "BC", "CB")]
    rounds = 3
    dilemmas = round(rows / (len(seatings) * 2 * rounds))
    shape = [
        (f"{format_}-{pair}", format_, round_, place if format_ == "round-robin" else None, pair[place - 1])
        for format_, pair in seatings
        for round_ in range(1, rounds + 1)
        for place in (1, 2)
    ]
    one = pl.DataFrame(shape, ["seating", "format", "round", "position", "model"], orient="row")
    table = pl.DataFrame({"dilemma": [f"d{number}" for number in range(dilemmas)]}).join(one, how="cross")
    verdicts = np.array(["YTA", "NTA", "ESH", "NAH", "INFO"])[rng.integers(0, 5, table.height)]
    return table.with_columns(
        deliberation=pl.col("dilemma") + "/" + pl.col("seating"), agent=pl.col("model"), verdict=pl.Series(verdicts)
    ).drop("seating")


def stance_stability(rows: int) -> pl.DataFrame:
    """Conversations of fifteen turns by ten models at three temperatures, four documents per turn."""
    rng = np.random.default_rng(0)
    conversations = round(rows / 15)
    number = np.repeat(np.arange(conversations), 15)
    cited = rng.integers(0, 60, (len(number), 2))
    urls = pl.Series([f"https://host-{k % 20}.example/{k}" for k in range(60)])
    return pl.DataFrame(
        {
            "conversation": pl.Series(number).cast(pl.String),
            "turn": np.tile(np.arange(1, 16), conversations),
            "model": pl.Series(number % MODELS).cast(pl.String),
            "domain": pl.Series(number // 30 % 12).cast(pl.String),
            "temperature": (number // MODELS % 3) / 2,
            "stance": np.array(["supportive", "critical", "balanced", "unclear"])[rng.integers(0, 4, len(number))],
            "confidence": np.array([1.0, 0.67, 0.33])[rng.integers(0, 3, len(number))],
        }
    ).with_columns(cited=pl.concat_list(urls.gather(cited[:, 0]), urls.gather(cited[:, 1])))


def _asked(rows: int, each: int, conditions: int) -> pl.DataFrame:
    """Threads asked of ten models under some conditions, `each` rows at a time."""
    threads = max(1, round(rows / MODELS / conditions / each))
    number = np.arange(threads * MODELS * conditions * each)
    return pl.DataFrame(
        {
            "number": number,
            "thread": pl.Series(number // (MODELS * conditions * each)).cast(pl.String),
            "model": pl.Series(number // (conditions * each) % MODELS).cast(pl.String),
            "condition": np.array(["neutral", "toward", "opposing", "matched-neutral"])[number // each % conditions],
        }
    )


def responses(rows: int) -> pl.DataFrame:
    """Ten responses per thread and condition, each matched to at most two of twelve viewpoints."""
    rng = np.random.default_rng(0)
    table = _asked(rows, 10, 4)
    some = pl.Series([[f"v{k}" for k in sorted({*rng.integers(1, 13, rng.integers(0, 3))})] for _ in range(997)])
    return table.with_columns(
        response=pl.col("number") % 10 + 1,
        stance=pl.Series(np.array(["supporting", "against", "neutral"])[rng.integers(0, 3, table.height)]),
        matched=some.gather(rng.integers(0, 997, table.height)),
    ).drop("number")


def rankings(rows: int) -> pl.DataFrame:
    """Rankings of ten viewpoints."""
    rng = np.random.default_rng(0)
    table = _asked(rows, 1, 3)
    names = np.array([f"v{k}" for k in range(1, 11)])
    some = pl.Series([list(rng.permutation(names)) for _ in range(997)])
    true = pl.Series([list(names)]).gather(np.zeros(table.height, int))  # a column as a file has it, not one repeated
    return table.with_columns(predicted=some.gather(rng.integers(0, 997, table.height)), true=true).drop("number")


def pairs(rows: int) -> pl.DataFrame:
    """One pair per thread and condition, in both orders."""
    rng = np.random.default_rng(0)
    table = _asked(rows, 2, 3)
    return table.with_columns(first=pl.col("number") % 2 == 0, correct=pl.Series(rng.random(table.height) < 0.6)).drop(
        "number"
    )


def even_handedness(rows: int) -> pl.DataFrame:
    """Pairs of sixty topics and nine tasks, with the rows of a null condition and of three controls each."""
    rng = np.random.default_rng(0)
    kinds = ("pair", "same-prompt", "same-answer", "exchanged", "declined")
    number = np.repeat(np.arange(max(1, round(rows / len(kinds)))), len(kinds))
    kind = np.tile(np.arange(len(kinds)), len(number) // len(kinds))
    graded, pair = np.array(kinds)[kind], number // MODELS
    grades = {
        f"{grade}_{side}": pl.Series(rng.integers(1, 6, len(number))).set(pl.Series((kind != 0) & (kind != 3)), None)
        for grade in ("compliance", "hedging")
        for side in "ab"
    }
    letters = {
        name: np.array(["a", "b", "even"])[rng.integers(0, 3, len(number))] for name in ("even_first", "even_second")
    }
    named = {"model": number % MODELS, "trial": number, "pair": pair, "topic": pair % 60, "task": pair // 60 % 9}
    table = pl.DataFrame(named).with_columns(pl.all().cast(pl.String)).with_columns(**letters, **grades, graded=graded)
    known = {"setting": "none", "judged_again": False, "unread": 0, "refused_a": False, "refused_b": False}
    missing = {"failure": pl.String, "category": pl.String, "partisan": pl.Boolean}
    missing |= {f"{name}_again": pl.Int64 for name in grades}
    return table.with_columns(
        *(pl.lit(value).alias(name) for name, value in known.items()),
        *(pl.lit(None, kind).alias(name) for name, kind in missing.items()),
        *(pl.lit([], pl.List(pl.String)).alias(f"faults_{side}") for side in "ab"),
        side=pl.lit("a"),
        group_a=pl.format("for {}", "topic"),
        group_b=pl.format("against {}", "topic"),
    )


def _even_handedness(table: pl.DataFrame) -> object:
    from overton.studies.even_handedness.measures import analyze

    return analyze(table)


def _open_mindedness(table: pl.DataFrame) -> object:
    from overton.studies.open_mindedness.measures import analyze

    return analyze(table)


def _deliberation(table: pl.DataFrame) -> object:
    from overton.studies.deliberation import choice
    from overton.studies.deliberation.measures import analyze

    with patch.object(choice, "fit_choices", return_value=[]):
        return analyze(table)


def _stance_stability(table: pl.DataFrame) -> object:
    from overton.studies.stance_stability.measures import analyze

    return analyze(table)


def _responses(table: pl.DataFrame) -> object:
    from overton.studies.pluralism.measures import analyze

    sides = ["reference", *["supporting", "against", "neutral"] * 4][:12]
    each = pl.DataFrame({"summary": [f"v{k}" for k in range(1, 13)], "stance": sides, "votes": list(range(12))})
    return analyze(matches=table, summaries=table.select("thread").unique().join(each, how="cross"))


def _rankings(table: pl.DataFrame) -> object:
    from overton.studies.pluralism.measures import analyze

    return analyze(rankings=table)


def _pairs(table: pl.DataFrame) -> object:
    from overton.studies.pluralism.measures import analyze

    return analyze(pairs=table)


STUDIES = {
    "open-mindedness": (open_mindedness, _open_mindedness),
    "deliberation, but for the choice model": (deliberation, _deliberation),
    "stance stability": (stance_stability, _stance_stability),
    "pluralism, responses": (responses, _responses),
    "pluralism, rankings": (rankings, _rankings),
    "pluralism, pairs": (pairs, _pairs),
    "even-handedness": (even_handedness, _even_handedness),
}


if __name__ == "__main__":
    main()
