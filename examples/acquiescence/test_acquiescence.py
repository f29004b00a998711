"""The study keeps what every study promises, and recovers what is known about its respondent."""

import pytest
from acquiescence import STUDY

import overton
from overton.testing import hold_study

YES_SAYER = "simulated/yes-sayer"


def test_it_keeps_what_every_study_promises(tmp_path):
    hold_study(STUDY, tmp_path, models=[YES_SAYER], options={"trials": 2})


@pytest.mark.parametrize("known", [-1, 0, 0.4, 1])
def test_it_recovers_what_is_known(known, tmp_path):
    arguments = {YES_SAYER: {"acquiescence": str(known)}}
    run = overton.run("acquiescence", models=[YES_SAYER], model_args=arguments, trials=40, out=tmp_path / "run")
    found = overton.analyze("acquiescence", run.path).models[YES_SAYER].acquiescence
    assert found.low <= known <= found.high
    assert found.value == pytest.approx(known, abs=0.15)
