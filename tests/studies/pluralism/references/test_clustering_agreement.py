"""Two clusterings compared: agreement over threads, and people's preferences from a blinded sheet."""

from __future__ import annotations

import csv
import io
from math import isnan
from typing import Any

import pytest

from overton.errors import InputError
from overton.judging.sheets import read_sheet, write_sheet
from overton.studies.pluralism.clustering_agreement import (
    CHOICES,
    compare,
    compare_references,
    comparison_table,
    pairs_of,
    preference_sheet,
    preference_table,
    preferences,
    references_table,
)
from overton.studies.pluralism.items import AtomicOpinion, ReferenceThread, Viewpoint
from overton.studies.pluralism.references import BuiltReferences


def row(thread: str, method: str, labels: str, status: Any = "built", words: str = "text") -> BuiltReferences:
    placed = tuple(AtomicOpinion(f"{words} {place}", ("c1",), f"v{label}") for place, label in enumerate(labels))
    views = tuple(Viewpoint(f"v{label}", f"{method} says {label}", 1, ("c1",), 1) for label in sorted(set(labels)))
    return BuiltReferences(f"{thread}/{method}", thread, "x", method, status, 3, opinions=placed, viewpoints=views)


ROWS = [
    row("t1", "one", "112233"),
    row("t1", "two", "112233"),
    row("t2", "one", "1122"),
    row("t2", "two", "1212"),
    row("t3", "one", "11"),
    row("t3", "two", "12", "failed"),
    row("t4", "one", "11"),
    row("t4", "two", "12", words="other"),
]


def test_agreement_is_averaged_over_threads() -> None:
    found = compare(ROWS, "one", "two")
    assert (found.threads, found.unpaired) == (2, 2)
    first, second = found.by_thread
    assert (first.adjusted_rand, first.v_measure) == (1.0, 1.0)
    assert second.adjusted_rand == pytest.approx(-0.5)  # worked by hand: 0 shared pairs, 2/3 expected, maximum 2
    assert found.adjusted_rand.value == pytest.approx(0.25)
    assert found.adjusted_rand.n == 2
    assert found.adjusted_rand.method == "no interval: too few threads (2; five are needed)"
    assert (found.first_clusters.value, found.second_clusters.value, found.more.value) == (2.5, 2.5, 0.0)


def test_one_thread_has_no_interval_and_none_is_an_error() -> None:
    assert isnan(compare(ROWS[:2], "one", "two").v_measure.low)
    with pytest.raises(InputError, match="same opinions"):
        compare(ROWS[4:], "one", "two")


def reference(name: str, *comments: tuple[str, ...], method: str = "hand-made") -> ReferenceThread:
    views = tuple(Viewpoint(f"v{k}", f"View {k}", 1, names, len(names)) for k, names in enumerate(comments, 1))
    return ReferenceThread(name, "x", "Title", "", views, method)


def test_reference_sets_are_compared_by_the_comments_of_their_viewpoints() -> None:
    hand = [reference("t1", ("a", "b"), ("c", "d")), reference("t2", ("a",))]
    same = [reference("t1", ("c", "d"), ("b", "a"), method="goalex")]
    other = [reference("t1", ("a", "c"), ("b", "d"), ("a",), method="goalex")]
    found = compare_references(hand, same)
    assert (found.first, found.second, found.threads, found.unpaired) == ("hand-made", "goalex", 1, 1)
    assert found.omega.value == 1.0
    apart = compare_references(hand, other)
    assert apart.omega.value == pytest.approx(-0.5)
    assert apart.more.value == -1
    with pytest.raises(InputError, match="no thread is in both"):
        compare_references(hand, [reference("t9", ("a",))])


@pytest.fixture
def sheet(kit: Any) -> Any:
    rows = [row(f"t{k}", method, "1234") for k in range(1, 21) for method in ("one", "two")]
    threads = [kit.thread("=SUM(1)", "It's #b", name=f"t{k}") for k in range(1, 21)]
    return preference_sheet(pairs_of(rows, threads, "one", "two"), "one", "two", size=12, seed=3)


