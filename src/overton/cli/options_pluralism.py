"""Options of pluralism's commands. Each that takes several values is repeated, never a comma list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "ArmOption",
    "CandidatesOption",
    "EffortOption",
    "ExperimentOption",
    "GapOption",
    "IndependentOption",
    "JudgeOption",
    "MatchingOption",
    "MitigationOption",
    "PairingOption",
    "PairsOption",
    "RankedOption",
    "ResponsesOption",
    "ThreadsOption",
    "efforts",
]

JudgeOption = Annotated[
    str, typer.Option("--judge", help="Model that labels stances, matches responses and words beliefs.")
]
ThreadsOption = Annotated[
    Path | None,
    typer.Option(
        "--threads", metavar="DATASET", help="Threads with reference viewpoints: JSONL, or a run of items references."
    ),
]
ExperimentOption = Annotated[
    list[str] | None, typer.Option("--experiment", help="sycophancy, ranking or pairwise; repeat. All by default.")
]
ArmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arm", help="neutral, toward, opposing, biased or matched-neutral; repeat. All that there are by default."
    ),
]
EffortOption = Annotated[
    list[str] | None,
    typer.Option("--effort", help="Reasoning effort in the provider's word; repeat. own (the default): none asked."),
]
MitigationOption = Annotated[
    bool, typer.Option("--mitigation", help="Each condition again, with a system prompt that asks for every view.")
]
ResponsesOption = Annotated[int | None, typer.Option("--responses", help="Responses to a post; 10 by default.")]
IndependentOption = Annotated[
    bool, typer.Option("--independent", help="Ask for each response by itself, not for all in one reply.")
]
CandidatesOption = Annotated[
    int | None,
    typer.Option("--candidates", help="Viewpoints tried as reference opinion, most voted first; all by default."),
]
MatchingOption = Annotated[
    str | None,
    typer.Option("--matching", help="together (the default), pairs (a call a pair), or lexical: for trying out."),
]
RankedOption = Annotated[int | None, typer.Option("--ranked", help="Viewpoints that are ranked; 10 by default.")]
PairingOption = Annotated[
    list[str] | None, typer.Option("--pairing", help="most-popular or random-gap; repeat. Both by default.")
]
PairsOption = Annotated[
    int | None, typer.Option("--pairs", help="Pairs of each thread and pairing, in both orders; 1 by default.")
]
GapOption = Annotated[
    int | None, typer.Option("--gap", help="Least difference of votes of a random pair; 10 by default.")
]


def efforts(given: list[str] | None) -> tuple[str | None, ...] | None:
    """Reasoning efforts from words, None where there are none; 'own' asks for none."""
    return tuple(None if word == "own" else word for word in given) if given else None
