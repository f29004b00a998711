"""Does the choice model of deliberation recover parameters that are known? And how long does it take?

    python benchmarks/recovery.py [--only TEXT] [--datasets N] [--jobs 2] [--repeats 5] [--no-times]

Every data set is simulated agent by agent: models like those of the published study discuss each dilemma until they
agree or four rounds are over. Dilemmas' effects have spread 1, models' tastes for dilemmas the named spread;
inertia and conformity are those of table 1, or zero. Tables show how far the estimates of each estimator are from
the truth on average, how they scatter, the error that they claim, and how often the 95% intervals cover the truth.

`--only` takes the experiments whose title contains a text, `--datasets` another number of data sets than each has.

Then times at 1,000 dilemmas, about 72,000 decisions: the median of --repeats fits, compared with AdamW in PyTorch on
the model and penalty of `penalised`, full batch, until its named parameters have settled there. Only that line needs
PyTorch (`pip install torch==2.13.0`), and says so if it is missing.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from multiprocessing import get_context
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice import ALL_MODELS, ChoiceFit, Decisions, Estimator, fit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MODELS = ("GPT", "Claude", "Gemini")
VERDICTS = ("YTA", "NTA", "ESH", "NAH", "INFO")
INERTIA = np.array([1.98, 1.42, 1.19])
PREVIOUS, WITHIN = 0.14, 0.87
SHARES = np.array([[0.06, 0.74, 0.09, 0.09, 0.02], [0.17, 0.52, 0.18, 0.11, 0.02], [0.31, 0.48, 0.14, 0.05, 0.02]])
"""About how often each model gives each verdict at first: rows are models."""

ROUNDS = 4
NAMED = (*(f"inertia.{model}" for model in MODELS), f"previous.{ALL_MODELS}", f"within.{ALL_MODELS}")
SPREAD, TASTE, WARNED, MAXIMUM = "dilemma spread", "taste spread", "warnings", "maximum reached"


@dataclass(frozen=True)
class Deliberation:
    """Who discusses, in this order; all at once or in turn."""

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

    Tastes have the spread `taste`; inertia and conformity are `follow` times the published ones.
    """

    title: str
    design: Sequence[Deliberation]
    taste: float
    follow: float
    dilemmas: int
    datasets: int
    estimators: Sequence[Estimator] = ("auto", "random")


def experiments() -> Iterator[Experiment]:
    """All of them."""
    yield Experiment("published design", PUBLISHED, 0.0, 1.0, 200, 1000, ("random", "taste", "penalised"))
    yield Experiment("as published", PUBLISHED, 0.0, 1.0, 200, 20, ("as_published",))
    yield Experiment("sparse design", SPARSE, 0.0, 1.0, 200, 200, ("random", "penalised"))
    yield Experiment("published design with tastes", PUBLISHED, 0.5, 1.0, 200, 200)
    for title, design in (
        ("pair at once", PAIR_AT_ONCE),
        ("pair in both orders", PAIR_IN_TURN),
        ("three at once", THREE_AT_ONCE),
        ("three in turn", THREE_IN_TURN),
        ("all formats and orders", PUBLISHED),
    ):
        for dilemmas in (12, 100, 300):
            yield Experiment(f"tastes alone, {title}, {dilemmas}", design, 1.5, 0.0, dilemmas, 200)
            yield Experiment(f"tastes as well, {title}, {dilemmas}", design, 1.0, 1.0, dilemmas, 200)
            yield Experiment(f"no tastes, {title}, {dilemmas}", design, 0.0, 1.0, dilemmas, 200)


def main() -> None:
    options = argparse.ArgumentParser(description="Recovery of known parameters, and times.")
    options.add_argument("--only", default="", help="experiments whose title contains this")
    options.add_argument("--datasets", type=int, help="instead of each experiment's own number; 0 leaves all out")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--repeats", type=int, default=5, help="fits whose median time is shown")
    options.add_argument("--no-times", action="store_true")
    chosen = options.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the jobs, which share the cores; this process has loaded it already
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        for experiment in experiments():
            datasets = experiment.datasets if chosen.datasets is None else chosen.datasets
            if datasets and chosen.only in experiment.title:
                recover(experiment, datasets, pool)
    if not chosen.no_times:
        show_times(chosen.repeats)


def recover(experiment: Experiment, datasets: int, pool: ProcessPoolExecutor) -> None:
    """Simulate and fit `datasets` data sets, and print a table for each estimator."""
    started = perf_counter()
    work = partial(simulate_and_fit, experiment=experiment)
    results = list(pool.map(work, range(datasets), chunksize=4))
    decisions = np.mean([count for count, _ in results])
    print(
        f"\n{experiment.title}: {datasets} data sets of {experiment.dilemmas} dilemmas, {decisions:,.0f} decisions each"
    )
    for place, estimator in enumerate(experiment.estimators):
        show_recovery(estimator, [fits[place] for _, fits in results], experiment)
    print(f"{perf_counter() - started:.0f} s", flush=True)


