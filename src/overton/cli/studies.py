"""Commands that are built from studies (run, plan, split, extend and analyze), and parameters that follow from a
study's declaration.

`find` functions return the command for a word, and `rows` functions list the words. Both kinds of functions import
studies only when they are called, and commands import the code that they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from overton.cli.build import (
    ANYWAY,
    AT_MOST_CALLS,
    BATCH,
    JSON,
    MAX_CALLS,
    MAX_COST,
    MODEL_ARG,
    ONLY,
    OUT,
    PATH,
    PRECISION,
    PRICE,
    PRICE_LIST,
    PROMPTS,
    RENAMED,
    SEED,
    TRUST,
    CommandGroup,
    Exit,
    StrictCommand,
    model_arguments,
    prices,
    sizes,
)
from overton.cli.call_arguments import call_arguments, only_given
from overton.cli.configured_commands import (
    CONFIG,
    TRUST_FILE,
    ConfiguredCommand,
    ConfiguredGroup,
    confirm_configuration,
)
from overton.cli.configured_paths import FILE_WORD
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    from overton.planning.power import PlanDetecting
    from overton.studies.items import Items
    from overton.studies.options import Field
    from overton.studies.registry import StudyEntry
    from overton.studies.study import AnyStudy, Kind

_DETECTING = (
    click.Option(
        ["--detect"],
        multiple=True,
        metavar="MEASURE=X",
        help="Show how many items and trials are needed to detect a difference of X between two models; repeatable.",
    ),
    click.Option(
        ["--power"],
        type=float,
        default=0.8,
        metavar="X",
        help=("Probability of detecting the difference (power); 0.8 by default."),
    ),
    click.Option(
        ["--pilot"],
        metavar="RUN",
        help="Pilot that shows the variation among items: a run, RUN#MODEL, or simulated/NAME (the default).",
    ),
    click.Option(
        ["--correlation"],
        type=float,
        metavar="X",
        help="Correlation between two models' true values over items; by default estimated from the pilot, or 0.5 if"
        " the"
        " pilot has one model.",
    ),
    click.Option(
        ["--margin"],
        multiple=True,
        metavar="MEASURE=X",
        help="Equivalence margin of a measure: smaller differences count as equal; repeatable.",
    ),
)
"""The options of a plan that ask which differences it would detect."""

_WIDEST_METAVAR = 40
"""The maximum length of a list of values that is shown as an option's metavar. A longer list appears only in the
help."""


# A study's declaration as parameters: options, roles, items.


def field_params(fields: Iterable[Field], *, growing: bool = False) -> Iterator[click.Parameter]:
    """The options of a study as parameters. Values stay strings here, because the code that declares the options reads
    and checks them.

    With `growing`, the options enlarge an existing run. The help of each option says whether its value is added to the
    run's own values or is the new total.
    """
    for field in fields:
        help_ = _growing_help(field) if growing else field.described()
        if field.option.argument:
            nargs = -1 if field.several else 1
            yield click.Argument(
                [field.name],
                nargs=nargs,
                required=field.needed,
                metavar=_argument_metavar(field),
                type=FILE_WORD if field.option.file else None,
                help=help_,
            )
            continue
        flags = [field.flag, f"--{field.name.replace('_', '-')}"]
        names = list(dict.fromkeys(name for name in flags if RENAMED.get(name) != field.flag))
        if field.kind is bool:
            off = names if field.default is False else [f"{names[0]}/--no-{field.name.replace('_', '-')}"]
            yield click.Option([field.name, *off], is_flag=True, default=None, help=help_)
            continue
        yield click.Option(
            [field.name, *names],
            multiple=field.several,
            required=field.needed,
            metavar=_metavar(field),
            type=FILE_WORD if field.option.file else None,
            help=help_,
        )


def _growing_help(field: Field) -> str:
    meaning = field.meant()
    return f"{meaning}; added to the run's own." if field.several else f"{meaning}; in total, including the run's."


def _argument_metavar(field: Field) -> str:
    return f"{field.name.upper()}..." if field.several else field.name.upper()


def _metavar(field: Field) -> str:
    if field.option.file:
        return "FILE"
    if field.option.texts:
        return "TEXT"
    if field.option.known:
        words = "|".join(field.word(value) for value in field.option.known)
        return words if len(words) <= _WIDEST_METAVAR else "WORD"
    return {int: "N", float: "X", tuple: "N-N-N"}.get(field.kind, "WORD")


def _role_params(study: AnyStudy, *, needed: bool = True) -> Iterator[click.Option]:
    """The parameters of roles: the models of the first role, the model or service of each other role, and settings of
    roles that retrieve."""
    first, *others = study.roles
    yield click.Option(
        [first.word, f"--{first.key}", *([f"-{first.word[0]}"] if first.word in ("model", "agent") else [])],
        multiple=True,
        required=needed,
        metavar="MODEL",
        help=f"{first.help}, as provider/name or NAME=provider/name; repeatable.",
    )
    for role in others:
        help_ = f"{role.help}; {role.usual} by default." if role.usual else f"{role.help}."
        if role.several:
            help_ = f"{help_.removesuffix('.')}; repeatable; headlines use the first one."
        yield click.Option(
            [role.word, f"--{role.key}"],
            multiple=role.several,
            required=needed and not (role.optional or role.usual or role.retrieves == "pages"),
            metavar="SPEC" if role.retrieves else "MODEL",
            help=help_,
        )
    for role in others:
        if role.retrieves:
            yield click.Option(
                [f"{role.name}_arg", f"--{role.word}-arg"],
                multiple=True,
                metavar="KEY=VALUE",
                help=f"A setting of the {role.word}; repeatable.",
            )


def _items_params(items: Items[Any], *, argument: bool) -> Iterator[click.Parameter]:
    """The parameters for where items come from and how to read them."""
    from overton.studies.options import fields_of

    layouts = f"{items.noun} by its name" if items.named else items.layouts
    help_ = f"{layouts[:1].upper()}{layouts[1:]}"
    if argument and items.starter is None:
        yield click.Argument(["items"], metavar=items.plural.upper(), type=FILE_WORD, help=f"{help_}.")
    else:
        starter = f"; the starter {items.plural} by default" if items.starter else ""
        yield click.Option(
            ["items", *(f"--{name}" for name in items.words)],
            multiple=items.named is not None,
            metavar="WORD" if items.named else "PATH",
            type=FILE_WORD,
            help=f"{help_}{'; repeatable' if items.named else ''}{starter}.",
        )
    yield from field_params(fields_of(items.reading))


def _asked_params(study: AnyStudy, *, argument: bool) -> Iterator[click.Parameter]:
    """Parameters of a study that makes calls: items, roles and options."""
    from overton.studies.options import fields_of

    yield from _items_params(study.items, argument=argument)
    yield from _role_params(study)
    yield from field_params(field for field in fields_of(study.options) if not field.option.follows)


def _shared_params(*, paying: bool = True) -> list[click.Option]:
    """Parameters of every command that makes or plans calls. A plan accepts the parameters about payment but hides them
    in its help."""
    paid = [BATCH, MAX_COST, MAX_CALLS, ANYWAY, OUT]
    shown = [ONLY, SEED, PROMPTS, MODEL_ARG, PRICE, PRICE_LIST, PRECISION, AT_MOST_CALLS]
    return [*shown, *(paid if paying else map(_hidden, paid))]


def _hidden(option: click.Option) -> click.Option:
    made = copy(option)
    made.hidden = True
    return made


def flags_of(study: AnyStudy, *kinds: type[Any]) -> dict[str, str]:
    """Command-line names of a study's roles and of the fields of option structs."""
    from overton.studies.options import fields_of, option_place

    flags = {option_place(field.name): field.flag for kind in kinds for field in fields_of(kind)}
    return flags | {f"role {role.name}": f"--{role.key}" for role in study.roles}


