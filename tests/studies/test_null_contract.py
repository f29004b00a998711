"""A study of another package with its own null conditions keeps the contract. A study whose null condition is broken
gets the reason.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from overton.studies import registry
from overton.studies.contributions import Contribution
from overton.testing import Case, check_nulls

ROOT = Path(__file__).parents[2]
NAME = "acquiescence"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The study of the example, which has a null condition."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "acquiescence"))
    module = ModuleType("under_test")
    monkeypatch.setitem(sys.modules, "under_test", module)
    monkeypatch.setattr(registry, "_others", lambda: [EntryPoint(NAME, "under_test:STUDY", registry.GROUP)])
    yield import_module("acquiescence").STUDY
    for name in [one for one in sys.modules if one.partition(".")[0] == "acquiescence"]:
        del sys.modules[name]


def held(study: Any, tmp_path: Path) -> None:
    """The check, of a study that can be named."""
    sys.modules["under_test"].STUDY = study  # type: ignore[attr-defined]
    wavering = {"simulated/yes-sayer": {"acquiescence": "0.5"}}
    judge = {"judge": ["simulated/word-judge"]}
    check_nulls(Case(study, tmp_path, [*wavering], judge, options={"trials": 2}, model_args=wavering))


def with_null(study: Any, **changed: Any) -> Any:
    """The study with its null condition changed."""
    return replace(study, nulls=(replace(study.nulls[0], **changed),))


def test_the_null_of_the_example_keeps_the_contract(study: Any, tmp_path: Path) -> None:
    held(study, tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"of": ("no_such",)}, "measures are acquiescence: name at least one of these measures"),
        ({"column": "proposal"}, "name the column that contains the trial's name"),
        ({"sides": lambda results, rows, how: 1 / 0}, "raised ZeroDivisionError"),
        ({"sides": lambda results, rows, how: {}}, "sides() returns none of these measures"),
        ({"name": "two words"}, "with letters, digits and '-'"),
        ({"help": " "}, "describe the null condition"),
    ],
)
def test_problems_of_a_null_condition_are_reported(study: Any, changed: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=re.escape(told)):
        held(with_null(study, **changed), tmp_path)


def test_a_null_of_other_parts_than_its_measure_is_reported(study: Any, tmp_path: Path) -> None:
    def wider(results: Any, rows: Any, how: Any) -> Any:
        import numpy as np

        found = study.measuring.comparing.records(results, how)
        return {
            model: [Contribution(one.measure, one.items, np.ones((len(one.items), 3))) for one in some]
            for model, some in found.items()
        }

    with pytest.raises(AssertionError, match="has 3 parts per item, but the design has 2"):
        held(with_null(study, sides=wider), tmp_path)


def test_a_null_that_changes_the_design_is_reported(study: Any, tmp_path: Path) -> None:
    asking = import_module("acquiescence.asking")

    def leaking(proposals: Any, options: Any, seed: int) -> Any:
        """Its trials depend on whether the run has null conditions."""
        import msgspec

        for trial in asking.trials(proposals, options, seed):
            yield msgspec.structs.replace(trial, reversed=bool(options.nulls))

    changed = replace(study, trials=leaking)
    with pytest.raises(AssertionError, match="its own records differ when null conditions are asked as well"):
        held(changed, tmp_path)
