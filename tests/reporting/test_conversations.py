"""Answers that are conversations: kept longer, and shown with their rounds side by side."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from overton.reporting import Report, write
from overton.reporting.trial_pack import pack
from overton.studies.sections import ROUND_BREAK, TURN_BREAK, BrowseFilter, TrialTable


def table(answers: list[str], longest: int = 40_000) -> TrialTable:
    facets = [BrowseFilter("Trial", [str(row) for row in range(len(answers))], range(len(answers)))]
    none = [-1] * len(answers)
    return TrialTable(len(answers), [], lambda _: [], none, facets, lambda i, j: answers[i:j], longest)


def test_long_answers_are_kept_whole_if_they_fit():
    packed = pack(table(["x" * 30_000]), 1_000_000)
    assert (packed.cap, packed.cut) == (40_000, 0)


def test_the_cap_falls_by_halves_and_then_as_for_any_answer_when_space_is_short():
    letters = random.Random(0)
    answers = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz ", k=30_000)) for _ in range(20)]
    caps = [pack(table(answers), limit).cap for limit in (10_000_000, 200_000, 30_000, 9_000)]
    assert caps == sorted(caps, reverse=True)
    assert caps[0] == 40_000
    assert set(caps[1:]) <= {20_000, 10_000, 5_000, 2_500, 2_000, 1_000, 600, 400, 250, 150, 80}
    assert caps[-1] < 2_000


def test_by_default_the_cap_is_that_of_single_answers():
    assert pack(table(["x" * 5_000], 2_000), 1_000_000).cap == 2_000


@pytest.mark.browser
async def test_rounds_are_stacked_with_changes_marked_and_hostile_text_as_text(tab, hostile, tmp_path):
    first = TURN_BREAK.join(["Agent 1 (x): NTA\n\nSince.\n\nValues: none", f"Agent 2 (y): YTA\n\n{hostile[1]}"])
    second = "Agent 1 (x): NTA → YTA"
    answer = ROUND_BREAK.join(["Consensus on YTA after 2 rounds.", first, second])
    report = Report("Title", "", [], [], trials=replace(table([answer, "a plain answer"]), round="Turn"), data={})
    await tab.open(write(report, tmp_path / "report.html"))
    await tab.until("document.querySelector('.pane .trial')")
    texts = "[...document.querySelectorAll('.pane {}')].map((one) => one.innerText.trim())"
    assert await tab.js(texts.format(".round-head")) == ["Turn 1", "Turn 2"]
    said = await tab.js(texts.format(".turn"))
    assert said[0].split() == ["Agent", "1", "(x):", "NTA", "Since.", "Values:", "none"]
    assert hostile[1] in said[1]
    assert said[2] == "Agent 1 (x): NTA → YTA"
    assert await tab.js(texts.format(".changed")) == ["Agent 1 (x): NTA → YTA"]
    assert await tab.js("typeof window.__pwned") == "undefined"
    tops = "[...document.querySelectorAll('.round')].map((one) => one.getBoundingClientRect().top)"
    assert await tab.js(f"{tops}[0] < {tops}[1]")
    await tab.js("document.querySelectorAll('.trials .row')[1].click()")
    assert await tab.js("document.querySelector('.pane .rounds')") is None
    assert tab.problems == []


@pytest.mark.browser
async def test_sides_are_side_by_side_under_their_own_headings(tab, hostile, tmp_path):
    sides = ["Cat people\n\nCats.", TURN_BREAK.join([f"Dog people\n\n{hostile[0]}", "Again: dogs"])]
    answer = ROUND_BREAK.join(["Side by side:", *sides])
    report = Report("Title", "", [], [], trials=replace(table([answer]), round="", across=True), data={})
    await tab.open(write(report, tmp_path / "report.html"))
    await tab.until("document.querySelector('.pane .trial')")
    cells = "[...document.querySelectorAll('.across {}')].map((cell) => cell.innerText.trim())"
    assert await tab.js(cells.format("th")) == ["Cat people", "Dog people"]
    assert await tab.js(cells.format("td")) == ["Cats.", hostile[0], "", "Again: dogs"]
