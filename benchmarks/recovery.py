"""Does the choice model of deliberation recover parameters that are known? And how long does it take?

    python benchmarks/recovery.py [--only TEXT] [--datasets N] [--jobs 2] [--repeats 5] [--no-times]
    python benchmarks/recovery.py --quick

Every data set is simulated agent by agent: models like those of the published study discuss each dilemma until they
agree or four rounds are over. Dilemmas' effects have spread 1, models' tastes for dilemmas the named spreads;
inertia and conformity are those of table 1, or as named. Tables show how far the estimates of each estimator are from
the truth on average, how they scatter, and the error that they claim. They also show how often the 95% intervals cover
the truth, for all intervals and for those that are given. An interval is not given where too few discussions determine
the number.

Before integrals had 408 points, they had 360. Then an inertia of three models with tastes of spread 1.7, on 300
dilemmas, was covered in 92.3% of 300 data sets, with a mean standard error of 0.144 in place of 0.147. With one spread
for all, fits of 100 dilemmas by a pair at once gave a warning in 120 of 200 data sets (tastes alone) and in 69 of 400.

`--only` takes the experiments whose title contains a text, `--datasets` another number of data sets than each has.
`--quick` checks on few data sets that tastes of unequal strength are not taken for inertia, and that too few dilemmas
give no interval. A fit to about 72,000 decisions, with its likelihood ratio, must take less than 5 seconds of CPU. If a
check fails it exits with 1.

Then come times at 1,000 dilemmas, about 72,000 decisions. The median of --repeats fits is compared with AdamW in
PyTorch on the model and penalty of `penalised`, full batch, until its named parameters have settled there. Only that
line needs PyTorch (`pip install torch==2.13.0`), and says so if it is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from multiprocessing import get_context
from statistics import median
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from overton.studies.deliberation.choice_model import ALL_MODELS, ChoiceFit, Decisions, Estimator, fit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MODELS = ("GPT", "Claude", "Gemini")
VERDICTS = ("YTA", "NTA", "ESH", "NAH", "INFO")
INERTIA = np.array([1.98, 1.42, 1.19])
PREVIOUS, WITHIN = 0.14, 0.87
SHARES = np.array([[0.06, 0.74, 0.09, 0.09, 0.02], [0.17, 0.52, 0.18, 0.11, 0.02], [0.31, 0.48, 0.14, 0.05, 0.02]])
"""About how often each model gives each verdict at first: rows are models."""


@dataclass(frozen=True)
class Truth:
    """`shares` [M, K] of first verdicts without dilemmas' effects, `inertia` [M], and both kinds of conformity."""

    shares: Floats
    inertia: Floats
    previous: float
    within: float


AS_IN_TABLE_1 = Truth(SHARES, INERTIA, PREVIOUS, WITHIN)
NOTHING = Truth(SHARES, 0 * INERTIA, 0.0, 0.0)


def alike(inertia: float, previous: float) -> Truth:
    """Three models that like the same verdicts, with equal inertia."""
    return Truth(np.tile([0.2, 0.5, 0.15, 0.1, 0.05], (3, 1)), np.full(3, inertia), previous, 0.0)


ROUNDS = 4
NAMED = (*(f"inertia.{model}" for model in MODELS), f"previous.{ALL_MODELS}", f"within.{ALL_MODELS}")
SPREAD, TASTE, WARNED, MAXIMUM = "dilemma spread", "taste spread", "warnings", "maximum reached"


@dataclass(frozen=True)
class Deliberation:
    """The agents that discuss, in this order; all at once or in turn."""

    agents: tuple[int, ...]
    in_turn: bool


PUBLISHED = (
    *(Deliberation(pair, False) for pair in ((0, 1), (1, 2), (0, 2))),
    *(Deliberation(pair, True) for pair in permutations(range(3), 2)),
    *(Deliberation(order, True) for order in permutations(range(3), 3)),
)
"""All formats and orders."""