Summary = dict[str, tuple[float, float, float, float]]
"""For each parameter its estimate, standard error and interval."""


def simulate_and_fit(number: int, *, experiment: Experiment) -> tuple[int, list[Summary]]:
    rng = np.random.default_rng((number, len(experiment.design)))
    decisions = simulate(rng, experiment.dilemmas, experiment.design, taste=experiment.taste, follow=experiment.follow)
    return len(decisions), [summary(fit(decisions, estimator=name, against=False)) for name in experiment.estimators]


def summary(fitted: ChoiceFit) -> Summary:
    rows = {}
    for name in NAMED:
        kind, model = name.split(".", 1)
        found = getattr(fitted, kind).get(model)
        if found is not None:
            rows[name] = (found.estimate, found.se, *found.interval)
    for name, size in ((SPREAD, fitted.dilemma_spread), (TASTE, fitted.taste_spread)):
        if size is not None:
            rows[name] = (size.estimate, size.se, *size.interval)
    return rows | {WARNED: (len(fitted.warnings), *[np.nan] * 3), MAXIMUM: (fitted.converged, *[np.nan] * 3)}


def show_recovery(estimator: str, fits: Sequence[Summary], experiment: Experiment) -> None:
    known = experiment.follow * np.array([*INERTIA, PREVIOUS, WITHIN])
    truths = dict(zip(NAMED, known, strict=True)) | {SPREAD: 1.0, TASTE: experiment.taste}
    print(f"  {estimator:<22} {'truth':>6} {'bias':>8} {'error':>7} {'claimed':>8} {'coverage of 95%':>17}")
    for name, truth in truths.items():
        every = np.array([fitted[name] for fitted in fits if name in fitted]).reshape(-1, 4)
        estimates, errors, low, high = every[np.isfinite(every[:, 0])].T
        told = np.isfinite(low)
        if not len(estimates):
            continue
        covered = ((low <= truth) & (truth <= high))[told].mean() if told.any() else np.nan
        shown = f"{covered:17.1%}" if truth or name != TASTE else f"{'-':>17}"  # its interval is that of a logarithm
        print(
            f"  {name:<22} {truth:6.2f} {np.mean(estimates) - truth:+8.4f} {np.std(estimates):7.4f} "
            f"{np.nanmean(errors):8.4f} {shown}"
            + (f"  ({len(fits) - told.sum()} without interval)" if told.sum() < len(fits) else "")
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
    taste: float = 0.0,
    follow: float = 1.0,
) -> Decisions:
    """Every deliberation of the design on every dilemma, agent by agent, ending with agreement or after the last round.

    Inertia and conformity are `follow` times those above.
    """
    preference = np.log(SHARES) - np.log(SHARES).mean(axis=1, keepdims=True)
    liking = preference + spread * rng.standard_normal((dilemmas, 1, len(VERDICTS)))  # [dilemma, model, verdict]
    liking = liking + taste * rng.standard_normal(liking.shape)
    decided: list[tuple[Indices, ...]] = []
    for number, deliberation in enumerate(design):
        decided += deliberate(rng, liking, deliberation, number, follow)
    return Decisions(*(np.concatenate(part) for part in zip(*decided, strict=True)), models=MODELS, verdicts=VERDICTS)


def deliberate(
    rng: np.random.Generator, liking: Floats, deliberation: Deliberation, number: int, follow: float
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
            logits = liking[going, model] + follow * (PREVIOUS * heard + WITHIN * before)
            logits = logits + follow * INERTIA[model] * (own[:, None] == np.arange(verdicts))
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
    estimators: tuple[Estimator, ...] = ("penalised", "random", "taste")
    times = {}
    for estimator in estimators:
        times[estimator] = median(
            timed(lambda name=estimator: fit(decisions, estimator=name, against=False)) for _ in range(repeats)
        )
        print(f"  {estimator:<16} {times[estimator]:7.2f} s", flush=True)
    taken = adamw_seconds(decisions, summary(fit(decisions, estimator="penalised")))
    if taken is None:
        print("  AdamW (PyTorch)  left out: it is not installed here; `pip install torch==2.13.0` gets it")
        return
    seconds, steps = taken
    print(f"  AdamW (PyTorch)  {seconds:7.2f} s in {steps} steps, no standard errors: ", end="")
    print(f"{seconds / times['penalised']:.0f} times penalised's, {seconds / times['random']:.1f} times random's")


def timed(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


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
