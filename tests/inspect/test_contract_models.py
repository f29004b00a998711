"""The contract inside Inspect asks every model of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")


@pytest.mark.parametrize(("together", "evals"), [(False, [["a"], ["b"]]), (True, [["a", "b"]])])
def test_each_model_has_its_own_eval_unless_they_meet(together: bool, evals: list[list[str]]) -> None:
    from overton.testing.inspect import _models_by_eval

    case: Any = SimpleNamespace(study=SimpleNamespace(first="subject", together=together))
    models: Any = {"subject": ["a", "b"], "judge": ["c"]}
    assert _models_by_eval(case, models) == evals