SPARSE = (Deliberation((0, 1), False), Deliberation((2, 0), True), Deliberation((1, 2, 0), True))
PAIR_AT_ONCE, PAIR_IN_TURN = (Deliberation((0, 1), False),), (Deliberation((0, 1), True), Deliberation((1, 0), True))
THREE_AT_ONCE, THREE_IN_TURN = (Deliberation((0, 1, 2), False),), (Deliberation((0, 1, 2), True),)


@dataclass(frozen=True)
class Experiment:
    """Data sets of one design, and the estimators to try on each.

    `taste` is the spread of all models' tastes, or of each in turn. With `spikes`, tastes are not normal: a third of
    them, at random, are this large, and the others zero.
    """

    title: str
    design: Sequence[Deliberation]
    taste: float | tuple[float, ...]
    truth: Truth
    dilemmas: int
    datasets: int
    estimators: Sequence[Estimator] = ("auto", "random")
    spikes: float = 0.0


def experiments() -> Iterator[Experiment]:
    """All of them."""
    one, nothing = AS_IN_TABLE_1, NOTHING
    yield Experiment("published design", PUBLISHED, 0.0, one, 200, 1000, ("random", "taste", "penalised"))
    yield Experiment("as published", PUBLISHED, 0.0, one, 200, 20, ("as_published",))
    yield Experiment("sparse design", SPARSE, 0.0, one, 200, 200, ("random", "penalised"))
    yield Experiment("published design with tastes", PUBLISHED, 0.5, one, 200, 200)
    for title, design in (
        ("pair at once", PAIR_AT_ONCE),
        ("pair in both orders", PAIR_IN_TURN),
        ("three at once", THREE_AT_ONCE),
        ("three in turn", THREE_IN_TURN),
        ("all formats and orders", PUBLISHED),
    ):
        for dilemmas in (12, 100, 300):
            yield Experiment(f"tastes alone, {title}, {dilemmas}", design, 1.5, nothing, dilemmas, 200)
            yield Experiment(f"tastes as well, {title}, {dilemmas}", design, 1.0, one, dilemmas, 200)
            yield Experiment(f"no tastes, {title}, {dilemmas}", design, 0.0, one, dilemmas, 200)
    yield from unequal()
    yield from few()


def unequal() -> Iterator[Experiment]:
    """Tastes that differ in strength, the last pair of models having none of the third."""
    for spreads, dilemmas, datasets in (
        ((0.3, 1.0, 1.7), 100, 300),
        ((0.3, 1.0, 1.7), 300, 300),
        ((0.7, 1.0, 1.3), 100, 300),
        ((0.7, 1.0, 1.3), 300, 300),
    ):
        title = f"unequal tastes {' / '.join(map(str, spreads))}, three at once, {dilemmas}"
        yield Experiment(title, THREE_AT_ONCE, spreads, alike(0.0, 0.0), dilemmas, datasets, ("auto",))
    for dilemmas in (100, 300):
        title = f"unequal tastes 0.3 / 1.0 / 1.7 as well, three at once, {dilemmas}"
        yield Experiment(title, THREE_AT_ONCE, (0.3, 1.0, 1.7), alike(1.5, 0.3), dilemmas, 300, ("auto",))
    for dilemmas, datasets in ((30, 200), (40, 200), (100, 150)):
        title = f"unequal tastes 0.3 / 1.7, pair at once, {dilemmas}"
        yield Experiment(title, PAIR_AT_ONCE, (0.3, 1.7, 1.0), alike(0.0, 0.0), dilemmas, datasets, ("auto",))


