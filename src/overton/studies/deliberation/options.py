"""The choices that shape the deliberations, and those that an analysis leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations
from typing import Annotated, Any, Literal, NamedTuple, get_args

from overton.errors import InputError, Problem
from overton.studies.deliberation.record import Format, Goal, Instructions
from overton.studies.deliberation.run_lists import PUBLISHED
from overton.studies.deliberation.value_lists import Judged, faults_of, read_values, values_in
from overton.studies.measurement import How
from overton.studies.options import Option, StudyOptions, option_place
from overton.studies.probabilities import Shares
from overton.studies.self_agreement import RETEST, Retest

Estimator = Literal["auto", "taste_by_model", "taste", "random", "penalised", "as_published"]
Conformity = Literal["shared", "by model"]

FORMATS: tuple[Format, ...] = get_args(Format)
GOALS: tuple[Goal, ...] = get_args(Goal)
_MOST_ROUNDS = 20


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the deliberations besides the dilemmas and the seed.

    A synchronous discussion has no order: it is run once for each group of agents, in the order given or named first.
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
        Option(
            "Size of the groups that discuss: every group of that size; by default all agents", flag="--size", least=2
        ),
    ] = None
    orders: Annotated[
        Literal["all", "given"], Option("Orderings when agents speak in turn: all possible ones, or only the one given")
    ] = "all"
    named_orders: Annotated[
        tuple[tuple[int, ...], ...],
        Option("One ordering by the agents' numbers, such as 2-1-3, instead of orders", flag="--order", extends=True),
    ] = ()
    cells: Annotated[
        tuple[str, ...],
        Option(
            "A cell of the design as FORMAT/GOAL/SIZE, such as round-robin/correctness/3, instead of crossing formats,"
            " goals and sizes",
            flag="--cell",
            extends=True,
        ),
    ] = ()
    rounds: Annotated[int, Option("Maximum number of rounds", least=1, most=_MOST_ROUNDS)] = 4
    trials: Annotated[int, Option("Repetitions of each discussion", least=1, extends=True)] = 1
    instructions: Annotated[
        Instructions,
        Option(
            "Source of the system prompt: the paper, with ours where it prints none; or the authors' code, reworded"
        ),
    ] = "paper"
    values: Annotated[
        Judged,
        Option("Whether a judge names the values behind each explanation, and its list", follows=True, file=True),
    ] = False
    retest: Retest = RETEST
    shares: Shares = "sampled"

    def problems(self) -> Iterator[Problem]:
        """Problems with combinations of options that are each valid alone."""
        if self.shares != "sampled":
            reason = (
                "the judge lists up to five of many values, so no single token's probability is that of a value, and an"
                " agent's verdict is one word among many. Only sampled works here"
            )
            yield Problem(option_place("shares"), self.shares, reason)
        count = len(self.agents)
        if count < 2:
            yield Problem("role agent", "", "name two agents or more")
        for size in self.sizes or ():
            if size > count:
                yield Problem(option_place("sizes"), str(size), f"must be between 2 and the number of agents, {count}")
        yield from _problems_with_cells(self)
        for order in self.named_orders:
            if len(order) < 2 or len(set(order)) < len(order) or not set(order) <= set(range(1, count + 1)):
                reason = f"must name two or more different agents from 1 to {count}"
                yield Problem(option_place("named_orders"), "-".join(map(str, order)), reason)
        if not isinstance(self.values, bool):
            for at, reason in faults_of(self.values):
                yield Problem(option_place("values"), "" if at is None else str(at + 1), reason)

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The agents by name, and whether a judge names values, if so from which list.

        Raises:
            InputError: a list has faults, or nobody names values from it.
        """
        judged: Judged = bool(named.get("values"))
        if not isinstance(own := given.get("values", judged), bool):
            values = values_in(own) if isinstance(own, list | tuple) else read_values(own)
            if not judged:
                reason = "nobody would name values from this list; name a judge of values as well"
                raise InputError([Problem(option_place("values"), f"{len(values)} values", reason)])
            judged = values == PUBLISHED or values
        return given | {"agents": list(named["agent"]), "values": judged}


