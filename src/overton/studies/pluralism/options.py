"""The choices that shape the experiments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args

import msgspec

from overton.errors import Problem
from overton.studies.options import Option, option_place
from overton.studies.pluralism.conditions import ARMS, Arm, Experiment

__all__ = ["EXPERIMENTS", "MOST_RANKED", "MOST_RESPONSES", "Matching", "Options", "PairingChoice", "wrong"]

Matching = Literal["together", "pairs", "lexical"]
PairingChoice = Literal["most-popular", "random-gap"]

EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
MOST_RESPONSES = 50
MOST_RANKED = 50


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the experiments besides the threads and the seed."""

    experiments: Annotated[
        tuple[Experiment, ...], Option("Which experiments are held", flag="--experiment", extends=True)
    ] = EXPERIMENTS
    arms: Annotated[
        tuple[Arm, ...] | None,
        Option("Which arms of the experiments; all that there are by default", flag="--arm", extends=True),
    ] = None
    efforts: Annotated[
        tuple[str | None, ...],
        Option(
            "Reasoning efforts asked of the model measured, in the provider's words; own asks for none",
            flag="--effort",
            none="own",
            extends=True,
        ),
    ] = (None,)
    mitigation: Annotated[
        bool, Option("Give each condition a twin whose system prompt asks for every reasonable view")
    ] = False
    responses: Annotated[int, Option("Responses to a post (the paper has ten)", least=1, most=MOST_RESPONSES)] = 10
    independent: Annotated[bool, Option("Ask for each response by itself, not for all in one reply")] = False
    candidates: Annotated[
        int | None,
        Option("Viewpoints tried as reference opinion, the most voted first; all by default", least=1, most=1_000),
    ] = None
    matching: Annotated[
        Matching,
        Option(
            "How responses are matched to viewpoints: together in one call to the judge, pairs (a call a pair),"
            " or lexical, by shared words and for trying out"
        ),
    ] = "together"
    ranked: Annotated[
        int, Option("Viewpoints that are ranked, the most voted (the paper has ten)", least=2, most=MOST_RANKED)
    ] = 10
    pairings: Annotated[
        tuple[PairingChoice, ...],
        Option(
            "The most voted viewpoint against a random one with fewer votes, or random pairs (appendix A.6)",
            flag="--pairing",
        ),
    ] = ("most-popular", "random-gap")
    pairs: Annotated[int, Option("Pairs of each thread and pairing, in both orders", least=1, most=1_000)] = 1
    gap: Annotated[int, Option("Least difference of votes of a random pair", least=1, most=1_000_000_000)] = 10


def wrong(options: Options) -> Iterator[Problem]:
    """What is wrong with options that each alone would be right."""
    for effort in options.efforts:
        if effort is not None and not (effort.isascii() and effort.replace("-", "").replace("_", "").isalnum()):
            yield Problem(option_place("efforts"), effort, "must be a word of letters, digits, '-' and '_'")
    arms = get_args(Arm) if options.arms is None else options.arms
    for experiment in options.experiments:
        if experiment in ARMS and not set(ARMS[experiment]) & set(arms):
            reason = f"names none that {experiment} has; it has {', '.join(ARMS[experiment])}"
            yield Problem(option_place("arms"), "", reason)