def few() -> Iterator[Experiment]:
    """Tastes of equal strength, and mostly few dilemmas."""
    for dilemmas in (100, 300):
        title = f"equal tastes 1.0, inertia 0.0, conformity 0.0, three at once, {dilemmas}"
        yield Experiment(title, THREE_AT_ONCE, 1.0, alike(0.0, 0.0), dilemmas, 300, ("auto",))
    for inertia, previous, taste, design, dilemmas in (
        (0.0, 0.0, 0.0, PAIR_AT_ONCE, 12),
        (0.0, 0.0, 0.0, THREE_AT_ONCE, 12),
        (0.0, 0.0, 0.0, PAIR_AT_ONCE, 100),
        (0.0, 0.0, 1.5, PAIR_AT_ONCE, 12),
        (0.0, 0.0, 1.5, PAIR_AT_ONCE, 40),
        (1.5, 0.5, 1.0, PAIR_AT_ONCE, 6),
        (1.5, 0.5, 1.0, PAIR_AT_ONCE, 30),
        (1.5, 0.5, 1.0, PAIR_AT_ONCE, 40),
        (1.5, 0.5, 1.0, THREE_AT_ONCE, 30),
    ):
        models = "pair" if design is PAIR_AT_ONCE else "three"
        title = f"equal tastes {taste}, inertia {inertia}, conformity {previous}, {models} at once, {dilemmas}"
        yield Experiment(title, design, taste, alike(inertia, previous), dilemmas, 200, ("auto",))
    title = "equal tastes in spikes of 3, pair at once, 100"
    yield Experiment(title, PAIR_AT_ONCE, 0.0, alike(0.0, 0.0), 100, 200, ("auto",), spikes=3.0)


def main() -> None:
    options = argparse.ArgumentParser(description="Recovery of known parameters, and times.")
    options.add_argument("--only", default="", help="experiments whose title contains this")
    options.add_argument("--datasets", type=int, help="instead of each experiment's own number; 0 leaves all out")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--repeats", type=int, default=5, help="fits whose median time is shown")
    options.add_argument("--no-times", action="store_true")
    options.add_argument("--quick", action="store_true", help="check the main claims in less than two minutes")
    chosen = options.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the jobs, which share the cores; this process has loaded it already
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        if chosen.quick:
            sys.exit(quick(pool))
        for experiment in experiments():
            datasets = experiment.datasets if chosen.datasets is None else chosen.datasets
            if datasets and chosen.only in experiment.title:
                recover(experiment, datasets, pool)
    if not chosen.no_times:
        show_times(chosen.repeats)


def recover(experiment: Experiment, datasets: int, pool: ProcessPoolExecutor) -> None:
    """Simulate and fit `datasets` data sets, and print a table for each estimator."""
    started = perf_counter()
    results = results_of(experiment, datasets, pool)
    decisions = np.mean([count for count, _ in results])
    print(
        f"\n{experiment.title}: {datasets} data sets of {experiment.dilemmas} dilemmas, {decisions:,.0f} decisions each"
    )
    for place, estimator in enumerate(experiment.estimators):
        show_recovery(estimator, [fits[place] for _, fits in results], experiment)
    print(f"{perf_counter() - started:.0f} s", flush=True)


