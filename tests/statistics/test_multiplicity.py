import pytest

from overton.statistics.significance import holm


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03, float("nan")]) == pytest.approx([0.03, 0.06, 0.06, float("nan")], nan_ok=True)
