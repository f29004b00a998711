"""Labels that people saved, checked and merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from overton.errors import InputError
from overton.judging.label_tasks import (
    CANNOT_TELL,
    SETTLING,
    AdjudicatedLabel,
    AnnotatorLabels,
    LabelRequest,
    LabelTask,
    SavedLabels,
    check_labels,
    check_page,
    check_task,
    gather_labels,
    open_places,
    task_of,
)

ROWS = tuple(LabelRequest(f"u{place}", "pro", f"g{place}", 0.5) for place in range(4))
NAMES = {"pro": "for", "con": "against"}
BARE = LabelTask("", "s", "stance", "j", "?", NAMES, 0, "plain", {"pro": 8}, 8, ROWS, ((2, 0, 1), (1, 3)))
TASK = task_of(BARE)


def said(page: int, labels: dict[int, str], person: str = "ada", **more: Any) -> AnnotatorLabels:
    return AnnotatorLabels(TASK.name, page, person, labels, **more)


def joined(*files: AnnotatorLabels, before: SavedLabels | None = None) -> SavedLabels:
    return gather_labels(TASK, [(f"{number}.json", one) for number, one in enumerate(files)], before)


def test_valid_page_is_accepted_with_the_name_trimmed() -> None:
    whole = said(1, {2: "pro", 0: CANNOT_TELL}, " ada ", remarks={2: "why?"}, seconds={2: 3.5})
    assert check_page(TASK, whole, "f") == msgspec.structs.replace(whole, person="ada")


@dataclass
class Wrong:
    said: AnnotatorLabels
    told: str


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(AnnotatorLabels("tother", 1, "ada", {}), "f: task: is 'tother', but the key is for"),
        Wrong(said(1, {3: "pro"}), "f: labels.3: page 1 does not have that row"),
        Wrong(said(1, {0: "maybe"}), "f: labels.0: is 'maybe'; it must be one of pro, con, cannot tell"),
        Wrong(said(3, {}), "f: page: is 3; the task has pages 1 to 2"),
        Wrong(said(-1, {}), "f: page: is -1"),
        Wrong(said(1, {}, " "), "f: person: must be a name"),
        Wrong(said(1, {}, "a" * 201), "f: person: must be a name"),
        Wrong(said(1, {}, remarks={3: "x"}), "f: remarks.3: is for a row that this page does not have"),
        Wrong(said(1, {}, seconds={0: -1.0}), "f: seconds.0: is -1.0; it must be 0 or more"),
        Wrong(said(1, {}, taken_back=(3,)), "f: taken_back.3: is for a row that this page does not have"),
        Wrong(said(1, {0: "pro"}, taken_back=(0,)), "f: taken_back.0: has a label, too"),
        Wrong(said(1, {}, saved=float("inf")), "f: saved: is inf; it must be 0 or more"),
    ],
)
def test_impossible_page_is_refused_with_file_and_key(wrong: Wrong) -> None:
    with pytest.raises(InputError) as refused:
        check_page(TASK, wrong.said, "f")
    assert str(refused.value).startswith(wrong.told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": {}}, "labels: must not be empty"),
        ({"labels": {CANNOT_TELL: "", "pro": ""}}, "labels: must not be empty"),
        ({"rows": (ROWS[0], ROWS[0])}, "rows: contain an id twice"),
        ({"rows": (msgspec.structs.replace(ROWS[0], chance=0.0),)}, "chance: is 0.0"),
        ({"rows": (msgspec.structs.replace(ROWS[0], judged="x"),)}, "judged: is 'x'"),
        ({"people": ((0, 0),)}, "has a row twice, or a row that does not exist"),
        ({"people": ((9,),)}, "has a row twice, or a row that does not exist"),
    ],
)
def test_a_task_that_no_draw_makes_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match="f: ") as refused:
        check_task(task_of(msgspec.structs.replace(BARE, **change)), "f")
    assert told in str(refused.value)


def test_a_task_that_was_changed_is_refused() -> None:
    with pytest.raises(InputError, match="was changed after it was written"):
        check_task(msgspec.structs.replace(TASK, seed=1), "f")


def test_people_pages_and_later_labels_join() -> None:
    first = joined(said(1, {0: "pro"}))
    later = joined(said(1, {0: "con", 1: "pro"}), said(2, {1: "con"}, "bo"), before=first)
    assert [(one.page, one.person, one.labels) for one in later.said] == [
        (1, "ada", {0: "con", 1: "pro"}),
        (2, "bo", {1: "con"}),
    ]
    older = joined(said(1, {1: "pro"}), before=later)
    assert older.said == later.said  # what a file leaves out stays
    assert joined(said(1, {0: "pro"}), said(2, {1: "pro"})).said[1].page == 2  # one person, two pages


def test_a_page_saved_twice_by_one_person_is_taken_where_one_file_goes_on_from_the_other() -> None:
    assert joined(said(1, {0: "pro"}), said(1, {0: "pro", 1: "con"})).said[0].labels == {0: "pro", 1: "con"}
    with pytest.raises(InputError) as refused:
        joined(said(1, {0: "pro"}), said(1, {0: "con"}))
    assert str(refused.value).startswith("1.json: labels.0: row 0 is 'con' here, 'pro' in 0.json")


def test_adjudicated_label_stays_until_it_is_adjudicated_again() -> None:
    both = (said(1, {0: "pro", 1: "pro"}), said(2, {1: "con"}, "bo"))
    assert open_places(joined(*both)) == [1]
    settled = joined(*both, said(SETTLING, {1: "con"}, "both"))
    assert settled.settled == (AdjudicatedLabel(1, "con", "both"),)
    assert open_places(settled) == []
    assert joined(said(1, {1: "pro"}), before=settled).settled == settled.settled
    anew = joined(said(SETTLING, {1: "pro"}, "cy"), before=settled)
    assert anew.settled == (AdjudicatedLabel(1, "pro", "cy"),)


def test_newest_file_prevails_and_removes_labels_that_it_takes_back() -> None:
    older = said(1, {0: "pro", 1: "pro", 2: "con"}, saved=10.0)
    newer = said(1, {0: "con", 2: "con"}, saved=20.0, taken_back=(1,))
    left = {0: "con", 2: "con"}
    assert joined(older, newer).said[0].labels == joined(newer, older).said[0].labels == left
    after = joined(newer, before=joined(older))
    assert (after.said[0].labels, after.said[0].taken_back) == (left, (1,))
    assert joined(older, before=after).said == after.said  # an old file brings nothing back
    given = joined(said(1, {1: "con"}, saved=30.0), before=after)
    assert (given.said[0].labels, given.said[0].taken_back) == ({0: "con", 1: "con", 2: "con"}, ())


def test_adjudicated_label_can_be_taken_back() -> None:
    both = (said(1, {0: "pro", 1: "pro"}), said(2, {1: "con"}, "bo"))
    settled = joined(*both, said(SETTLING, {1: "con"}, "both", saved=1.0))
    assert open_places(joined(said(SETTLING, {}, "both", saved=2.0, taken_back=(1,)), before=settled)) == [1]
    gone = [said(1, {0: "pro"}, saved=3.0, taken_back=(1,)), said(2, {}, "bo", saved=3.0, taken_back=(1,))]
    assert joined(*gone, before=settled).settled == ()  # nobody labels it any more


def test_adjudicating_an_unlabelled_row_or_twice_differently_is_refused() -> None:
    with pytest.raises(InputError, match=r"1.json: labels.3: adjudicates a row without labels"):
        joined(said(1, {0: "pro"}), said(SETTLING, {3: "pro"}))
    with pytest.raises(InputError, match=r"2.json: labels.0: adjudicates a row as 'con', but 'ada'"):
        joined(said(1, {0: "pro"}), said(SETTLING, {0: "pro"}), said(SETTLING, {0: "con"}, "bo"))


@pytest.mark.parametrize(
    "kept",
    [
        SavedLabels(TASK, (said(1, {3: "pro"}),)),
        SavedLabels(TASK, (said(SETTLING, {0: "pro"}),)),
        SavedLabels(TASK, (said(1, {0: "pro"}), said(1, {0: "con"}))),
        SavedLabels(TASK, (said(1, {0: "pro"}),), (AdjudicatedLabel(1, "pro", "ada"),)),
        SavedLabels(TASK, (said(1, {0: "pro"}),), (AdjudicatedLabel(0, "maybe", "ada"),)),
        SavedLabels(
            TASK, (said(1, {0: "pro"}),), (AdjudicatedLabel(0, "pro", "ada"), AdjudicatedLabel(0, "con", "bo"))
        ),
    ],
)
def test_impossible_stored_labels_are_refused(kept: SavedLabels) -> None:
    with pytest.raises(InputError, match="f: "):
        check_labels(kept, "f")
