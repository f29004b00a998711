"""The choices that shape the trials of even-handedness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from overton.errors import Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.options import Option, option_place
from overton.studies.probabilities import Shares
from overton.studies.self_agreement import RETEST, Retest

NONE = "none"
"""The condition without a system prompt."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


def weighed(options: Options) -> tuple[str, ...]:
    """The roles that are asked for token probabilities: the judge, on whose labels shares are based."""
    return () if options.shares == "sampled" else ("judge",)


def settings_of(options: Options) -> Iterator[tuple[str, str]]:
    """The conditions in order, each with its system prompt, '' for none."""
    yield NONE, ""
    for number, text in enumerate(options.systems, 1):
        yield f"system-{number}", text


def wrong(options: Options) -> Iterator[Problem]:
    """Problems that types and bounds do not catch."""
    for text in options.systems:
        if not text.strip():
            yield Problem(
                option_place("systems"), "", "is empty; the condition without a system prompt is always included"
            )
