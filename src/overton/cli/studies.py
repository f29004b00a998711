"""The commands made from studies: run, plan, analyze, and those that make or label items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from overton.cli import options as opt
from overton.cli.detecting import detect_params, detecting_of, sizes
from overton.cli.known import StrictCommand
from overton.cli.params import (
    Param,
    command,
    field_params,
    items_params,
    role_params,
    source_args_of,
    words_of,
)
from overton.errors import InputError, Problem
from overton.studies.options import fields_of, fields_of_call, option_place, values_of
from overton.studies.registry import StudyEntry, listed, own_commands, study_named
from overton.studies.study import AnyStudy, Command, Kind

_KEYWORD_ONLY = Param.KEYWORD_ONLY
_SHARED_PARAMS = ("seed", "model_arg", "max_cost", "max_calls")
"""Parameters that a study's own command shares with all commands, under the same names."""
_PARAMS_NOT_EXTENDED = ("only", "seed", "out", "price_list", "batch", "precision", "at_most_calls")


class StudyGroup(TyperGroup, ABC):
    """A group with a command for each study of some kinds, imported on demand."""

    kinds: ClassVar[tuple[Kind, ...]] = ("asks",)

    @abstractmethod
    def make(self, study: AnyStudy) -> Any:
        """The function behind the study's command."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The group's own commands, then one word per study."""
        return [*super().list_commands(ctx), *map(self.word, self._entries())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with this name.

        Raises:
            InputError: no such study exists, or it cannot be used.
        """
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        study = self.study(cmd_name)
        return None if study is None else make_typer_command(cmd_name, self.make(study))

    def study(self, name: str) -> AnyStudy | None:
        """The study with this name, None if it does not belong to this group; no other study is imported.

        Raises:
            InputError: no such study exists, or it cannot be used.
        """
        found = study_named(name)
        return found if found.kind in self.kinds else None

    def word(self, study_entry: StudyEntry) -> str:
        """The study's word on the command line: its name, since a study and the one that labels for it share a word."""
        return study_entry.name

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the group's name in its usage line: the group has no options of its own."""
        return [self.subcommand_metavar]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each study's question in one line, or why the study cannot be used."""
        own = [(name, self.commands[name]) for name in sorted(self.commands)]
        rows = [(name, own_command.get_short_help_str(120)) for name, own_command in own if not own_command.hidden]
        rows += self.rows()
        with formatter.section("Commands" if own else "Studies"):
            formatter.write_dl(rows)

    def rows(self) -> list[tuple[str, str]]:
        """One line per study: what it asks, or why it cannot be used."""
        return [(self.word(entry), entry.question or f"Cannot be used: {entry.problem}") for entry in self._entries()]

    def _entries(self) -> list[StudyEntry]:
        return [entry for entry in listed() if entry.kind in self.kinds]


def make_typer_command(name: str, body: Callable[..., Any], help_: str | None = None) -> TyperCommand:
    """A Typer command, from a function whose signature declares its parameters."""
    made = get_command_from_info(
        CommandInfo(name=name, cls=StrictCommand, callback=body, help=help_),
        pretty_exceptions_short=False,
        rich_markup_mode=None,
    )
    assert isinstance(made, TyperCommand)
    return made


def given_of(study: AnyStudy, given: dict[str, Any]) -> dict[str, Any]:
    """A command's parameters as the arguments of `overton.run` and `overton.plan`."""
    roles = {role.name: given.pop(role.name) for role in study.roles}
    sources = source_args_of(study, given)
    own = {name: value for name, value in given.items() if not name.endswith("_arg") and value is not None}
    return {
        "models": roles.pop(study.first) or (),
        "others": {role: spec for role, spec in roles.items() if spec},
        "model_args": opt.model_arguments(given.get("model_arg")),
        "prices": opt.prices(own.pop("price", None)),
        "precision": sizes("--precision", own.pop("precision", None)),
        "source_args": sources,
        **own,
    }


def shared_params(*, paying: bool) -> list[Param]:
    """Parameters of every command that asks, or would."""
    hidden = not paying
    return [
        Param("only", _KEYWORD_ONLY, annotation=opt.OnlyOption, default=None),
        Param("seed", _KEYWORD_ONLY, annotation=opt.SeedOption, default=0),
        Param("model_arg", _KEYWORD_ONLY, annotation=opt.ModelArgOption, default=None),
        Param("price", _KEYWORD_ONLY, annotation=opt.PriceOption, default=None),
        Param("price_list", _KEYWORD_ONLY, annotation=opt.PriceListOption, default=None),
        Param("batch", _KEYWORD_ONLY, annotation=_set_hidden(opt.BatchOption, hidden), default=False),
        Param("max_cost", _KEYWORD_ONLY, annotation=_set_hidden(opt.MaxCostOption, hidden), default=None),
        Param("max_calls", _KEYWORD_ONLY, annotation=_set_hidden(opt.MaxCallsOption, hidden), default=None),
        Param("precision", _KEYWORD_ONLY, annotation=opt.PrecisionOption, default=None),
        Param("at_most_calls", _KEYWORD_ONLY, annotation=opt.AtMostCallsOption, default=None),
        Param("out", _KEYWORD_ONLY, annotation=_set_hidden(opt.OutOption, hidden), default=None),
    ]


def _set_hidden(annotation: Any, hidden: bool) -> Any:
    from copy import copy

    kind, option = annotation.__origin__, copy(annotation.__metadata__[0])
    option.hidden = hidden
    return Annotated[kind, option]


def asked_params(study: AnyStudy, *, argument: bool) -> list[Param]:
    """Parameters of a study that asks: items, who answers, options."""
    fields = [field for field in fields_of(study.options) if not field.option.follows]
    needed = [*items_params(study.items, argument=argument)]
    return [*needed, *role_params(study), *field_params(fields)]


def study_words(study: AnyStudy) -> dict[str, str]:
    """The command-line names of the study's options, including those for reading items."""
    return words_of(study, study.options, study.items.reading)


def _run_command(study: AnyStudy, *, argument: bool) -> Any:
    def body(**given: Any) -> None:
        from overton.cli.ending import conclude
        from overton.cli.progress import watching
        from overton.runs.run import run

        with watching(study.name) as watch:
            done = run(study.name, watch=watch, **given_of(study, given))
        raise typer.Exit(conclude(done))

    return command(
        body, [*asked_params(study, argument=argument), *shared_params(paying=True)], study_words(study), study.question
    )


def _added_command(own: Command) -> Any:
    """A command that a study adds: its parameters are those of its function."""
    function, fields = own.function, fields_of_call(own.function)
    taken = signature(function).parameters

    def body(json: bool = False, **given: Any) -> None:
        from overton.cli.ending import show_done
        from overton.cli.progress import watching

        shared = {name: given.pop(name) for name in list(given) if name in _SHARED_PARAMS}
        if "model_arg" in shared:
            shared["model_args"] = opt.model_arguments(shared.pop("model_arg"))
        values = values_of(fields, given) | shared
        if "watch" not in taken:
            raise typer.Exit(show_done(own.shown(function(**values)), json=json))
        with watching(own.name) as watch:
            done = function(watch=watch, **values)
        raise typer.Exit(show_done(own.shown(done), json=json))

    wanted = {"model_arg" if name == "model_args" else name for name in taken} & set(_SHARED_PARAMS)
    params = [
        *field_params(fields),
        *(param for param in shared_params(paying=True) if param.name in wanted),
        Param("json", _KEYWORD_ONLY, annotation=opt.JsonOption, default=False),
    ]
    return command(body, params, {option_place(field.name): field.flag for field in fields}, own.help)


class Running(StudyGroup):
    """`overton run STUDY`."""

    def make(self, study: AnyStudy) -> Any:
        """The command that runs the study."""
        return _run_command(study, argument=False)


class ItemMaking(StudyGroup):
    """`overton items STUDY`, for studies that make or check items, and the commands that studies add."""

    kinds = ("makes",)

    def make(self, study: AnyStudy) -> Any:
        """The command that makes them."""
        return _run_command(study, argument=True)

    def list_commands(self, ctx: Any) -> list[str]:
        """Studies, then the commands that studies add."""
        return [*super().list_commands(ctx), *(own_command.name for own_command in own_commands())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with this name."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        own = [own_command for own_command in own_commands() if own_command.name == cmd_name]
        if len(own) > 1:
            added = " and ".join(own_command.call for own_command in own)
            raise InputError([Problem("items", cmd_name, f"{added} both add a command of this name; uninstall one")])
        return make_typer_command(cmd_name, _added_command(own[0])) if own else None

    def study(self, name: str) -> AnyStudy | None:
        """The study with this name; None if there is none, since it may be a command that a study adds."""
        try:
            return super().study(name)
        except InputError:
            return None

    def rows(self) -> list[tuple[str, str]]:
        """One line per study and per added command, with what it does."""
        return [*super().rows(), *((own_command.name, own_command.help) for own_command in own_commands())]


class Labelling(StudyGroup):
    """`overton judge STUDY`, for studies that label existing material: here they go by their words."""

    kinds = ("labels",)

    def word(self, study_entry: StudyEntry) -> str:
        """Its name on the command line."""
        return study_entry.word

    def study(self, name: str) -> AnyStudy | None:
        """The study with this word, None if there is none."""
        found = next((entry.name for entry in self._entries() if entry.word == name), None)
        return None if found is None else study_named(found)

    def make(self, study: AnyStudy) -> Any:
        """The command that labels."""
        return _run_command(study, argument=True)


class Planning(StudyGroup):
    """`overton plan STUDY`."""

    kinds = ("asks", "makes", "labels")

    def make(self, study: AnyStudy) -> Any:
        """The command that only counts."""

        def body(**given: Any) -> None:
            from overton.cli.detecting import show_detections
            from overton.cli.ending import show_plan, show_precision, show_ways
            from overton.planning.plan import plan
            from overton.planning.power import PlanDetecting

            pilot = given.get("pilot") if given["precision"] or given["at_most_calls"] else None
            if pilot and not given.get("detect"):
                given["pilot"] = None
            detecting = detecting_of(given)
            asked = given_of(study, given)
            json, max_cost, max_calls = asked.pop("json"), asked.pop("max_cost", None), asked.pop("max_calls", None)
            for word in ("out", "batch"):
                asked.pop(word, None)
            stopping: dict[str, Any] = {"pilot": pilot} | detecting
            planned = plan(study.name, **asked, **stopping)
            show_plan(planned, max_cost, max_calls, json=json)
            if not json:
                show_precision(planned)
                show_ways(planned)
            if isinstance(planned, PlanDetecting) and not json:
                show_detections(planned)

        params = [*asked_params(study, argument=study.kind != "asks"), *shared_params(paying=False)]
        params += detect_params() if study.measuring and study.measuring.comparing else []
        params.append(Param("json", _KEYWORD_ONLY, annotation=opt.JsonOption, default=False))
        return command(body, params, study_words(study), f"Count calls and tokens, and price them. {study.question}")


class Analyzing(StudyGroup):
    """`overton analyze STUDY FILE`, for studies that ask, and any others that have measures."""

    def study(self, name: str) -> AnyStudy | None:
        """The study with this name, None if it has nothing to measure."""
        found = study_named(name)
        return found if found.kind in self.kinds or found.measuring is not None else None

    def make(self, study: AnyStudy) -> Any:
        """The command that measures."""
        from overton.analysis.results import measuring_of

        measuring = measuring_of(study)

        def body(file: Path | None = None, json: bool = False, schema: bool = False, **how: Any) -> None:
            from overton.cli.ending import show_analysis, show_schema

            if schema:
                show_schema(study)
                return
            if file is None:
                raise InputError("name a run's folder or a table, or use --schema")
            show_analysis(study, file, json=json, how=how)

        tables = f", or {measuring.tables}" if measuring.tables else ""
        source = typer.Argument(metavar="FILE", help=f"A run's folder{tables}.")
        schema = typer.Option("--schema", help="Print the JSON Schema of what --json prints, and exit.")
        every = typer.Option("--json", help="Print every measure as JSON.")
        params = [
            Param("file", _KEYWORD_ONLY, annotation=Annotated[Path | None, source], default=None),
            Param("json", _KEYWORD_ONLY, annotation=Annotated[bool, every], default=False),
            Param("schema", _KEYWORD_ONLY, annotation=Annotated[bool, schema], default=False),
            *field_params(fields_of(measuring.how)),
        ]
        return command(
            body,
            params,
            words_of(study, measuring.how),
            f"Measures of {(study.title or study.name).lower()}, with intervals.",
        )


class Extending(TyperGroup):
    """`overton extend RUN`: the options are those of the run's study that can be extended."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command for the run in the folder `cmd_name`.

        Raises:
            RunError: it is not a run folder.
        """
        from overton.runs.run import open_run

        study = open_run(cmd_name).study

        def body(**given: Any) -> None:
            from overton.cli.confirming import confirmation
            from overton.cli.ending import conclude
            from overton.cli.progress import watching
            from overton.runs.run import extend

            models = given.pop(study.first)
            arguments, prices = opt.model_arguments(given.pop("model_arg")), opt.prices(given.pop("price"))
            added: dict[str, Any] = {"models": models or (), "model_args": arguments, "prices": prices}
            with watching("extend") as watch:
                done = extend(cmd_name, **added, **given, confirm=confirmation(), watch=watch)
            raise typer.Exit(conclude(done))

        params = [
            *(
                role_parameter
                for role_parameter in role_params(study, needed=False)
                if role_parameter.name in (study.first, study.several)
            ),
            *field_params((field for field in fields_of(study.options) if field.option.extends), growing=True),
            *(param for param in shared_params(paying=True) if param.name not in _PARAMS_NOT_EXTENDED),
            Param("trust", _KEYWORD_ONLY, annotation=opt.TrustOption, default=False),
        ]
        help_ = "Add trials, models or conditions to the run. Options that take several values add to those it has."
        return make_typer_command(cmd_name, command(body, params, words_of(study, study.options), help_))
