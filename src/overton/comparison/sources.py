"""Runs, tables and baselines opened for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from overton.analysis.analyze import chosen_how, study_of_table
from overton.analysis.results import measuring_of, results_of
from overton.comparison.labels import with_labels
from overton.comparison.provenance import Provenance, Upstream, provenance_of, upstream_of
from overton.errors import InputError, Problem, quoted
from overton.files.tables import open_table
from overton.runs.record_rows import design_of_table
from overton.runs.run import Run, open_run
from overton.statistics.estimate import ratio
from overton.studies.contributions import Contribution, Sides, of_pairs
from overton.studies.installed_study import blaming
from overton.studies.measurement import Comparing, How
from overton.studies.measures import Measure
from overton.studies.power import halves_of, with_fewer_trials
from overton.studies.prompted_models import is_split, names_under
from overton.studies.registry import study_named
from overton.studies.results import Results
from overton.studies.study import AnyStudy
from overton.untrusted import decode_json, read_file

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.power import Halves
    from overton.studies.tables import RawTable


class MissingCounts(msgspec.Struct, frozen=True):
    """The missing values of a compared model: how many of its records failed permanently, how many were flagged as
    refusals, and the items that its run left out as incomplete. Unknown counts are None.
    """

    records: int | None
    failed: int | None
    refused: int | None
    missing: tuple[str, ...] = ()


NOTHING_KNOWN = MissingCounts(None, None, None)
"""The counts of a table, which are all unknown."""


def lost_of(records: pl.DataFrame, model: str, missing: Mapping[str, Sequence[str]]) -> MissingCounts:
    """Count the missing values in a run's records of `model`, or of all models if `model` is ''. `missing` has the
    items that the run left out, by model."""
    import polars as pl

    own = records.filter(pl.col("model") == model) if model else records
    names = {name for lane, items in missing.items() if model in ("", lane) for name in items}
    refused = int(own["refused"].sum()) if "refused" in own.columns else None
    return MissingCounts(
        own.height, int(own["failure"].count()) if "failure" in own.columns else None, refused, tuple(sorted(names))
    )


def _no_halves() -> None:
    return None


def _no_sides(trials: int) -> Sides:
    return {}


@dataclass(frozen=True)
class ComparisonSource:
    """A source of a comparison: a run or a table, with the contributions of each model in it.

    `label` names the source; `model` is the selected model, '' for all. `provenance` is the record of how the source's
    questions were asked, None for a table. A baseline file has a provenance but no run. `halved` returns the models'
    contributions for each half of the trials. `fewer` returns the models' contributions to `matched` measures for a
    smaller number of trials. `kept` are the numbers of trials for which a baseline has such contributions, None if any
    number is possible.
    """

    label: str
    path: Path
    run: Run | None
    sides: Mapping[str, Sequence[Contribution]]
    model: str = ""
    lost: Mapping[str, MissingCounts] = field(default_factory=dict)
    provenance: Provenance | None = None
    halved: Callable[[], Halves | None] = _no_halves
    fewer: Callable[[int], Sides] = _no_sides
    kept: tuple[int, ...] | None = None

    @property
    def models(self) -> list[str]:
        """The models of the source, or the selected model. The entry '' for all models together is left out."""
        return [self.model] if self.model else [name for name in self.sides if name]

    @property
    def trials(self) -> int | None:
        """The run's option `trials`, the number of trials of each item in each condition. None if it is unknown."""
        found = None if self.provenance is None else self.provenance.options.get("trials")
        return found if isinstance(found, int) else None

    @property
    def is_baseline(self) -> bool:
        """Whether the source is a baseline file, which has a provenance but no run."""
        return self.run is None and self.provenance is not None

    @property
    def is_table(self) -> bool:
        """Whether the source is a table made elsewhere, which has no provenance."""
        return self.run is None and self.provenance is None

    @cached_property
    def asked(self) -> frozenset[str]:
        """The items that were asked about; for a table, the items in the table."""
        if self.provenance is not None:
            return frozenset(self.provenance.items)
        return frozenset(name for side in self.sides.values() for contribution in side for name in contribution.items)

    @cached_property
    def halves(self) -> Halves | None:
        """The models' contributions for each half of the trials; None unless the source is a run with several trials of
        each item."""
        return self.halved()

    @cached_property
    def upstream(self) -> Mapping[str, Upstream]:
        """Reports of endpoints about themselves, by the answerer's identity: from the journal, or the baseline."""
        if self.run is not None:
            return upstream_of(self.run)
        answering = [entry for some in self.provenance.roles.values() for entry in some] if self.provenance else []
        return {entry.identity: entry.upstream for entry in answering}


