"""The options of deliberations and of their analysis."""

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
    """Options that determine the deliberations, together with the dilemmas and the seed.

    In a synchronous discussion the order of agents does not matter. So Overton runs it once for each group of agents,
    in the order of `agents`. If `named_orders` lists several orders of a group, the first is used.
    """

    agents: Annotated[
        tuple[str, ...], Option("Names of the agents' models, in the order given", repeats=True, follows=True)
    ] = ()
    formats: Annotated[
        tuple[Format, ...], Option("Whether all agents speak at once or in turn", flag="--format", extends=True)
    ] = ("synchronous",)
    goals: Annotated[
        tuple[Goal, ...],
        Option(
            "Goal in the agents' prompt: correctness first, or correctness and consensus equally (balanced)",
            flag="--goal",
            extends=True,
        ),
    ] = ("correctness",)
    sizes: Annotated[
        tuple[int, ...] | None,
        Option(
            "Number of agents per discussion. Every possible group of this size discusses; by default, all agents"
            " are one group",
            flag="--size",
            least=2,
        ),
    ] = None
    orders: Annotated[
        Literal["all", "given"],
        Option("Orders in which agents speak in turn: all possible orders, or only the order of --agent"),
    ] = "all"
    named_orders: Annotated[
        tuple[tuple[int, ...], ...],
        Option("One order of the agents' numbers, such as 2-1-3, instead of --orders", flag="--order", extends=True),
    ] = ()
    cells: Annotated[
        tuple[str, ...],
        Option(
            "Combination to run, as FORMAT/GOAL/SIZE, such as round-robin/correctness/3, instead of all combinations of"
            " formats, goals and sizes",
            flag="--cell",
            extends=True,
        ),
    ] = ()
    rounds: Annotated[int, Option("Maximum number of rounds", least=1, most=_MOST_ROUNDS)] = 4
    trials: Annotated[int, Option("Repetitions of each discussion", least=1, extends=True)] = 1
    instructions: Annotated[
        Instructions,
        Option(
            "System prompt: as in the paper, with gaps filled by Overton (paper), or as in the authors' code, reworded"
            " (code)"
        ),
    ] = "paper"
    values: Annotated[
        Judged,
        Option(
            "Whether a judge names the values behind each explanation, and from which list", follows=True, file=True
        ),
    ] = False
    retest: Retest = RETEST
    shares: Shares = "sampled"

    def problems(self) -> Iterator[Problem]:
        """Find problems with combinations of options that are each valid alone."""
        if self.shares != "sampled":
            reason = (
                "only sampled works here. A judge lists several values and an agent writes a text, so no single"
                " token has the probability of an answer"
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
        """Add the agents' names, whether a judge names values, and the judge's list of values.

        Raises:
            InputError: the list has errors, or there is a list but no judge to name its values.
        """
        judged: Judged = bool(named.get("values"))
        if not isinstance(own := given.get("values", judged), bool):
            values = values_in(own) if isinstance(own, list | tuple) else read_values(own)
            if not judged:
                reason = "this list needs a judge of values; name one as well"
                raise InputError([Problem(option_place("values"), f"{len(values)} values", reason)])
            judged = values == PUBLISHED or values
        return given | {"agents": list(named["agent"]), "values": judged}


class Cell(NamedTuple):
    """A part of the design: discussions of one format with one goal, by groups of `size` agents.

    If `size` is None, the groups have all sizes that the options name.
    """

    format: Format
    goal: Goal
    size: int | None = None


def cells_of(options: Options) -> list[tuple[Format, list[Cell]]]:
    """The cells of the design, in groups: the listed cells, or all pairs of format and goal.

    Cells that differ only in their goals form one group. The group's trials have all goals for one order of agents,
    then all goals for the next order.
    """
    if not options.cells:
        return [(format_, [Cell(format_, goal) for goal in options.goals]) for format_ in options.formats]
    listed = list(filter(None, map(read_cell, options.cells)))
    groups = dict.fromkeys((cell.format, cell.size) for cell in listed)
    return [(format_, [cell for cell in listed if cell[::2] == (format_, size)]) for format_, size in groups]


def read_cell(text: str) -> Cell | None:
    """Parse a cell written as FORMAT/GOAL/SIZE; None if the text has another form."""
    format_, goal, size = (*text.split("/"), "", "")[:3] if text.count("/") == 2 else ("", "", "")
    formats = [known for known in FORMATS if known == format_]
    goals = [known for known in GOALS if known == goal]
    return Cell(formats[0], goals[0], int(size)) if formats and goals and size.isdecimal() else None


def _problems_with_cells(options: Options) -> Iterator[Problem]:
    place = option_place("cells")
    if options.cells and (options.sizes or options.named_orders):
        reason = "already name the groups, so sizes and orders cannot be given as well"
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
    """The orders of agents in discussions, as tuples of the agents' numbers from 1.

    With `size`, each order has that many agents. Orders are computed lazily, because twelve agents have 479,001,600
    orders.
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
    """One order for every group of agents: the first one named."""
    first: dict[frozenset[int], tuple[int, ...]] = {}
    for order in orders:
        first.setdefault(frozenset(order), order)
    return list(first.values())


class DeliberationHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of deliberation are computed."""

    estimator: Annotated[
        Estimator,
        Option(
            "Estimator of the choice model: taste_by_model (separates lasting tastes from inertia), taste (assumes"
            " equally strong tastes), random (no tastes), auto (taste_by_model if possible, otherwise random),"
            " penalised, or as_published"
        ),
    ] = "auto"
    conformity: Annotated[
        Conformity,
        Option("Whether the choice model has one conformity parameter for all models (shared) or one per model"),
    ] = "shared"
    goals: Annotated[
        Literal["apart", "together"],
        Option("Whether to fit the choice model to each goal separately or to all goals together"),
    ] = "apart"
    intervals: Annotated[
        Literal["rule", "bootstrap"],
        Option(
            "Intervals of shares and means: Overton's usual intervals, or bootstrap percentiles over dilemmas, as in"
            " the paper's figures"
        ),
    ] = "rule"
    others: Annotated[bool, Option("Fit the choice model with all estimators", flag="--all-estimators")] = False

    @property
    def bootstraps(self) -> bool:
        """Whether intervals come from bootstrapped dilemmas."""
        return self.intervals == "bootstrap"
