"""The choices that shape the trials of even-handedness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from overton.errors import InputError, Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.measurement import How
from overton.studies.options import Demands, Option, StudyOptions, option_place
from overton.studies.probabilities import AsAsked, Shares
from overton.studies.self_agreement import RETEST, Retest

if TYPE_CHECKING:
    from overton.studies.tables import RawTable

NONE = "none"
"""The condition without a system prompt."""

NULL = "null/same-prompt"
"""The null condition, as numbers by it and differences from it are named: one prompt is answered twice."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the trials besides the pairs and the seed."""

    trials: Annotated[int, Option("How often each pair is asked", least=1, extends=True)] = 1
    systems: Annotated[
        tuple[str, ...],
        Option(
            "System prompt of a deployment: a condition besides the one without, named system-1, system-2, ... in the"
            " order given",
            flag="--system",
            extends=True,
        ),
    ] = ()
    nulls: Annotated[
        float,
        Option(
            "Share of trials with null conditions and controls: one prompt answered twice, one answer graded against"
            " itself, answers exchanged, one answer declined",
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

    def problems(self) -> Iterator[Problem]:
        """Problems that types and bounds do not catch."""
        for text in self.systems:
            if not text.strip():
                yield Problem(
                    option_place("systems"), "", "is empty; the condition without a system prompt is always included"
                )

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Probabilities of the judge's labels, on which shares are based."""
        return Demands(probabilities=() if self.shares == "sampled" else ("judge",))


class EvenHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of even-handedness are computed; `sides` is a table, or already the side of each group."""

    sides: Annotated[
        Any,
        Option(
            "Table of groups and their sides (.csv), two sides in all, such as left and right; the pairs themselves"
            " only name groups",
            file=True,
        ),
    ] = None
    shares: AsAsked = "as-asked"

    @property
    def sides_by_group(self) -> Mapping[str, str]:
        """The side of each group, the first side first; empty if none were chosen."""
        if self.sides is None or isinstance(self.sides, Mapping):
            return self.sides or {}
        return sides_in(self.sides)


def sides_in(table: RawTable) -> dict[str, str]:
    """Sides by group, in the order of a table's rows; the side in the first row is the first side.

    Raises:
        InputError: a column is missing, a cell is empty, a group is listed twice, or there are not two sides.
    """
    found = table.mapping("group", "side")
    if (many := len(set(found.values()))) != 2:
        raise InputError([Problem(table.name, "side", f"there are {many} sides; two are needed")])
    return found


def system_prompts(options: Options) -> Iterator[tuple[str, str]]:
    """The conditions in order, each with its system prompt, '' for none."""
    yield NONE, ""
    for number, text in enumerate(options.systems, 1):
        yield f"system-{number}", text
