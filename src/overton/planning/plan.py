"""Plans of runs: their calls, their cost, and how large a difference they would detect."""

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
    """Plan the run that `run` would make with the same arguments: count and price the calls, without sending any.

    `detect` maps each measure to the size of a difference between two models, in the measure's units. The result says
    how many items and trials detect a difference of this size with probability `power`. It also says how many items
    and trials show equivalence, if the true difference is half the equivalence margin. All numbers come with their
    cost. `margins` are equivalence margins, as in `overton.compare`.

    The variation among items is estimated from `pilot`: a run, one model in a run ('RUN#MODEL'), or a simulated model
    ('simulated/NAME'). By default, the pilot is the plan's own simulated model, or else the study's first simulated
    model. `correlation` is the correlation between two models' true values over items. By default, it is estimated from
    a pilot with several models, and assumed to be 0.5 for a pilot with one model. docs/compare.md describes the method
    and its reliability.

    The plan's `headlines` say which headlines the design can measure. With a `pilot`, they also have the expected
    widths of the intervals.

    With `precision` or `at_most_calls` (as in `overton.run`), the result's `precision` has the expected number and cost
    of calls until the run stops. To compute these numbers, runs are simulated with answers sampled from the pilot's
    answers.

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
    if pilot is not None:
        from overton.planning.expected_widths import with_expected_widths

        headlines, called = with_expected_widths(planned.headlines, str(pilot), ready, model_args)
        planned = msgspec.structs.replace(planned, headlines=headlines, pilot=called)
    ways = ways_of(planned, otherwise, _name_other_way(found, ready, other))
    planned = msgspec.structs.replace(planned, ways=list(ways))
    if not detect:
        return planned
    from overton.planning.power import Detecting, add_detections

    wanted = Detecting(dict(detect), power, None if pilot is None else str(pilot), correlation, dict(margins or {}))
    return add_detections(planned, wanted, ready, opened, model_args)


def _open_and_plan(ready: SetUp) -> tuple[dict[str, list[Model]], Plan]:
    """Open the models and services that would answer, and plan their calls."""
    experiment = ready.experiment
    asked = experiment.study.with_demands(experiment.options, answerers.specs_of(ready.wanted))
    opened = answerers.open_models(asked, experiment.items, ready.wanted, experiment.seed, need_keys=False)
    return opened, dry_run.plan(experiment, opened)


def _other_way_of_shares(found: AnyStudy, ready: SetUp, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that estimate the same proportions in the other way: by token probabilities if the plan samples
    answers, and by sampled answers if the plan uses token probabilities.

    None if no model could be asked for token probabilities with the options of `ready`. If probabilities replace many
    answers, each prompt has one trial. The plan also counts the sampled answers that check the probabilities.
    """
    shares = next((field for field in fields_of(found.options) if field.name == "shares"), None)
    if shares is None or not _roles_by_probabilities(ready):
        return None
    sampled = (options.get("shares") or shares.default) == "sampled"
    # A given number of trials is for sampling; probabilities need one trial of each prompt.
    asked = {name: value for name, value in options.items() if name != "trials"} | {"shares": "probabilities"}
    asks_trials = False
    with suppress(InputError):  # errors in options that depend on the models do not matter here
        asks_trials = "trials" in found.options.complete(asked, {})
    trials = {"trials": 1 if sampled else None} if asks_trials else {}
    return {**options, "shares": "probabilities" if sampled else "sampled", **trials}


def _roles_by_probabilities(ready: SetUp) -> tuple[str, ...]:
    """The roles that are asked for token probabilities if proportions are estimated from token probabilities."""
    options = msgspec.structs.replace(ready.experiment.options, shares="probabilities")
    return options.demands(answerers.specs_of(ready.wanted)).probabilities


def _name_other_way(found: AnyStudy, ready: SetUp, other: Mapping[str, Any] | None) -> tuple[str, str]:
    """The other way's `--shares`, and its result."""
    if other is None or other["shares"] == "sampled":
        return "sampled", "proportions from sampled answers"
    if found.first in _roles_by_probabilities(ready):
        return "probabilities", "proportions from token probabilities, checked"
    return "probabilities", "the judge's labels with their probabilities, checked"


def ways_of(planned: Plan, otherwise: Plan | None, gives: tuple[str, str]) -> Iterator[PlanOption]:
    """Yield the ways to run a plan: as planned, in batches, or with precision stopping. The plan `otherwise` is
    included if it is cheaper. It estimates proportions from token probabilities instead of sampled answers, or vice
    versa."""
    yield from _plan_options("", "", planned)
    if otherwise is not None and _is_cheaper(otherwise, planned):
        yield from _plan_options(f"--shares {gives[0]}", gives[1], otherwise)
    if (stopping := planned.precision) is not None:
        widths = ", ".join(f"half-width of {name} at most {half:.2g}" for name, half in stopping.halves.items())
        expected = f"expected: {widths}" if widths else "expected from a pilot"
        yield PlanOption(
            "--precision", expected, stopping.calls, stopping.calls_most, stopping.cost, planned.cost_at_most
        )


def _is_cheaper(otherwise: Plan, planned: Plan) -> bool:
    """Whether `otherwise` is cheaper than `planned`. If the costs are equal or a cost is unknown, the plan with fewer
    calls counts as cheaper."""
    if otherwise.cost is None or planned.cost is None or otherwise.cost == planned.cost:
        return otherwise.calls < planned.calls
    return otherwise.cost < planned.cost


def batches_are_cheaper(planned: Plan) -> bool:
    """Whether batches are known to cost less."""
    batched = planned.cost_in_batches
    return bool(planned.batches_in_turn) and batched is not None and (planned.cost is None or batched < planned.cost)


def _plan_options(options: str, gives: str, planned: Plan) -> Iterator[PlanOption]:
    calls = planned.calls, planned.calls_at_most
    yield PlanOption(options, gives, *calls, planned.cost, planned.cost_at_most)
    if batches_are_cheaper(planned):
        batched = " ".join(filter(None, (options, "--batch")))
        later = ", ".join(filter(None, (gives, f"within {planned.hours_in_batches:g} hours")))
        yield PlanOption(batched, later, *calls, planned.cost_in_batches, planned.cost_in_batches_at_most)
