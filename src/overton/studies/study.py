"""The declaration of a study, from which commands, plans, runs and reports are derived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from overton.calls import Answerer, Conduct, Form, Trial
from overton.errors import InputError, Problem, suggestion
from overton.studies.items import Items
from overton.studies.multiple_judges import JUDGE
from overton.studies.null_conditions import Null, WithNulls, with_option
from overton.studies.options import NoOptions, StudyOptions
from overton.studies.paper import Paper, with_published
from overton.studies.prompted_blocks import by_system_prompt
from overton.studies.reply_reading import ConductWithReading, TrialsWithReading, with_reading
from overton.studies.system_prompts import (
    NO_PLAIN,
    SYSTEM,
    SYSTEMS,
    WithSystemPrompt,
    WithSystemPrompts,
    system_texts,
    with_system_options,
)

if TYPE_CHECKING:
    from overton.studies.measurement import Measuring
    from overton.studies.precision import Blocks
    from overton.studies.questions import Questions
    from overton.studies.sections import Exhibit


@dataclass(frozen=True)
class Done:
    """The results of a command: `lines` of text, `exhibits` to print, `data` for JSON, and the `path` of the file or
    folder that the command made.

    `run` is a run that the command carried out or continued. The command's exit code is the state of that run.
    """

    lines: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    data: Any = None
    path: str = ""
    run: Any = None


@dataclass(frozen=True)
class Command:
    """A command that a study adds: `overton items NAME`, and `overton.items.NAME(...)` in Python.

    `call` is 'MODULE:FUNCTION', imported when the command is called. Each parameter of the function has an `Option`.
    The parameters seed, model_args, max_cost, max_calls and watch have the same meaning in all commands.
    `show_FUNCTION(result)`, in the same module, returns the command's results as a `Done`.
    """

    name: str
    help: str
    call: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function that `call` names."""
        found: Callable[..., Any] = import_named(self.call)
        return found

    def shown(self, result: Any) -> Done:
        """The function's result as a `Done`, to display it."""
        done: Done = import_named(self.call.replace(":", ":show_"))(result)
        return done


def import_named(path: str) -> Any:
    """Import the module of 'MODULE:NAME' if necessary, and return the named object."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def late(path: str) -> Callable[..., Any]:
    """A function that imports 'MODULE:NAME' only when it is called."""

    def call(*given: Any) -> Any:
        return import_named(path)(*given)

    return call


INTERFACE = 2
"""The version of this interface. A study of another package declares the version for which it was written."""

Canned = Callable[[str, str, Form | None], str]
"""A reply for planning: `canned(role, speaker, form)`."""
Simulated = Callable[[Sequence[Any], str, Mapping[str, str]], Answerer]
"""Makes a simulated model with known behaviour: `simulated(items, name, arguments)`. `name` is the text after
'simulated/'."""

Kind = Literal["asks", "makes", "labels", "serves"]
"""Kinds of study: it asks models for their views, makes items, labels existing data, or only serves another study."""

Item = TypeVar("Item", bound=msgspec.Struct)
Options = TypeVar("Options", bound=StudyOptions)
Record = TypeVar("Record", bound=msgspec.Struct)
Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Role:
    """A role of models or services: `name` is the role that `conduct` asks, and `help` one line about it.

    `flag` is the role's name on the command line ('model' for '--model'), by default `name`. An `optional` role may
    stay empty. A role that `retrieves` is a service that searches ('search') or reads pages ('pages'); all other roles
    are models. `usual` is the model used if the user names none. `max_tokens` is the default limit on output tokens for
    models that do not reason and are reached through an endpoint. The special value 0 leaves the limit to the execution
    backend. No default limit is below `least_tokens`. A role that `judges` is a measuring instrument, so its default
    temperature is 0 if its endpoint accepts a temperature. Overton requests token probabilities from a `weighed` role.
    `systems` are the system prompts of the first role's models. `least_tokens`, `weighed` and `systems` follow from the
    options: see `Study.with_demands`. A role with `several` may have several judges, who label the same answers
    independently. The first judge named is preferred, and reports also show the results of the others
    (`overton.studies.multiple_judges`). Prompts to a model must then not depend on a judge's labels. With `together`,
    the models of the first role share one model pipeline, as 'ROLE/1', 'ROLE/2', ... in the order given.
    """

    name: str
    help: str
    flag: str = ""
    optional: bool = False
    retrieves: Literal["", "search", "pages"] = ""
    usual: str = ""
    max_tokens: int = 0
    judges: bool = False
    several: bool = False
    together: bool = False
    least_tokens: int = 0
    weighed: bool = False
    systems: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The role's name on the command line and in other user interfaces."""
        return self.flag or self.name

    @property
    def key(self) -> str:
        """The role's name as an option of commands, without leading dashes, and as a key of configuration files."""
        return self.word.replace("_", "-")


