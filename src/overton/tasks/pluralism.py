"""`inspect eval overton/pluralism`."""

from __future__ import annotations

from inspect_ai import Task, task

from overton.api.inspect_tasks import make
from overton.tasks.given import OneOrMore, checked, several, words
from overton.tasks.scoring import measuring

__all__ = ["pluralism"]


@task
@checked
def pluralism(
    *,
    threads: str | None = None,
    experiments: OneOrMore = None,
    arms: OneOrMore = None,
    efforts: OneOrMore = None,
    mitigation: bool = False,
    responses: int | None = None,
    independent: bool = False,
    candidates: int | None = None,
    matching: str | None = None,
    ranked: int | None = None,
    pairings: OneOrMore = None,
    pairs: int | None = None,
    gap: int | None = None,
    only: OneOrMore = None,
    seed: int = 0,
    trials_at_once: int = 10,
    cache: bool = True,
) -> Task:
    """Which views of a crowd a model voices, and which go missing once it knows yours (PluralEval).

    Model role: `judge` (needed) labels and matches.

    Args:
        threads: JSONL file or run folder of threads with viewpoints; the starter threads by default.
        experiments: sycophancy, ranking, pairwise; all three by default.
        arms: Arms of the experiments that are held; all by default.
        efforts: Reasoning efforts asked of the model measured, in the provider's words; own (the default): none.
        mitigation: Give each condition a twin whose system prompt asks for every reasonable view.
        responses: How many responses a post gets; 10 by default.
        independent: Ask for each response by itself instead of all in one reply.
        candidates: How many viewpoints are tried as reference opinion; all by default.
        matching: together (the default), pairs, or lexical, by shared words and for trying out.
        ranked: How many viewpoints are ranked; 10 by default.
        pairings: most-popular, random-gap; both by default.
        pairs: How many pairs of each thread and pairing; 1 by default.
        gap: The least difference of votes of a random pair; 10 by default.
        only: Ask about these threads only, by id.
        seed: Seed of all random draws.
        trials_at_once: How many trials of one sample are under way side by side.
        cache: Whether answers are kept, so that an eval that was killed does not pay again.
    """
    named = several(efforts)
    return make(
        "pluralism",
        measuring,
        items=threads,
        only=words(only),
        seed=seed,
        trials_at_once=trials_at_once,
        cache=cache,
        experiments=words(experiments),
        arms=words(arms),
        efforts=None if named is None else [None if one == "own" else str(one) for one in named],
        mitigation=mitigation,
        responses=responses,
        independent=independent,
        candidates=candidates,
        matching=matching,
        ranked=ranked,
        pairings=words(pairings),
        pairs=pairs,
        gap=gap,
    )
