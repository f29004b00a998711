"""Judged tables of any origin, corrected."""

from __future__ import annotations

import pytest

from overton.errors import InputError
from overton.judging.agreement import krippendorff_alpha, share
from overton.judging.judged_tables import UNREAD, JudgedTable, correct

JUDGED = ["pro", "pro", "con", "con", UNREAD] * 40
TRUTH = ["pro", "con", "con", "con", "pro"] * 40
PEOPLE = [label if row % 3 == 0 else None for row, label in enumerate(TRUTH)]
WRITERS = [("x", "y", None)[row // 70] if row < 140 else "y" for row in range(200)]


def test_every_label_of_people_and_judge_has_a_share_and_unread_is_one() -> None:
    found = correct(JudgedTable(JUDGED, PEOPLE), these=True)
    assert [row.label for row in found.rows_of()] == ["con", "pro", UNREAD]
    assert found.number("pro").judge == pytest.approx(0.4)
    assert found.number("pro").corrected.value == pytest.approx(0.4, abs=0.02)
    assert found.number(UNREAD).judge == pytest.approx(0.2)
    assert found.number(UNREAD).corrected.value == 0.0
    assert (found.units, found.labelled, found.population) == (200, 67, "these rows")


def test_labels_joined_under_a_name_are_added_to_the_others() -> None:
    found = correct(JudgedTable(JUDGED, PEOPLE, groups={"any": ["pro", "con"]}), these=True)
    assert found.number("any").judge == pytest.approx(0.8)
    assert found.number("any").corrected.value == 1.0


def test_the_mean_is_of_labels_with_a_number() -> None:
    found = correct(JudgedTable(JUDGED, PEOPLE, values={"pro": 1.0, "con": -1.0}), these=True)
    mean = found.number(None)
    assert mean.judge == 0.0
    assert mean.corrected.value == pytest.approx(-0.2, abs=0.05)
    with pytest.raises(InputError, match="the mean: is not one of these numbers, which are con, pro, unread"):
        correct(JudgedTable(JUDGED, PEOPLE)).number(None)


def test_groups_are_compared_in_pairs_and_rows_without_one_belong_to_none() -> None:
    found = correct(JudgedTable(JUDGED, PEOPLE, WRITERS), these=True)
    sides = dict.fromkeys((row.group, row.against) for row in found.rows)
    assert list(sides) == [(None, None), ("x", None), ("y", None), ("x", "y")]
    x, y = found.number("pro", "x").corrected, found.number("pro", "y").corrected
    assert found.number("pro", "x", "y").corrected.value == pytest.approx(x.value - y.value)


def test_agreement_is_that_of_the_labelled_rows() -> None:
    same = correct(JudgedTable(TRUTH, PEOPLE)).agreement
    assert same.same.value == 1.0
    assert same.kappa.value == same.alpha.value == 1.0
    less = correct(JudgedTable(JUDGED, PEOPLE)).agreement
    assert less.same.value == pytest.approx(0.6, abs=0.02)
    assert less.alpha.value < less.same.value


def test_alpha_is_the_one_of_people_who_labelled_the_same_rows() -> None:
    known = [(one, other) for one, other in zip(JUDGED, PEOPLE, strict=True) if other is not None]
    assert correct(JudgedTable(JUDGED, PEOPLE)).agreement.alpha == krippendorff_alpha(known)


def test_agreement_takes_rows_of_one_cluster_as_alike() -> None:
    conversations = [str(row // 20) for row in range(200)]
    wrong = [UNREAD if int(row) < 4 else label for row, label in zip(conversations, TRUTH, strict=True)]
    plain = correct(JudgedTable(wrong, TRUTH)).agreement
    alike = correct(JudgedTable(wrong, TRUTH, cluster=conversations)).agreement
    for name in ("alpha", "kappa", "same"):
        alone, clustered = getattr(plain, name), getattr(alike, name)
        assert clustered.value == alone.value
        assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)
    assert alike.same.method == "Wilson, clustered"
    assert "over groups" in alike.kappa.method == alike.alpha.method


def test_agreement_looks_at_the_clusters_of_labelled_rows_only() -> None:
    writers = [str(row % 15) for row in range(200)]
    known = [(judged, label, writer) for judged, label, writer in zip(JUDGED, PEOPLE, writers, strict=True) if label]
    found = correct(JudgedTable(JUDGED, PEOPLE, cluster=writers)).agreement.same
    assert found == share([judged == label for judged, label, _ in known], [writer for _, _, writer in known])


def test_labels_that_are_not_a_plain_sample_are_reported() -> None:
    chosen = [label if judged == "pro" else None for label, judged in zip(TRUTH, JUDGED, strict=True)]
    (said,) = correct(JudgedTable(JUDGED, chosen)).warnings
    assert said.startswith("The judge gives 'pro' to 100.0% of the labelled rows and to 0.0% of the other rows")
    assert not correct(JudgedTable(JUDGED, PEOPLE)).warnings
    assert not correct(JudgedTable(JUDGED, chosen, chance=[0.5] * 200)).warnings


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"people": [None] * 200}, "labels: no row has a human label"),
        (
            {"groups": {"any": ["maybe"]}},
            "group: any: 'maybe' is not a label of this table, which has con, pro, unread",
        ),
        ({"groups": {"pro": ["con"]}}, "group: pro: is already a label"),
        ({"values": {"1": 1.0}}, "value: 1: '1' is not a label of this table"),
    ],
)
def test_uncorrectable_tables_are_refused_with_the_reason(changed: dict[str, object], said: str) -> None:
    told = {"judged": JUDGED, "people": PEOPLE} | changed
    with pytest.raises(InputError, match=said):
        correct(JudgedTable(**told))  # type: ignore[arg-type]