def test_the_sheet_tells_nothing_of_which_clustering_is_which(sheet: Any) -> None:
    key, texts = sheet
    assert len(texts) == 12
    lefts = [next(iter(set(text["left"].split()) & {"one", "two"})) for text in texts]
    assert lefts == [entry.judged for entry in key.rows]
    assert {"one", "two"} == set(lefts)  # both sides have been both
    orders = {"".join(word for word in text["left"].replace(".", " ").split() if word.isdigit()) for text in texts}
    assert len(orders) > 1
    made = write_sheet(key, texts)
    (header, *_) = csv.reader(io.StringIO(made))
    assert header == ["row", "post", "comments", "left", "right", "person", "sheet"]
    assert "* =SUM(1)" in made


def test_preferences_are_read_back_with_intervals_and_ties(sheet: Any) -> None:
    key, texts = sheet
    lines = list(csv.reader(io.StringIO(write_sheet(key, texts))))
    for number, (line, entry) in enumerate(zip(lines[1:], key.rows, strict=True)):
        # The first is liked on nine rows, the second on one; one row is the same, one is left empty.
        side = "l" if entry.judged == "one" else "r"
        other = {"l": "right", "r": "left"}[side]
        line[-2] = {9: other, 10: "same", 11: ""}.get(number, side)
    filled = io.StringIO()
    csv.writer(filled).writerows(lines)
    found = preferences(key, [read_sheet(filled.getvalue(), key.name, 12, CHOICES)])
    assert (found.first, found.second, found.people, found.same, found.blank) == ("one", "two", 1, 1, 1)
    assert (found.preferred.value, found.preferred.n) == (0.9, 10)
    # Wilson's interval for 9 of 10, as its formula gives it.
    assert (found.preferred.low, found.preferred.high) == (
        pytest.approx(0.5958, abs=1e-4),
        pytest.approx(0.9821, abs=1e-4),
    )
    assert found.kappa is None


def test_two_people_judge_the_same_threads_and_their_agreement_is_reported(sheet: Any) -> None:
    key, _ = sheet
    first = {number: "left" if number % 2 else "right" for number in range(12)}
    second = {**first, 11: "same"}
    found = preferences(key, [first, second])
    assert found.people == 2
    assert found.preferred.n == 23
    assert found.preferred.method == "Wilson, clustered"
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx((11 / 12 - 0.5) / (1 - 0.5), abs=0.05)
    assert found.left.value == pytest.approx(11 / 23)


def test_a_sheet_of_another_kind_and_nothing_to_draw_are_refused(sheet: Any) -> None:
    import msgspec

    key, _ = sheet
    with pytest.raises(InputError, match="side by side"):
        preferences(msgspec.structs.replace(key, what="stance"), [])
    with pytest.raises(InputError):
        preference_sheet([], "one", "two")
    assert tuple(key.labels) == CHOICES


def test_long_threads_fit_a_spreadsheet(kit: Any) -> None:
    rows = [row("t1", method, "12") for method in ("one", "two")]
    thread = kit.thread(*["word " * 2_000] * 20)
    _, (text,) = preference_sheet(pairs_of(rows, [thread], "one", "two"), "one", "two")
    assert all(len(cell) < 32_767 for cell in text.values())
    assert text["comments"].endswith("[...]")


def test_the_tables_have_every_measure_and_all_omissions(sheet: Any) -> None:
    records = [row(f"t{k}", method, "1234") for k in (1, 2) for method in ("one", "two")]
    found = compare([*records, row("t3", "one", "12")], "one", "two")
    shown = comparison_table(found)
    assert shown.title == "one and two: means over 2 threads, 1 left out"
    assert ["Adjusted Rand index", found.adjusted_rand] in shown.rows
    assert ["Clusters, two", found.second_clusters] in shown.rows
    sets = compare_references([reference("t1", ("a", "b"))], [reference("t1", ("b", "a"), method="goalex")])
    assert [cells[1] for cells in references_table(sets).rows] == [
        *(sets.omega, sets.opinions, sets.first_viewpoints, sets.second_viewpoints, sets.more),
    ]
    key, _ = sheet
    said = preferences(key, [{**dict.fromkeys(range(10), "left"), 10: "same"}] * 2)
    liked = preference_table(said)
    assert liked.rows == [[20, said.preferred, said.left, said.kappa]]
    assert liked.note == "2 more judgements prefer neither; 2 rows are empty."
