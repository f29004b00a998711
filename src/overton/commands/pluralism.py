"""The commands of pluralism. They sample threads from a forum, and compare reference viewpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from overton.errors import InputError, Problem, command
from overton.files.forum import ReadCounts, notes_on, read_comments, read_posts
from overton.files.texts import write_objects
from overton.judge.sheets import fresh_sheet, opened_sheet, write_files
from overton.runs.items import read_items
from overton.runs.run import Run, open_run
from overton.studies.document import SCHEMA, document
from overton.studies.options import Option, option_place
from overton.studies.pluralism import STUDY, clustering_agreement
from overton.studies.pluralism.references import REFERENCING, sampling
from overton.studies.study import Done

if TYPE_CHECKING:
    from overton.studies.pluralism.items import Thread
    from overton.studies.pluralism.references.sampling import SamplingStep


@dataclass(frozen=True)
class SampledThreads:
    """Threads sampled from a forum: their file, the number of posts that each step kept, the unreadable posts and
    comments, and the year of the posts. The year is None if posts of all years were kept."""

    path: Path
    threads: list[Thread]
    steps: tuple[SamplingStep, ...]
    unread: tuple[ReadCounts, ReadCounts]
    year: int | None = None


def threads(
    submissions: Annotated[Sequence[str | Path], Option("Dump or API answer of posts", file=True)],
    comments: Annotated[Sequence[str | Path], Option("Dump or API answer of comments", file=True)],
    out: Annotated[str | Path, Option("JSONL file to write", file=True)] = "threads.jsonl",
    *,
    community: Annotated[str | None, Option("Keep posts of this community")] = None,
    year: Annotated[int | None, Option("Keep posts of this year (UTC)")] = None,
    min_comments: Annotated[
        int | None,
        Option("Minimum number of usable comments; by default the number in table 2 for the community, or 10"),
    ] = None,
    max_comments: Annotated[
        int | None,
        Option("Maximum number of usable comments; by default the number in table 2 for the community, or 50"),
    ] = None,
    sample: Annotated[
        int | None, Option("Number of threads to sample per community; by default the number in table 2, or 500")
    ] = None,
    replies: Annotated[bool, Option("Also count replies to comments")] = False,
    as_published: Annotated[
        bool, Option("Use table 2's communities with its numbers and year, 2019; other options take precedence")
    ] = False,
    seed: int = 0,
) -> SampledThreads:
    """Sample threads from a forum's dumps or API responses by the rules of the paper's table 2, into the JSONL file
    `out`.

    By default, the limits on comments and the number of threads are those of table 2 for the `community`. If table 2
    does not name the community, the defaults are 10 to 50 comments and 500 threads. Posts are of any year, or of `year`
    if it is given. With `as_published`, posts are of 2019, as in table 2. Names and identifiers are removed, as
    `overton.studies.pluralism.references.sampling` describes.

    Raises:
        InputError: a file cannot be read or has no posts or comments, `out` exists, a number is out of range, or
            `as_published` is set and table 2 does not name the community.
    """
    target = _check_jsonl(Path(out))
    rules = sampling.rules_for(
        community,
        as_published=as_published,
        year=year,
        min_comments=min_comments,
        max_comments=max_comments,
        sample=sample,
        replies=replies,
        seed=seed,
    )
    posts, said = [Path(path) for path in submissions], [Path(path) for path in comments]
    unread = (ReadCounts(), ReadCounts())
    surveyed = sampling.survey(
        read_posts(posts, community=community, tally=unread[0]),
        read_comments(said, community=community, tally=unread[1]),
        rules,
    )
    sampled = sampling.sample(
        surveyed, read_posts(posts, community=community), read_comments(said, community=community)
    )
    return SampledThreads(write_objects(sampled.threads, target), sampled.threads, sampled.steps, unread, rules.year)


def show_threads(sampled: SampledThreads) -> Done:
    """Show the number of posts that each step kept, what was read from the dumps, and the file."""
    steps = [f"{step.number}. {step.name}: {step.kept:,}. {step.note}" for step in sampled.steps]
    any_year = ["Posts are from any year. The paper used posts from 2019 (--year 2019, or --as-published)."]
    lines = [*steps, *(any_year if sampled.year is None else []), *notes_on(sampled.unread)]
    return Done(lines=lines, path=str(sampled.path))


@dataclass(frozen=True)
class ComparedClusterings:
    """Two clusterings in one run.

    `comparison` is None until a thread has both clusterings. `sheet` has the path of the sheet and the path of its key,
    or is None.
    """

    run: Run
    comparison: clustering_agreement.ClusteringAgreement | None
    sheet: tuple[Path, Path] | None


def compare_clusterings(
    run: Annotated[str | Path, Option("A run of items references with two methods", file=True, argument=True)],
    *,
    sheet: Annotated[
        str | Path | None,
        Option("CSV file to write, for a person who compares the blinded clusterings side by side", file=True),
    ] = None,
    size: Annotated[int, Option("Threads on the sheet", least=1)] = 100,
) -> ComparedClusterings:
    """Measure the agreement of two clusterings of the same opinions.

    One run has to contain both clusterings. With `sheet`, the command also writes a sheet (CSV) to that path. The sheet
    shows the two blinded clusterings of each of `size` threads side by side, for a person to compare. The sheet's key
    is NAME.key.json in the same folder. `preferences` reads the filled sheet.

    Raises:
        InputError: `run` is not a run of two clusterings, or a file for the sheet exists.
        RunError: `run` is not a run folder.
    """
    opened = open_run(run)
    made_by = opened.manifest.options.get("methods", ())
    if opened.manifest.study != REFERENCING.name or len(made_by) != 2:
        raise InputError([Problem(str(run), opened.manifest.study, "is not a run of two clusterings")])
    files = fresh_sheet(Path(sheet)) if sheet is not None else None
    first, second = made_by
    rows = opened.rows()
    pairs = clustering_agreement.pairs_of(rows, opened.items(), first, second)
    if pairs and files is not None:
        task, texts = clustering_agreement.preference_sheet(pairs, first, second, size=size, seed=opened.manifest.seed)
        write_files(files, task, texts)
    comparison = clustering_agreement.compare(rows, first, second) if pairs else None
    return ComparedClusterings(opened, comparison, files if pairs else None)


def show_compare_clusterings(compared: ComparedClusterings) -> Done:
    """Show how well the clusterings agree, and what to do with the sheet."""
    found = compared.comparison
    return Done(
        lines=[*_sheet_lines(compared)],
        exhibits=[clustering_agreement.comparison_table(found)] if found else [],
        data=document(REFERENCING.name, SCHEMA, found) if found else None,
        run=compared.run,
    )


def _sheet_lines(compared: ComparedClusterings) -> Iterator[str]:
    dataset = REFERENCING.dataset
    yield from dataset.summary(compared.run.rows()) if dataset and dataset.summary else ()
    if compared.comparison is None:
        yield "There are no threads yet that both methods have clustered."
    if compared.sheet:
        yield (
            "Have a person fill in the column 'person' with left, right or same. That person must not see"
            f" {compared.sheet[1]}."
        )
        yield f"Then: {command('items', 'preferences', compared.sheet[0])}"


def compare_references(
    first: Annotated[str | Path, Option("Threads with viewpoints: JSONL, or a run", file=True, argument=True)],
    second: Annotated[str | Path, Option("The same threads with other viewpoints", file=True, argument=True)],
) -> clustering_agreement.ReferenceComparison:
    """Measure the agreement of two datasets of reference viewpoints on the threads that both contain. The datasets may
    be hand-made.

    Raises:
        InputError: a file cannot be read, or no thread is in both.
    """
    return clustering_agreement.compare_references(read_items(STUDY, first), read_items(STUDY, second))


def show_compare_references(found: clustering_agreement.ReferenceComparison) -> Done:
    """Show how well the two datasets agree."""
    return Done(exhibits=[clustering_agreement.references_table(found)], data=document(REFERENCING.name, SCHEMA, found))


def preferences(
    sheets: Annotated[Sequence[str | Path], Option("Copies of one sheet, filled in", file=True, argument=True)],
    *,
    key: Annotated[
        str | Path | None, Option("Key file of the sheets, if it is not in the folder of the first sheet", file=True)
    ] = None,
) -> clustering_agreement.Preferences:
    """Read the preferences of people who filled in copies of one side-by-side sheet. `key` defaults to the key in the
    first copy's folder.

    Raises:
        InputError: a file cannot be read, or a sheet has errors, listed by line.
    """
    if not sheets:
        raise InputError([Problem("sheets", "", "name at least one filled sheet")])
    opened = [opened_sheet(Path(sheet), None if key is None else Path(key), beside=Path(sheets[0])) for sheet in sheets]
    return clustering_agreement.preferences(opened[0][0], [choices for _, choices in opened])


def show_preferences(found: clustering_agreement.Preferences) -> Done:
    """Show which clustering people prefer."""
    return Done(exhibits=[clustering_agreement.preference_table(found)], data=document(REFERENCING.name, SCHEMA, found))


def _check_jsonl(path: Path) -> Path:
    if path.exists():
        raise InputError([Problem(option_place("out"), str(path), "exists already; nothing is ever overwritten")])
    if path.suffix != ".jsonl":
        raise InputError([Problem(option_place("out"), str(path), "must end in .jsonl")])
    return path
