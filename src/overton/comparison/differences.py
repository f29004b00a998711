"""Differences in how the models of two sources were asked.

A comparison is refused if the instrument (prompts, items, options, trial protocol, judge) changed, because the change
could cause a difference. The models themselves may differ. Tables do not record the instrument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from overton.analysis.results import is_weighted
from overton.comparison.provenance import NOBODY, AnswererRecord, Provenance
from overton.comparison.sources import ComparedModel, ComparisonSource
from overton.errors import RunError, RunMismatch
from overton.runs.run import Run, check_unchanged
from overton.runs.session import missing_trials
from overton.studies.calibration_sample import CALIBRATION
from overton.studies.null_conditions import OPTION as NULLS
from overton.studies.null_conditions import prompts_changed
from overton.studies.options import fields_of, stored_options
from overton.studies.prompted_models import names_under, texts_in
from overton.studies.results import Results, RunFacts
from overton.studies.study import AnyStudy
from overton.studies.system_prompts import NO_PLAIN, SYSTEMS, shown_prompt
from overton.version import __version__


def conduct_differences(base: ComparisonSource, candidate: ComparisonSource) -> Iterator[tuple[Kind, str]]:
    """Yield whether the trial protocols of two versions of Overton differ, or may differ. The protocols count as equal
    if replaying each run with the installed version gives the calls that the run recorded. If a run cannot be replayed,
    the protocols may differ."""
    assert base.provenance is not None
    assert candidate.provenance is not None
    versions = f"{base.provenance.overton} and {candidate.provenance.overton}"
    found = [_has_changed(source) for source in (base, candidate)]
    if changed := [source.label for source, differs in zip((base, candidate), found, strict=True) if differs]:
        yield (
            "instrument",
            f"versions of Overton differ ({versions}): the installed version asks differently from {changed[0]}",
        )
    elif None in found:
        yield "unknown", f"different versions of Overton asked them ({versions}) and may have asked differently"


def _has_changed(source: ComparisonSource) -> bool | None:
    """Whether this version would ask differently; None if that cannot be determined."""
    if source.provenance is not None and source.provenance.overton == __version__:
        return False
    return None if source.run is None else _replays_differently(source.run)


def _replays_differently(run: Run) -> bool | None:
    try:
        check_unchanged(run)
    except RunError:
        return None
    try:
        missing_trials(run)
    except RunMismatch:
        return True
    except RunError:
        return None
    return False


def refuse_other_questions(sources: Sequence[ComparisonSource], study: AnyStudy) -> None:
    """Refuse runs with different questions to the judge, because their labels then mean different things.

    Raises:
        InputError: the questions differ. The message says how.
    """
    import polars as pl

    known = {source.path.resolve(): source for source in sources if source.provenance is not None}
    if study.questions is None or len(known) < 2:
        return
    facts = [RunFacts(source.label, source.provenance.options, {}) for source in known.values() if source.provenance]
    study.questions.in_runs(Results(pl.DataFrame(), runs=facts))


def instruments(base: ComparisonSource, candidate: ComparisonSource, study: AnyStudy) -> Iterator[Difference]:
    """Differences in how the models of two sources were asked."""
    yield from _precision_differences(base, candidate)
    tables = list(dict.fromkeys(source.label for source in (base, candidate) if source.provenance is None))
    if base.provenance is None or candidate.provenance is None:
        said = f"it is not known how {' and '.join(tables)} came about; prompts, items, options and judge may differ"
        yield Difference("unknown", base.label, candidate.label, said)
        return
    if base.path.resolve() == candidate.path.resolve():
        return
    for kind, said in _provenance_differences(base.provenance, candidate.provenance, study):
        yield Difference(kind, base.label, candidate.label, said)
    if base.provenance.overton != candidate.provenance.overton:
        for kind, said in conduct_differences(base, candidate):
            yield Difference(kind, base.label, candidate.label, said)


def _precision_differences(base: ComparisonSource, candidate: ComparisonSource) -> Iterator[Difference]:
    """The differences due to runs that stopped at a target precision, and so asked some items more often than
    others."""
    runs = [
        source.run
        for source in (base, candidate)
        if source.run is not None and source.run.manifest.precision is not None
    ]
    found = [source.label for source in (base, candidate) if source.run in runs]
    if found:
        asked = f"{' and '.join(dict.fromkeys(found))} stopped asking about each item at the target precision"
        if all(map(is_weighted, runs)):
            said = f"{asked}; weights give each item its planned share of trials, but some items have few trials"
            yield Difference("precision", base.label, candidate.label, said)
        else:
            said = f"{asked}; items with more trials count more, and these items differ between models"
            yield Difference("unknown", base.label, candidate.label, said)


def _provenance_differences(provenance: Provenance, other: Provenance, study: AnyStudy) -> Iterator[tuple[Kind, str]]:
    yield from _prompt_differences(provenance, other)
    yield from _item_differences(provenance, other, study)
    yield from options_differing(provenance.options, other.options, study)
    for role in study.role_names:
        if role != study.first:
            yield from _answerer_differences(role, provenance.roles.get(role, []), other.roles.get(role, []))
    if provenance.seed != other.seed:
        yield (
            "precision",
            (
                f"seeds differ ({provenance.seed} and {other.seed}), so random choices differ; the comparison is less"
                " precise"
            ),
        )


def _prompt_differences(base: Provenance, candidate: Provenance) -> Iterator[tuple[Kind, str]]:
    first, second = base.prompts, candidate.prompts
    replaced = {*(base.replaced or ()), *(candidate.replaced or ())}
    if changed := sorted({*prompts_changed(first, second)} & {*prompts_changed(second, first)}):
        named = [f"{name} (replaced, --prompts)" if name in replaced else name for name in changed]
        yield "instrument", f"prompts differ: {', '.join(named)}"


def _item_differences(provenance: Provenance, other: Provenance, study: AnyStudy) -> Iterator[tuple[Kind, str]]:
    first, second = provenance.items, other.items
    if changed := sorted(name for name in first.keys() & second.keys() if first[name] != second[name]):
        yield (
            "instrument",
            f"some {study.items.plural} have the same name but other contents: {_join_first_names(changed)}",
        )
    if only := len(first.keys() ^ second.keys()):
        yield "precision", f"{only} {study.items.plural} were asked about in only one of the runs, and are left out"


def options_differing(
    base: Mapping[str, Any], candidate: Mapping[str, Any], study: AnyStudy
) -> Iterator[tuple[Kind, str]]:
    """The options that differ, as manifests record them."""
    harmless = study.measuring.comparing.harmless if study.measuring and study.measuring.comparing else ()
    harmless = (*harmless, *CALIBRATION, *([NULLS] if study.nulls else []), NO_PLAIN)
    both = [stored_options(study.options, options) for options in (base, candidate)]
    for field in fields_of(study.options):
        mine, theirs = (_comparable_choice(options.get(field.name, field.default)) for options in both)
        if mine != theirs and not field.option.follows:
            if field.name == SYSTEMS and texts_in(study, {SYSTEMS: [""]}):
                yield from _system_prompt_differences(*(texts_in(study, options) for options in both))
                continue
            kind: Kind = "precision" if field.name in harmless else "instrument"
            yield kind, f"{field.flag} differs: {_choice_text(mine)} and {_choice_text(theirs)}"


def _system_prompt_differences(base: Sequence[str], candidate: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """How the system prompts of two runs differ. A system prompt of only one run is allowed, because it does not change
    the other conditions."""
    for number, (mine, theirs) in enumerate(zip(base, candidate, strict=False), 1):
        if mine != theirs:
            yield "instrument", f"system-{number} differs: {shown_prompt(mine)} and {shown_prompt(theirs)}"
    if more := abs(len(base) - len(candidate)):
        yield "precision", f"{more} of the system prompts {'are' if more > 1 else 'is'} in only one of the runs"


def _comparable_choice(value: Any) -> Any:
    """A choice as a manifest records it. The order of several values does not matter."""
    made = msgspec.to_builtins(value) if value is not msgspec.NODEFAULT else None
    return sorted(made, key=str) if isinstance(made, list | tuple) else made


def _choice_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _answerer_differences(
    role: str, base: list[AnswererRecord], candidate: list[AnswererRecord]
) -> Iterator[tuple[Kind, str]]:
    if [entry.instrument for entry in base] != [entry.instrument for entry in candidate]:
        names = [", ".join(entry.name for entry in side) or "nobody" for side in (base, candidate)]
        how = f"{names[0]} and {names[1]}" if names[0] != names[1] else f"{names[0]} with other settings or weights"
        yield "instrument", f"the model for the role {role} differs: {how}"


def subjects(base: ComparedModel, candidate: ComparedModel, study: AnyStudy) -> Iterator[Difference]:
    """Differences between the compared models, as far as runs record them, such as different models behind the same
    name."""
    first, second = _answerer_of(base, study), _answerer_of(candidate, study)
    if first is not None and second is not None:
        for said in _model_differences(base, first, candidate, second):
            yield Difference("subject", base.name, candidate.name, said)


def _model_differences(
    base: ComparedModel, first: AnswererRecord, candidate: ComparedModel, second: AnswererRecord
) -> Iterator[str]:
    if first.name == second.name and first.identity != second.identity:
        specs = f"{first.spec} and {second.spec}" if first.spec != second.spec else "other arguments or weights"
        yield f"{first.name} names different models ({specs})"
    if first.settings != second.settings:
        yield f"settings differ ({_settings_text(first.settings)} and {_settings_text(second.settings)})"
    if first.holds_form != second.holds_form:
        yield "constrained decoding was used for one of them only"
    if first.name == second.name or first.spec == second.spec:
        yield from _upstream_differences(base, first, candidate, second)


def _answerer_of(side: ComparedModel, study: AnyStudy) -> AnswererRecord | None:
    if side.source.provenance is None:
        return None
    found, options = side.source.provenance.roles.get(study.first, []), side.source.provenance.options
    return next((entry for entry in found if side.model in (entry.name, *names_under(entry.name, options))), None)


def _settings_text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items()) or "none"


_UPSTREAM_CHANGES = {
    "reported": "another upstream model under the same name",
    "fingerprints": "another system fingerprint",
    "servers": "served by another provider, or another version of a package",
}


def _upstream_differences(
    base: ComparedModel, first: AnswererRecord, candidate: ComparedModel, second: AnswererRecord
) -> Iterator[str]:
    """Differences in what the endpoints reported about themselves."""
    reported, other_reported = (
        side.source.upstream.get(entry.identity, NOBODY) for side, entry in ((base, first), (candidate, second))
    )
    for name, change in _UPSTREAM_CHANGES.items():
        mine, theirs = getattr(reported, name), getattr(other_reported, name)
        if mine and theirs and mine != theirs:
            yield f"{change} ({_join_first_names(mine)} and {_join_first_names(theirs)})"


_MOST_NAMES = 8


def _join_first_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_MOST_NAMES])}{' and more' if len(names) > _MOST_NAMES else ''}"


Kind = Literal["instrument", "subject", "precision", "unknown"]


class Difference(NamedTuple):
    """A difference between two models' runs: its kind, the two names, and the difference in words."""

    kind: Kind
    base: str
    candidate: str
    said: str

    @property
    def sentence(self) -> str:
        """The difference as a sentence that names both models or runs."""
        names = self.base if self.base == self.candidate else f"{self.base} and {self.candidate}"
        return f"{names}: {self.said}."
