"""All studies: Overton's own, and those of other packages. A study is imported only when it is used.

Another package names its studies as entry points of the group 'overton.studies':

    [project.entry-points."overton.studies"]
    my-study = "my_package:STUDY"

A package whose study cannot be used disables only that study. If two packages use one name, neither study can be used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from overton.errors import InputError, Problem, StudyError, suggestion
from overton.studies.guards import Guard
from overton.studies.study import INTERFACE, AnyStudy, Command, Kind, Study

GROUP = "overton.studies"
COMMANDS = "overton.commands"
"""The group of entry points by which other packages add commands to 'overton items'."""

PREFIX = "again-"
"""The start of the name of a derived study that asks a study's judge again; the study's name follows."""
CONTROLS = "controls-"
"""The start of the name of a derived study that tests a study's judge on texts with known labels."""
_DERIVED = {PREFIX: "judge_checks.consistency:again_of", CONTROLS: "judge_checks.controls:controls_of"}

_HOME = "overton.studies."
_ASKING = {
    "open-mindedness": "open_mindedness:STUDY",
    "stance-stability": "stance_stability:STUDY",
    "pluralism": "pluralism:STUDY",
    "deliberation": "deliberation:STUDY",
    "even-handedness": "even_handedness:STUDY",
}
_MAKING = {
    "rephrase": "open_mindedness.paraphrases.rephrasing:STUDY",
    "audit": "open_mindedness.paraphrases.audit:STUDY",
    "topics": "stance_stability.topics:STUDY",
    "references": "pluralism.references:REFERENCING",
    "audit-references": "pluralism.audit:AUDITING",
    "values": "deliberation.collection:STUDY",
    "crowd-verdicts": "deliberation.dilemmas.crowd:STUDY",
    "judge-stance-stability": "stance_stability.transcripts:JUDGING",
    "table": "texts:STUDY",
}
_OURS = _ASKING | _MAKING
_COMMANDS = (
    Command(
        "fill-templates",
        "Make the six paraphrases of appendix B without a model, with the issues' exact positions.",
        "overton.commands.open_mindedness:fill_templates",
    ),
    Command(
        "procon",
        "Make issue files from ProCon debate pages that you saved; nothing is downloaded.",
        "overton.commands.open_mindedness:procon",
    ),
    Command(
        "positions",
        "Write positions.csv with the topics and positions of the issues in a clone of MillStone's repository.",
        "overton.commands.open_mindedness:positions",
    ),
    Command(
        "threads",
        "Sample threads from forum dumps, step by step, without names and identifiers (PluralEval, table 2).",
        "overton.commands.pluralism:threads",
    ),
    Command(
        "compare-clusterings",
        "Compare two clusterings of the same threads from one run, and write a sheet for people to choose the"
        " better one.",
        "overton.commands.pluralism:compare_clusterings",
    ),
    Command(
        "compare-references",
        "Compare two sets of reference viewpoints (one may be hand-made) by the comments that each set names.",
        "overton.commands.pluralism:compare_references",
    ),
    Command(
        "preferences",
        "Read sheets on which people chose the better of two clusterings.",
        "overton.commands.pluralism:preferences",
    ),
    Command(
        "dilemmas",
        "Build dilemmas from forum dumps, step by step (appendix A of the deliberation paper).",
        "overton.commands.deliberation:dilemmas",
    ),
    Command(
        "values-sheet",
        "Write a sheet for a person to sort collected values, decide on them, or merge some.",
        "overton.commands.deliberation:values_sheet",
    ),
    Command(
        "values-table",
        "Write the list of values and the fate of each collected value, with people's decisions from filled sheets.",
        "overton.commands.deliberation:values_table",
    ),
)


@dataclass(frozen=True)
class SimulatedRespondent:
    """A simulated model: its spec, its parameters by name, and a sentence about its known behaviour."""

    spec: str
    parameters: Mapping[str, str]
    truth: str


@dataclass(frozen=True)
class Demo:
    """A first run that takes a few minutes: a study and its options.

    `respondents` has simulated models by name. The demo asks these models too, for comparison with a real model's
    results. `said` describes the questions to each model, `whole` the full design, and `left_out` the parts that the
    demo leaves out.
    """

    study: str
    options: Mapping[str, Any]
    respondents: Mapping[str, SimulatedRespondent]
    said: str
    whole: str
    left_out: str


