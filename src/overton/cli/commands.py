"""The commands that are the same for every study, except the subcommands of `overton judge` and `overton items`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from overton.cli.build import (
    ANYWAY,
    JSON,
    LEVEL,
    MAX_CALLS,
    MAX_COST,
    MODEL_ARG,
    PATH,
    RUN,
    SEED,
    STUDY_OF_TABLE,
    TRUST,
    WITH,
    CommandGroup,
    Exit,
    command_with,
    computing,
    model_arguments,
    paths,
    sizes,
)

if TYPE_CHECKING:
    from overton.comparison.results import Comparison
    from overton.health import Health
    from overton.studies.sections import Section


@command_with(
    RUN,
    click.Option(["--retry-failed"], is_flag=True, help="Retry failed calls."),
    MAX_COST,
    MAX_CALLS,
    ANYWAY,
    click.Option(
        ["--batch/--no-batch"],
        is_flag=True,
        default=None,
        help="Send the remaining calls in batches or one by one; by default as when the run started.",
    ),
    click.Option(
        ["--model"], multiple=True, metavar="SPEC", help="Change how to reach a model, for example on a Ray cluster."
    ),
    MODEL_ARG,
    TRUST,
)
def resume(
    run: Path,
    retry_failed: bool,
    max_cost: float | None,
    max_calls: int | None,
    anyway: bool,
    batch: bool | None,
    model: Sequence[str],
    model_arg: Sequence[tuple[str, str]],
    trust: bool,
) -> Exit:
    """Resume a run. Overton never repeats a call that was answered."""
    from overton.cli.output import conclude, show_state
    from overton.cli.progress import watching
    from overton.cli.terminal import confirmation
    from overton.runs import start as runs

    with watching("resume") as watch:
        done = runs.resume(
            run,
            retry_failed=retry_failed,
            max_cost=max_cost,
            max_calls=max_calls,
            anyway=anyway,
            batch=batch,
            models=model,
            model_args=model_arguments(model_arg),
            trust=trust,
            confirm=confirmation(),
            watch=watch,
        )
    # No session means that nothing was left to do, so records and report are unchanged.
    return conclude(done, watch) if done.held_session else show_state(done)


@command_with(
    paths("shards", "SHARD...", "Folders of all shards of one split."),
    click.Option(["--out"], type=PATH, required=True, metavar="DIR", help="Folder to create, which must not exist."),
    click.Option(
        ["--unfinished"], is_flag=True, help="Merge even if trials are missing; 'overton resume' then runs them."
    ),
)
def merge(shards: Sequence[Path], out: Path, unfinished: bool) -> Exit:
    """Merge all shards of a split into one run, without any calls."""
    from overton.cli.output import conclude, show_unfinished
    from overton.runs import shards as api

    done = api.merge(shards, out, unfinished=unfinished)
    return conclude(done) if done.finished else show_unfinished(done)


@command_with(
    RUN,
    click.Option(
        ["--cancel"],
        is_flag=True,
        help="Cancel calls that have not started. Calls already answered are billed, and 'overton resume' reads their"
        " replies.",
    ),
    TRUST,
)
def batches(run: Path, cancel: bool, trust: bool) -> None:
    """Show a run's batches in progress, or cancel them."""
    from overton.cli.terminal import confirmation, results, say
    from overton.runs.batch_status import batches as listed

    found = listed(run, cancel=cancel, trust=trust, confirm=confirmation())
    for batch in found:
        results().print(str(batch), soft_wrap=True)
    if not found:
        say("This run has no batches in progress.")


