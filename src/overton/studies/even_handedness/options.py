"""The choices that shape the trials of even-handedness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from overton.errors import Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.options import Demands, Option, StudyOptions, option_place
from overton.studies.probabilities import Shares
from overton.studies.self_agreement import RETEST, Retest

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


def system_prompts(options: Options) -> Iterator[tuple[str, str]]:
    """The conditions in order, each with its system prompt, '' for none."""
    yield NONE, ""
    for number, text in enumerate(options.systems, 1):
        yield f"system-{number}", text