DEMO = Demo(
    study="open-mindedness",
    # The two templates mirror each other in order and letters, so their average cancels label and position bias
    # exactly. They show the same evidence, so the model reads the evidence once.
    options={
        "trials": 1,
        "templates": (2, 5),
        "wordings": (1,),
        "shared_evidence": True,
        "shares": "probabilities",
        "calibrate": 0,
    },
    # Both models change their answers a little from prompt to prompt, as real models do. Otherwise 'steady' would score
    # exactly 0 on every issue, and its interval would be that of twelve zeros.
    respondents={
        "steady": SimulatedRespondent(
            "simulated/open-minded",
            {"susceptibility_pro": "0", "susceptibility_con": "0", "request": "0.2"},
            "arguments do not move this model. It slightly prefers the letter that a prompt names first.",
        ),
        "movable": SimulatedRespondent(
            "simulated/open-minded",
            {"susceptibility_pro": "2", "susceptibility_con": "2", "request": "0.2"},
            "the same as steady, but arguments for one side alone multiply the odds of that side by about seven.",
        ),
    },
    said=(
        "144 calls (twelve issues, six configurations, two mirrored templates), measured by the probabilities of the"
        " letters"
    ),
    whole="twelve issues, eleven configurations, six templates, 15 trials: 11,880 calls",
    left_out=(
        "templates 1, 3, 4 and 6, one of two wordings of the evidence wrapper, 14 of 15 trials, and the check of"
        " token probabilities against sampled answers; 'overton demo --full' includes them all"
    ),
)
"""The configuration of `overton demo`."""


@dataclass(frozen=True)
class StudyEntry:
    """A study in a list of studies. `word` is its name on the command line.

    `kind` is the study's kind. `problem` is the reason why the study cannot be used, '' if it can.
    """

    name: str
    word: str
    kind: Kind
    question: str = ""
    problem: str = ""


def study_named(name: str) -> AnyStudy:
    """The study with this name, which may be written with hyphens or underscores. It may also be a study that makes or
    labels items, asks another study's judge again, or tests that judge on controls.

    Raises:
        InputError: no study or more than one study has this name, or the study cannot be imported or was written for
            another version of the interface.
    """
    wanted = _plain(name)
    if wanted in _OURS:
        return _ours(wanted)
    for prefix in _DERIVED:
        if wanted.startswith(prefix):
            return _derived(prefix, study_named(wanted.removeprefix(prefix)))
    found = [point for point in _others() if _plain(point.name) == wanted]
    if not found:
        hint = suggestion(wanted, (*_OURS, *_other_names()))
        raise InputError([Problem("study", name, f"no such study; known are {', '.join(asking_names())}{hint}")])
    if len(found) > 1:
        named = " and ".join(map(_provider, found))
        raise InputError([Problem("study", name, f"{named} both provide a study of this name; uninstall one of them")])
    return _theirs(found[0])


def asking_names() -> list[str]:
    """The names of all studies that ask a model for its views. The names come from entry points, so no study is
    imported."""
    return [*_ASKING, *_other_names()]


def package_of(study: AnyStudy) -> str:
    """The package that provides a study."""
    return provider_of(study).partition(" ")[0]


def provider_of(study: AnyStudy) -> str:
    """The package that provides a study and its entry point, as 'PACKAGE (MODULE:NAME)'."""
    if study.name in _OURS:
        return f"overton ({_HOME}{_OURS[study.name]})"
    return next((_provider(point) for point in _others() if _plain(point.name) == _plain(study.name)), study.name)


def unusable_names() -> list[str]:
    """One sentence for each study of another package that Overton ignores. Such a study has a name that Overton uses
    itself."""
    return [
        f"the study {point.name} of {_provider(point)} is ignored, because Overton uses this name itself"
        for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
        if _is_reserved(point.name)
    ]


def is_registered(study: AnyStudy) -> bool:
    """Whether a study is the one registered under its name.

    Raises:
        InputError: see `study_named`.
    """
    named = study_named(study.name)
    return named is study or _GUARDED.get(study.name, (None,))[0] is study


def own_commands() -> list[Command]:
    """Commands that single studies add, including studies of other packages."""
    points = sorted(entry_points(group=COMMANDS), key=lambda point: (point.name, point.value))
    return [*_COMMANDS, *map(_added_command, points)]


