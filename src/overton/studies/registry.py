"""Which studies there are: our own, and those of other packages, imported by name and no sooner.

Another package names its studies as entry points of the group 'overton.studies':

    [project.entry-points."overton.studies"]
    my-study = "my_package:STUDY"
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from overton.errors import InputError, Problem
from overton.studies.command import Command
from overton.studies.study import INTERFACE, AnyStudy, Kind, Study

__all__ = ["DEMO", "GROUP", "Listed", "asking_names", "listed", "own_commands", "simulated_names", "study_named"]

GROUP = "overton.studies"
DEMO = "open-mindedness"
"""The study that `overton demo` shows."""

PREFIX = "again-"
"""Precedes a study's name in the name of the study that asks its judge again."""
CONTROLS = "controls-"
"""The same for the study that tries its judge on texts whose label is beyond doubt."""
_DERIVED = {PREFIX: "rejudging:again_of", CONTROLS: "controls:controls_of"}

_HOME = "overton.studies."
_ASKING = {
    "open-mindedness": "open_mindedness:STUDY",
    "stance-stability": "stance_stability:STUDY",
    "pluralism": "pluralism:STUDY",
    "deliberation": "deliberation:STUDY",
    "even-handedness": "even_handedness:STUDY",
}
_MAKING = {
    "rephrase": "open_mindedness.rephrasing:STUDY",
    "audit": "open_mindedness.auditing:STUDY",
    "topics": "stance_stability.generating:STUDY",
    "references": "pluralism.referencing:REFERENCING",
    "audit-references": "pluralism.auditing:AUDITING",
    "crowd-verdicts": "deliberation.crowd:STUDY",
    "judge-stance-stability": "stance_stability.transcripts:JUDGING",
}
_OURS = _ASKING | _MAKING


@dataclass(frozen=True)
class Listed:
    """A study as a list shows it, under its word on the command line.

    `kind` is the study's; `problem` says why it cannot be used, '' if it can.
    """

    name: str
    word: str
    kind: Kind
    question: str = ""
    problem: str = ""


def study_named(name: str) -> AnyStudy:
    """The study with this name, spelled with hyphens or underscores; including those that make or label items, and
    those that ask another's judge again, or try it.

    Raises:
        InputError: there is none, it cannot be imported, or it was written for another version of the interface.
    """
    wanted = name.replace("_", "-")
    if wanted in _OURS:
        return _ours(wanted)
    for prefix in _DERIVED:
        if wanted.startswith(prefix):
            return _derived(prefix, study_named(wanted.removeprefix(prefix)))
    found = next((point for point in _others() if point.name.replace("_", "-") == wanted), None)
    if found is None:
        known = ", ".join([*_ASKING, *(point.name for point in _others())])
        raise InputError([Problem("study", name, f"no such study; known are {known}")])
    return _theirs(found)


def asking_names() -> list[str]:
    """The names of all studies that ask a model for its views, or claim to: nothing is imported."""
    return [*_ASKING, *(point.name for point in _others())]


def own_commands() -> list[Command]:
    """The commands that studies add to those that every study has."""
    found = [study for name in asking_names() if (study := _usable(name)) is not None]
    return [command for study in found for command in study.commands]


def _usable(name: str) -> AnyStudy | None:
    try:
        return study_named(name)
    except InputError:
        return None


def simulated_names() -> list[str]:
    """The simulated answerers of our studies, without 'simulated/'."""
    studies = map(study_named, _ASKING)
    return list(dict.fromkeys(name for study in studies for name in study.simulated if not name.endswith("/NAME")))


def listed() -> list[Listed]:
    """Every study that can be named; with the reason for those of other packages that cannot be used."""
    return [_listed(name) for name in (*_OURS, *(point.name for point in _others()))]


def _listed(name: str) -> Listed:
    try:
        study = study_named(name)
    except InputError as error:
        return Listed(name, name, "asks", problem="; ".join(problem.reason for problem in error.problems))
    return Listed(study.name, study.word or study.name, study.kind, study.question)


_MADE: dict[str, tuple[AnyStudy, AnyStudy]] = {}
"""Studies that are made from others, by name together with those others, so that each is one object."""


def _derived(prefix: str, study: AnyStudy) -> AnyStudy:
    known, made = _MADE.get(prefix + study.name, (None, None))
    if made is None or known is not study:
        module, _, maker = _DERIVED[prefix].partition(":")
        made = getattr(import_module(_HOME + module), maker)(study)
        _MADE[prefix + study.name] = (study, made)
    return made


def _ours(name: str) -> AnyStudy:
    module, _, attribute = _OURS[name].partition(":")
    study: AnyStudy = getattr(import_module(_HOME + module), attribute)
    return study


def _others() -> list[EntryPoint]:
    """Entry points of other packages, in a stable order; our own names are reserved."""
    found = [point for point in entry_points(group=GROUP) if point.name.replace("_", "-") not in _OURS]
    return sorted(found, key=lambda point: (point.name, point.value))


def _theirs(point: EntryPoint) -> AnyStudy:
    place = f"study {point.name}"
    package = point.dist.name if point.dist else point.value
    try:
        study = point.load()
    except (Exception, SystemExit) as error:
        reason = f"the package {package} cannot be loaded: {type(error).__name__}: {error}"
        raise InputError([Problem(place, point.value, reason)]) from error
    if not isinstance(study, Study):
        raise InputError([Problem(place, point.value, f"the package {package} names an object that is not a Study")])
    if study.interface != INTERFACE:
        said = f"version {study.interface}" if study.interface else "no version"
        reason = f"{package} was written for {said} of the study interface, and this Overton has version {INTERFACE}"
        raise InputError([Problem(place, "interface", reason)])
    if study.name.replace("_", "-") != point.name.replace("_", "-"):
        raise InputError(
            [Problem(place, study.name, f"{package} uses this name inside, and another in its entry point")]
        )
    return study
