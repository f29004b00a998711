"""The pilot from which a plan estimates how items vary: a given run, or a small run of simulated models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from overton.comparison.differences import options_differing
from overton.comparison.sources import ComparisonSource, open_sources
from overton.errors import InputError, Problem
from overton.runs.answerers import public_spec
from overton.runs.setup import Arguments, SetUp
from overton.runs.start import run
from overton.studies.options import fields_of, option_place
from overton.studies.study import AnyStudy

SIMULATED = "simulated/"
_MOST_ITEMS = 30
_MOST_TRIALS = 4
"""Limits of a pilot that is simulated for a plan."""


def pilot_of(
    named: str | None, ready: SetUp, model_args: Arguments | None, folder: Path
) -> tuple[ComparisonSource, str]:
    """Open the pilot: a given run, or a new run of simulated models in `folder`. Return the pilot, and its name as used
    in sentences.

    Raises:
        InputError: the pilot does not exist, or no pilot is given and the study has no simulated model.
        RunError: the pilot is not a run, or has no records.
    """
    experiment = ready.experiment
    study = experiment.study
    if named is not None and not named.startswith(SIMULATED):
        _, _, (source,) = open_sources([named], study.name, {})
        return source, f"run {source.label}"
    subjects = [named] if named else _simulated_subjects(study, ready)
    path = folder / "pilot"
    run(
        study.name,
        models=subjects,
        others=_other_answerers(study, ready),
        items=list(experiment.items[:_MOST_ITEMS]),
        out=path,
        seed=experiment.seed,
        model_args=None if named else _simulated_arguments(model_args, ready, study),
        watch=_ignore_progress,
        **_pilot_options(study, ready),
    )
    _, _, (source,) = open_sources([path], study.name, {})
    return source, f"{', '.join(subjects)}, asked about {min(len(experiment.items), _MOST_ITEMS)} {study.items.plural}"


def _simulated_arguments(model_args: Arguments | None, ready: SetUp, study: AnyStudy) -> Arguments:
    simulated = [request for some in ready.wanted.values() for request in some if request.spec.startswith(SIMULATED)]
    names = {request.name for request in simulated} | {request.spec for request in simulated}
    return {name: given for name, given in (model_args or {}).items() if name in names}


def _ignore_progress(progress: Any) -> None:
    """Show no progress, because a simulated pilot takes only seconds."""


def _simulated_subjects(study: AnyStudy, ready: SetUp) -> list[str]:
    """The plan's own models if all are simulated, otherwise the study's first respondent.

    Raises:
        InputError: the study has no simulated respondent.
    """
    wanted = [
        request.name if request.name == request.spec else f"{request.name}={request.spec}"
        for request in ready.wanted[study.first]
    ]
    if wanted and all(request.spec.startswith(SIMULATED) for request in ready.wanted[study.first]):
        return wanted
    if not study.simulated:
        raise InputError([Problem(option_place("pilot"), "", "name a run: this study has no simulated respondent")])
    kind = next(iter(study.simulated))
    if study.together and f"{kind}/NAME" in study.simulated:
        return [f"{SIMULATED}{kind}/{letter}" for letter in "abc"[: max(2, min(len(wanted), 3))]]
    return [f"{SIMULATED}{kind}"]


def _other_answerers(study: AnyStudy, ready: SetUp) -> dict[str, list[str]]:
    """The models and services in other roles of a simulated pilot: the plan's own if they are simulated, otherwise
    simulated replacements.

    Raises:
        InputError: there is no replacement.
    """
    made: dict[str, list[str]] = {}
    for role in study.roles[1:]:
        named = [request.spec for request in ready.wanted.get(role.name, ())]
        if role.retrieves:
            made |= {role.name: [role.usual]} if role.usual else {}
        elif named and all(spec.startswith(SIMULATED) for spec in named):
            made[role.name] = named
        elif not role.optional:
            made[role.name] = [f"{SIMULATED}{_simulated_stand_in(study, role.name, role.word)}"]
    return made


def _simulated_stand_in(study: AnyStudy, role: str, word: str) -> str:
    fitting = [name for name in study.simulated if name == role or name.endswith(f"-{role}")]
    if len(fitting) != 1:
        reason = f"this study does not have exactly one simulated {word} for a simulated pilot; name a run as the pilot"
        raise InputError([Problem(option_place("pilot"), "", reason)])
    return fitting[0]


def _pilot_options(study: AnyStudy, ready: SetUp) -> dict[str, Any]:
    """The plan's options, with two to four trials of each item. Repeated trials separate chance in trials from
    variation among items."""
    own = {
        field.name: given
        for field in fields_of(study.options)
        if not field.option.follows and (given := getattr(ready.experiment.options, field.name)) != field.default
    }
    trials = trials_of(ready.experiment.options)
    return own if trials is None else own | {"trials": max(2, min(trials, _MOST_TRIALS))}


def asked_differently(pilot: ComparisonSource, ready: SetUp) -> Iterator[str]:
    """List the differences between a pilot and the plan: options that affect measurement, and models in other roles
    (such as judges). Differences in the measured models or in the number of trials are not listed."""
    provenance = pilot.provenance
    if provenance is None:
        yield f"it is not known how {pilot.label} came about"
        return
    study, planned = ready.experiment.study, msgspec.to_builtins(ready.experiment.options)
    yield from (said for kind, said in options_differing(provenance.options, planned, study) if kind == "instrument")
    for role in study.roles[1:]:
        both = (provenance.roles, ready.wanted)
        mine, theirs = ([public_spec(request.spec) for request in roles.get(role.name, ())] for roles in both)
        if mine != theirs:
            names = [", ".join(side) or "nobody" for side in (mine, theirs)]
            yield f"the model for the role {role.name} differs: {names[0]} and {names[1]}"


def trials_of(options: Any) -> int | None:
    """The number of trials per item according to the options; None if the options have no such number."""
    found = getattr(options, "trials", None)
    return found if isinstance(found, int) else None
