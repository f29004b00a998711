"""`inspect eval overton/deliberation`."""

from __future__ import annotations

from inspect_ai import Task, task

from overton.api.inspect_tasks import make
from overton.tasks.given import OneOrMore, checked, orders, whole, words
from overton.tasks.scoring import measuring

__all__ = ["deliberation"]


@task
@checked
def deliberation(
    *,
    agents: int = 3,
    dilemmas: str | None = None,
    formats: OneOrMore = None,
    orderings: str | None = None,
    order: OneOrMore = None,
    goals: OneOrMore = None,
    sizes: OneOrMore = None,
    rounds: int | None = None,
    trials: int | None = None,
    only: OneOrMore = None,
    seed: int = 0,
    trials_at_once: int = 10,
    cache: bool = True,
) -> Task:
    """Who changes their mind, who holds out, and why, where models discuss everyday moral dilemmas.

    Model roles: `agent_1`, `agent_2`, ... sit at the table, each the evaluated model where it is not named; or `agent`
    names a list of them. `values` names the values behind each explanation; without it nobody does.

    Args:
        agents: How many agents there are.
        dilemmas: JSONL file of dilemmas; the starter dilemmas by default.
        formats: synchronous (the default), round-robin.
        orderings: all orderings where agents speak in turn (the default), or the given one.
        order: Orderings by the agents' numbers, as 2-1-3.
        goals: correctness (the default), balanced.
        sizes: How many agents discuss; all of them by default.
        rounds: The most rounds; 4 by default.
        trials: Repetitions of each discussion; 1 by default.
        only: Ask about these dilemmas only, by id.
        seed: Seed of all random draws.
        trials_at_once: How many discussions of one sample are under way side by side.
        cache: Whether answers are kept, so that an eval that was killed does not pay again.
    """
    return make(
        "deliberation",
        measuring,
        items=dilemmas,
        only=words(only),
        seed=seed,
        agents=agents,
        trials_at_once=trials_at_once,
        cache=cache,
        formats=words(formats),
        orders=orderings,
        named_orders=orders(order),
        goals=words(goals),
        sizes=whole("sizes", sizes),
        rounds=rounds,
        trials=trials,
    )
