"""Checks of a study's design: its blocks and null conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

from overton.analysis.analyze import chosen_how, measure_run
from overton.analysis.results import measuring_of, results_of
from overton.calls import Trial
from overton.errors import InputError
from overton.runs.folder import stored_records
from overton.runs.run import open_run
from overton.runs.start import run
from overton.studies.contrasts import null_sides
from overton.studies.contributions import Sides
from overton.studies.measurement import Comparing
from overton.studies.null_conditions import Null, askable, null_of
from overton.studies.precision import LEVEL, Arm, Blocks, InterimResult
from overton.studies.results import Results
from overton.testing.case import Case, require, sorted_lines, trials_of

__all__ = [
    "check_blocks",
    "check_nulls",
]


_NARROW_SHARE = 0.01
"""The requested half-width, as a fraction of the largest that may be requested. It is so narrow that no test run
reaches it."""


def check_blocks(case: Case) -> None:
    """Check that blocks are numbered and have equal sizes, that records name their trials, and that the precision does
    not depend on the order of records. A study without blocks is skipped."""
    blocks = case.study.blocks
    if blocks is None:
        return
    require(blocks.goals, case.study, "name the measures whose half-width can be requested: Blocks(goals=...)")
    trials = list(trials_of(case))
    arms = _trials_by_arm(case, blocks, trials)
    records = _records_by_trial(case, blocks, trials)
    for name, goal in blocks.goals.items():
        _check_judge(case, blocks, _interim_result(arms, records), {name: _NARROW_SHARE * goal.most})
    _check_like(case, blocks, arms, records)


def _trials_by_arm(case: Case, blocks: Blocks, trials: Sequence[Trial]) -> Mapping[Arm, Sequence[Trial]]:
    numbered: dict[Arm, dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        name, number = blocks.of(trial)
        numbered[Arm(trial.item, name)][number].append(trial)
    for arm, own in numbered.items():
        which = f"blocks of {arm.item} in the condition {arm.name!r}"
        require(
            sorted(own) == [*range(1, len(own) + 1)], case.study, f"{which} are not numbered 1, 2, ...: {sorted(own)}"
        )
        require(len({len(some) for some in own.values()}) == 1, case.study, f"{which} have unequal numbers of trials")
    return {arm: [trial for some in own.values() for trial in some] for arm, own in numbered.items()}


def _records_by_trial(case: Case, blocks: Blocks, trials: Sequence[Trial]) -> Mapping[str, list[Any]]:
    """The records of the first model pipeline, by trial."""
    table = stored_records(case.whole.path)
    own = "model" in table.columns and not case.study.together
    names = table["model"].to_list() if own else [""] * table.height
    found: dict[str, list[Any]] = defaultdict(list)
    for name, row in zip(names, case.whole.rows(), strict=True):
        if name == names[0]:
            found[getattr(row, blocks.trial)].append(row)
    unplanned = sorted(found.keys() - {trial.name for trial in trials})
    column = f"name the column of records that contains the trial's name (trial={blocks.trial!r})"
    require(
        not unplanned,
        case.study,
        f"its records have trials that are not in its plan, such as {unplanned[:1]}: {column}",
    )
    return found


def _interim_result(arms: Mapping[Arm, Sequence[Trial]], records: Mapping[str, list[Any]]) -> InterimResult:
    by_arm = {arm: [record for trial in own for record in records.get(trial.name, ())] for arm, own in arms.items()}
    return InterimResult(by_arm, 3, 5, LEVEL, 0, {arm: len(own) for arm, own in arms.items()})


def _check_judge(case: Case, blocks: Blocks, looked: InterimResult, wanted: Mapping[str, float]) -> None:
    study, chance = case.study, Random(1)
    precision = blocks.judge(looked, wanted)
    unknown = {limit.measure for limit in precision.limits} - blocks.goals.keys()
    require(not unknown, study, f"judge() returns limits for {sorted(unknown)}, which are not among its goals")
    for limit in precision.limits:
        require(
            not limit.low > limit.high, study, f"judge() returns a lower limit for {limit.measure} above its upper one"
        )
    arms = {
        arm: chance.sample(some, len(some))
        for arm, some in chance.sample([*looked.records.items()], len(looked.records))
    }
    other = blocks.judge(looked._replace(records=arms), wanted)
    same = (
        sorted(map(str, precision.limits)) == sorted(map(str, other.limits))
        and (precision.wide, precision.headline_wide) == (other.wide, other.headline_wide)
        and dict(precision.variance) == dict(other.variance)
    )
    advice = (
        "sort the numbers before adding them up, so that a resumed run makes the same decisions as an uninterrupted one"
    )
    require(same, study, f"judge() of {next(iter(wanted))} depends on the order of records: {advice}")


def _check_like(
    case: Case, blocks: Blocks, arms: Mapping[Arm, Sequence[Trial]], records: Mapping[str, list[Any]]
) -> None:
    """Check that a record of a pilot run can replace the record of another trial in the same condition."""
    by_name: dict[str, list[Trial]] = defaultdict(list)
    for arm, own in arms.items():
        by_name[arm.name] += own
    for own in by_name.values():
        first, last = own[0], own[-1]
        made = [blocks.like(record, last) for record in records.get(first.name, ())]
        require(
            all(isinstance(record, case.study.record) for record in made),
            case.study,
            "like() returns something other than its own records",
        )


def check_nulls(case: Case) -> None:
    """Check that null conditions do not change the design, that their records are found, and that headlines are
    compared with them. A study without null conditions is skipped."""
    study = case.study
    if not study.nulls:
        return
    names = [null.name for null in study.nulls]
    require(len(set(names)) == len(names), study, f"two null conditions have the same name: {names}")
    for null in study.nulls:
        require(
            null.name.replace("-", "").isalnum(),
            study,
            f"name the null condition {null.name!r} with letters, digits and '-', because it is a value of --null",
        )
        require(null.help.strip(), study, f"describe the null condition {null.name} in its help")
    asked = _run_with_nulls(case)
    results = results_of([open_run(asked)])
    _check_trials(case, results)
    _check_design(case, results)
    for null in study.nulls:
        if null.of:
            _check_sides(case, null, results)
    try:
        measure_run(study.name, asked).document()
    except InputError as error:
        require(False, study, f"a run with its null conditions cannot be measured: {error}")


def _run_with_nulls(case: Case) -> Path:
    """A repetition of the whole run with all null conditions that need calls. If there are none, the whole run
    itself."""
    names = [null.name for null in askable(case.study.nulls)]
    if not names:
        return case.whole.path
    done = run(case.study.name, out=case.new(), **{**case.given, "nulls": names})
    require(
        not done.failed,
        case.study,
        "calls of its null conditions failed; check that its simulated models can read every prompt",
    )
    return done.path


def _check_design(case: Case, results: Results) -> None:
    alone = results_of([case.whole]).records
    same = sorted_lines(alone) == sorted_lines(results.records)
    advice = "let conduct() make random choices with trial.draw(), and name trials independently of null conditions"
    require(same, case.study, f"its own records differ when null conditions are asked as well: {advice}")


def _check_trials(case: Case, results: Results) -> None:
    """Check that trial names distinguish the records of each null condition with calls from the records of the
    design."""
    for null in askable(case.study.nulls):
        column = f"name the column that contains the trial's name (column={null.column!r})"
        require(
            null.name in results.nulls, case.study, f"no records of its null condition {null.name} are found: {column}"
        )
        found = {null_of(str(name)) for name in results.nulls[null.name][null.column].unique()}
        require(
            found == {null.name},
            case.study,
            f"the records of its null condition {null.name} include records of other trials: {column}",
        )


def _check_sides(case: Case, null: Null, results: Results) -> None:
    study, measuring = case.study, measuring_of(case.study)
    comparing = measuring.comparing
    require(
        comparing is not None,
        study,
        f"its null condition {null.name} names measures (of=...), but Measuring.comparing is missing",
    )
    assert comparing is not None
    how = chosen_how(study, {})
    own = comparing.records(results, how)
    known = {contribution.measure.name for found in own.values() for contribution in found}
    named = [name for name in known if any(fnmatchcase(name, pattern) for pattern in null.of)]
    if null.trials is not None:
        which = f"its null condition {null.name} is for {', '.join(null.of)}; measures are {', '.join(sorted(known))}"
        require(named, study, f"{which}: name at least one of these measures")
    sides = _sides_of(case, null, comparing, results, how)
    unknown = sorted(set(sides) - set(own))
    require(
        not unknown,
        study,
        f"its null condition {null.name} has numbers for {unknown}, which the design does not measure",
    )
    for model, found in sides.items():
        widths = {contribution.measure.name: contribution.parts.shape[1] for contribution in own[model]}
        for by_null in found:
            wanted = widths.get(by_null.measure.name)
            which = f"{by_null.measure.name} of {model} by the null condition {null.name}"
            require(
                wanted in (None, by_null.parts.shape[1]),
                study,
                f"{which} has {by_null.parts.shape[1]} parts per item, but the design has {wanted}",
            )
            require(
                len(by_null.items) == len(by_null.parts),
                study,
                f"{which} has different numbers of items and rows of parts",
            )
    if null.trials is not None and named:
        given = {contribution.measure.name for found in sides.values() for contribution in found}
        lacking = (
            f"its null condition {null.name} is for {', '.join(sorted(named))}, but sides() returns none of these"
            " measures"
        )
        require(given & set(named), study, f"{lacking}: return Contributions with the design's names")


def _sides_of(case: Case, null: Null, comparing: Comparing, results: Results, how: Any) -> Sides:
    """The null condition's sides, empty if it raises an `InputError`. No other exception is allowed, even for
    uninformative data."""
    try:
        found = null_sides(null, comparing, results, how)
    except InputError:
        return {}
    except Exception as error:
        reason = f"sides() of its null condition {null.name} raised {type(error).__name__}: {error}"
        raise AssertionError(f"the study {case.study.name}: {reason}") from error
    require(
        isinstance(found, Mapping),
        case.study,
        f"sides() of its null condition {null.name} must return a mapping by model",
    )
    return found
