"""The study keeps what every study promises, and recovers what is known about its respondent."""

import pytest
from acquiescence import STUDY

import overton
from overton.testing import hold_study

MODEL, JUDGE = "simulated/yes-sayer", "simulated/word-judge"


def test_it_keeps_what_every_study_promises(tmp_path):
    hold_study(STUDY, tmp_path, models=[MODEL], others={"judge": [JUDGE]}, options={"trials": 3})


@pytest.mark.parametrize("known", [-1, 0, 0.4, 1])
def test_it_recovers_what_is_known(known, tmp_path):
    how = {"model_args": {MODEL: {"acquiescence": str(known)}}, "trials": 40}
    run = overton.run("acquiescence", models=[MODEL], judge=JUDGE, out=tmp_path / "run", **how)
    found = overton.analyze("acquiescence", run.path).estimate("acquiescence")
    assert found.low <= known <= found.high
    assert found.value == pytest.approx(known, abs=0.15)