def quick(pool: ProcessPoolExecutor) -> int:
    """Check the main claims on few data sets; how many do not hold."""
    wrong = 0

    def check(said: str, holds: bool) -> None:
        nonlocal wrong
        wrong += not holds
        print(f"{'holds' if holds else 'WRONG'}: {said}", flush=True)

    by_title = {one.title: one for one in experiments()}
    experiment = by_title["unequal tastes 0.3 / 1.0 / 1.7, three at once, 100"]
    results = results_of(replace(experiment, estimators=("auto", "taste")), 40, pool)
    for model in MODELS:
        own, common = (np.array([fits[place][f"inertia.{model}"] for _, fits in results]) for place in range(2))
        covered = np.mean((own[:, 2] <= 0) & (own[:, 3] >= 0))
        said = f"inertia of {model} is 0: {own[:, 0].mean():+.2f} on average, covered by {covered:.0%}"
        check(f"{said} (with one spread for all {common[:, 0].mean():+.2f})", covered >= 0.85)
        check(f"inertia of {model} is within 0.12 of it on average", abs(own[:, 0].mean()) < 0.12)
    check("one spread for all takes the strongest taste for inertia", common[:, 0].mean() > 0.25)
    for title in (
        "equal tastes 1.5, inertia 0.0, conformity 0.0, pair at once, 12",
        "equal tastes 1.5, inertia 0.0, conformity 0.0, pair at once, 40",
    ):
        fits = [fit for _, (fit,) in results_of(by_title[title], 20, pool)]
        limits = np.array([fit[f"inertia.{model}"][2] for fit in fits for model in MODELS[:2]])
        given = np.isfinite(limits).mean()
        check(f"{title}: {given:.0%} of intervals given", given > 0.5 if "40" in title else given == 0)
    decisions = simulate(np.random.default_rng(0), 1000, PUBLISHED)
    taken = median(timed(lambda: fit(decisions, estimator="taste_by_model"))[1] for _ in range(3))
    said = f"{len(decisions):,} decisions are fitted, also with one spread for all, in {taken:.1f} seconds of CPU"
    check(f"{said} (median of 3), less than 5", taken < 5)
    return wrong


def results_of(experiment: Experiment, datasets: int, pool: ProcessPoolExecutor) -> list[tuple[int, list[Summary]]]:
    """Of each data set the number of decisions, and what each estimator made of it."""
    return list(pool.map(partial(simulate_and_fit, experiment=experiment), range(datasets), chunksize=4))


Summary = dict[str, tuple[float, float, float, float]]
"""For each parameter its estimate, standard error and interval."""


def simulate_and_fit(number: int, *, experiment: Experiment) -> tuple[int, list[Summary]]:
    rng = np.random.default_rng((number, len(experiment.design)))
    decisions = simulate(
        rng,
        experiment.dilemmas,
        experiment.design,
        taste=experiment.taste,
        truth=experiment.truth,
        spikes=experiment.spikes,
    )
    return len(decisions), [summary(fit(decisions, estimator=name, against=False)) for name in experiment.estimators]


def summary(fitted: ChoiceFit) -> Summary:
    rows = {}
    for name in NAMED:
        kind, model = name.split(".", 1)
        found = getattr(fitted, kind).get(model)
        if found is not None:
            rows[name] = (found.estimate, found.se, *found.interval)
    sizes = {SPREAD: fitted.dilemma_spread, TASTE: fitted.taste_spread}
    sizes |= {f"taste spread, {model}": found for model, found in fitted.taste_spreads.items()}
    rows |= {name: (one.estimate, one.se, *one.interval) for name, one in sizes.items() if one is not None}
    return rows | {WARNED: (len(fitted.warnings), *[np.nan] * 3), MAXIMUM: (fitted.converged, *[np.nan] * 3)}


def show_recovery(estimator: str, fits: Sequence[Summary], experiment: Experiment) -> None:
    true = experiment.truth
    truths = dict(zip(NAMED, [*true.inertia, true.previous, true.within], strict=True)) | {SPREAD: 1.0}
    if experiment.taste == 0.0 and not experiment.spikes:
        truths[TASTE] = 0.0
    if not experiment.spikes:
        own = np.broadcast_to(experiment.taste, len(MODELS))
        truths |= {f"taste spread, {model}": one for model, one in zip(MODELS, own, strict=True)}
    print(
        f"  {estimator:<22} {'truth':>6} {'bias':>8} {'error':>7} {'claimed':>8}"
        f" {'all intervals cover':>20} {'those given':>12} {'median width':>13}"
    )
    reach = float(stdtrit(experiment.dilemmas - 1, 0.975))
    for name, truth in truths.items():
        every = np.array([fitted[name] for fitted in fits if name in fitted]).reshape(-1, 4)
        estimates, errors, low, high = every[np.isfinite(every[:, 0])].T
        if not len(estimates):
            continue
        given = np.isfinite(low)
        within = (low <= truth) & (truth <= high)
        kept = f"{within[given].mean():12.1%}" if given.any() else f"{'-':>12}"
        whole = f"{np.mean(np.abs(estimates - truth) <= reach * errors):20.1%}"
        if "spread" in name:  # its interval is that of a logarithm
            whole, kept = f"{'-':>20}", kept if truth else f"{'-':>12}"
        print(
            f"  {name:<22} {truth:6.2f} {np.mean(estimates) - truth:+8.4f} {np.std(estimates):7.4f} "
            f"{np.nanmean(errors):8.4f} {whole} {kept} {2 * reach * np.nanmedian(errors):13.2f}"
            + (f"  ({given.sum()} of {len(fits)} given)" if given.sum() < len(fits) else "")
        )
    if warned := sum(fitted[WARNED][0] > 0 for fitted in fits):
        print(f"  {warned} fits warn")
    if missed := sum(not fitted[MAXIMUM][0] for fitted in fits):
        print(f"  {missed} fits say that they did not reach the maximum")