@command_with(
    paths("runs", "RUN...|TABLE", "Folders of one or more runs of one study, or a table that a study can measure."),
    click.Option(
        ["--out"],
        type=PATH,
        metavar="FILE",
        help="HTML file to write; by default report.html in the run's folder, or TABLE-report.html.",
    ),
    STUDY_OF_TABLE,
    click.Option(["--figures"], type=PATH, metavar="DIR", help="Folder for all charts, as PDF, SVG and PNG."),
    click.Option(["--figure-width"], type=float, metavar="MM", help="Maximum width of a chart in millimetres."),
    click.Option(["--font-size"], type=float, metavar="PT", help="Size of the labels in charts, in points."),
    click.Option(
        ["as_published", "--as-published/--no-as-published"],
        default=None,
        help="Use the paper's formulas, and show the paper's tables first; by default only if all runs were made with"
        " --as-published.",
    ),
    WITH,
)
def report(
    runs: Sequence[Path],
    out: Path | None,
    study: str | None,
    figures: Path | None,
    figure_width: float | None,
    font_size: float | None,
    as_published: bool | None,
    choices: Sequence[str],
) -> None:
    """Write one self-contained HTML report of runs, or of a table. Several models are shown side by side."""
    from overton.cli.terminal import results
    from overton.reports import run_report

    how = computing(choices) | ({} if as_published is None else {"as_published": as_published})
    written = run_report.report(
        runs, out=out, study=study, figures=figures, figure_width=figure_width, font_size=font_size, **how
    )
    results().print(str(written), soft_wrap=True)


@command_with(RUN, JSON)
def verify(run: Path, json: bool) -> Exit:
    """Repeat a run from its journal, without any calls, and compare the new records, estimates and report with those of
    the run. No files are written. The exit code is 0 if everything is the same, otherwise 1.
    """
    from overton.cli.terminal import print_json, results
    from overton.reports import verification

    found = verification.verify(run)
    if json:
        print_json(found.to_json())
    for part in () if json else found.parts:
        results().print(f"{part.part}: {'the same' if part.same else 'NOT the same'}; {part.said}", soft_wrap=True)
    return Exit.DONE if found.same else Exit.FAILED


@command_with(
    click.Argument(
        ["publication"],
        metavar="PUBLICATION",
        help=("Name of the paper or repository to reproduce. After an unknown name, Overton lists the known names."),
    ),
    paths(
        "files",
        "[FILE...]",
        "Published tables, folders of tables, or a clone of the repository with the tables. Without tables, Overton"
        " recomputes printed numbers that follow from other printed numbers.",
        required=False,
    ),
    click.Option(["--out"], type=PATH, metavar="FILE.md", help="Write a Markdown page with every number."),
    JSON,
)
def reproduce(publication: str, files: Sequence[Path], out: Path | None, json: bool) -> Exit:
    """Recompute published numbers from published tables. The exit code is 0 if every number is the same or differs for
    a known reason, otherwise 5."""
    from overton.analysis import reproductions
    from overton.cli.terminal import print_json, results, write

    found = reproductions.reproduce(publication, *files)
    if json:
        print_json(found.to_json())
    elif out is None:
        write(found.markdown())
    if out is not None:
        results().print(str(found.write(out)), soft_wrap=True)
    return Exit.DONE if found.same else Exit.BEYOND


@command_with(click.Argument(["study"], metavar="STUDY", help="A study's name."))
def describe(study: str) -> None:
    """Print a study's options, records and tables as Markdown."""
    from overton.cli.terminal import write
    from overton.studies import documentation

    write(documentation.describe(study))


@command_with(
    click.Option(
        ["--full"], is_flag=True, help=("Run the whole design: twelve issues with 990 calls each. This takes hours.")
    ),
    click.Option(["--out"], type=PATH, metavar="DIR", help="Folder to create; by default a folder in runs/."),
)
def demo(full: bool, out: Path | None) -> Exit:
    """Run a small real model on the bundled issues, next to two simulated models whose true values are known."""
    from overton.cli.output import conclude
    from overton.cli.progress import watching
    from overton.cli.terminal import say
    from overton.runs import demonstration

    say(demonstration.describe(full=full))
    demonstration.prepare(progress=say)
    with watching("demo") as watch:
        run = demonstration.demo(full=full, out=out, watch=watch)
    for line in demonstration.introductions():
        say(line)
    return conclude(run, watch)