# Commands, by their groups.


def find_usable(name: str, kinds: Iterable[Kind]) -> AnyStudy | None:
    """The study with this name, or None if the study is of another kind. Other studies are not imported.

    Raises:
        InputError: no such study exists, or it cannot be used.
    """
    from overton.studies.registry import study_named

    found = study_named(name)
    return found if found.kind in kinds else None


def entries_of(*kinds: Kind) -> list[StudyEntry]:
    """Every study of these kinds, including those that cannot be used."""
    from overton.studies.registry import listed

    return [entry for entry in listed() if entry.kind in kinds]


def describe_entry(entry: StudyEntry) -> str:
    """The study's question, or why it cannot be used."""
    return entry.question or f"Cannot be used: {entry.problem}"


def rows_of(*kinds: Kind) -> Callable[[], list[tuple[str, str]]]:
    """Return a function that lists the names of studies of these kinds. The names are not command words, because two
    studies can have the same command word."""
    return lambda: [(entry.name, describe_entry(entry)) for entry in entries_of(*kinds)]


def make_run(study: AnyStudy, *, argument: bool = False) -> ConfiguredCommand:
    """The command that runs a study; with `argument` its items are a positional argument."""

    def body(trust: bool, **given: Any) -> Exit:
        from overton.cli.output import conclude
        from overton.cli.progress import watching
        from overton.runs.start import run

        confirm_configuration(study, given, trust=trust)
        with watching(study.name) as watch:
            done = run(study.name, watch=watch, **call_arguments(study, given))
        return conclude(done, watch)

    return ConfiguredCommand(
        study,
        callback=body,
        params=[*_asked_params(study, argument=argument), *_shared_params(), CONFIG, TRUST_FILE],
        plan_only=_DETECTING,
        flags=flags_of(study, study.options, study.items.reading),
        help=study.question,
    )