class Cell(NamedTuple):
    """Discussions of one format with one goal, by groups of this size; all groups asked if it is None."""

    format: Format
    goal: Goal
    size: int | None = None


def cells_of(options: Options) -> list[tuple[Format, list[Cell]]]:
    """The parts of the design by format, in the order of their trials: those listed, or formats and goals crossed.

    Cells of one format and size with several goals are asked order by order, as crossed ones are.
    """
    if not options.cells:
        return [(format_, [Cell(format_, goal) for goal in options.goals]) for format_ in options.formats]
    listed = list(filter(None, map(read_cell, options.cells)))
    groups = dict.fromkeys((cell.format, cell.size) for cell in listed)
    return [(format_, [cell for cell in listed if cell[::2] == (format_, size)]) for format_, size in groups]


def read_cell(text: str) -> Cell | None:
    """The cell written as FORMAT/GOAL/SIZE; None if it is not."""
    format_, goal, size = (*text.split("/"), "", "")[:3] if text.count("/") == 2 else ("", "", "")
    formats = [known for known in FORMATS if known == format_]
    goals = [known for known in GOALS if known == goal]
    return Cell(formats[0], goals[0], int(size)) if formats and goals and size.isdecimal() else None


def _problems_with_cells(options: Options) -> Iterator[Problem]:
    place = option_place("cells")
    if options.cells and (options.sizes or options.named_orders):
        reason = "say who discusses, so that sizes and orders cannot be given as well"
        yield Problem(place, options.cells[0], reason)
    for text in options.cells:
        cell = read_cell(text)
        if cell is None:
            reason = f"must be FORMAT/GOAL/SIZE, with {' or '.join(FORMATS)}, {' or '.join(GOALS)}, and a number"
            yield Problem(place, text, reason)
        elif not 2 <= (cell.size or 0) <= len(options.agents):
            reason = f"its size must be between 2 and the number of agents, {len(options.agents)}"
            yield Problem(place, text, reason)


def orders_of(options: Options, format_: Format, size: int | None = None) -> Iterable[tuple[int, ...]]:
    """Who discusses, in which order: tuples of the agents' numbers, from 1; of one cell's `size` only, if it has one.

    Twelve agents have 479,001,600 orders.
    """
    if options.named_orders:
        return _once_each(options.named_orders) if format_ == "synchronous" else options.named_orders
    numbers = range(1, len(options.agents) + 1)
    sizes = (size,) if size else options.sizes or (len(options.agents),)
    groups = chain.from_iterable(combinations(numbers, size) for size in sizes)
    if format_ == "synchronous" or options.orders == "given":
        return groups
    return chain.from_iterable(map(permutations, groups))


def _once_each(orders: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """One order for every group of agents: the first named."""
    first: dict[frozenset[int], tuple[int, ...]] = {}
    for order in orders:
        first.setdefault(frozenset(order), order)
    return list(first.values())


class DeliberationHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of deliberation are computed."""

    estimator: Annotated[
        Estimator,
        Option(
            "Estimator of the choice model: taste_by_model (a model's lasting taste is not inertia), taste (the same,"
            " with equally strong tastes of all models), random (no tastes), auto (taste_by_model if the data identify"
            " it, otherwise random), penalised, or as_published (the authors' own)"
        ),
    ] = "auto"
    conformity: Annotated[Conformity, Option("Whether models share their conformity: shared, or by model")] = "shared"
    goals: Annotated[Literal["apart", "together"], Option("Fit the goals apart, or together")] = "apart"
    intervals: Annotated[
        Literal["rule", "bootstrap"],
        Option(
            "Intervals of shares and means: by the rule of all studies, or percentiles of bootstrapped dilemmas as in"
            " the paper's figures"
        ),
    ] = "rule"
    others: Annotated[bool, Option("Fit the choice model with all estimators", flag="--all-estimators")] = False

    @property
    def bootstraps(self) -> bool:
        """Whether dilemmas are bootstrapped."""
        return self.intervals == "bootstrap"
