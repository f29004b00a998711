"""How long every measure of a study takes on a million records, intervals included.

    python benchmarks/measures.py [--rows 1000000] [--rounds 5]

Records are made up: the published designs with answers by chance, ten models. The choice model of deliberation has a
benchmark of its own (`recovery.py`) and is left out here.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import polars as pl
from coverage import records

MODELS = 10


def main() -> None:
    """Print a row for each study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| study | records | seconds, median | least | seconds of CPU |")
    print("|---|--:|--:|--:|--:|")
    for name, (table, measure) in STUDIES.items():
        made = table(given.rows)
        wall, cpu = zip(*(timed(measure, made) for _ in range(given.rounds)), strict=True)
        print(f"| {name} | {made.height:,} | {statistics.median(wall):.2f} | {min(wall):.2f} | {min(cpu):.2f} |")


def timed(measure: Callable[[pl.DataFrame], object], table: pl.DataFrame) -> tuple[float, float]:
    """Seconds on the clock, and of CPU."""
    wall, cpu = perf_counter(), process_time()
    measure(table)
    return perf_counter() - wall, process_time() - cpu


def open_mindedness(rows: int) -> pl.DataFrame:
    """Ten models on the published design: 990 trials an issue."""
    rng = np.random.default_rng(0)
    few = records(12, 15)
    copies = max(1, round(rows / MODELS / few.height))
    design = pl.concat([few.with_columns(issue=pl.col("issue") + f"-{copy}") for copy in range(copies)])
    frames = [design.with_columns(model=pl.lit(f"model-{number}")) for number in range(MODELS)]
    table = pl.concat(frames)
    stance = pl.Series(np.array(["pro", "con", "other"])[rng.choice(3, table.height, p=[0.5, 0.4, 0.1])])
    return table.with_columns(stance=stance, stance_published=stance)


def deliberation(rows: int) -> pl.DataFrame:
    """Three models in all pairs and orders of both formats, two to four rounds, five values at most a message."""
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
    """Conversations of fifteen turns by ten models at three temperatures, four documents a turn."""
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


def _open_mindedness(table: pl.DataFrame) -> object:
    from overton.studies.open_mindedness.measures import analyze

    return analyze(table)


def _deliberation(table: pl.DataFrame) -> object:
    from overton.studies.deliberation.measures import analyze, assembly

    with patch.object(assembly, "fit_choices", return_value=((), ())):
        return analyze(table)


def _stance_stability(table: pl.DataFrame) -> object:
    from overton.studies.stance_stability.measures import analyze

    return analyze(table)


STUDIES = {
    "open-mindedness": (open_mindedness, _open_mindedness),
    "deliberation, but for the choice model": (deliberation, _deliberation),
    "stance stability": (stance_stability, _stance_stability),
}


if __name__ == "__main__":
    main()
