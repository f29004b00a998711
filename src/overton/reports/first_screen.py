"""A run's first screen: what was asked, at most three findings, one table, the most important caution, and next
commands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from overton.analysis.results import is_weighted, measuring_of
from overton.errors import InputError, command
from overton.reports.run_comparison import RunComparison
from overton.studies.cautions import (
    NOT_TO_BE_QUOTED,
    Caution,
    CautionRank,
    cautions_of,
    warn_of_width,
    weightiest,
)
from overton.studies.finding_order import MOST_FINDINGS, ShownFinding, brief_sentence, in_order_of_weight
from overton.studies.findings import DOUBTFUL, Finding, counted
from overton.studies.installed_study import blaming
from overton.studies.precision_section import unequal
from overton.studies.sections import Callout, Column, Table
from overton.studies.warnings import MALFORMED, failing_judges, fault_warnings, warn_few_items, with_cautions

if TYPE_CHECKING:
    from overton.analysis.analyze import Measured
    from overton.runs.run import Run
    from overton.studies.results import Results

_MOST_COMPARED = 6
"""The maximum number of models for which the screen shows differences. For more models, use `overton compare`."""
_MOST_NAMED = 4
"""The maximum number of models that the heading names."""
_LONGEST_NAME = 24
"""The screen shortens model names that are longer than this number of characters."""
_SECONDS_PER_MINUTE = 60
_MOST_COLUMNS = 5


@dataclass(frozen=True)
class FirstScreen:
    """The parts of a run's first screen, as text.

    heading    study, models, items, replies, time and cost
    findings   the most important findings as sentences, in order
    said       the same findings as objects
    table      a row for each model, None if there are no numbers
    caution    the most important caution, '' if there are no cautions
    shortened  full names of models by their shortened names
    unnamed    models for which the user gave no name
    role       the option that names models
    further    further commands by their purpose
    """

    heading: str
    findings: Sequence[str]
    said: Sequence[Finding]
    table: Table | None
    caution: str
    shortened: Mapping[str, str]
    unnamed: Collection[str]
    role: str
    further: Mapping[str, str]

    @property
    def naming(self) -> str:
        """A sentence on shortened names and how to choose a name; '' if no name is shortened."""
        if not self.shortened:
            return ""
        name, full = next(iter(self.shortened.items()))
        count = len(self.shortened) - 1
        others = f", and {count} other {'name is' if count == 1 else 'names are'} shortened" if count else ""
        advice = f" To choose a name: --{self.role} NAME={full}" if full in self.unnamed else ""
        return f"{name} is {full}{others}.{advice}"


def first_screen(
    run: Run, measured: Measured, seconds: float | None = None, comparison: RunComparison | None = None
) -> FirstScreen:
    """Make the first screen of a run that was measured, and perhaps compared; `seconds` is the duration of the run's
    session, or None if there was no session."""
    with blaming(measured.study, "its first screen"):
        shown = shown_findings(measured, differences_in(comparison or RunComparison([run], measured)))
        models = [model.name for model in measured.results.models] if measured.results else []
        short = short_names(models)
        table = overview_table(measured)
        caution = weightiest(cautions_on([run], measured, [each.bare for each in shown]))
        return FirstScreen(
            heading=heading(run, [short[model] for model in models], seconds),
            findings=[_with_short_names(each.text, short) for each in shown],
            said=[each.finding for each in shown],
            table=table and _with_short_rows(table, short),
            caution=_with_short_names(caution.text, short) if caution else "",
            shortened={name: full for full, name in short.items() if name != full},
            unnamed={entry.name for entry in run.entries if entry.name == entry.spec},
            role=run.study.roles[0].word,
            further=_further(run, measured, [each.finding for each in shown]),
        )


def _void_sentences(measured: Measured) -> set[str]:
    """The sentences of the study's findings that must not be quoted, or that are doubtful."""
    declared = measuring_of(measured.study).findings
    said = [finding for finding in (declared(measured.analysis) if declared else ()) if isinstance(finding, Finding)]
    return {finding.sentence for finding in said if not finding.quotable or DOUBTFUL in finding.cautions}


