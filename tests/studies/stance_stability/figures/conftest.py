from typing import Any

import polars as pl
import pytest

from overton.calls import Draw
from overton.studies.stance_stability.items import KINDS
from overton.studies.stance_stability.measures import Analysis, analyze
from overton.studies.stance_stability.record import STANCES

HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
MODELS = {"gemini": 0.2, f"gpt {HOSTILE}": 0.7}


def turn(model: str, topic: int, temperature: float, number: int, last: str) -> dict[str, Any]:
    """A turn: models change their stance, and use the same pages, with different strength."""
    chance = Draw(f"{model}/{topic}/{temperature}/{number}")
    bold = chance.uniform() < MODELS[model]
    pages = [f"https://site.example/{number * 10 + k if not bold else k}" for k in range(3)]
    return {
        "model": model,
        "conversation": f"t{topic}/{temperature}",
        "topic": f"t{topic}",
        "domain": f"domain {HOSTILE} {topic % 2}",
        "temperature": temperature,
        "ordering": ("fixed", "shuffled")[topic % 2],
        "turn": number,
        "number": number,
        "kind": KINDS[number % len(KINDS)],
        "question": f"What of {HOSTILE}?",
        "query": "query",
        "retrieved": pages,
        "cited": pages[:2],
        "miscited": 0,
        "stance": chance.sample(STANCES, 1)[0] if bold else last,
        "confidence": (1.0, 0.67, 0.33)[chance.words(3)[2] % 3],
        "claims": ["claim"],
        "rationale": "A reason.",
        "premise_stance": chance.shuffle(STANCES)[0],
        "judge_attempts": 1,
        "failure": None,
        "answer": f"An answer {HOSTILE} [1].",
    }


@pytest.fixture(scope="session")
def records() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for model in MODELS:
        for topic in range(8):
            for temperature in (0.0, 1.0):
                last = "balanced"
                for number in range(1, 6):
                    rows.append(turn(model, topic, temperature, number, last))
                    last = rows[-1]["stance"]
    return pl.DataFrame(rows, schema_overrides={"failure": pl.String})


@pytest.fixture(scope="session")
def analysis(records: pl.DataFrame) -> Analysis:
    return analyze(records, resamples=50)


@pytest.fixture(scope="session")
def least() -> Analysis:
    """A table with nothing but what it must have."""
    rows = [(f"c{k}", turn, "supportive") for k in range(3) for turn in (1, 2)]
    return analyze(pl.DataFrame(rows, schema=["conversation", "turn", "stance"], orient="row"), resamples=20)


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE
