"""Studies of other packages. Overton checks such a study when it loads it, and guards every function of its
declaration.

An error in such a study disables only that study. The message is one sentence with the study, the trial and the line in
the package.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import msgspec

from overton.calls import Trial
from overton.errors import OvertonError, Problem, StudyError
from overton.studies.declaration_walk import DeclarationWalk
from overton.studies.findings import Said
from overton.studies.guards import (
    Check,
    Guard,
    GuardedAnswerer,
    GuardedAsync,
    GuardedCall,
    GuardedIteration,
    WrongValue,
    kind_of_value,
    take_many,
    take_one,
)
from overton.studies.items import Items
from overton.studies.measurement import Measuring, UnreadRecords
from overton.studies.null_conditions import Null
from overton.studies.options import OPTION_METHODS, Demands, StudyOptions, fields_of
from overton.studies.parsing import ParsedItems
from overton.studies.precision import Blocks
from overton.studies.questions import JudgePrompt, Questions
from overton.studies.results import Results
from overton.studies.sections import Callout, Chart, Exhibits, Method, Prose, Section, Statement, Table
from overton.studies.study import AnyStudy, Command, Dataset, Kind, Role, Study, import_named

_UNNAMED = Guard("")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class InstalledStudy(Study[Any, Any, Any, Any]):
    """A study of another package. All its functions run behind `guard`."""

    guard: Guard = _UNNAMED


@contextmanager
def blaming(study: AnyStudy, part: str) -> Iterator[None]:
    """Blame a study of another package for an error in the block, which uses a value made by the study.

    The study's functions are guarded anyway, but a value may have the right type and still be unusable. An example is
    an analysis that JSON cannot represent. If the block uses one of Overton's own studies, the error is Overton's and
    is raised unchanged.

    Raises:
        StudyError: the block raised an exception that is not one of Overton's.
    """
    try:
        yield
    except OvertonError:
        raise
    except Exception as error:
        if not isinstance(study, InstalledStudy):
            raise
        raise study.guard.error(part, error) from error


def guarded(study: AnyStudy, guard: Guard) -> InstalledStudy:
    """The study with every function of its declaration guarded."""
    made = object.__new__(InstalledStudy)
    walk = _GuardWalk(guard, _checks(study) | {"Study.simulated": partial(_answerer, guard)})
    object.__setattr__(made, "guard", guard)
    return walk.fill(made, study)


@dataclass(frozen=True)
class _GuardWalk(DeclarationWalk):
    """A walk that guards each function. `checks` has the checks of return values, by the class and field of the
    declaration."""

    guard: Guard
    checks: Mapping[str, Check]

    def function(self, function: Callable[..., Any], place: str) -> Any:
        called, check = _CALLED.get(place, place.partition(".")[2]), self.checks.get(place, self._as_it_is)
        kind = GuardedAsync if place in _ASYNC else GuardedIteration if place in _LAZY else GuardedCall
        return kind(self.guard, called, function, check)

    def _as_it_is(self, value: Any) -> Any:
        """Return a value unchecked. Functions within a judge's prompts or a run's questions are guarded, too."""
        return self.walked(value, "") if isinstance(value, Questions) or _are(JudgePrompt, value) else value


def guarded_command(name: str, call: str, package: str) -> Command:
    """A command of another package. Its help is the first line of its docstring, or the reason why it cannot be
    used."""
    guard = Guard(f"{name} ({package})", call.partition(":")[0].partition(".")[0])
    try:
        with guard.running(f"importing {call}"):
            lines = (inspect.getdoc(import_named(call)) or f"A command of {package}.").splitlines()
    except StudyError as error:
        lines = [f"Cannot be used: {error.reason}"]
    return _GuardedCommand(name, lines[0], call, guard)


@dataclass(frozen=True)
class _GuardedCommand(Command):
    """A command of another package. The guard covers the import of its module and each call."""

    guard: Guard = _UNNAMED

    @property
    def function(self) -> Callable[..., Any]:
        """The guarded function.

        Raises: StudyError: the function's module cannot be imported.
        """
        with self.guard.running(f"importing {self.call}"):
            found = Command(self.name, self.help, self.call).function
        return GuardedCall(self.guard, self.call.partition(":")[2], found, lambda value: value)

    def shown(self, result: Any) -> Any:
        """The presentation of the function's result.

        Raises:
            StudyError: the result cannot be shown.
        """
        with self.guard.running(f"show_{self.call.partition(':')[2]}()"):
            return Command(self.name, self.help, self.call).shown(result)


_LAZY = {"TrialsWithReading.trials", "WithNulls.trials", "WithSystemPrompts.trials", "Null.trials"}
_CONDUCT = "ConductWithReading.__wrapped__"
_ASYNC = {_CONDUCT, "WithSystemPrompt.__wrapped__"}
_CALLED = {
    _CONDUCT: "conduct",
    "WithSystemPrompts.trials": "trials",
    "WithSystemPrompt.__wrapped__": "conduct",
    "WithNulls.trials": "trials",
    "Null.trials": "trials of a null",
    "Study.simulated": "a simulated answerer",
    "Study.planning": "a canned reply",
    "Measuring.records": "measures",
    "Question.prompts": "a judge's prompts",
}
"""Names of functions in messages, where they differ from the names of their fields."""


def _checks(study: AnyStudy) -> dict[str, Check]:
    """The check of each function's result, by class and field. Functions without a check may return anything."""
    text, texts, mapping = take_one(str), take_many(str), take_one(Mapping)
    analysis = partial(_analysis, study)
    return {
        "TrialsWithReading.trials": _trial,
        "WithNulls.trials": _trial,
        "WithSystemPrompts.trials": _trial,
        "Null.trials": _trial,
        _CONDUCT: partial(_records, study.record),
        "WithSystemPrompt.__wrapped__": partial(_records, study.record),
        "Study.prompts": _prompts,
        "StudyOptions.problems": take_many(Problem),
        "StudyOptions.remarks": texts,
        "StudyOptions.demands": _demands,
        "StudyOptions.complete": take_one(dict),
        "Study.planning": text,
        "Items.parse": take_one(ParsedItems),
        "Items.starter": partial(_starter, study.items.kind),
        "Items.named": take_one(study.items.kind),
        "Items.blank": take_one(study.items.kind),
        "Items.spelled": texts,
        "Items.subjects": mapping,
        "Measuring.analysis": take_one(type),
        "Measuring.records": analysis,
        "Measuring.table": analysis,
        "Measuring.sections": _sections,
        "Measuring.findings": take_many(get_args(Said)),
        "Measuring.unread": take_many(UnreadRecords),
        "Measuring.exhibits": _exhibits,
        "Headline.figures": take_many(tuple),
        "Headline.value": take_one((int, float)),
        "Headline.answers": take_many(tuple),
        "Comparing.records": mapping,
        "Comparing.table": mapping,
        "Comparing.few": mapping,
        "Null.sides": mapping,
        "Null.view": take_one(Results),
        "Dataset.made": take_one((list, tuple, type(None))),
        "Dataset.summary": texts,
        "Dataset.lacking": take_one(int),
        "Question.rows": _table,
        "Question.texts": _table,
        "Question.unasked": text,
        "Question.labeller": text,
        "Question.meanings": mapping,
    }