@dataclass(frozen=True)
class ComparedModel:
    """A compared model: a model of a source, or '' for the whole source. `name` is unique in the comparison."""

    name: str
    source: ComparisonSource
    model: str

    @property
    def contributions(self) -> dict[str, Contribution]:
        """The contributions of the model's items, by measure."""
        return {contribution.measure.name: contribution for contribution in self.source.sides[self.model]}

    def with_trials(self, measure: str, trials: int) -> Contribution | None:
        """The model's contribution to a measure for `trials` trials, at most as many as the source has. None if the
        contribution is unknown."""
        own = self.contributions[measure]
        if trials == self.source.trials or not own.items:
            return own
        found = self.source.fewer(trials).get(self.model, ())
        return next((contribution for contribution in found if contribution.measure.name == measure), None)


FORMAT = 1
SUFFIX = ".json"
_MOST_BYTES = 50_000_000
_LARGEST_NUMBER = 1e100
"""The largest number in a baseline. Squares of larger numbers overflow, and intervals would be missing without a
reason."""


class BaselineMeasure(msgspec.Struct, frozen=True):
    """The contribution of each item to one measure; see `Contribution`.

    If the measure depends on the number of trials, `fewer` has the items' values for each smaller number of trials.
    Items without a value are left out. `answers` is the number of answers to an item in a condition. Baselines written
    by Overton 0.2 lack both fields.
    """

    items: list[str]
    parts: list[list[float]]
    lost: list[float] | None = None
    moot: list[float] | None = None
    worst: tuple[list[float], list[float]] | None = None
    why: str = ""
    fewer: dict[int, dict[str, float]] | None = None
    answers: float | None = None


class BaselineFile(msgspec.Struct, frozen=True):
    """A baseline file. `sides` has the stored contributions, by model and then by measure. The model '' stands for all
    models together."""

    baseline: int
    study: str
    name: str
    told: Provenance
    lost: dict[str, MissingCounts]
    sides: dict[str, dict[str, BaselineMeasure]]


_decode_baseline = msgspec.json.Decoder(BaselineFile).decode


def is_baseline(path: Path) -> bool:
    """Whether a file is a baseline file, by its name and its first bytes."""
    if path.suffix != SUFFIX or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(13).replace(b" ", b"").startswith(b'{"baseline":')


def study_of(path: Path) -> str:
    """The study of a baseline.

    Raises:
        InputError: the file is damaged, or of another version.
    """
    return _read_baseline(path).study


def of_baseline(path: Path, label: str, known: Mapping[str, Contribution]) -> ComparisonSource:
    """Read a baseline as a source. `known` has a run's contributions by measure. Measures that are missing in `known`
    are left out.

    Raises:
        InputError: the file is damaged, or of another version.
    """
    file = _read_baseline(path)
    measures = {name: contribution.measure for name, contribution in known.items()}
    sides = {
        model: [_restore_contribution(path, kept, known[name]) for name, kept in found.items() if name in known]
        for model, found in file.sides.items()
    }
    kept = {count for found in file.sides.values() for measure in found.values() for count in measure.fewer or {}}
    fewer = partial(_stored_sides, file, measures)
    return ComparisonSource(
        label, path, None, sides, lost=file.lost, provenance=file.told, fewer=fewer, kept=tuple(sorted(kept))
    )


def _stored_sides(file: BaselineFile, measures: Mapping[str, Measure], trials: int) -> Sides:
    return {
        model: [
            of_pairs(measures[name], list(values), np.array([*values.values()]), np.ones(len(values)))
            for name, kept in found.items()
            if name in measures and (values := (kept.fewer or {}).get(trials))
        ]
        for model, found in file.sides.items()
    }