def _without_own_cautions(said: Sequence[Finding], measured: Measured) -> list[Finding]:
    """The findings with only those cautions that every study shares."""
    bare = [msgspec.structs.replace(finding, cautions=(), quotable=True) for finding in said]
    return with_cautions(measuring_of(measured.study), measured.analysis, measured.results, bare)


def shown_findings(
    measured: Measured, differences: Sequence[Finding] = (), most: int | None = MOST_FINDINGS
) -> list[ShownFinding]:
    """The most important findings and differences between models: at most `most`, or all if `most` is None."""
    void = _void_sentences(measured)
    said = in_order_of_weight(measured.findings, differences, void)[:most]
    bare = _without_own_cautions(said, measured)
    some_unfit = any(not finding.quotable and finding.sentence not in void for finding in bare)
    marked = some_unfit and any(finding.quotable for finding in bare)
    return [
        ShownFinding(
            finding,
            general,
            brief_sentence(finding),
            NOT_TO_BE_QUOTED if marked and not general.quotable else "",
        )
        for finding, general in zip(said, bare, strict=True)
    ]


def heading(run: Run, models: Sequence[str], seconds: float | None) -> str:
    """Study, models, items, replies, time and cost of a run, in one line."""
    manifest, study = run.manifest, run.study
    return joined_heading(
        [
            manifest.study,
            named_models(models),
            _items_text(run, study.items.plural),
            _replies_text(manifest.spent.outcomes - manifest.spent.failed, seconds),
            f"{counted(manifest.spent.failed, 'calls')} failed" if manifest.spent.failed else "",
            cost_of([run]),
            "stopped once precise" if manifest.precision is not None and run.finished else "",
        ]
    )


def cost_of(runs: Sequence[Run]) -> str:
    """The cost of runs in US dollars, without searches and pages. A lower bound if some model has no known price."""
    cost = sum(run.manifest.spent.cost for run in runs)
    priced = all(
        entry.price is not None
        for run in runs
        for role, entries in run.manifest.models.items()
        if role not in run.study.retrieval
        for entry in entries
    )
    return f"${cost:,.2f}" if priced else f"at least ${cost:,.2f}" if cost else "cost unknown"


def joined_heading(parts: Iterable[str]) -> str:
    """The parts of a heading, without those that are empty."""
    return " \N{MIDDLE DOT} ".join(filter(None, parts))


def named_models(models: Sequence[str]) -> str:
    """The models' names, or their number if there are many."""
    return ", ".join(models) if len(models) <= _MOST_NAMED else f"{len(models)} models"


def _items_text(run: Run, plural: str) -> str:
    """The number of complete items, and the number of planned items if some are incomplete."""
    planned = _planned_items(run)
    complete = sorted({planned - len(items) for items in run.manifest.missing.values()}) or [planned]
    if complete == [planned]:
        return counted(planned, plural)
    least, most = complete[0], complete[-1]
    return f"{least if least == most else f'{least} to {most}'} of {counted(planned, plural)}, incomplete"


def _planned_items(run: Run) -> int:
    """The number of items that the run asks about. A shard asks only about its own items."""
    return len(run.manifest.shard.items) if run.manifest.shard else len(run.items())


def missing_items(run: Run) -> str:
    """The number of items that each model lacks, in words: '8 of 12 issues for gpt-4o'."""
    planned, plural = _planned_items(run), run.study.items.plural
    missing = {lane: len(items) for lane, items in run.manifest.missing.items() if items}
    short = short_names([*missing])
    if len(missing) > _MOST_NAMED:
        return f"up to {max(missing.values())} of {counted(planned, plural)} for {len(missing)} models"
    return ", ".join(f"{count} of {counted(planned, plural)} for {short[lane]}" for lane, count in missing.items())


def _replies_text(answers: int, seconds: float | None) -> str:
    if seconds is None:
        return count_replies(answers)
    minutes, rest = divmod(round(seconds), _SECONDS_PER_MINUTE)
    hours, minutes = divmod(minutes, _SECONDS_PER_MINUTE)
    taken = f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{max(rest, 1)} s"
    return f"{count_replies(answers)} in {taken}"