def _find_run(name: str) -> click.Command | None:
    study = find_usable(name, ("asks",))
    return None if study is None else make_run(study)


def _find_configured(name: str) -> click.Command | None:
    """The command for the study that a configuration file names. The study may also make items or label material."""
    from overton.studies.registry import study_named

    study = study_named(name)
    return make_run(study, argument=study.kind != "asks")


def _find_plan(name: str) -> click.Command | None:
    study = find_usable(name, ("asks", "makes", "labels"))
    if study is None:
        return None

    def body(json: bool, trust: bool, **given: Any) -> None:
        from overton.cli.output import show_detections, show_plan, show_precision, show_ways
        from overton.planning.plan import plan

        confirm_configuration(study, given, trust=trust)
        asked = only_given(given)
        pilot = asked.get("pilot")
        if "detect" not in asked:
            asked.pop("pilot", None)
        detecting = _detecting_of(asked)
        max_cost, max_calls = asked.pop("max_cost", None), asked.pop("max_calls", None)
        for word in ("out", "batch", "anyway"):
            asked.pop(word, None)
        stopping: dict[str, Any] = {"pilot": pilot} | detecting
        planned = plan(study.name, **call_arguments(study, asked), **stopping)
        show_plan(planned, max_cost, max_calls, json=json)
        if not json:
            show_precision(planned)
            show_ways(planned)
        if detecting and not json:
            show_detections(cast("PlanDetecting", planned))

    comparing = bool(study.measuring and study.measuring.comparing)
    asked = _asked_params(study, argument=study.kind != "asks")
    return ConfiguredCommand(
        study,
        callback=body,
        params=[*asked, *_shared_params(paying=False), *(_DETECTING if comparing else ()), CONFIG, TRUST_FILE, JSON],
        plan_only=_DETECTING,
        flags=flags_of(study, study.options, study.items.reading),
        help=f"Count the calls and tokens of a run, and price them.\n\n{study.question}",
    )


def _detecting_of(asked: dict[str, Any]) -> dict[str, Any]:
    """Remove the options about detectable differences from `asked`, and return them as arguments of `overton.plan`.

    Raises:
        InputError: a word is not MEASURE=X; or other options are given without `--detect`.
    """
    detect, margins = sizes("--detect", asked.pop("detect", ())), sizes("--margin", asked.pop("margin", ()))
    given = {"power": asked.pop("power", None), "margins": margins}
    given |= {name: asked.pop(name, None) for name in ("pilot", "correlation")}
    if not detect and (given["pilot"] or margins or given["correlation"] is not None):
        raise InputError([Problem("--detect", "", "say which difference to detect, as in --detect MEASURE=5")])
    return {"detect": detect, **given} if detect else {}


def _find_split(name: str) -> click.Command | None:
    study = find_usable(name, ("asks",))
    if study is None:
        return None

    def body(into: int, out: Path, **given: Any) -> None:
        from overton.cli.output import show_shards
        from overton.cli.progress import watching
        from overton.runs.shards import split

        with watching("split") as watch:
            made = split(study.name, into=into, out=out, watch=watch, **call_arguments(study, given))
        show_shards(made)

    into = click.Option(
        ["--into"],
        type=click.IntRange(min=1),
        required=True,
        metavar="N",
        help="Number of shards. All trials of an item are in the same shard.",
    )
    out = click.Option(
        ["--out"],
        type=PATH,
        required=True,
        metavar="DIR",
        help="Folder to create, with one run folder per shard.",
    )
    shared = [option for option in _shared_params() if option is not OUT]
    return StrictCommand(
        study.name,
        callback=body,
        params=[*_asked_params(study, argument=False), *shared, into, out],
        flags=flags_of(study, study.options, study.items.reading),
        help=f"Split a run into shards. {study.question}",
    )