def _read_baseline(path: Path) -> BaselineFile:
    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"is not a readable baseline: {reason}")])

    file = read_file(path, _MOST_BYTES, partial(decode_json, decode=_decode_baseline), error)
    if file.baseline != FORMAT:
        reason = f"has format {file.baseline}; this version of Overton reads {FORMAT}"
        raise InputError([Problem(str(path), "baseline", reason)])
    return file


def _restore_contribution(path: Path, kept: BaselineMeasure, known: Contribution) -> Contribution:
    """Check a stored contribution and return it. It must have one row per item, as wide as a run's, with numbers that
    are possible for the measure.

    Raises:
        InputError: a check fails.
    """
    measure, count = known.measure, len(kept.items)
    rows = [row for row in (kept.lost, kept.moot, *(kept.worst or ())) if row is not None]
    widths = {len(row) for row in kept.parts}
    if len(kept.parts) != count or any(len(row) != count for row in rows) or len(widths) > 1:
        raise InputError([Problem(str(path), measure.name, "does not have one row per item")])
    if len(set(kept.items)) < count:
        raise InputError([Problem(str(path), measure.name, "names an item twice")])
    if kept.answers is not None and not 0 < kept.answers <= _LARGEST_NUMBER:
        raise InputError([Problem(str(path), measure.name, f"has {kept.answers:g} answers to an item")])
    for trials, values in (kept.fewer or {}).items():
        if reason := _why_outside_range(values.values(), measure):
            raise InputError([Problem(str(path), f"{measure.name}, {trials} trials", reason)])
    width = known.parts.shape[1] if len(known.parts) else max(widths, default=2)
    _check_rows(path, kept, measure, width)
    parts = np.array(kept.parts, float).reshape(count, width)
    failed, refused = (None if numbers is None else np.array(numbers, float) for numbers in (kept.lost, kept.moot))
    made = Contribution(
        measure,
        tuple(kept.items),
        parts,
        failed_weight=failed,
        refused_weight=refused,
        why=kept.why,
        answers=kept.answers,
    )
    if kept.worst is None:
        return made
    least, most = (np.array(numbers, float) for numbers in kept.worst)
    return replace(made, extreme_values=lambda: (least, most))


def _check_rows(path: Path, kept: BaselineMeasure, measure: Measure, width: int) -> None:
    """Refuse impossible contents of a baseline. An edited baseline could otherwise cause a difference of millions.

    Raises:
        InputError: a row does not have `width` numbers, or a number is impossible for the measure. The message names
            the item.
    """
    for number, item in enumerate(kept.items):
        reason = _fault_of_row(kept, number, measure, width)
        if reason:
            advice = "make the baseline again from its run (overton baseline)"
            raise InputError([Problem(str(path), f"{measure.name}, {quoted(item)}", f"{reason}: {advice}")])


def _fault_of_row(kept: BaselineMeasure, number: int, measure: Measure, width: int) -> str:
    """The fault of an item's numbers, '' if there is none."""
    row = kept.parts[number]
    gone = [column[number] for column in (kept.lost, kept.moot) if column is not None]
    ends = [column[number] for column in kept.worst or ()]
    if len(row) != width:
        return f"has {len(row)} numbers, but the run has {width}"
    if any(abs(value) > _LARGEST_NUMBER for value in (*row, *gone, *ends)):
        return f"has a number above {_LARGEST_NUMBER:g}"
    if any(count < 0 for count in gone):
        return "has a negative count of missing or refused answers"
    if ends and ends[0] > ends[1]:
        return f"has bounds in the wrong order, from {ends[0]:g} to {ends[1]:g}"
    if measure.of is not ratio:
        return ""
    above, below = row
    if below < 0:
        return f"has the weight {below:g}, below 0"
    return _why_outside_range([above / below] if below else [], measure)


def _why_outside_range(values: Iterable[float], measure: Measure) -> str:
    """The reason if values of single items are too far outside the measure's range, otherwise ''.

    A value corrected for chance can be somewhat outside, but not by more than the width of the range.
    """
    low, high = measure.within
    for value in values:
        if not (low - (high - low) <= value <= high + (high - low)):
            return f"has the value {value:g}, but the measure is between {low:g} and {high:g}"
    return ""


