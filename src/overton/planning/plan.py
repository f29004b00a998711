"""Planning a study: what a run would ask, what that would cost, and how large a difference it would detect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError
from overton.runs import answerers, dry_run
from overton.runs.dry_run import Plan, PlanOption
from overton.runs.precision import precision_of
from overton.runs.prompt_folder import GivenPrompts
from overton.runs.setup import Arguments, Others, Prices, SourceArguments, set_up
from overton.studies.options import fields_of
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from overton.calls.model import Model
    from overton.planning.power import PlanDetecting
    from overton.runs.setup import SetUp
    from overton.studies.study import AnyStudy


def plan(
    study: str,
    *,
    models: Sequence[str] = (),
    others: Others | None = None,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    price_list: str | Path | None = None,
    prompts: GivenPrompts | None = None,
    detect: Mapping[str, float] | None = None,
    power: float = 0.8,
    pilot: str | Path | None = None,
    correlation: float | None = None,
    margins: Mapping[str, float] | None = None,
    precision: Mapping[str, float] | None = None,
    at_most_calls: int | None = None,
    **options: Any,
) -> Plan | PlanDetecting:
    """Plan what `run` with the same arguments would ask and cost, without asking anything.

    With `detect`, sizes of differences by measure in its own units, the plan has a `detect` that says how many items,
    and trials of each, are needed to detect such a difference between two models with the probability `power`, and what
    that costs; and how many are needed to find a true difference of half the margin equivalent (`margins` are those of
    `overton.compare`). The variation among items is estimated from `pilot`: a run, a model of one ('RUN#MODEL'), or a
    simulated respondent ('simulated/NAME', which is asked; by default the plan's own, otherwise the study's first).
    `correlation` is that of two models' true values over items; by default it is estimated from a pilot of several
    models, and assumed to be 0.5 for one. docs/compare.md has the method and how reliable it is.

    With `precision` or `at_most_calls` (those of `overton.run`), the plan's own `precision` says what stopping is
    expected to take: runs are simulated with answers drawn from the pilot's.

    Example: `overton.plan("STUDY", models=["openai/gpt-4o"], detect={"MEASURE": 5}, pilot="runs/pilot")`.

    Raises:
        InputError: anything wrong with the arguments.
    """
    found = study_named(study)
    named: dict[str, Any] = {"models": models, "others": others, "items": items, "only": only, "seed": seed}
    named |= {"model_args": model_args, "source_args": source_args, "prices": prices, "price_list": price_list}
    named |= {"prompts": prompts}
    ready = set_up(found, **named, **options)
    opened, planned = _open_and_plan(ready)
    # Reading a pilot needs tables and statistics, whose imports take several times as long as counting calls.
    if (stopping := precision_of(precision, at_most_calls)) is not None:
        from overton.planning.expected_calls import expected_calls

        expected = expected_calls(ready, stopping, planned, pilot, model_args)
        planned = msgspec.structs.replace(planned, precision=expected)
    otherwise = None
    if (other := _other_way_of_shares(found, ready, options)) is not None:
        with suppress(InputError):  # not available for models without token probabilities
            otherwise = _open_and_plan(set_up(found, **named, **other))[1]
    ways = ways_of(planned, otherwise, _name_other_way(found, ready, other))
    planned = msgspec.structs.replace(planned, ways=list(ways))
    if not detect:
        return planned
    from overton.planning.power import Detecting, add_detections

    wanted = Detecting(dict(detect), power, None if pilot is None else str(pilot), correlation, dict(margins or {}))
    return add_detections(planned, wanted, ready, opened, model_args)


def _open_and_plan(ready: SetUp) -> tuple[dict[str, list[Model]], Plan]:
    """Who would answer, and the plan of their calls."""
    experiment = ready.experiment
    asked = experiment.study.with_demands(experiment.options, answerers.specs_of(ready.wanted))
    opened = answerers.open_models(asked, experiment.items, ready.wanted, experiment.seed, need_keys=False)
    return opened, dry_run.plan(experiment, opened)


def _other_way_of_shares(found: AnyStudy, ready: SetUp, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that estimate the same shares the other way: by token probabilities instead of sampling, or vice
    versa.

    None if nobody could be asked for token probabilities with the options of `ready`. Where probabilities
    replace many answers, there is one trial of each prompt, and the single answers that calibrate them are counted.
    """
    shares = next((field for field in fields_of(found.options) if field.name == "shares"), None)
    if shares is None or not _roles_by_probabilities(ready):
        return None
    sampled = (options.get("shares") or shares.default) == "sampled"
    # A given number of trials is for sampling; probabilities need one trial of each prompt.
    asked = {name: value for name, value in options.items() if name != "trials"} | {"shares": "probabilities"}
    asks_trials = False
    with suppress(InputError):  # options that follow from the models have nothing to do with trials
        asks_trials = "trials" in found.options.complete(asked, {})
    trials = {"trials": 1 if sampled else None} if asks_trials else {}
    return {**options, "shares": "probabilities" if sampled else "sampled", **trials}


def _roles_by_probabilities(ready: SetUp) -> tuple[str, ...]:
    """The roles asked for token probabilities if shares are estimated by them."""
    options = msgspec.structs.replace(ready.experiment.options, shares="probabilities")
    return options.demands(answerers.specs_of(ready.wanted)).probabilities


def _name_other_way(found: AnyStudy, ready: SetUp, other: Mapping[str, Any] | None) -> tuple[str, str]:
    """The other way's `--shares`, and what it gives."""
    if other is None or other["shares"] == "sampled":
        return "sampled", "shares of sampled answers"
    if found.first in _roles_by_probabilities(ready):
        return "probabilities", "shares from the letter's probability, calibrated"
    return "probabilities", "the judge's labels with their probabilities, calibrated"


def ways_of(planned: Plan, otherwise: Plan | None, gives: tuple[str, str]) -> Iterator[PlanOption]:
    """The plan by itself and in batches; with shares estimated the other way; and with precision stopping."""
    yield from _plan_options("", "", planned)
    if otherwise is not None:
        yield from _plan_options(f"--shares {gives[0]}", gives[1], otherwise)
    if (stopping := planned.precision) is not None:
        widths = ", ".join(f"{name} within {half:.2g} to either side" for name, half in stopping.halves.items())
        expected = f"expected: {widths}" if widths else "expected from a pilot"
        yield PlanOption(
            "--precision", expected, stopping.calls, stopping.calls_most, stopping.cost, planned.cost_at_most
        )


def _plan_options(options: str, gives: str, planned: Plan) -> Iterator[PlanOption]:
    calls = planned.calls, planned.calls_at_most
    yield PlanOption(options, gives, *calls, planned.cost, planned.cost_at_most)
    if planned.batches_in_turn:
        batched = " ".join(filter(None, (options, "--batch")))
        later = ", ".join(filter(None, (gives, f"within {planned.hours_in_batches:g} hours")))
        yield PlanOption(batched, later, *calls, planned.cost_in_batches, planned.cost_in_batches_at_most)
