"""What a study is: one declaration, from which everything else is derived."""

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

if TYPE_CHECKING:
    from overton.studies.measurement import Measuring
    from overton.studies.precision import Blocks
    from overton.studies.questions import Questions
    from overton.studies.sections import Exhibit


@dataclass(frozen=True)
class Done:
    """What a command has to show: `lines` of text, `exhibits` to print, `data` for JSON, the `path` of what it made.

    `run` is a run that it carried out or continued, whose state is the command's exit code.
    """

    lines: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    data: Any = None
    path: str = ""
    run: Any = None


@dataclass(frozen=True)
class Command:
    """A command of a study's own: `overton items NAME`, and `overton.items.NAME(...)` in Python.

    `call` is 'MODULE:FUNCTION', imported when it is called. Each of the function's parameters carries an `Option`
    (those that all commands share go by their names: seed, model_args, max_cost, max_calls, watch);
    `show_FUNCTION(result)`, in the same module, gives what there is to show.
    """

    name: str
    help: str
    call: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        found: Callable[..., Any] = import_named(self.call)
        return found

    def shown(self, result: Any) -> Done:
        """What there is to show of the function's result."""
        done: Done = import_named(self.call.replace(":", ":show_"))(result)
        return done


def import_named(path: str) -> Any:
    """The object that 'MODULE:NAME' names; its module is imported now if it was not before."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def late(path: str) -> Callable[..., Any]:
    """The function that 'MODULE:NAME' names; its module is imported when it is called."""

    def call(*given: Any) -> Any:
        return import_named(path)(*given)

    return call


INTERFACE = 2
"""The version of this interface. A study of another package says for which version it was written."""

Canned = Callable[[str, str, Form | None], str]
"""A reply for planning: `canned(role, speaker, form)`."""
Simulated = Callable[[Sequence[Any], str, Mapping[str, str]], Answerer]
"""Makes an answerer whose truth is known: `simulated(items, name, arguments)`, `name` being all after 'simulated/'."""

Kind = Literal["asks", "makes", "labels", "serves"]
"""What a study does."""

Item = TypeVar("Item", bound=msgspec.Struct)
Options = TypeVar("Options", bound=StudyOptions)
Record = TypeVar("Record", bound=msgspec.Struct)
Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Role:
    """Who answers: `name` is what `conduct` asks, `help` one line about it.

    `flag` is the word for the answerer on the command line ('model' for '--model'), by default the role's name. An
    `optional` role may stay empty. One that `retrieves` searches ('search') or reads pages ('pages'); all others are
    models. `usual` answers if nobody is named. `max_tokens` is how many output tokens a model of an endpoint may use
    by default if it does not reason; 0 leaves that to the host. No such default, wherever the model runs, is below
    `least_tokens`. One that `judges` is a measuring instrument: by default it is asked at temperature 0, if its
    endpoint takes one. One that is `weighed` is asked for token probabilities. `least_tokens` and `weighed` follow
    from the options: see `Study.with_demands`. In one that may be `several` each judges for itself what is answered
    once: the first that is named leads, and the others are shown beside it (`overton.studies.multiple_judges`). Prompts
    to a model may then not depend on what a judge says. The models of the first role may be asked `together`: they
    share one lane, as 'ROLE/1', 'ROLE/2', ... in the order given.
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

    @property
    def word(self) -> str:
        """What users call it."""
        return self.flag or self.name


@dataclass(frozen=True)
class Dataset(Generic[Item, Record]):
    """What a study makes.

    `made(items, records, options)` gives the lines of the file `name`, None if there is none to make.
    `summary(records)` says in a few lines what became of everything, and `lacking(records)` how much of what was to be
    made could not be: the command then exits as if something had failed.
    """

    name: str
    made: Callable[[Sequence[Item], Sequence[Record], Mapping[str, Any]], Sequence[msgspec.Struct] | None]
    summary: Callable[[Sequence[Record]], Iterable[str]] | None = None
    lacking: Callable[[Sequence[Record]], int] | None = None


