"""`overton items compare-clusterings`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from overton.cli import options as opt
from overton.cli import options_references as ref
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    from overton.api.clusterings import Compared
    from overton.studies.pluralism.preferring import Preferences

__all__ = ["compare_clusterings"]


def compare_clusterings(
    threads: Annotated[
        Path | None,
        typer.Argument(metavar="[THREADS]", help="Threads to cluster in two ways, or the run of one that was resumed."),
    ] = None,
    method: Annotated[list[str] | None, typer.Option("--method", help=f"Two of {ref.METHODS}.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model that states, groups and sums up opinions.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to make: a run.")] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="CSV file to make: both, blinded, side by side, for a person.")
    ] = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Threads on the sheet.")] = 100,
    filled: Annotated[
        list[Path] | None, typer.Option("--filled", help="A sheet that a person filled in, read back; repeat.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="The sheets' key, where it is not beside the first.")
    ] = None,
    embedder: ref.EmbedderOption = None,
    alpha: ref.AlphaOption = None,
    distance: ref.DistanceOption = None,
    least: ref.LeastOption = None,
    temperature: ref.WriterTemperatureOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two clusterings of the same threads: how they agree, and which of them people prefer."""
    from overton.api import clusterings as api
    from overton.api.runs import fresh_folder
    from overton.cli.progress import watching

    if filled:
        _show_preferences(api.read_preferences(filled, key=key), json)
        return
    if threads is None:
        raise InputError([Problem("THREADS", "", "name threads, a run, or filled sheets by --filled")])
    if model is None and (method or not threads.is_dir()):
        raise InputError([Problem("--model", "", "name the model that clusters")])
    if model is None:
        _end(api.compared_run(threads, sheet, size=size), json)
    if method is None or len(method) != 2:
        raise InputError([Problem("--method", ", ".join(method or ()), "name two clusterings")])
    first, second = method
    with watching("clusterings") as watch:
        compared = api.compare_clusterings(
            threads,
            methods=(first, second),
            model=model,
            out=out or fresh_folder("clusterings"),
            embedder=embedder,
            sheet=sheet,
            size=size,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            alpha=alpha,
            distance=distance,
            least=least,
            **ref.temperature_of(temperature),
        )
    _end(compared, json)


def _end(compared: Compared, json: bool) -> NoReturn:
    from overton.cli.ending import conclude_making
    from overton.cli.items.references import tell
    from overton.cli.output import print_json, results, say
    from overton.cli.tables import show
    from overton.studies.plain import SCHEMA, document
    from overton.studies.pluralism.comparing import comparison_table

    if compared.comparison is None:
        say("No thread was clustered in both ways yet.")
    elif json:
        print_json(document(compared.run.manifest.study, SCHEMA, compared.comparison))
    else:
        tell(compared.run)
        show([comparison_table(compared.comparison)], results())
    if compared.sheet:
        say(f"Fill in the column 'person' with left, right or same. {compared.sheet[1]} is not for that person.")
        say(f"Then: overton items compare-clusterings --filled {compared.sheet[0]}")
    raise typer.Exit(conclude_making(compared.run))


def _show_preferences(found: Preferences, json: bool) -> None:
    from overton.cli.output import print_json, results
    from overton.cli.tables import show
    from overton.studies.pluralism.preferring import preference_table

    if json:
        print_json(found)
    else:
        show([preference_table(found)], results())
