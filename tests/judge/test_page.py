"""The page as a file: its content, content that it must not have, and the policy that keeps it from loading
anything."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from overton.judge.pages import Unit, page_of
from overton.judging.label_tasks import LabelTask


def held(page: bytes) -> dict[str, Any]:
    found = re.search(rb'<script type="application/json" id="task">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_page_has_its_persons_rows_in_their_order_without_the_judges_labels(
    task: LabelTask, units: list[Unit]
) -> None:
    page = page_of(task, units, 2, row="turn", group="conversation")
    assert [one["place"] for one in held(page)["units"]] == list(task.people[1])
    for secret in ("judged", "the-judge", task.rows[0].id, task.rows[0].group):
        assert secret not in page.decode()


def test_texts_of_many_rows_are_stored_once_and_empty_ones_not_at_all(task: LabelTask, units: list[Unit]) -> None:
    shown = held(page_of(task, units, 1))
    assert shown["texts"].count("The same question.") == 1
    assert all("Left out" not in shown["texts"][name] for one in shown["units"] for name, _ in one["texts"])


def test_only_whole_groups_are_distinguished(task: LabelTask, units: list[Unit]) -> None:
    assert {one["group"] for one in held(page_of(task, units, 1))["units"]} == {None}
    whole = held(page_of(msgspec.structs.replace(task, design="whole"), units, 1))
    assert whole["units"][0]["group"] == 1
    assert whole["groups"] == max(one["group"] for one in whole["units"])


def test_each_label_has_a_key_of_its_own_that_does_nothing_else_as_long_as_there_are_keys(
    task: LabelTask, units: list[Unit]
) -> None:
    many = msgspec.structs.replace(task, labels={f"label {number}": "" for number in range(40)})
    keys = [label["key"] for label in held(page_of(many, units, 1))["labels"]]
    assert len(keys) == 40
    given = [key for key in keys if key]
    assert given[:10] == [*"123456789", "a"]
    assert len(set(given)) == len(given) == 32
    assert not {"u", "r", "e", "0", "?"} & set(given)


def test_nothing_but_the_pages_own_script_and_style_is_allowed(task: LabelTask, units: list[Unit]) -> None:
    text = page_of(task, units, 1).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"<[^>]*\s(src|href|on\w+)=", text)


def test_an_adjudication_page_has_the_disputed_rows_and_says_its_purpose(task: LabelTask, units: list[Unit]) -> None:
    page = page_of(msgspec.structs.replace(task, design="whole"), units, 0, places=[5, 3])
    assert [(one["place"], one["group"]) for one in held(page)["units"]] == [(5, None), (3, None)]
    assert "Overton labels, to resolve" in page.decode()
    assert "People labelled these differently" in page.decode()
    with pytest.raises(ValueError, match="the number of a page of the task"):
        page_of(task, units, 1, places=[5])


def test_a_page_that_the_task_lacks_is_a_mistake(task: LabelTask, units: list[Unit]) -> None:
    with pytest.raises(ValueError, match="the number of a page of the task"):
        page_of(task, units, 3)
    with pytest.raises(ValueError, match="one unit per row"):
        page_of(task, units[1:], 1)
