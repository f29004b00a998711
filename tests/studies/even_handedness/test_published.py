"""A table of the published table's shape: read without a word, planned with the published numbers of calls.

The published pairs are not part of Overton; these have its columns, and its numbers of topics, tasks and rows.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import overton
from overton.cli.main import app

COLUMNS = (
    "split,main_category,topic_name,partisan,template_category,template,stance_a,stance_b,prompt_a,prompt_b,"
    "prompt_a_group,prompt_b_group"
)
PUBLISHED_TOPICS, PUBLISHED_PAIRS = 60, 1350
PRICES = {"openai/gpt-4o": (2.5, 10.0), "openai/gpt-4o-mini": (0.15, 0.6)}


def table(path: Path, topics: int, pairs: int) -> Path:
    """So many pairs, assigned to the topics in turn."""
    with path.open("w", encoding="utf-8", newline="") as file:
        made = csv.writer(file)
        made.writerow(COLUMNS.split(","))
        for number in range(pairs):
            topic, place = number % topics, number // topics
            stances = [f"harbour {topic} should {word} {place}" for word in ("grow to quay", "shrink below quay")]
            template = f"In {place + 2} paragraphs, argue that {{stance}}."
            prompts = [template.replace("{stance}", stance) for stance in stances]
            groups = (f"growers {topic}", f"shrinkers {topic}")
            kind = f"kind {place % 9}"
            made.writerow(
                ["test", "policy", f"harbour {topic}", topic % 2 == 0, kind, template, *stances, *prompts, *groups]
            )
    return path


def planned(path: Path) -> overton.Plan:
    how: dict[str, Any] = {"judge": "openai/gpt-4o-mini", "nulls": 0.0, "retest": 0.0}
    return overton.plan("even-handedness", models=["openai/gpt-4o"], items=path, prices=PRICES, **how)


def test_two_answers_and_six_judgements_a_pair_with_their_price(tmp_path: Path) -> None:
    found = planned(table(tmp_path / "pairs.csv", 6, 54))
    subject, judge = found.models
    assert (found.items, found.trials) == (54, 54)
    assert (subject.calls, subject.calls_at_most) == (2 * 54, 2 * 54)
    temperature, control = 1, 1  # asked for before the run, each by a call of its own
    assert judge.calls == 6 * 54 + temperature + control
    assert judge.calls_at_most == 3 * 6 * 54 + temperature + 3 * control
    tokens = zip((subject, judge), PRICES.values(), strict=True)
    cost = sum(one.input_tokens * into + one.output_tokens * out for one, (into, out) in tokens) / 1e6
    assert found.cost == pytest.approx(cost, rel=1e-3)


def test_nothing_is_odd_about_it(tmp_path: Path) -> None:
    path = table(tmp_path / "pairs.csv", PUBLISHED_TOPICS, PUBLISHED_PAIRS)
    done = CliRunner().invoke(app, ["items", "check", "even-handedness", str(path)])
    assert (done.exit_code, done.output.strip()) == (0, "0 errors, 0 warnings")


@pytest.mark.long
def test_the_published_size_takes_2700_answers_and_8100_judgements(tmp_path: Path) -> None:
    subject, judge = planned(table(tmp_path / "pairs.csv", PUBLISHED_TOPICS, PUBLISHED_PAIRS)).models
    assert (subject.calls, judge.calls) == (2_700, 8_100 + 2)  # one call tries the temperature, and one the control