def count_replies(count: int) -> str:
    """The number of replies in words: '1 reply', '1,584 replies'."""
    return f"{count:,} {'reply' if count == 1 else 'replies'}"


# Names


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each model's short name: the name, or its last part if the name is long and the last part is unique."""
    found = {name: _shorten(name) for name in names}
    shown = [*found.values()]
    return {name: short if shown.count(short) == 1 else name for name, short in found.items()}


def _shorten(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    last = re.split(r"[#/]", name.rstrip("#/"))[-1]
    half = _LONGEST_NAME // 2
    return last if len(last) <= _LONGEST_NAME else f"{last[:half]}\N{HORIZONTAL ELLIPSIS}{last[1 - half :]}"


def _with_short_names(text: str, short: Mapping[str, str]) -> str:
    long = {name: brief for name, brief in short.items() if name != brief}
    if not long:
        return text
    pattern = "|".join(re.escape(name) for name in sorted(long, key=len, reverse=True))
    return re.sub(pattern, lambda match: long[match[0]], text)


def _with_short_rows(table: Table, short: Mapping[str, str]) -> Table:
    rows = [[_with_short_names(cell, short) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    return replace(table, rows=rows)


# Differences between models


def differences_in(comparison: RunComparison) -> list[Finding]:
    """The differences between the headlines of the runs' models. The list is empty if the models cannot be compared, or
    if there are too many models."""
    from overton.comparison.sections import difference_findings

    measured = comparison.measured
    if not 1 < comparison.models <= _MOST_COMPARED or isinstance(comparison.made, InputError):
        return []
    doubtful = {finding.model for finding in measured.findings if DOUBTFUL in finding.cautions}
    found = difference_findings(comparison.made, doubtful)
    return with_cautions(measuring_of(measured.study), measured.analysis, measured.results, found)


# The table


def overview_table(measured: Measured) -> Table | None:
    """The paper's table if the paper's numbers come first, otherwise the table of the study's overview."""
    published = _first_table(measured.summary_as_published())
    if published is not None:
        return published
    measuring = measuring_of(measured.study)
    if measuring.overview is None:
        return _first_table(measured.summary())
    table = measuring.overview(measured.analysis)
    return table and _with_losses(table, measured)


def _first_table(sections: Iterable[Any]) -> Table | None:
    tables = (exhibit for section in sections for exhibit in section.exhibits if isinstance(exhibit, Table))
    table = next(tables, None)
    if table is None:
        return None
    width = next((place for place, column in enumerate(table.columns) if column.kind != "text"), 0) + _MOST_COLUMNS
    return replace(table, columns=table.columns[:width], rows=[row[:width] for row in table.rows])


def _with_losses(table: Table, measured: Measured) -> Table:
    """Add a column with the percentages of refused and malformed replies. A model's first row has the percentages over
    all conditions of the model."""
    names = [str(row[0]) for row in table.rows]
    models = [max((model for model in _models(measured) if _names(name, model)), key=len, default="") for name in names]
    first = [model and model not in models[:place] for place, model in enumerate(models)]
    lost = [_losses(measured, model) if of_model else "" for model, of_model in zip(models, first, strict=True)]
    if not any(lost):
        return table
    columns = [*table.columns, Column("Refused / malformed", "count")]
    return replace(table, columns=columns, rows=[[*row, cell] for row, cell in zip(table.rows, lost, strict=True)])


def _names(row: str, model: str) -> bool:
    return row == model or row.startswith(f"{model}, ")


def _models(measured: Measured) -> Sequence[str]:
    return getattr(measured.analysis, "models", ())


def _losses(measured: Measured, model: str) -> str:
    """The percentage of a model's replies that its endpoint flagged as refusals, and the percentage of malformed
    replies."""
    refused = _refused_share(measured.results, model)
    faults = [count for count in getattr(measured.analysis, "faults", ()) if count.model == model]
    malformed = _percent(sum(count.faulty for count in faults), sum(count.replies for count in faults))
    return f"{refused} / {malformed}" if {refused, malformed} != {_UNKNOWN} else ""


_UNKNOWN = "\N{EN DASH}"


def _percent(some: int, of: int) -> str:
    if not of:
        return _UNKNOWN
    return "<1%" if 0 < some < 0.005 * of else ">99%" if 0.995 * of < some < of else f"{100 * some / of:.0f}%"


def _refused_share(results: Results | None, model: str) -> str:
    import polars as pl

    if results is None or "model" not in results.records.columns:
        return _UNKNOWN
    own = results.records.filter(results.records["model"] == model)
    flags = [own[name].drop_nulls() for name in own.columns if name == "refused" or name.startswith("refused_")]
    flags = [column for column in flags if column.dtype == pl.Boolean]
    return _percent(sum(int(column.sum()) for column in flags), sum(map(len, flags)))


# Cautions


def cautions_on(runs: Sequence[Run], measured: Measured, said: Sequence[Finding]) -> Iterator[Caution]:
    """The cautions on the numbers of `runs`. If `runs` is empty, the numbers come from a table that Overton did not
    make. `said` has the findings, without cautions that are specific to a study."""
    results, analysis = measured.results, measured.analysis
    yield from cautions_of(said)
    yield from (Caution(CautionRank.CHANGED, run.changed_records) for run in runs if run.changed_records)
    count, clusters = _clusters(measured)
    elsewhere = {*warn_few_items(count, clusters)}
    told = (*_warnings_in_sections(measured), *getattr(analysis, "warnings", ()))
    if results is not None:
        yield from (Caution(CautionRank.CONTROLS, text) for text in failing_judges(results))
        told = (*told, *measured.exhibits.warnings)
    for text in dict.fromkeys(told):
        if text not in elsewhere and MALFORMED not in text:
            yield Caution(CautionRank.MEANING, text)
    yield from (
        Caution(CautionRank.MALFORMED, text) for text in fault_warnings(getattr(analysis, "faults", ()), "replies")
    )
    yield from (Caution(CautionRank.DESIGN, text) for run in runs for text in design_warnings(run))
    yield from warn_of_width(count, clusters)


def design_warnings(run: Run) -> Iterator[str]:
    """Warnings if a run's texts were replaced, or if some of its items have more trials than others."""
    if run.replaced_texts:
        yield f"{run.path.name} {run.replaced_texts}."
    if run.manifest.precision is not None:
        yield f"{run.path.name} {unequal(weighted=is_weighted(run))}"


def _warnings_in_sections(measured: Measured) -> Iterator[str]:
    """The warnings in the sections of a study that declares no overview table."""
    if measuring_of(measured.study).overview is None:
        for section in measured.summary():
            for exhibit in section.exhibits:
                if isinstance(exhibit, Callout) and exhibit.kind == "warning":
                    yield exhibit.text


def _clusters(measured: Measured) -> tuple[int, str]:
    """The number of units over which intervals are computed, and the units' name."""
    comparing = measuring_of(measured.study).comparing
    unit = comparing.unit if comparing else measured.study.items.plural
    counts = [finding.n for finding in measured.findings if finding.units == unit]
    return max(counts, default=len(measured.results.items) if measured.results else 0), unit


# What to do next


def resume_command(run: Run) -> str:
    """The command that continues a run that stopped."""
    reached = run.manifest.reached
    if run.manifest.batch_refused:
        return command("resume", run.path, "--retry-failed")
    return command("resume", run.path, *((f"--max-{reached}", "TOTAL") if reached else ()))


def _further(run: Run, measured: Measured, said: Sequence[Finding]) -> dict[str, str]:
    """Commands by their purpose."""
    return {"Next": _next_command(run, measured, said), "All tables": command("analyze", run.path)}


def _next_command(run: Run, measured: Measured, said: Sequence[Finding]) -> str:
    if not run.finished:
        return resume_command(run)
    several = measured.results is not None and len(measured.results.models) > 1
    if several and measuring_of(measured.study).comparing is not None:
        return command("compare", run.path)
    numbers = [measured.findings.index(finding) + 1 for finding in said if finding in measured.findings]
    return command("show", run.path, *(("--finding", str(numbers[0])) if numbers else ()))