@command_with(
    click.Argument(
        ["sources"],
        nargs=-1,
        required=True,
        metavar="BASE [CANDIDATE...]",
        help="Runs, models of runs (RUN#MODEL), or tables. For a single run or table, all its models are compared.",
    ),
    click.Option(
        ["--measure"],
        multiple=True,
        metavar="NAME",
        help="Compare this measure in addition to the headlines; repeatable.",
    ),
    click.Option(
        ["--margin"],
        multiple=True,
        metavar="NAME=X",
        help="Equivalence margin of a measure: smaller differences count as equal; repeatable.",
    ),
    LEVEL,
    STUDY_OF_TABLE,
    click.Option(
        ["--although"],
        default="",
        metavar="REASON",
        help="Compare even if prompts, items, options or judge differ. The output quotes your REASON.",
    ),
    SEED,
    WITH,
    click.Option(["--out"], type=PATH, metavar="FILE", help="Write one self-contained HTML page as well."),
    JSON,
)
def compare(
    sources: Sequence[str],
    measure: Sequence[str],
    margin: Sequence[str],
    level: float,
    study: str | None,
    although: str,
    seed: int,
    choices: Sequence[str],
    out: Path | None,
    json: bool,
) -> None:
    """Compare models pairwise. Differences are candidate minus base, over the items that both models have."""
    from overton.cli.terminal import print_json, results, say
    from overton.comparison import comparison
    from overton.comparison.sections import write_page

    made = comparison.compare(
        *sources,
        study=study,
        measures=measure,
        margins=sizes("--margin", margin),
        level=level,
        seed=seed,
        although=although,
        **computing(choices, ("level", "seed")),
    )
    if json:
        print_json(made.to_json())
    else:
        _show_comparison(made)
    if out is not None:
        page = write_page(made, out)
        say(f"Page: {page}") if json else results().print(str(page), soft_wrap=True)


@command_with(
    click.Argument(["run"], metavar="RUN", help="A run, or one model of a run (RUN#MODEL)."),
    click.Option(["--out"], type=PATH, required=True, metavar="FILE.json", help="File to write."),
    click.Option(
        ["--measure"],
        multiple=True,
        metavar="NAME",
        help="Store this measure in addition to the headlines; repeatable.",
    ),
)
def baseline(run: str, out: Path, measure: Sequence[str]) -> None:
    """Store a run's results in a small file, to compare with later runs. The file contains no replies."""
    from overton.cli.terminal import results
    from overton.comparison import gate

    results().print(str(gate.baseline(run, out=out, measures=measure)), soft_wrap=True)


@command_with(
    click.Argument(["base"], metavar="BASE", help="A baseline file, a run, RUN#MODEL, or a table."),
    click.Argument(["candidate"], metavar="CANDIDATE", help="A run, RUN#MODEL, or a table."),
    click.Option(
        ["--config"],
        type=PATH,
        required=True,
        metavar="FILE.toml",
        help="TOML file with the guarded measures and their margins: a gate file, or a configuration file with a table"
        " [gate].",
    ),
    click.Option(["--junit"], type=PATH, metavar="FILE", help="Write JUnit XML, for CI systems."),
    click.Option(["--markdown"], type=PATH, metavar="FILE", help="Write a summary for pull requests."),
    click.Option(["--out"], type=PATH, metavar="FILE", help="Write the comparison as one self-contained HTML page."),
    click.Option(
        ["--although"],
        default="",
        metavar="REASON",
        help="Compare even if prompts, items, options or judge differ. The output quotes your REASON.",
    ),
    JSON,
)
def gate(
    base: str,
    candidate: str,
    config: Path,
    junit: Path | None,
    markdown: Path | None,
    out: Path | None,
    although: str,
    json: bool,
) -> Exit:
    """Check that a candidate's measures stay within margins of a baseline.

    \b
    Exit codes:
    0  every measure is within its margin (or undecided, if the gate allows this)
    5  a measure is beyond its margin
    6  a measure is undecided, and the gate does not allow this
    """
    from overton.cli.terminal import print_json, results, say
    from overton.comparison import gate
    from overton.comparison.sections import write_page
    from overton.files.atomic import write_atomic

    made = gate.gate(base, candidate, config, although=although)
    if json:
        print_json(made.to_json())
    else:
        for difference in made.comparison.differing:
            results().print(f"Note: {difference.base} and {difference.candidate}: {difference.said}.")
        for check in made.checks:
            results().print(gate.check_line(check))
        results().print(f"Gate: {made.outcome}{'' if made.passes else ', does not pass'}.")
    if junit is not None:
        write_atomic(junit, [gate.junit(made)])
    if markdown is not None:
        write_atomic(markdown, [gate.markdown(made).encode()])
    if out is not None:
        say(f"Page: {write_page(made.comparison, out)}")
    codes = {"within": Exit.DONE, "beyond": Exit.BEYOND, "undecided": Exit.UNDECIDED}
    return Exit.DONE if made.passes else codes[made.outcome]


