from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

SCHEMA = {
    "deliberation": pl.String,
    "dilemma": pl.String,
    "format": pl.String,
    "goal": pl.String,
    "round": pl.Int64,
    "position": pl.Int64,
    "agent": pl.String,
    "model": pl.String,
    "verdict": pl.String,
    "values": pl.List(pl.String),
    "crowd": pl.String,
    "failure": pl.String,
}

Said = dict[str, Sequence[str | None]]


@pytest.fixture
def talk() -> Callable[..., pl.DataFrame]:
    """Decisions of one deliberation from each model's verdicts, round by round, in the order of speaking.

    'claude#1' is an agent called so whose model is claude; '-' is a message that was never sent.
    """

    def make(
        said: Said,
        *,
        dilemma: str = "d1",
        format: str = "synchronous",
        goal: str | None = "correctness",
        name: str = "",
        values: dict[str, Sequence[Any]] | None = None,
        crowd: str | None = None,
        failure: str | None = None,
    ) -> pl.DataFrame:
        rows = [
            {
                "deliberation": f"{dilemma}/{format}/{goal}/{'-'.join(said)}{name}",
                "dilemma": dilemma,
                "format": format,
                "goal": goal,
                "round": round_,
                "position": place if format == "round-robin" else None,
                "agent": agent,
                "model": agent.partition("#")[0],
                "verdict": verdict,
                "values": values[agent][round_ - 1] if values else None,
                "crowd": crowd,
                "failure": failure,
            }
            for place, (agent, verdicts) in enumerate(said.items(), 1)
            for round_, verdict in enumerate(verdicts, 1)
            if verdict != "-"
        ]
        return pl.DataFrame(rows, schema=SCHEMA)

    return make


@pytest.fixture
def published(talk: Callable[..., pl.DataFrame]) -> pl.DataFrame:
    """The example deliberations of appendix F."""
    return pl.concat(
        [
            talk({"claude": ["YTA"], "gpt": ["YTA"]}, dilemma="1"),
            talk(
                {"gemini": ["NTA", "NTA", "ESH", "NAH"], "claude": ["NAH"] * 4, "gpt": ["NAH"] * 4},
                dilemma="2",
                format="round-robin",
            ),
        ]
    )
