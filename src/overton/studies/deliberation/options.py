"""The choices that shape the deliberations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, permutations
from typing import Annotated, Literal, get_args

import msgspec

from overton.errors import Problem
from overton.studies.deliberation.record import Format, Goal, Instructions
from overton.studies.options import Option, option_place
from overton.studies.retesting import RETEST, Retest
from overton.studies.weighing import Shares

__all__ = ["FORMATS", "Options", "orders_of", "wrong"]

FORMATS: tuple[Format, ...] = get_args(Format)
_MOST_ROUNDS = 20


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the deliberations besides the dilemmas and the seed.

    A synchronous discussion has no order: it is held once for each group of agents, in the order given or named first.
    """

    agents: Annotated[
        tuple[str, ...], Option("How the agents' models are named, in the order given", repeats=True, follows=True)
    ] = ()
    formats: Annotated[
        tuple[Format, ...], Option("Whether all speak at once or in turn", flag="--format", extends=True)
    ] = ("synchronous",)
    goals: Annotated[
        tuple[Goal, ...],
        Option(
            "What agents are told to aim for: correctness first, or consensus as well (balanced)",
            flag="--goal",
            extends=True,
        ),
    ] = ("correctness",)
    sizes: Annotated[
        tuple[int, ...] | None,
        Option("How many agents discuss: every choice of so many; all of them by default", flag="--size", least=2),
    ] = None
    orders: Annotated[
        Literal["all", "given"], Option("Orderings where agents speak in turn: all there are, or the one given")
    ] = "all"
    named_orders: Annotated[
        tuple[tuple[int, ...], ...],
        Option("One ordering by the agents' numbers, as 2-1-3, in the place of orders", flag="--order", extends=True),
    ] = ()
    rounds: Annotated[int, Option("The most rounds", least=1, most=_MOST_ROUNDS)] = 4
    trials: Annotated[int, Option("Repetitions of each discussion", least=1, extends=True)] = 1
    instructions: Annotated[
        Instructions,
        Option("Whose system prompt: the paper's, ours where it prints none; or, in our words, the authors' code's"),
    ] = "paper"
    values: Annotated[bool, Option("Whether a judge names the values behind each explanation", follows=True)] = False
    retest: Retest = RETEST
    shares: Shares = "sampled"


def orders_of(options: Options, format_: Format) -> Iterable[tuple[int, ...]]:
    """Who discusses, in which order: tuples of the agents' numbers from 1. Twelve agents have 479,001,600 orders."""
    if options.named_orders:
        return _once_each(options.named_orders) if format_ == "synchronous" else options.named_orders
    numbers = range(1, len(options.agents) + 1)
    sizes = options.sizes or (len(options.agents),)
    groups = chain.from_iterable(combinations(numbers, size) for size in sizes)
    if format_ == "synchronous" or options.orders == "given":
        return groups
    return chain.from_iterable(map(permutations, groups))


def _once_each(orders: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """One order of every group of agents, the first named."""
    first: dict[frozenset[int], tuple[int, ...]] = {}
    for order in orders:
        first.setdefault(frozenset(order), order)
    return list(first.values())


def wrong(options: Options) -> Iterator[Problem]:
    """What is wrong with options that each alone would be right."""
    if options.shares != "sampled":
        reason = (
            "the judge lists up to five of 48 values, so that no single token's probability is that of a value; and an"
            " agent's verdict is one of many words it says. Only sampled will do here"
        )
        yield Problem(option_place("shares"), options.shares, reason)
    count = len(options.agents)
    if count < 2:
        yield Problem("role agent", "", "name two agents or more")
    for size in options.sizes or ():
        if size > count:
            yield Problem(option_place("sizes"), str(size), f"must be between 2 and the number of agents, {count}")
    for order in options.named_orders:
        if len(order) < 2 or len(set(order)) < len(order) or not set(order) <= set(range(1, count + 1)):
            reason = f"must name two or more different agents from 1 to {count}"
            yield Problem(option_place("named_orders"), "-".join(map(str, order)), reason)