def _added_command(point: EntryPoint) -> Command:
    from overton.studies.installed_study import guarded_command

    return guarded_command(point.name, point.value, _package(point))


def usable_studies() -> Iterator[AnyStudy]:
    """The studies named by `asking_names`, without those that cannot be used."""
    for name in asking_names():
        try:
            study = study_named(name)
        except InputError:  # `listed` gives the reason
            continue
        yield study


def simulated_names() -> list[str]:
    """The names of the simulated models of Overton's own studies, without 'simulated/'."""
    studies = map(study_named, _ASKING)
    return list(dict.fromkeys(name for study in studies for name in study.simulated if not name.endswith("/NAME")))


def listed() -> list[StudyEntry]:
    """Every study that users can name. If a study cannot be used, its entry has the reason."""
    return [_listed(name) for name in (*_OURS, *_other_names())]


def _listed(name: str) -> StudyEntry:
    try:
        study = study_named(name)
    except InputError as error:
        return StudyEntry(name, name, "asks", problem="; ".join(problem.reason for problem in error.problems))
    return StudyEntry(study.name, study.labels or study.name, study.kind, study.question)


_MADE: dict[str, tuple[AnyStudy, AnyStudy]] = {}
"""Derived studies by name, each as a pair: the study that it is made from, and the derived study. The cache ensures
that each derived study is one object."""


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


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _is_reserved(name: str) -> bool:
    return _plain(name) in _OURS or _plain(name).startswith(tuple(_DERIVED))


def _others() -> list[EntryPoint]:
    """Entry points of other packages in a stable order, without names that Overton reserves."""
    found = [point for point in entry_points(group=GROUP) if not _is_reserved(point.name)]
    return sorted(found, key=lambda point: (point.name, point.value))


def _other_names() -> list[str]:
    """The names of other packages' studies, without repetitions."""
    return [*{_plain(point.name): point.name for point in reversed(_others())}.values()][::-1]


_RENAMED = "docs/your-own-study.md, 'From interface 1 to 2', lists names and modules that have changed"


def _misses_a_name(error: BaseException | None) -> bool:
    """Whether a package failed because it uses a name, a module or an argument that Overton does not have."""
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] == "overton"
    return isinstance(error, TypeError) and "unexpected keyword argument" in str(error)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value.partition(":")[0].partition(".")[0]


def _provider(point: EntryPoint) -> str:
    return f"{_package(point)} ({point.value})"


_GUARDED: dict[str, tuple[AnyStudy, AnyStudy]] = {}
"""Studies of other packages by name: the study that the package declares, and a copy whose functions are guarded
(`overton.studies.guards`)."""


def _theirs(point: EntryPoint) -> AnyStudy:
    """A study of another package, with guarded functions (`overton.studies.guards`).

    Raises:
        InputError: the study cannot be used; the message gives the reason in one line.
    """
    from overton.studies.installed_study import faults_of, guarded

    place, package = f"study {point.name}", _package(point)
    guard = Guard(f"{point.name} ({package})", point.value.partition(":")[0].partition(".")[0])
    try:
        with guard.running("loading"):
            study = point.load()
    except StudyError as error:
        at = f" (at {error.place})" if error.place else ""
        advice = f"; {_RENAMED}" if _misses_a_name(error.__cause__) else ""
        reason = f"the package {package} cannot be loaded: {error.reason}{at}{advice}"
        raise InputError([Problem(place, point.value, reason)]) from error
    if not isinstance(study, Study):
        raise InputError([Problem(place, point.value, f"the package {package} names an object that is not a Study")])
    if study.interface != INTERFACE:
        said = f"version {study.interface}" if study.interface else "no version"
        reason = f"{package} was written for {said} of the study interface, and this Overton has version {INTERFACE}"
        raise InputError([Problem(place, "interface", f"{reason}; {_RENAMED}")])
    known, made = _GUARDED.get(study.name, (None, None)) if isinstance(study.name, str) else (None, None)
    if made is not None and known is study:
        return made
    if faults := list(faults_of(study)):
        raise InputError([Problem(place, point.value, f"{package}: {'; '.join(faults)}")])
    if _plain(study.name) != _plain(point.name):
        raise InputError([Problem(place, study.name, f"{package} declares this name, but its entry point has another")])
    _GUARDED[study.name] = study, guarded(study, guard)
    return _GUARDED[study.name][1]
