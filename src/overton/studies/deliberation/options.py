"""The choices that shape the deliberations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.deliberation.record import Format, Goal

__all__ = ["FORMATS", "GOALS", "MOST_ROUNDS", "Options", "check_options", "orders_of"]

T = TypeVar("T")

FORMATS: tuple[Format, ...] = ("synchronous", "round-robin")
GOALS: tuple[Goal, ...] = ("correctness", "balanced")
MOST_ROUNDS = 20


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the deliberations besides the dilemmas and the seed.

    agents        how the agents' models are named, in the order given; a model may stand in several places
    formats       'synchronous', 'round-robin' or both
    goals         'correctness' (correctness first) or 'balanced' (consensus equally important), or both
    sizes         how many agents discuss: every choice of so many agents does; None for all of them
    orders        'all' orderings where agents speak in turn, or only the 'given' one; a synchronous discussion has no
                  order and is held once, in the order given
    named_orders  orderings by the agents' numbers from 1, as (2, 1, 3), in the place of `orders` where there are any;
                  a synchronous discussion is held once for each group of agents that they name
    rounds        the most rounds
    trials        repetitions of each discussion
    values        whether a judge names the values behind each explanation
    """

    agents: tuple[str, ...] = ()
    formats: tuple[Format, ...] = ("synchronous",)
    goals: tuple[Goal, ...] = ("correctness",)
    sizes: tuple[int, ...] | None = None
    orders: str = "all"
    named_orders: tuple[tuple[int, ...], ...] = ()
    rounds: int = 4
    trials: int = 1
    values: bool = False


def orders_of(options: Options, format_: Format) -> list[tuple[int, ...]]:
    """Who discusses, in which order: tuples of the agents' numbers from 1."""
    if options.named_orders:
        return _once_each(options.named_orders) if format_ == "synchronous" else list(options.named_orders)
    numbers = range(1, len(options.agents) + 1)
    groups = [group for size in options.sizes or (len(options.agents),) for group in combinations(numbers, size)]
    if format_ == "synchronous" or options.orders == "given":
        return groups
    return [order for group in groups for order in permutations(group)]


def _once_each(orders: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """One order of every group of agents, the first named."""
    first: dict[frozenset[int], tuple[int, ...]] = {}
    for order in orders:
        first.setdefault(frozenset(order), order)
    return list(first.values())


def check_options(options: Options) -> None:
    """Refuse options that no deliberation can be held with.

    Raises:
        InputError: every option that is out of range or names something unknown.
    """
    count = len(options.agents)
    problems = [] if count >= 2 else [Problem("--agent", "", "name two agents or more")]
    problems += [
        Problem("--size", str(size), f"must be between 2 and the number of agents, {count}")
        for size in options.sizes or ()
        if not 2 <= size <= count
    ]
    problems += [
        Problem("--order", "-".join(map(str, order)), f"must name two or more different agents from 1 to {count}")
        for order in options.named_orders
        if len(order) < 2 or len(set(order)) < len(order) or not set(order) <= set(range(1, count + 1))
    ]
    problems += [
        Problem(name, "", f"choose among {', '.join(known)}, each once")
        for name, chosen, known in (("--format", options.formats, FORMATS), ("--goal", options.goals, GOALS))
        if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(known)
    ]
    problems += [Problem("--size", str(size), "is named twice") for size in _repeated(options.sizes or ())]
    problems += [
        Problem("--order", "-".join(map(str, order)), "is named twice") for order in _repeated(options.named_orders)
    ]
    if options.orders not in ("all", "given"):
        problems.append(Problem("--orders", options.orders, "must be 'all' or 'given'"))
    if not 1 <= options.rounds <= MOST_ROUNDS:
        problems.append(Problem("--rounds", str(options.rounds), f"must be between 1 and {MOST_ROUNDS}"))
    if options.trials < 1:
        problems.append(Problem("--trials", str(options.trials), "must be 1 or more"))
    if problems:
        raise InputError(problems)


def _repeated(given: Sequence[T]) -> list[T]:
    return [value for value, count in Counter(given).items() if count > 1]
