"""The trials behind a finding: the trials of the finding's model in the finding's condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overton.analysis.analyze import chosen_how, measured_runs
from overton.calls import Trial
from overton.errors import InputError, Problem, suggestion
from overton.runs.run import Run
from overton.studies.findings import Finding
from overton.studies.null_conditions import condition_of
from overton.studies.options import option_place


@dataclass(frozen=True)
class FindingTrials:
    """A finding of a run, and the trials behind it."""

    finding: Finding

    def includes(self, model: str, trial: Trial, conditions: Sequence[str]) -> bool:
        """Whether a trial of `model` is behind the finding; `model` is '' if models interact.

        `conditions` are all conditions of the run. If a measure's key names a condition ('shift_one_sided_pro'), only
        that condition's trials belong to the finding. Otherwise all trials of the model belong to it.
        """
        if model and self.finding.model and self.finding.model != model:
            return False
        named = {condition for condition in conditions if self._names(condition)}
        return not named or condition_of(trial) in named

    def _names(self, condition: str) -> bool:
        """Whether a measure's key contains the part of the condition's name before a slash ('one-sided-pro' in
        'one-sided-pro/w1')."""
        word = condition.partition("/")[0].replace("-", "_")
        return any(f"_{word}_" in f"_{claimed.measure}_" for claimed in self.finding.assertions)


def find(run: Run, wanted: str) -> FindingTrials:
    """Find a finding by its number, counted from 1 in the order of `overton analyze --json`, or by its code.

    Raises:
        InputError: the run has no such finding.
        RunError: the run has no records yet.
    """
    study = run.study
    findings = measured_runs(study, [run], chosen_how(study, {}, [run])).findings
    if wanted.isdecimal() and 0 < int(wanted) <= len(findings):
        return FindingTrials(findings[int(wanted) - 1])
    for finding in findings:
        if wanted == finding.code:
            return FindingTrials(finding)
    codes = [finding.code for finding in findings]
    reason = f"no such finding among {len(findings)}: give a number, or a code of 'overton analyze --json'"
    raise InputError([Problem(option_place("finding"), wanted, f"{reason}{suggestion(wanted, codes)}")])
