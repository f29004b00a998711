"""Null conditions, which show the values that a study's headlines have without the cause under study.

A study declares null conditions (`Study.nulls`). From the declaration Overton derives an option (`--null NAME`, `--null
all`). It adds the null conditions' trials after each item's own trials, and reports how much every headline differs
from its null condition (`overton.studies.contrasts`). Null conditions never change the published design. Its trials,
names, identities and seeds are the same with and without null conditions, and its measures never use the records of
null conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from overton.calls import Trial
from overton.studies.options import Option, StudyOptions, with_fields

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.contributions import Sides
    from overton.studies.results import Results
    from overton.studies.tables import RawTable


PREFIX = "null/"
"""The start of the names of null conditions' trials: 'null/NAME/...'."""
OPTION = "nulls"
"""The option that Overton derives if a study has null conditions with trials."""

_OPTIONAL_TEXTS = ("nulls.", "free.", "certainty.", "own_values.")
"""Prefixes of the names of texts that models read only if an option requests them. The texts are for null conditions,
free answers, a judge's certainty alone, or the user's own list of values. Adding such a text does not change the
prompts of older runs."""

Trials = Callable[[Sequence[Any], Any, int], Iterator[Trial]]


@dataclass(frozen=True)
class Null:
    """A null condition of a study.

    name    one word, which users give to `--null`
    help    a phrase that describes the condition: 'irrelevant text in the place of the arguments'
    of      the measures of `measuring.comparing` for which this is the null condition; '*' matches any characters. If
            the condition fixes one part of a composite measure, omit the measure, because the difference would only
            show that part
    sides   `sides(results, rows, how)` gives the contributions of the null condition. `results` has the design's
            records, and `rows` has the records of the condition's own trials (None without trials). By default Overton
            computes the contributions from the results of `view`
    trials  the condition's trials, grouped by item in the order given. Their names are without the prefix 'null/NAME/',
            which Overton adds. None if the condition is computed from the design's trials, or from chance alone
    column  the column of the record with the trial's name
    what    'null' if the condition removes the cause under study, 'factor' if it is a prompt variant
    nothing  the reason given for a missing number if no unit of the view has a value
    view    results in which other records replace the design's; by default the records of the condition's own trials
    """

    name: str
    help: str
    of: tuple[str, ...]
    sides: Callable[[Results, pl.DataFrame | None, Any], Sides] | None = None
    trials: Trials | None = None
    column: str = "trial"
    what: Literal["null", "factor"] = "null"
    nothing: str = "no item has this number"
    view: Callable[[Results], Results] | None = None

    def measures(self, name: str) -> bool:
        """Whether this is a null condition of the measure `name`."""
        return any(fnmatchcase(name, pattern) for pattern in self.of)

    def has_view(self, results: Results) -> bool:
        """Whether the condition has records that can replace the design's."""
        return self.sides is None and (self.view is not None or self.name in results.nulls)

    def alone(self, results: Results) -> Results:
        """The view of this null condition: results in which other records, by default the condition's own, replace the
        design's."""
        return self.view(results) if self.view else results.part(results.nulls[self.name])


def askable(nulls: Sequence[Null]) -> tuple[Null, ...]:
    """The null conditions that have trials."""
    return tuple(null for null in nulls if null.trials is not None)


def chosen_nulls(nulls: Sequence[Null], options: Any) -> tuple[Null, ...]:
    """The null conditions whose trials the options request."""
    return tuple(null for null in askable(nulls) if null.name in getattr(options, OPTION, ()))


def with_option(options: type[StudyOptions], nulls: Sequence[Null]) -> type[StudyOptions]:
    """A study's options with the option that chooses null conditions. Unchanged if no null condition has trials, or if
    the options already have that option."""
    names = tuple(null.name for null in askable(nulls))
    if not names:
        return options
    help_ = "In addition to the published design, run this null condition"
    kind: Any = Annotated[tuple[str, ...], Option(help_, known=names, flag="--null", every="all", extends=True)]
    return with_fields(options, [(OPTION, kind, ())])


@dataclass(frozen=True)
class WithNulls:
    """A study's trials. Each item's own trials come first, then its trials in the null conditions that the options
    choose."""

    trials: Trials
    nulls: tuple[Null, ...]

    def __call__(self, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
        """All trials, grouped by item."""
        chosen = chosen_nulls(self.nulls, options)
        asked = self.trials(items, options, seed)
        return _interleave(asked, [_NullTrials(null, items, options, seed) for null in chosen]) if chosen else asked


def _interleave(asked: Iterator[Trial], waiting: Sequence[_NullTrials]) -> Iterator[Trial]:
    for item, own in groupby(asked, key=lambda trial: trial.item):
        yield from own
        for null_trials in waiting:
            yield from null_trials.of(item)


class _NullTrials:
    """The trials of a null condition, given out item by item."""

    def __init__(self, null: Null, items: Sequence[Any], options: Any, seed: int) -> None:
        self._trials = name_null_trials(null, items, options, seed)
        self._next = next(self._trials, None)

    def of(self, item: str) -> Iterator[Trial]:
        while self._next is not None and self._next.item == item:
            yield self._next
            self._next = next(self._trials, None)


def name_null_trials(null: Null, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
    """The trials of a null condition, with names that start with 'null/NAME/'. These trials never calibrate token
    probabilities."""
    for trial in null.trials(items, options, seed) if null.trials else ():
        alone = {"sampled": 0} if "sampled" in trial.__struct_fields__ else {}
        yield msgspec.structs.replace(trial, name=f"{PREFIX}{null.name}/{trial.name}", **alone)


def null_of(trial: str) -> str:
    """The null condition that a trial belongs to, '' for a trial of the design."""
    return trial.removeprefix(PREFIX).partition("/")[0] if trial.startswith(PREFIX) else ""


def prompts_changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of prompts that differ between `then` and `now`. A new text does not count if models read it only with
    certain options."""
    names = then.keys() | {name for name in now if name in then or not name.startswith(_OPTIONAL_TEXTS)}
    return sorted(name for name in names if now.get(name) != then.get(name))


def condition_of(trial: Trial) -> str:
    """The condition of a trial. Under a null condition, it is 'NULL/CONDITION'. The name of the system prompt comes
    last, unless the study itself handles system prompts."""
    prompt = trial.system_prompt.name if trial.system_prompt and trial.plain_name else ""
    return "/".join(filter(None, [null_of(trial.name), trial.condition_name, prompt]))


def split_nulls(records: pl.DataFrame, nulls: Sequence[Null]) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """The design's records, and the records of each null condition that has records, by its name."""
    import polars as pl

    found: dict[str, pl.DataFrame] = {}
    for null in askable(nulls):
        if null.column not in records.columns or records.schema[null.column] != pl.String:
            continue
        is_own = pl.col(null.column).str.starts_with(f"{PREFIX}{null.name}/").fill_null(False)
        if (own := records.filter(is_own)).height:
            found[null.name] = own
            records = records.filter(~is_own)
    return records, found


def design_alone(table: RawTable, nulls: Sequence[Null]) -> RawTable:
    """A table made outside Overton, without the records of null conditions."""
    from dataclasses import replace

    return replace(table, frame=lambda: split_nulls(table.frame(), nulls)[0]) if askable(nulls) else table