def _show_comparison(made: Comparison) -> None:
    """Print the differences between the runs' designs, then the verdicts, then the tables."""
    from overton.cli.tables import show, show_sections
    from overton.cli.terminal import results
    from overton.comparison.sections import findings, sections
    from overton.studies.sections import Prose, summary

    found = summary(sections(made))
    same = [section for section in found if section.key == "same"]
    show_sections(same, results())
    if same:
        results().print()
    show([Prose(said) for said in findings(made)], results())
    results().print()
    show_sections([section for section in found if section.key != "same"], results())


@command_with(
    click.Argument(
        ["runs"], nargs=-1, required=True, metavar="RUN...", help="Runs of any studies, or models of runs (RUN#MODEL)."
    ),
    click.Option(["--out"], type=PATH, metavar="FILE", help="Write one self-contained HTML page as well."),
    click.Option(
        ["--subjects"],
        type=PATH,
        metavar="FILE",
        help="CSV with columns item and subject, to show which items are about the same subject.",
    ),
    LEVEL,
    SEED,
    JSON,
)
def profile(runs: Sequence[str], out: Path | None, subjects: Path | None, level: float, seed: int, json: bool) -> None:
    """Combine the results of all studies of a model: where it stands, what moves it and what it leaves out."""
    from overton.cli.tables import show_sections
    from overton.cli.terminal import print_json, results, say
    from overton.reports import profile
    from overton.reports.profile_sections import sections, write_page

    made = profile.profile(*runs, level=level, seed=seed, subjects=subjects)
    if json:
        print_json(made.to_json())
    else:
        for text in made.warnings:
            say(f"Warning: {text}")
        show_sections([_drop_methods(section) for section in sections(made)], results())
    if out is not None:
        page = write_page(made, out)
        say(f"Page: {page}") if json else results().print(str(page), soft_wrap=True)


def _drop_methods(section: Section) -> Section:
    """The section without its texts on methods, which only the page shows."""
    from overton.studies.sections import Method

    return replace(section, exhibits=[exhibit for exhibit in section.exhibits if not isinstance(exhibit, Method)])


@command_with(JSON)
def doctor(json: bool) -> Exit:
    """Show what is installed and what this machine can run. API keys are shown by name only. The exit code is 1 if
    there is a problem."""
    from overton.cli.terminal import print_json, results
    from overton.health import doctor as look

    found = look()
    if json:
        print_json(found)
    else:
        for line in _health_lines(found):
            results().print(line, soft_wrap=True)
    return Exit.FAILED if found.problems else Exit.DONE


def _health_lines(found: Health) -> Iterator[str]:
    memory = "" if found.memory is None else f", {found.memory / 1e9:.1f} GB of memory"
    yield f"overton {found.overton}, Python {found.python}, {found.platform}, {found.cores} cores{memory}"
    yield ""
    yield "Parts"
    for extra in found.extras:
        packages = ", ".join(f"{name} {version or 'missing'}" for name, version in extra.packages.items())
        install = "" if extra.whole else f" (pip install 'overton[{extra.name}]')"
        yield f"  {'+' if extra.whole else '-'} {extra.name}: {packages}{install}"
    yield "Keys, by the names of their variables"
    for key in found.keys:
        yield f"  {'+' if key.set else '-'} {key.variable} ({key.provider}): {'set' if key.set else 'not set'}"
    yield "Files"
    yield f"  {'+' if found.browser else '-'} browser: {found.browser or 'none found; reports open in any'}"
    yield f"  cache: {found.cache}"
    for weight in found.weights:
        state = "cached" if weight.cached else "not downloaded"
        yield f"  {'+' if weight.cached else '-'} weights of {weight.name}: {state}"
    yield f"Studies: {', '.join(found.studies)}"
    yield "This machine can run"
    yield from (f"  {line}" for line in found.can)
    if found.could:
        yield "It could run"
        yield from (f"  {line}" for line in found.could)
    if found.problems:
        yield "Problems"
        yield from (f"  {line}" for line in found.problems)