@dataclass(frozen=True)
class Dataset(Generic[Item, Record]):
    """A dataset that a study makes.

    `made(items, records, options)` gives the lines of the file `name`, None if the study makes no file.
    `summary(records)` summarises all records in a few lines. `lacking(records)` counts the items that could not be
    made; if there are any, the command exits with an error code.
    """

    name: str
    made: Callable[[Sequence[Item], Sequence[Record], Mapping[str, Any]], Sequence[msgspec.Struct] | None]
    summary: Callable[[Sequence[Record]], Iterable[str]] | None = None
    lacking: Callable[[Sequence[Record]], int] | None = None


def _fields_in(record: Any) -> tuple[str, ...]:
    return getattr(record, "__struct_fields__", ())


@dataclass(frozen=True)
class Study(Generic[Item, Options, Record, Analysis]):
    """A complete protocol: which models answer which questions, and how the answers become numbers.

    name        the study's name as users write it: 'my-study'
    title       the title of the study's report
    question    the question that the study answers, in one sentence
    roles       the roles. Overton measures the models of the first role, and each of them has a separate pipeline
    items       the items that the study is about
    options     options of the trials, and settings derived from them: see `StudyOptions`
    record      the class of a row in the study's results. The class variable `row_key` names the columns that identify
                a row of a model (and a judge), the trial's name first. Overton rejects records that repeat a row
    trials      `trials(items, options, seed)` gives the trials in plan order, grouped by item
    conduct     the async function that runs one trial
    prompts     every text that a model reads, by name, so that a run can detect changed texts
    simulated   simulated models with known parameters, by their name after 'simulated/'. In 'kind/NAME', users choose
                NAME
    planning    functions with canned replies: the first makes every trial as short as possible, the second as long as
                possible. Without them a plan assumes the first choice of each reply format
    measuring   how records become an analysis, how the analysis is shown, and the questions to the judge; None for a
                study that only makes items
    dataset     the data set that the study makes; None if it makes no data set
    kind        the kind of study: see `Kind`
    nulls       null conditions of its headlines: see `Null`. `options` and `trials` include the null conditions that
                the user chose
    published   the experiment of the paper that the study follows, if there is one: see `Paper`. `options` then include
                `--as-published`
    labels      only for a study that labels existing data: the name of the study whose measures use its records. On the
                command line, that name stands for the labelling study
    interface   the version of the study interface for which the study was written; required in other packages
    replaced    texts of `prompts` that a run replaces, by name. Studies do not declare this field (see
                `text_replacement`)
    """

    name: str
    roles: tuple[Role, ...]
    items: Items[Item]
    record: type[Record]
    trials: Callable[[Sequence[Item], Any, int], Iterator[Trial]]
    conduct: Conduct
    prompts: Callable[[], dict[str, str]]
    title: str = ""
    question: str = ""
    options: type[StudyOptions] = NoOptions
    simulated: Mapping[str, Simulated] = field(default_factory=dict)
    planning: tuple[Canned, ...] = ()
    measuring: Measuring[Any, Any] | None = None
    dataset: Dataset[Any, Any] | None = None
    kind: Kind = "asks"
    labels: str = ""
    nulls: tuple[Null, ...] = ()
    published: Paper | None = None
    interface: int = 0
    replaced: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add to options, trials and `conduct` the features of all studies: null conditions, the paper's design, system
        prompts, and the parsing of replies. A copy of the study does not get them a second time."""
        if len([role for role in self.roles if role.several]) > 1:
            raise ValueError("only one role may have several judges, because records would not say who judged what")
        if self.several and JUDGE in self.record.__struct_fields__:
            raise ValueError(
                f"in a study that may have several judges, the column {JUDGE!r} of records names the judge; choose"
                " another name"
            )
        if isinstance(self.options, type) and issubclass(self.options, StudyOptions):
            object.__setattr__(self, "options", with_reading(self.options))
        if self.nulls:
            object.__setattr__(self, "options", with_option(self.options, self.nulls))
        if self.published is not None:
            object.__setattr__(self, "options", with_published(self.options, self.published))
        prompted = self.kind == "asks" and self._can_have_system_prompts()
        if prompted:
            object.__setattr__(self, "options", with_system_options(self.options))
        object.__setattr__(self, "trials", self._completed_trials(self.trials, prompted=prompted))
        object.__setattr__(self, "conduct", self._completed_conduct(self.conduct, prompted=prompted))

    def _can_have_system_prompts(self) -> bool:
        """Whether the study's own options and columns leave the names for system prompts free. Errors in a declaration
        are reported later."""
        options = self.options if isinstance(self.options, type) and issubclass(self.options, StudyOptions) else None
        if options is None or not (self.roles and callable(self.trials) and callable(self.conduct)):
            return False
        taken = {*options.__struct_fields__} & {SYSTEMS, NO_PLAIN} or {*_fields_in(self.record)} & {SYSTEM}
        return isinstance(self.trials, WithSystemPrompts) or not taken

    def _completed_trials(self, trials: Any, *, prompted: bool) -> Any:
        """The trials, with those of null conditions, the run's option `reading`, and a copy under each system prompt if
        they can be `prompted`. A value that is not a function stays as it is, so that the registry can report it."""
        if not callable(trials):
            return trials
        if isinstance(trials, WithSystemPrompts):
            return replace(trials, trials=self._completed_trials(trials.trials, prompted=False))
        if not isinstance(trials, TrialsWithReading):
            whole = WithNulls(trials, self.nulls) if self.nulls and not isinstance(trials, WithNulls) else trials
            trials = TrialsWithReading(whole)
        return WithSystemPrompts(trials) if prompted else trials

    def _completed_conduct(self, conduct: Any, *, prompted: bool) -> Any:
        """The trial protocol, which receives replies as the option `reading` requires, and puts a system prompt first
        if it can be `prompted`."""
        if not callable(conduct) or isinstance(conduct, WithSystemPrompt):
            return conduct
        if not isinstance(conduct, ConductWithReading):
            conduct = ConductWithReading(conduct, self.retrieval)
        return WithSystemPrompt(conduct, self.first) if prompted else conduct

    @property
    def role_names(self) -> tuple[str, ...]:
        """The names of the study's roles. Overton measures the models of the first role."""
        return tuple(role.name for role in self.roles)

    @property
    def first(self) -> str:
        """The role whose models Overton measures."""
        return self.roles[0].name

    @property
    def questions(self) -> Questions | None:
        """The questions to the study's judge; None if the study has no such questions."""
        return self.measuring.questions if self.measuring else None

    @property
    def blocks(self) -> Blocks | None:
        """Complete balanced parts of the study's trials; None if a run cannot stop at a target precision."""
        declared = self.measuring.blocks if self.measuring else None
        split = isinstance(self.trials, WithSystemPrompts) and not self.trials.own
        return by_system_prompt(declared) if declared is not None and split else declared

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a record of a model (and a judge); () if the record class does not name them."""
        return getattr(self.record, "row_key", ())

    @property
    def together(self) -> bool:
        """Whether all measured models share one pipeline."""
        return self.roles[0].together

    def lanes(self, models: Mapping[str, Sequence[Any]]) -> int:
        """The number of pipelines of a run with these models by role: one for each measured model, or a single shared
        one."""
        return 1 if self.together else max(len(models.get(self.first, ())), 1)

    @property
    def several(self) -> str:
        """The role that may have several judges; '' if no role may."""
        return next((role.name for role in self.roles if role.several), "")

    @property
    def optional(self) -> tuple[str, ...]:
        """Roles that may stay empty."""
        return tuple(role.name for role in self.roles if role.optional)

    @property
    def retrieval(self) -> tuple[str, ...]:
        """Roles of services that search or read pages."""
        return tuple(role.name for role in self.roles if role.retrieves)

    def replies(self) -> tuple[Canned, ...]:
        """New copies of the canned replies, whose counters start again."""
        return deepcopy(self.planning)

    def role(self, name: str) -> Role:
        """The role of this name."""
        return next(role for role in self.roles if role.name == name)

    def with_demands(
        self, options: StudyOptions, named: Mapping[str, Sequence[str]]
    ) -> Study[Item, Options, Record, Analysis]:
        """Return the study with the requirements of these options in its roles.

        Raises:
            InputError: as `options.demands`.
        """
        demands = options.demands(named)
        prompts = system_texts(options) if isinstance(self.trials, WithSystemPrompts) else ()
        return replace(
            self,
            roles=tuple(
                replace(
                    role,
                    least_tokens=demands.tokens.get(role.name, 0),
                    weighed=role.name in demands.probabilities,
                    systems=prompts if role.name == self.first else (),
                    optional=role.optional and role.name not in demands.needed,
                )
                for role in self.roles
            ),
        )

    def simulate(self, items: Sequence[Item], name: str, arguments: Mapping[str, str]) -> Answerer:
        """The simulated model of this name (the text after 'simulated/').

        Raises:
            InputError: no such simulated model exists, or it does not accept these arguments.
        """
        kind, _, own = name.partition("/")
        make = self.simulated.get(name) or (self.simulated.get(f"{kind}/NAME") if own else None)
        if make is None:
            known = [f"simulated/{other}" for other in self.simulated]
            hint = suggestion(f"simulated/{name}", known)
            there = f"known are {', '.join(known)}" if known else f"{self.name} has no simulated ones"
            raise InputError([Problem(f"simulated/{name}", "", f"no such answerer; {there}{hint}")])
        return make(items, name, arguments)


AnyStudy: TypeAlias = Study[Any, Any, Any, Any]
"""A study of any type."""