def simulate(
    rng: np.random.Generator,
    dilemmas: int,
    design: Sequence[Deliberation],
    *,
    spread: float = 1.0,
    taste: float | tuple[float, ...] = 0.0,
    truth: Truth = AS_IN_TABLE_1,
    spikes: float = 0.0,
) -> Decisions:
    """Every deliberation of the design on every dilemma, agent by agent, ending with agreement or after the last round.

    `taste` is the spread of all models' tastes, or of each in turn.
    """
    preference = np.log(truth.shares) - np.log(truth.shares).mean(axis=1, keepdims=True)
    liking = preference + spread * rng.standard_normal((dilemmas, 1, len(VERDICTS)))  # [dilemma, model, verdict]
    liking = liking + np.reshape(taste, (-1, 1)) * rng.standard_normal(liking.shape)
    if spikes:
        liking = liking + spikes * (rng.random(liking.shape) < 1 / 3)
    decided: list[tuple[Indices, ...]] = []
    for number, deliberation in enumerate(design):
        decided += deliberate(rng, liking, deliberation, number, truth)
    return Decisions(*(np.concatenate(part) for part in zip(*decided, strict=True)), models=MODELS, verdicts=VERDICTS)


def deliberate(
    rng: np.random.Generator, liking: Floats, deliberation: Deliberation, number: int, truth: Truth
) -> list[tuple[Indices, ...]]:
    """The decisions of one deliberation on all dilemmas at once, in the order of the fields of `Decisions`."""
    dilemmas, verdicts, agents = len(liking), len(VERDICTS), deliberation.agents
    one = np.eye(verdicts, dtype=np.int64)
    going = np.arange(dilemmas)
    said = np.zeros((len(agents), dilemmas, verdicts), np.int64)  # in earlier rounds
    last = np.full((len(agents), dilemmas), -1)
    decided = []
    for _ in range(ROUNDS):
        now = last.copy()
        within = np.zeros((dilemmas, verdicts), np.int64)
        for seat, model in enumerate(agents):
            own = last[seat, going]
            heard = said[:, going].sum(0) - said[seat, going]
            before = within[going] if deliberation.in_turn else np.zeros_like(heard)
            logits = liking[going, model] + truth.previous * heard + truth.within * before
            logits = logits + truth.inertia[model] * (own[:, None] == np.arange(verdicts))
            choice = (logits + rng.gumbel(size=logits.shape)).argmax(1)  # a draw from the softmax
            decided.append((np.full_like(going, model), going, number * dilemmas + going, own, heard, before, choice))
            now[seat, going] = choice
            within[going] += one[choice]
        for seat in range(len(agents)):
            said[seat, going] += one[now[seat, going]]
        last = now
        going = going[(now[:, going] != now[0, going]).any(0)]
        if not len(going):
            break
    return decided