@command_with(JSON, name="list")
def list_models(json: bool) -> None:
    """List known providers and models, with prices and what each needs."""
    from rich.table import Table

    from overton import models
    from overton.cli.terminal import print_json, results

    known = models.list()
    if json:
        print_json(known)
        return
    table = Table(title="Known models (US dollars per million tokens)")
    for heading in ("spec", "family", "in", "out", "needs"):
        table.add_column(heading, justify="right" if heading in ("in", "out") else "left")
    for row in known:
        price = (f"{row.price.input:g}", f"{row.price.output:g}") if row.price else ("", "")
        table.add_row(row.spec, row.family, *price, row.needs)
    results().print(table)


@command_with(click.Argument(["spec"], metavar="SPEC", help="A model, as provider/name."), MODEL_ARG, name="check")
def check_model(spec: str, model_arg: Sequence[tuple[str, str]]) -> None:
    """Ask a model one short question, and show the model's answer or the error."""
    from overton import models
    from overton.cli.terminal import results

    reply = models.check(spec, model_arguments(model_arg).get(spec, {}))
    tokens = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    results().print(f"{spec} answered {reply.text[:200]!r} ({tokens})", soft_wrap=True)


@command_with(
    click.Argument(["name"], metavar="NAME", help="An embedded model, such as embedded/smollm2-135m."), name="pull"
)
def pull_model(name: str) -> None:
    """Download an embedded model's weights into the user's cache."""
    from overton import models
    from overton.cli.terminal import results, say

    results().print(str(models.pull(name, progress=say)), soft_wrap=True)


@command_with(
    click.Argument(["folder"], type=PATH, metavar="DIR", help="Folder of .txt, .md, .html and .jsonl files."),
    click.Option(["--out"], type=PATH, required=True, metavar="DIR", help="Folder to create for the index."),
    click.Option(["--lenient"], is_flag=True, help="Leave out and list files that cannot be read."),
    name="index",
)
def index_pages(folder: Path, out: Path, lenient: bool) -> None:
    """Index the pages in a folder: text files, HTML files, and JSON lines with url, text, and optionally title and
    date."""
    from overton import corpus
    from overton.cli.terminal import results, say

    made = corpus.index(folder, out, lenient=lenient)
    for problem in made.problems:
        say(f"left out: {problem}")
    for suffix, count in sorted(made.skipped.items()):
        say(f"skipped: {count:,} files of other kinds ({suffix})")
    say(f"{made.pages:,} pages; use them with --search index/{made.path}")
    results().print(str(made.path), soft_wrap=True)


@command_with(
    click.Argument(["collection"], metavar="INDEX", help="An index's folder, or 'starter'."),
    click.Argument(["query"], help="Words to search for."),
    click.Option(
        ["--top"], type=click.IntRange(min=1, max=100), default=10, metavar="N", help="Number of hits; 10 by default."
    ),
    JSON,
    name="search",
)
def search_pages(collection: str, query: str, top: int, json: bool) -> None:
    """Show a query's hits, best first, as a run would get them."""
    from overton import corpus
    from overton.cli.terminal import print_json, results

    hits = corpus.search(collection, query, top=top)
    if json:
        print_json(hits)
        return
    for number, hit in enumerate(hits, 1):
        results().print(f"{number}. {hit.title}\n   {hit.url}\n   {hit.snippet}", soft_wrap=True)


models = CommandGroup(
    "models",
    help="List known models, test one, or download embedded weights.",
    commands=[list_models, check_model, pull_model],
)


corpus = CommandGroup(
    "corpus", help="Index a collection of pages for local search, and query it.", commands=[index_pages, search_pages]
)