if TYPE_CHECKING:
    Opened = Run | RawTable | Path


MARK = "#"
"""Separates the path of a run or table from the selected model."""


def comparing_of(study: AnyStudy) -> Comparing:
    """How a study compares models.

    Raises:
        InputError: it does not declare that.
    """
    declared = measuring_of(study).comparing
    if declared is None:
        raise InputError([Problem("study", study.name, "does not declare how to compare models")])
    return declared


def split_model(text: str | Path) -> tuple[Path, str]:
    """Split 'RUN#MODEL' into a source's path and the selected model, '' for all models. A text that is an existing path
    is not split."""
    whole = str(text)
    place = whole.find(MARK)
    while place >= 0 and not Path(whole).exists():
        if Path(whole[:place]).exists():
            return Path(whole[:place]), whole[place + 1 :]
        place = whole.find(MARK, place + 1)
    return Path(whole), ""


def open_sources(
    given: Sequence[str | Path], study: str | None, how: Mapping[str, Any]
) -> tuple[AnyStudy, How, list[ComparisonSource]]:
    """Open the sources. Returns their study, the options for computing its measures, and the sources.

    Raises:
        InputError: there are no sources, they are of several studies, a model is unknown, or a file is not a table.
        RunError: a folder is not a run, or has no records.
    """
    if not given:
        raise InputError([Problem("compare", "", "name a run, a model of one (RUN#MODEL), or a table")])
    places = [split_model(text) for text in given]
    content = [_open_source(path) for path, _ in places]
    if all(isinstance(opened, Path) for opened in content):
        raise InputError([Problem("compare", str(given[0]), "is a baseline: name a run or a table, too")])
    named = _study_of_all(study, content, [path for path, _ in places])
    chosen = chosen_how(named, how)
    labels = source_labels([path for path, _ in places])
    with blaming(named, "comparing"):
        found = _make_sources(named, chosen, labels, [path for path, _ in places], content)
    return named, chosen, [_select_model(source, model) for source, (_, model) in zip(found, places, strict=True)]


def _open_source(path: Path) -> Opened:
    """A run if there is a manifest, a baseline by its path, otherwise a table."""
    if is_baseline(path):
        return path
    if (path / "manifest.json").is_file():
        return open_run(path)
    return open_table(path)


def _study_of_all(study: str | None, content: Sequence[Opened], paths: Sequence[Path]) -> AnyStudy:
    found = {_study_name(opened, path, study) for opened, path in zip(content, paths, strict=True)}
    if len(found) > 1:
        raise InputError([Problem("compare", "", f"they are of different studies: {', '.join(sorted(found))}")])
    return study_named(found.pop())


def _study_name(content: Opened, path: Path, study: str | None) -> str:
    if isinstance(content, Run):
        name = study_named(content.manifest.study).labels or content.manifest.study
        if study is not None and study_named(study).name != name:
            raise InputError([Problem(str(path), "", f"is a run of {content.manifest.study}, not of {study}")])
        return name
    if isinstance(content, Path):
        return study_of(content)
    return study_of_table(content, path, study).name


def _make_sources(
    study: AnyStudy, how: How, labels: Sequence[str], paths: Sequence[Path], content: Sequence[Opened]
) -> list[ComparisonSource]:
    """Make the sources. A baseline's measures are identified by those of the other sources."""
    made = {
        label: _make_source(study, how, label, path, opened)
        for label, path, opened in zip(labels, paths, content, strict=True)
        if not isinstance(opened, Path)
    }
    known = {
        contribution.measure.name: contribution
        for source in made.values()
        for side in source.sides.values()
        for contribution in side
    }
    kept = {
        label: of_baseline(opened, label, known)
        for label, opened in zip(labels, content, strict=True)
        if isinstance(opened, Path)
    }
    return [(made | kept)[label] for label in labels]


def _make_source(study: AnyStudy, how: How, label: str, path: Path, content: Run | RawTable) -> ComparisonSource:
    if isinstance(content, Run):
        return _source_of_run(label, content, results_of([content]), comparing_of(study), how)
    return of_table(study, content, path, how, label)


