"""Conditions under which proportions are means of token probabilities, and under which they count sampled answers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
import pytest

from overton.statistics.calibration import Calibration, calibration
from overton.studies.probabilities import resolve_label


def checked(verdict: Literal["agree", "differ", "cannot tell"]) -> Calibration:
    """A model whose single answers were compared with its probabilities, with this verdict."""
    return msgspec.structs.replace(calibration(np.empty((0, 2)), np.empty((0, 2))), verdict=verdict)


def uses_probabilities(chosen: str, asked: list[str], **verdicts: Any) -> bool:
    found = resolve_label(chosen, asked, {name: checked(verdict) for name, verdict in verdicts.items()}, {})
    assert found is not None
    assert found.used == (found.why == "")
    return found.used


@pytest.mark.parametrize(("verdict", "used"), [("agree", True), ("differ", False), ("cannot tell", False)])
def test_auto_uses_probabilities_only_if_answers_were_found_to_agree_with_them(verdict: Any, used: bool) -> None:
    assert uses_probabilities("as-asked", ["auto"], m=verdict) is used
    assert uses_probabilities("as-asked", ["auto"], n="agree", m=verdict) is used
    assert uses_probabilities("as-asked", ["probabilities"], m=verdict)
    assert uses_probabilities("probabilities", ["auto"], m=verdict)


def test_the_reason_names_the_models_in_doubt() -> None:
    found = resolve_label("as-asked", ["auto"], {"sure": checked("agree"), "unsure": checked("cannot tell")}, {})
    assert found is not None
    assert found.why.endswith("token probabilities of unsure")


def test_sampled_answers_are_counted_if_they_were_chosen_or_a_run_has_nothing_else() -> None:
    assert not uses_probabilities("sampled", ["auto"], m="agree")
    assert not uses_probabilities("probabilities", ["probabilities", ""], m="agree")
    assert resolve_label("as-asked", ["sampled", ""], {}, {}) is None
