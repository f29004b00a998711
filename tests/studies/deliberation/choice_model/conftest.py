"""Discussions whose parameters are known, one call at a time rather than as the benchmark simulates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.studies.deliberation.choice_model.tables import decisions_of_columns

from overton.studies.deliberation.choice_model import Decisions

MODELS = ("A", "B", "C")
VERDICTS = ("YTA", "NTA", "ESH", "NAH", "INFO")
DESIGN = (
    ("synchronous", "AB"),
    ("synchronous", "BC"),
    ("synchronous", "AC"),
    ("round-robin", "AB"),
    ("round-robin", "BA"),
    ("round-robin", "CA"),
    ("round-robin", "ABC"),
    ("round-robin", "CBA"),
)
INERTIA = {"A": 1.98, "B": 1.42, "C": 1.19}
PREFERENCE = {"A": (0.0, 1.6, 0.1, 0.0, -1.2), "B": (0.3, 1.1, 0.4, 0.0, -1.2), "C": (0.9, 1.2, 0.1, -0.6, -1.2)}

Columns = dict[str, list[Any]]


def discussions(
    seed: int,
    dilemmas: int,
    *,
    design: Sequence[tuple[str, str]] = DESIGN,
    inertia: dict[str, float] = INERTIA,
    preference: dict[str, Sequence[float]] = PREFERENCE,
    previous: float = 0.14,
    within: float = 0.87,
    spread: float = 1.0,
    taste: float | Sequence[float] = 0.0,
    rounds: int = 4,
) -> Columns:
    """A table of verdicts, simulated agent by agent until all agree or the rounds are over.

    `taste` is the spread of all models' tastes, or of each in the order of `preference`.
    """
    rng = np.random.default_rng(seed)
    tastes = dict(zip(preference, np.broadcast_to(taste, len(preference)).tolist(), strict=True))
    rows: list[tuple[Any, ...]] = []
    for dilemma in range(dilemmas):
        common = spread * rng.standard_normal(len(next(iter(preference.values()))))
        liking = {m: np.array(p) + common + tastes[m] * rng.standard_normal(len(p)) for m, p in preference.items()}
        for number, (format_, order) in enumerate(design):
            said: list[list[int]] = [[] for _ in order]
            for round_ in range(1, rounds + 1):
                now: list[int] = []
                for seat, model in enumerate(order):
                    logits = liking[model].copy()
                    if round_ > 1:
                        logits[said[seat][-1]] += inertia[model]
                    for other, verdicts in enumerate(said):
                        for verdict in verdicts if other != seat else []:
                            logits[verdict] += previous
                    for verdict in now if format_ == "round-robin" else []:
                        logits[verdict] += within
                    now.append(int(np.argmax(logits + rng.gumbel(size=len(logits)))))
                for seat, verdict in enumerate(now):
                    said[seat].append(verdict)
                    place = seat if format_ == "round-robin" else None
                    rows.append(
                        (f"{dilemma}/{number}", dilemma, format_, round_, place, order[seat], VERDICTS[verdict])
                    )
                if len(set(now)) == 1:
                    break
    names = ("discussion", "dilemma", "format", "round", "position", "model", "verdict")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


@pytest.fixture(scope="session")
def simulated() -> Callable[..., Decisions]:
    def make(seed: int, dilemmas: int, **settings: Any) -> Decisions:
        return decisions_of_columns(**discussions(seed, dilemmas, **settings))

    return make


@pytest.fixture(scope="session")
def table() -> Callable[..., Columns]:
    return discussions