def _table(found: Any) -> Any:
    import polars as pl

    return take_one(pl.DataFrame)(found)


def _demands(found: Any) -> Demands:
    demands: Demands = take_one(Demands)(found)
    for part in ("tokens", "arguments", *(["answering"] if demands.answering is not None else [])):
        if not isinstance(getattr(demands, part), Mapping):
            raise WrongValue(f"demands whose {part} are {kind_of_value(getattr(demands, part))}, not a mapping by role")
    for part in ("needed", "probabilities"):
        if not _are(str, getattr(demands, part)):
            raise WrongValue(f"demands whose {part} is not a tuple of roles")
    return demands


def _trial(trial: Any) -> Trial:
    if not isinstance(trial, Trial):
        raise WrongValue(f"{kind_of_value(trial)} among its trials, but they must derive from Trial")
    if not (isinstance(trial.name, str) and trial.name and isinstance(trial.item, str)):
        raise WrongValue(f"a trial with the name {trial.name!r} and the item {trial.item!r}, but both must be texts")
    if not isinstance(trial.condition_name, str):
        raise WrongValue(f"the trial {trial.name}, whose condition_name is {kind_of_value(trial.condition_name)}")
    if not isinstance(trial.plan_key, Hashable):
        raise WrongValue(f"the trial {trial.name}, whose plan_key is {kind_of_value(trial.plan_key)} without a hash")
    return trial


def _records(kind: type[Any], found: Any) -> list[Any]:
    if not isinstance(found, list | tuple):
        raise WrongValue(f"{kind_of_value(found)}, but must return a list of {kind.__name__}")
    for record in found:
        if not isinstance(record, kind):
            raise WrongValue(f"a list with {kind_of_value(record)}, but it may hold {kind.__name__} only")
    return list(found)


def _prompts(found: Any) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(part, str) for pair in found.items() for part in pair):
        raise WrongValue(f"{kind_of_value(found)}, but must return a dict of texts by name")
    return found


