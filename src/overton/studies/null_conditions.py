"""Null conditions: what a study's headlines would be if what it looks for were not there.

A study declares them (`Study.nulls`). From the declaration follow an option (`--null NAME`, `--null all`), their trials
after each item's own, and every headline's difference from its null (`overton.studies.contrasts`). They are never part
of the published design: its trials, names, identities and seeds are the same with and without them, and its measures
never see their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec

from overton.calls import Trial
from overton.studies.options import Option, StudyOptions

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.contributions import Sides
    from overton.studies.results import Results
    from overton.studies.tables import RawTable


PREFIX = "null/"
"""How the names of their trials start: 'null/NAME/...'."""
OPTION = "nulls"
"""The option that is derived if a study has nulls with trials."""

_OPTIONAL_TEXTS = ("nulls.", "free.", "certainty.", "own_values.")
"""How the names of texts start that models read only if an option asks for it: null conditions, free answers, a judge's
certainty alone, a list of values of one's own. A run that was made before they existed is unchanged."""

Trials = Callable[[Sequence[Any], Any, int], Iterator[Trial]]


@dataclass(frozen=True)
class Null:
    """One of a study's nulls.

    name    one word, as `--null` takes it
    help    what is done, as a phrase: 'irrelevant text in the place of the arguments'
    of      the measures of `measuring.comparing` that it is the null of; '*' stands for any letters. Not a composite of
            which it fixes one part: the difference would then show that part
    sides   `sides(results, rows, how)` gives the contributions of the null, from `results` with the design's records
            and `rows`, those of the null's own trials (None if it has no trials); by default the view is measured
    trials  its trials, each item's together and items in the order given, named as if they were alone; None if it is
            computed from what the design asks anyway, or from chance alone
    column  the column of the record with the trial's name
    what    a 'null', which takes away what is looked for, or a 'factor', which asks the same in another way
    nothing  why a measure has no number in the view if no unit has a value
    view    its records in the design's place; by default those of its own trials alone
    """

    name: str
    help: str
    of: tuple[str, ...]
    sides: Callable[[Results, pl.DataFrame | None, Any], Sides] | None = None
    trials: Trials | None = None
    column: str = "trial"
    what: Literal["null", "factor"] = "null"
    nothing: str = "no item has it"
    view: Callable[[Results], Results] | None = None

    def measures(self, name: str) -> bool:
        """Whether it is the null of the measure with this key."""
        return any(fnmatchcase(name, pattern) for pattern in self.of)

    def has_view(self, results: Results) -> bool:
        """Whether records of its own can take the design's place."""
        return self.sides is None and (self.view is not None or self.name in results.nulls)

    def alone(self, results: Results) -> Results:
        """The view: the results with records of its own in the design's place."""
        return self.view(results) if self.view else results.part(results.nulls[self.name])


def askable(nulls: Sequence[Null]) -> tuple[Null, ...]:
    """Those that have trials of their own."""
    return tuple(null for null in nulls if null.trials is not None)


def chosen_nulls(nulls: Sequence[Null], options: Any) -> tuple[Null, ...]:
    """Those whose trials the options ask for."""
    return tuple(null for null in askable(nulls) if null.name in getattr(options, OPTION, ()))


def with_option(options: type[StudyOptions], nulls: Sequence[Null]) -> type[StudyOptions]:
    """The options of a study with the one that chooses nulls; unchanged if none can be asked, or they have it."""
    names = tuple(null.name for null in askable(nulls))
    if not names or OPTION in options.__struct_fields__:
        return options
    help_ = "Ask a null condition as well, besides the published design"
    kind: Any = Annotated[tuple[str, ...], Option(help_, known=names, flag="--null", every="all", extends=True)]
    made = msgspec.defstruct(
        options.__name__,
        [(OPTION, kind, ())],
        bases=(options,),
        module=options.__module__,
        frozen=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": options.__doc__},
    )
    return cast("type[StudyOptions]", made)


@dataclass(frozen=True)
class WithNulls:
    """A study's trials, each item's own followed by those of the nulls that the options choose."""

    trials: Trials
    nulls: tuple[Null, ...]

    def __call__(self, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
        """All trials, each item's together."""
        chosen = chosen_nulls(self.nulls, options)
        asked = self.trials(items, options, seed)
        return _interleave(asked, [_NullTrials(null, items, options, seed) for null in chosen]) if chosen else asked


def _interleave(asked: Iterator[Trial], waiting: Sequence[_NullTrials]) -> Iterator[Trial]:
    for item, own in groupby(asked, key=lambda trial: trial.item):
        yield from own
        for null_trials in waiting:
            yield from null_trials.of(item)


class _NullTrials:
    """A null's trials, given out item by item."""

    def __init__(self, null: Null, items: Sequence[Any], options: Any, seed: int) -> None:
        self._trials = name_null_trials(null, items, options, seed)
        self._next = next(self._trials, None)

    def of(self, item: str) -> Iterator[Trial]:
        while self._next is not None and self._next.item == item:
            yield self._next
            self._next = next(self._trials, None)


def name_null_trials(null: Null, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
    """A null's trials under names of their own; only the design's calibrate token probabilities."""
    for trial in null.trials(items, options, seed) if null.trials else ():
        alone = {"sampled": 0} if "sampled" in trial.__struct_fields__ else {}
        yield msgspec.structs.replace(trial, name=f"{PREFIX}{null.name}/{trial.name}", **alone)


def null_of(trial: str) -> str:
    """The name of the null that a trial belongs to, '' for one of the design."""
    return trial.removeprefix(PREFIX).partition("/")[0] if trial.startswith(PREFIX) else ""


def prompts_changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of the prompts that differ from what they were; nulls that a study has gained since change none."""
    names = then.keys() | {name for name in now if name in then or not name.startswith(_OPTIONAL_TEXTS)}
    return sorted(name for name in names if now.get(name) != then.get(name))


def condition_of(trial: Trial) -> str:
    """The condition of a trial, 'NULL/CONDITION' for a null's trial."""
    return "/".join(filter(None, [null_of(trial.name), trial.condition_name]))


def split_nulls(records: pl.DataFrame, nulls: Sequence[Null]) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """The design's records, and those of each null that has any."""
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
    """A table that was made elsewhere, without the records of nulls."""
    from dataclasses import replace

    return replace(table, frame=lambda: split_nulls(table.frame(), nulls)[0]) if askable(nulls) else table