@dataclass(frozen=True)
class Study(Generic[Item, Options, Record, Analysis]):
    """A protocol, whole: what is asked of whom about what, and what it means.

    name        as users write it: 'my-study'
    title       the title of its report
    question    one sentence: what it finds out
    roles       who answers, the one that lanes differ in first
    items       what it asks about
    options     what shapes its trials, and what follows from that: see `StudyOptions`
    record      one row of its outcome. Its class variable `row_key` names the columns that no two rows of a model (and
                a judge) share, the trial's name first: records with repeated rows are refused
    trials      `trials(items, options, seed)` gives the trials in plan order, each item's together
    conduct     the protocol
    prompts     every text that a model reads, by name, so that a run can detect which of them changed
    simulated   answerers whose truth is known, by what follows 'simulated/'; for 'kind/NAME' users choose the name
    planning    canned ones, which make every trial as short as it can be, then as long
    measuring   from records to an analysis, how it is shown, and what its judge is asked; a study that only makes items
                has none
    dataset     what it makes, if it makes something
    kind        whether it asks models for their views, makes items, labels what exists, or serves another study only
    nulls       what its headlines would be if nothing happened: see `Null`. `options` and `trials` have those chosen
    published   the experiment of the paper that it follows, None if it follows none: see `Paper`. `options` have
                `--as-published`
    labels      the study whose measures take its records, if it labels what exists instead of asking for views: the
                command line calls it by that name
    interface   the version of the interface that it was written for; a study of another package must give it
    replaced    texts of `prompts` that a run replaces, by name; declared by no study (see `text_replacement`)
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
        """Options and trials get the nulls added, and options the paper's design; a copy of the study has them once."""
        if len([role for role in self.roles if role.several]) > 1:
            raise ValueError("several may judge in one role only: their records would not say who judged what")
        if self.several and JUDGE in self.record.__struct_fields__:
            raise ValueError(
                f"where several may judge, the column {JUDGE!r} of records names who did: choose another name"
            )
        if self.nulls:
            object.__setattr__(self, "options", with_option(self.options, self.nulls))
        if self.published is not None:
            object.__setattr__(self, "options", with_published(self.options, self.published))
        if self.nulls and not isinstance(self.trials, WithNulls):
            object.__setattr__(self, "trials", WithNulls(self.trials, self.nulls))

    @property
    def role_names(self) -> tuple[str, ...]:
        """The names of its roles, the one that lanes differ in first."""
        return tuple(role.name for role in self.roles)

    @property
    def first(self) -> str:
        """The role whose models are measured."""
        return self.roles[0].name

    @property
    def questions(self) -> Questions | None:
        """Those that its judge is asked, None if there are none."""
        return self.measuring.questions if self.measuring else None

    @property
    def blocks(self) -> Blocks | None:
        """Whole balanced parts of its trials, None if a run of it cannot stop once it is precise."""
        return self.measuring.blocks if self.measuring else None

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that no two records of a model (and a judge) share; () if the record does not say."""
        return getattr(self.record, "row_key", ())

    @property
    def together(self) -> bool:
        """Whether all models that are measured share one lane."""
        return self.roles[0].together

    def lanes(self, models: Mapping[str, Sequence[Any]]) -> int:
        """How many lanes a run with these models by role has: one for each that is measured, or one for all."""
        return 1 if self.together else max(len(models.get(self.first, ())), 1)

    @property
    def several(self) -> str:
        """The role in which several may judge, '' if there is none."""
        return next((role.name for role in self.roles if role.several), "")

    @property
    def optional(self) -> tuple[str, ...]:
        """Roles that a run can do without."""
        return tuple(role.name for role in self.roles if role.optional)

    @property
    def retrieval(self) -> tuple[str, ...]:
        """Roles whose answerers search and read pages."""
        return tuple(role.name for role in self.roles if role.retrieves)

    def replies(self) -> tuple[Canned, ...]:
        """The canned replies, anew: those with counters start at their first."""
        return deepcopy(self.planning)

    def role(self, name: str) -> Role:
        """The role of this name."""
        return next(role for role in self.roles if role.name == name)

    def with_demands(
        self, options: StudyOptions, named: Mapping[str, Sequence[str]]
    ) -> Study[Item, Options, Record, Analysis]:
        """The same study, its roles with what these options demand of those who answer.

        Raises:
            InputError: as `options.demands`.
        """
        demands = options.demands(named)
        return replace(
            self,
            roles=tuple(
                replace(
                    role,
                    least_tokens=demands.tokens.get(role.name, 0),
                    weighed=role.name in demands.probabilities,
                    optional=role.optional and role.name not in demands.needed,
                )
                for role in self.roles
            ),
        )

    def simulate(self, items: Sequence[Item], name: str, arguments: Mapping[str, str]) -> Answerer:
        """The simulated answerer of this name, without 'simulated/'.

        Raises:
            InputError: there is none, or it does not take these arguments.
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
"""A study, whatever it asks about."""