def of_table(study: AnyStudy, table: RawTable, path: Path, how: How, label: str) -> ComparisonSource:
    """The source of an open table."""
    return ComparisonSource(label, path, None, comparing_of(study).table(design_of_table(study, table), how))


def _source_of_run(label: str, run: Run, results: Results, comparing: Comparing, how: How) -> ComparisonSource:
    sides = _sort_as_named(with_labels(comparing.records(results, how), run, results, how), run)
    lost = {name: lost_of(results.records, name, _missing_of(run)) for name in sides}
    halved = partial(halves_of, comparing, results, how)
    fewer = cache(partial(with_fewer_trials, comparing, results, how))
    return ComparisonSource(
        label, run.path, run, sides, lost=lost, provenance=provenance_of(run), halved=halved, fewer=fewer
    )


def _missing_of(run: Run) -> Mapping[str, Sequence[str]]:
    """The items that a run left out, by model; a model under a system prompt lacks the same items as the model."""
    missing, options = run.manifest.missing, run.manifest.options
    if not is_split(run.study, options):
        return missing
    return {name: items for lane, items in missing.items() for name in (lane, *names_under(lane, options))}


def _sort_as_named(sides: Sides, run: Run) -> Sides:
    """The models in the order in which they were named. The first model is the base of the others."""
    names = [entry.name for entry in chain(*run.manifest.models.values())]
    if is_split(run.study, run.manifest.options):
        names = [*chain.from_iterable(names_under(name, run.manifest.options) for name in names), *names]
    place = {name: at for at, name in reversed([*enumerate(names)])}
    return {name: sides[name] for name in sorted(sides, key=lambda name: place.get(name, -1))}


def of_runs(runs: Sequence[Run], results: Results, study: AnyStudy, how: How) -> list[ComparisonSource]:
    """The sources of open runs. `results` has the results of all these runs together."""
    comparing = comparing_of(study)
    labels = source_labels([run.path for run in runs])
    each = [results] if len(runs) == 1 else [results_of([run]) for run in runs]
    return [_source_of_run(label, run, own, comparing, how) for label, run, own in zip(labels, runs, each, strict=True)]


def _select_model(source: ComparisonSource, model: str) -> ComparisonSource:
    if model and model not in source.sides:
        known = ", ".join(source.models)
        raise InputError([Problem(f"{source.path}{MARK}{model}", "", f"has no such model; its models are {known}")])
    return replace(source, model=model)


def source_labels(paths: Sequence[Path]) -> list[str]:
    """Label folders and files by their names. If two names are equal, the labels are paths. Repeated sources are
    numbered."""
    short = [path.resolve().name if path.is_dir() else path.stem for path in paths]
    several = Counter(short)
    shown = [str(path) if several[name] > 1 else name for path, name in zip(paths, short, strict=True)]
    return [
        name if shown.count(name) == 1 else f"{name} ({1 + shown[:place].count(name)})"
        for place, name in enumerate(shown)
    ]


def pairs_of(sources: Sequence[ComparisonSource]) -> list[tuple[ComparedModel, ComparedModel]]:
    """Base and candidate of every comparison, in the order of the arguments.

    The models of a single source are all paired with each other. Two sources with several models are paired by model
    name or, without common names, in all combinations. If both sources have numbers for all models together, these
    numbers are compared, too.
    """
    if len(sources) == 1:
        return [*combinations(_compared_models(sources[0], sources), 2)]
    made = []
    for base, candidate in combinations(sources, 2):
        first, second = _compared_models(base, sources), _compared_models(candidate, sources)
        same = [(side, other) for side in first for other in second if side.model == other.model]
        several = len(first) > 1 or len(second) > 1
        made += same if several and same else [(side, other) for side in first for other in second]
        if "" in base.sides and "" in candidate.sides and not (base.model or candidate.model):
            made.append((ComparedModel(base.label, base, ""), ComparedModel(candidate.label, candidate, "")))
    return made


def _compared_models(source: ComparisonSource, sources: Sequence[ComparisonSource]) -> list[ComparedModel]:
    known = Counter(model for each in sources for model in each.models)
    return [
        ComparedModel(f"{model} [{source.label}]" if known[model] > 1 else model, source, model)
        for model in source.models
    ]