def show_times(repeats: int) -> None:
    decisions = simulate(np.random.default_rng(0), 1000, PUBLISHED)
    print(f"\ntimes for 1,000 dilemmas, {len(decisions):,} decisions, standard errors included (median of {repeats})")
    estimators: tuple[Estimator, ...] = ("penalised", "random", "taste", "taste_by_model")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in estimators}
    for _ in range(repeats):  # in turn, so that whatever else the machine does falls on all of them
        for name in estimators:
            taken[name].append(timed(lambda name=name: fit(decisions, estimator=name, against=False)))
    times = {name: median(one for one, _ in each) for name, each in taken.items()}
    for name, each in taken.items():
        print(f"  {name:<16} {times[name]:7.2f} s, {median(cpu for _, cpu in each):7.2f} s of CPU", flush=True)
    both = median(timed(lambda: fit(decisions, estimator="taste_by_model"))[1] for _ in range(repeats))
    print(f"  {'with the ratio':<16} {'':>9}  {both:7.2f} s of CPU: taste_by_model, and one spread for all")
    against = median(more[1] / one[1] for more, one in zip(taken["taste_by_model"], taken["taste"], strict=True))
    print(f"  a spread of tastes for each model takes {against:.2f} times the CPU of one for all (median of the pairs)")
    steps_taken = adamw_seconds(decisions, summary(fit(decisions, estimator="penalised")))
    if steps_taken is None:
        print("  AdamW (PyTorch)  left out: it is not installed here; `pip install torch==2.13.0` gets it")
        return
    seconds, steps = steps_taken
    print(f"  AdamW (PyTorch)  {seconds:7.2f} s in {steps} steps, no standard errors: ", end="")
    print(f"{seconds / times['penalised']:.0f} times penalised's, {seconds / times['random']:.1f} times random's")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that pass, and seconds of CPU."""
    started = perf_counter(), process_time()
    work()
    return perf_counter() - started[0], process_time() - started[1]


def adamw_seconds(decisions: Decisions, penalised: Summary, penalty: float = 0.1) -> tuple[float, int] | None:
    """Seconds and steps until AdamW's five named parameters are within a twentieth of `penalised`'s standard errors.

    The same model and objective; the penalty is part of the loss, and AdamW's own decay off. None without PyTorch.
    """
    try:
        import torch
    except ImportError:
        return None
    models, verdicts = len(decisions.models), len(decisions.verdicts)
    model, dilemma, choice = (torch.from_numpy(a) for a in (decisions.model, decisions.dilemma, decisions.choice))
    held = torch.from_numpy((decisions.own_previous[:, None] == np.arange(verdicts)).astype(np.float32))
    previous, within = (torch.from_numpy(a.astype(np.float32)) for a in (decisions.n_prev, decisions.n_within))
    shapes = [(models, verdicts), (int(decisions.dilemma.max()) + 1, verdicts), (models,), (1,), (1,)]
    parameters = [torch.zeros(shape, requires_grad=True) for shape in shapes]
    theta, phi, inertia, by_previous, by_within = parameters
    target = torch.tensor([penalised[name][0] for name in NAMED])
    near = torch.tensor([penalised[name][1] for name in NAMED]) / 20
    optimiser = torch.optim.AdamW(parameters, lr=0.05, weight_decay=0.0)
    started, steps = perf_counter(), 0
    while steps < 5000:
        steps += 1
        optimiser.zero_grad()
        logits = theta[model] + phi[dilemma] + inertia[model][:, None] * held
        logits = logits + by_previous * previous + by_within * within
        loss = torch.nn.functional.cross_entropy(logits, choice, reduction="sum")
        loss = loss + penalty / 2 * sum((parameter**2).sum() for parameter in parameters)
        loss.backward()
        optimiser.step()
        if torch.all((torch.cat(parameters[2:]).detach() - target).abs() < near):
            break
    return perf_counter() - started, steps


if __name__ == "__main__":
    main()