def _find_extend(folder: str) -> click.Command:
    """The command for the run in a folder. It has the study's options that can be extended.

    Raises:
        RunError: it is not a run folder.
    """
    from overton.runs.run import open_run
    from overton.studies.options import fields_of

    study = open_run(folder).study

    def body(trust: bool, **values: Any) -> Exit:
        from overton.cli.output import conclude
        from overton.cli.progress import watching
        from overton.cli.terminal import confirmation
        from overton.runs.start import extend

        given = only_given(values)
        added: dict[str, Any] = {
            "models": given.pop(study.roles[0].word, ()),
            "model_args": model_arguments(given.pop("model_arg", ())),
            "prices": prices(given.pop("price", ())),
        }
        with watching("extend") as watch:
            done = extend(folder, **added, **given, trust=trust, confirm=confirmation(), watch=watch)
        return conclude(done, watch)

    growing = [role.word for role in study.roles if role.name in (study.first, study.several)]
    roles = [option for option in _role_params(study, needed=False) if option.name in growing]
    fields = [field for field in fields_of(study.options) if field.option.extends]
    return StrictCommand(
        folder,
        callback=body,
        params=[*roles, *field_params(fields, growing=True), MODEL_ARG, PRICE, MAX_COST, MAX_CALLS, ANYWAY, TRUST],
        flags=flags_of(study, study.options),
        help="Add trials, models or conditions to the run. Repeatable options add to the run's own values.",
    )


def _find_analyze(word: str) -> click.Command | None:
    """The command for a study, or for the run in a folder.

    Raises:
        InputError: the word is neither a study nor a run, or the study cannot be used.
        RunError: the run is damaged.
    """
    from overton.analysis.results import measuring_of
    from overton.runs.run import open_run
    from overton.studies.options import fields_of
    from overton.studies.registry import study_named

    given = [Path(word)] if (Path(word) / "manifest.json").is_file() else []
    try:
        study, given = study_named(word), []
    except InputError:
        if not given:
            raise
        study = open_run(word).study
    if study.kind != "asks" and study.measuring is None:
        return None
    measuring = measuring_of(study)

    def body(files: Sequence[Path], json: bool, schema: bool, tables: str | None, **how: Any) -> None:
        from overton.cli.output import show_analysis, show_schema
        from overton.cli.terminal import write
        from overton.reports.text_tables import summary_tables

        files = [*given, *files]  # the study may be left out for a run
        if schema:
            show_schema(study)
            return
        if not files:
            raise InputError("name a run's folder or a table, or use --schema")
        if tables and json:
            raise InputError(
                [Problem("--tables", tables, "cannot be printed together with --json; choose one of them")]
            )
        if tables:
            write(summary_tables(study.name, files, form=tables, **only_given(how)))
            return
        show_analysis(study, files, json=json, how=only_given(how))

    others = f", or {measuring.tables}" if measuring.tables else ""
    return StrictCommand(
        study.name,
        callback=body,
        params=[
            click.Argument(
                ["files"],
                type=PATH,
                nargs=-1,
                metavar="[FILE...]",
                help=f"Folder of a run, folders of several runs to pool{others}.",
            ),
            click.Option(["--json"], is_flag=True, help="Print every measure as JSON."),
            click.Option(["--schema"], is_flag=True, help="Print the JSON Schema of the output of --json, and exit."),
            click.Option(
                ["--tables"],
                type=click.Choice(["markdown", "latex"]),
                metavar="markdown|latex",
                help="Print only the tables, as Markdown or LaTeX.",
            ),
            *field_params(fields_of(measuring.how)),
        ],
        flags=flags_of(study, measuring.how),
        help=f"Measures of {(study.title or study.name).lower()}, with intervals.",
    )


_STUDY = "STUDY [OPTIONS]"

run = ConfiguredGroup(
    "run",
    help="Run a study in a new folder. With --config FILE.toml in place of STUDY, the file names the study.",
    metavar=_STUDY,
    find=_find_run,
    find_configured=_find_configured,
    rows=rows_of("asks"),
)
plan = ConfiguredGroup(
    "plan",
    help="Show the calls and the cost of a run without making any call. With --config FILE.toml in place of STUDY,"
    " the file names the study.",
    metavar=_STUDY,
    find=_find_plan,
    find_configured=_find_plan,
    rows=rows_of("asks", "makes", "labels"),
)
split = CommandGroup(
    "split",
    help="Split a run into shards, for machines that share no network.",
    metavar=_STUDY,
    find=_find_split,
    rows=rows_of("asks"),
)
extend = CommandGroup(
    "extend",
    help="Add trials, models or conditions to a run. 'overton extend RUN --help' lists what can be added.",
    metavar="RUN [OPTIONS]",
    find=_find_extend,
)
analyze = CommandGroup(
    "analyze",
    help="Compute a study's measures from a run, records or a table. STUDY can be left out for a run.",
    metavar="STUDY|RUN [OPTIONS]",
    find=_find_analyze,
    rows=rows_of("asks"),
)
