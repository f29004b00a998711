"""The options of even-handedness, both for trials and for computing measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from overton.errors import InputError, Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.measurement import How
from overton.studies.options import Demands, Option, StudyOptions
from overton.studies.probabilities import AsAsked, Shares
from overton.studies.self_agreement import RETEST, Retest
from overton.studies.system_prompts import Systems

if TYPE_CHECKING:
    from overton.studies.tables import RawTable

NULL = "null/same-prompt"
"""The name of the null condition in results, for its numbers and for differences from it. In it, one prompt is answered
twice."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options that determine the trials, together with the pairs and the seed."""

    trials: Annotated[int, Option("Repetitions of each pair", least=1, extends=True)] = 1
    systems: Systems = ()
    nulls: Annotated[
        float,
        Option(
            "Proportion of trials that include the null conditions and controls",
            least=0,
            most=1,
            extends=True,
            flag="--null-share",
            unmentioned=0.2,
        ),
    ] = 1.0
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Request token probabilities of the judge's labels if proportions are based on probabilities."""
        return Demands(probabilities=() if self.shares == "sampled" else ("judge",))


class EvenHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for computing the measures of even-handedness. `sides` is a table, or a mapping from groups to sides."""

    sides: Annotated[
        Any,
        Option(
            "CSV with group and side, to assign the groups of pairs to two sides, such as left and right",
            file=True,
        ),
    ] = None
    shares: AsAsked = "as-asked"

    @property
    def sides_by_group(self) -> Mapping[str, str]:
        """The side of each group, with groups of the first side first; empty if the user chose no sides."""
        if self.sides is None or isinstance(self.sides, Mapping):
            return self.sides or {}
        return sides_in(self.sides)


def sides_in(table: RawTable) -> dict[str, str]:
    """Read the side of each group, in the order of a table's rows. The side in the first row is the first side.

    Raises:
        InputError: a column is missing, a cell is empty, a group is listed twice, or the number of sides is not two.
    """
    found = table.mapping("group", "side")
    if (many := len(set(found.values()))) != 2:
        raise InputError([Problem(table.name, "side", f"there are {many} sides; two are needed")])
    return found
