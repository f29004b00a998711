"""An experiment counts its trials, and asks about items as a run folder gives them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.errors import InputError
from overton.runs.experiment import Experiment
from overton.runs.folder import stored_items, write_items
from overton.runs.items import read_items
from overton.runs.setup import set_up
from overton.studies.open_mindedness import STUDY, Options
from overton.studies.registry import study_named

STUDIES = [entry.name for entry in overton.studies.listed() if study_named(entry.name).items.starter is not None]


@pytest.mark.parametrize("name", STUDIES)
def test_items_are_equal_after_writing_and_reading(name: str, tmp_path: Path) -> None:
    study = study_named(name)
    items = read_items(study)
    write_items(tmp_path, items)
    again = stored_items(tmp_path, study.items.kind)
    assert again == items
    assert (
        Experiment(study, again, study.options()).items_digest == Experiment(study, items, study.options()).items_digest
    )


class Weighed(msgspec.Struct, frozen=True):
    """An item with a field of decimals."""

    id: str
    weight: float = 1.0


def test_an_item_given_in_python_equals_the_one_read_from_the_run_folder() -> None:
    study: Any = replace(STUDY, items=replace(STUDY.items, kind=Weighed))
    whole = Weighed("a", 2)
    (item,) = set_up(study, models=["simulated/open-minded"], items=[whole]).experiment.items
    assert (item.weight, type(item.weight)) == (2.0, float)
    with pytest.raises(InputError, match="Expected `float`"):
        set_up(study, models=["simulated/open-minded"], items=[Weighed("b", "heavy")])  # type: ignore[arg-type]


def test_trials_are_counted_by_item_and_follow_from_items_options_and_seed() -> None:
    issues = read_items(STUDY)[:2]
    asked = Experiment(STUDY, issues, Options(trials=2))
    counted = asked.trials_by_item
    assert dict(counted) == {issue.id: 2 * 66 for issue in issues}
    names = [trial.name for trial in asked.trials()]
    assert len(names) == counted.total()
    assert [trial.name for trial in replace(asked, seed=1).trials()] == names
    assert {trial.draw for trial in replace(asked, seed=1).trials()}.isdisjoint(
        {trial.draw for trial in asked.trials()}
    )
