"""The study satisfies the contract of all studies, and recovers the known bias of its respondent."""

import pytest
from acquiescence import STUDY

import overton
from overton.testing import hold_study

MODEL, JUDGE = "simulated/yes-sayer", "simulated/word-judge"


def test_it_satisfies_the_study_contract(tmp_path):
    hold_study(STUDY, tmp_path, models=[MODEL], others={"judge": [JUDGE]}, options={"trials": 3})


@pytest.mark.parametrize("known", [-1, 0, 0.4, 1])
def test_it_recovers_the_known_bias(known, tmp_path):
    how = {"model_args": {MODEL: {"acquiescence": str(known)}}, "trials": 40}
    run = overton.run("acquiescence", models=[MODEL], judge=JUDGE, out=tmp_path / "run", **how)
    found = overton.analyze("acquiescence", run.path).estimate("acquiescence")
    assert found.low <= known <= found.high
    assert found.value == pytest.approx(known, abs=0.15)