def _starter(kind: type[Any], found: Any) -> Any:
    if hasattr(found, "iterdir"):
        return found
    return take_many(kind)(found)


def _analysis(study: AnyStudy, found: Any) -> Any:
    kind = study.measuring.analysis() if study.measuring else object
    return take_one(kind)(found) if isinstance(kind, type) else found


def _answerer(guard: Guard, made: Any) -> Any:
    for name in ("name", "identity", "answer", "close"):
        if not hasattr(made, name):
            raise WrongValue(f"{kind_of_value(made)}, which cannot answer: it has no {name}")
    return GuardedAnswerer(guard, made)


_EXHIBITS = (Callout, Chart, Method, Prose, Statement, Table)


def _sections(found: Any) -> list[Any]:
    made: list[Any] = take_many(Section)(found)
    for section in made:
        for exhibit in take_many(_EXHIBITS)(section.exhibits):
            if isinstance(exhibit, Table) and any(len(row) != len(exhibit.columns) for row in exhibit.rows):
                raise WrongValue(f"the table {exhibit.title!r}, in which a row has more or fewer cells than columns")
    return made


def _exhibits(found: Any) -> Any:
    _sections(take_one(Exhibits)(found).sections)
    return found


def faults_of(study: AnyStudy) -> Iterator[str]:
    """Yield each error in a declaration as a phrase. No function of the declaration is called."""
    for name, (fits, said) in _DECLARED.items():
        if not fits(getattr(study, name)):
            yield f"its {name} must be {said}"
            return
    names = [role.name for role in study.roles]
    if len(set(names)) < len(names):
        yield "two of its roles have the same name"
    if "id" not in study.items.kind.__struct_fields__:
        yield "its items.kind has no field 'id'"
    if not (isinstance(study.items.noun, str) and study.items.noun.strip()):
        yield "its items.noun must be a word"
    structs = {"options": study.options, "items.reading": study.items.reading}
    if study.measuring is not None:
        structs["measuring.how"] = study.measuring.how
        yield from _faults_of_measuring(study.measuring)
    for name in OPTION_METHODS:
        if not callable(getattr(study.options, name)):
            yield f"its options have a field {name!r}, which is the name of a method of StudyOptions: rename it"
    for name, struct in structs.items():
        try:
            fields_of(struct)
        except (TypeError, ValueError, AttributeError, NameError) as error:
            yield f"its {name} cannot be read ({error}): declare each field with Annotated[TYPE, Option(HELP)]"


def _faults_of_measuring(measuring: Measuring[Any, Any]) -> Iterator[str]:
    for name in ("analysis", "records", "sections"):
        if not callable(getattr(measuring, name)):
            yield f"its measuring.{name} must be a function"
    for name, kind in (("questions", Questions), ("blocks", Blocks)):
        if not _is_or_none(kind, getattr(measuring, name)):
            yield f"its measuring.{name} must be {kind.__name__} or None"


def _is_struct(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


def _are(kind: type[Any], value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(inner, kind) for inner in value)


def _is_or_none(kind: type[Any], value: Any) -> bool:
    return value is None or isinstance(value, kind)


def _callables(value: Sequence[Any]) -> bool:
    return all(map(callable, value))


_TEXT = (lambda value: isinstance(value, str), "a text")
_FUNCTION = (callable, "a function")
_STRUCT = (_is_struct, "a msgspec.Struct")

_DECLARED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "name": (
        lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
        "a word of letters, digits, '-' and '_'",
    ),
    "title": _TEXT,
    "question": _TEXT,
    "labels": _TEXT,
    "kind": (lambda value: value in get_args(Kind), f"one of {', '.join(get_args(Kind))}"),
    "roles": (lambda value: bool(value) and _are(Role, value), "a tuple of at least one Role"),
    "items": (lambda value: isinstance(value, Items) and _is_struct(value.kind), "Items of a msgspec.Struct"),
    "record": _STRUCT,
    "options": (
        lambda value: isinstance(value, type) and issubclass(value, StudyOptions),
        "a class derived from overton.studies.StudyOptions",
    ),
    "trials": _FUNCTION,
    "conduct": _FUNCTION,
    "prompts": _FUNCTION,
    "simulated": (
        lambda value: isinstance(value, Mapping) and _callables([*value.values()]),
        "functions by name",
    ),
    "planning": (lambda value: isinstance(value, tuple | list) and _callables(value), "a tuple of functions"),
    "measuring": (partial(_is_or_none, Measuring), "a Measuring or None"),
    "dataset": (partial(_is_or_none, Dataset), "a Dataset or None"),
    "nulls": (partial(_are, Null), "a tuple of Null"),
}
"""For each field of a study, a test of the field's value and a description of valid values."""
