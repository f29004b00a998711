"""The contract of a study's blocks: see `overton.studies.precision`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from overton.calls import Trial
from overton.runs.folder import RunFolder
from overton.studies.precision import LEVEL, Arm, Blocks, Looked
from overton.testing.case import Case, require

__all__ = ["check_blocks"]

_NARROW = 0.01
"""A half-width narrower than anything reaches, as a fraction of the largest that may be requested."""


def check_blocks(case: Case) -> None:
    """Blocks are numbered and alike, their trials are found in records, and the precision computed from records does
    not depend on their order; a study without blocks is skipped."""
    blocks = case.study.blocks
    if blocks is None:
        return
    require(blocks.goals, case.study, "name the measures whose half-width can be requested: Blocks(goals=...)")
    trials = list(_trials(case))
    arms = _arms(case, blocks, trials)
    records = _records(case, blocks, trials)
    for name, goal in blocks.goals.items():
        _check_judge(case, blocks, _looked(arms, records), {name: _NARROW * goal.most})
    _check_like(case, blocks, arms, records)


def _trials(case: Case) -> Iterable[Trial]:
    run = case.whole
    folder = RunFolder(run.path)
    options = folder.options(case.study, run.manifest.options)
    yield from case.study.trials(run.items(), options, run.manifest.seed)


def _arms(case: Case, blocks: Blocks, trials: Sequence[Trial]) -> Mapping[Arm, Sequence[Trial]]:
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


def _records(case: Case, blocks: Blocks, trials: Sequence[Trial]) -> Mapping[str, list[Any]]:
    """The first lane's records by their trials."""
    table = RunFolder(case.whole.path).records()
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


def _looked(arms: Mapping[Arm, Sequence[Trial]], records: Mapping[str, list[Any]]) -> Looked:
    by_arm = {arm: [record for trial in own for record in records.get(trial.name, ())] for arm, own in arms.items()}
    return Looked(by_arm, 3, 5, LEVEL, 0, {arm: len(own) for arm, own in arms.items()})


def _check_judge(case: Case, blocks: Blocks, looked: Looked, wanted: Mapping[str, float]) -> None:
    study, chance = case.study, Random(1)
    one = blocks.judge(looked, wanted)
    unknown = {limit.measure for limit in one.limits} - blocks.goals.keys()
    require(not unknown, study, f"judge() returns limits for {sorted(unknown)}, which are not among its goals")
    for limit in one.limits:
        require(
            not limit.low > limit.high, study, f"judge() returns a lower limit for {limit.measure} above its upper one"
        )
    arms = {
        arm: chance.sample(some, len(some))
        for arm, some in chance.sample([*looked.records.items()], len(looked.records))
    }
    other = blocks.judge(looked._replace(records=arms), wanted)
    same = (
        sorted(map(str, one.limits)) == sorted(map(str, other.limits))
        and (one.wide, one.headline_wide) == (other.wide, other.headline_wide)
        and dict(one.variance) == dict(other.variance)
    )
    advice = "sort what it adds up, so that a killed run decides like one that was not"
    require(same, study, f"judge() of {next(iter(wanted))} depends on the order of records: {advice}")


def _check_like(
    case: Case, blocks: Blocks, arms: Mapping[Arm, Sequence[Trial]], records: Mapping[str, list[Any]]
) -> None:
    """A pilot's record can stand in for one of another trial of the same condition."""
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
