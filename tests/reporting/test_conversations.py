"""Answers that are conversations: kept longer, and shown with their rounds side by side."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from overton.reporting import Report, write
from overton.reporting.trials import pack
from overton.studies.exhibits import ROUND_BREAK, TURN_BREAK, Facet, TrialTable


def table(answers: list[str], longest: int = 40_000) -> TrialTable:
    facets = [Facet("Trial", [str(row) for row in range(len(answers))], range(len(answers)))]
    none = [-1] * len(answers)
    return TrialTable(len(answers), [], lambda _: [], none, facets, lambda i, j: answers[i:j], longest)


def test_long_answers_are_kept_whole_where_there_is_room():
    packed = pack(table(["x" * 30_000]), 1_000_000)
    assert (packed.cap, packed.cut) == (40_000, 0)


def test_where_there_is_no_room_the_cap_falls_by_halves_and_then_as_for_any_answer():
    letters = random.Random(0)
    answers = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz ", k=30_000)) for _ in range(20)]
    caps = [pack(table(answers), limit).cap for limit in (10_000_000, 200_000, 30_000, 9_000)]
    assert caps == sorted(caps, reverse=True)
    assert caps[0] == 40_000
    assert set(caps[1:]) <= {20_000, 10_000, 5_000, 2_500, 2_000, 1_000, 600, 400, 250, 150, 80}
    assert caps[-1] < 2_000


def test_without_a_wish_the_cap_is_that_of_single_answers():
    assert pack(table(["x" * 5_000], 2_000), 1_000_000).cap == 2_000


@pytest.mark.browser
async def test_a_study_says_what_its_rounds_are_called(tab, tmp_path):
    answer = ROUND_BREAK.join(["One change of stance.", "Turn 1: critical", "Turn 2: balanced"])
    report = Report("Title", "", [], [], trials=replace(table([answer]), round="Turn"), data={})
    await tab.open(write(report, tmp_path / "report.html"))
    await tab.until("document.querySelectorAll('.trials > li').length == 1")
    assert await tab.js("[...document.querySelectorAll('.rounds th')].map((cell) => cell.innerText)") == [
        "Turn 1",
        "Turn 2",
    ]
    assert await tab.js("document.querySelector('.rounds').getAttribute('aria-label')") == "Turns side by side"


@pytest.mark.browser
async def test_rounds_stand_side_by_side_with_changes_marked_and_hostile_text_as_text(tab, hostile, tmp_path):
    first = TURN_BREAK.join(["Agent 1 (x): NTA\n\nSince.\n\nValues: none", f"Agent 2 (y): YTA\n\n{hostile[1]}"])
    second = "Agent 1 (x): NTA → YTA"
    answer = ROUND_BREAK.join(["Consensus on YTA after 2 rounds.", first, second])
    report = Report("Title", "", [], [], trials=table([answer, "a plain answer"]), data={})
    await tab.open(write(report, tmp_path / "report.html"))
    await tab.until("document.querySelectorAll('.trials > li').length == 2")
    cells = "[...document.querySelectorAll('.rounds {}')].map((cell) => cell.innerText.trim())"
    assert await tab.js(cells.format("th")) == ["Round 1", "Round 2"]
    said = await tab.js(cells.format("td"))
    assert said[0].split() == ["Agent", "1", "(x):", "NTA", "Since.", "Values:", "none"]
    assert said[1] == "Agent 1 (x): NTA → YTA"
    assert hostile[1] in said[2]
    assert said[3] == ""
    assert await tab.js("document.querySelectorAll('.rounds .changed').length") == 1
    assert await tab.js("typeof window.__pwned") == "undefined"
    assert await tab.js("document.querySelectorAll('.trials > li')[1].querySelectorAll('table').length") == 0
    assert tab.problems == []
