"""The null conditions of deliberation: who hears whom, and values of randomly chosen partners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import overton
from overton.calls import Reply
from overton.runs.setup import set_up
from overton.studies.deliberation import STUDY
from overton.studies.deliberation.deliberations import talks_from
from overton.studies.deliberation.values import inherited, similarity

AGENTS = ["simulated/deliberator/a", "simulated/deliberator/b"]


async def heard(null: str, format_: str) -> tuple[Any, list[Any], list[tuple[bool, str]]]:
    """A null's first trial, its records, and whether each call was shared, with the conversation that it ends."""
    given = {"rounds": 3, "nulls": [null], "formats": [format_]}
    ready = set_up(STUDY, models=AGENTS, seed=1, **given)
    trial = next(one for one in ready.experiment.trials() if one.name.startswith("null/"))
    asked: list[tuple[bool, str]] = []

    class Asking:
        async def __call__(self, role: str, messages: Any, *, speaker: str, shared: bool = False, **_: Any) -> Reply:
            asked.append((shared, "\n".join(one.content for one in messages)))
            number = speaker.partition("/")[2]
            verdict = "YTA" if number == "1" else "NTA"
            return Reply(
                f"I am Agent {number}.\nMy current verdict: {verdict}.\n\nHere's my thinking: said {len(asked)}."
            )

        async def all(self, questions: Any) -> list[Reply]:
            return [await self(q.role, q.messages, speaker=q.speaker, shared=q.shared) for q in questions]

    return trial, await STUDY.conduct(trial, Asking()), asked


@pytest.mark.parametrize("format_", ["synchronous", "round-robin"])
async def test_agents_alone_hear_no_other_agent(format_: str) -> None:
    _, records, asked = await heard("alone", format_)
    assert len(records) == 6
    assert not any(shared for shared, _ in asked)
    assert not any("'s current verdict:" in text.partition("</goals>")[2] for _, text in asked)
    assert "Round 1 has ended. This is Round 2." in asked[2][1]


@pytest.mark.parametrize("format_", ["synchronous", "round-robin"])
async def test_strangers_speak_of_another_dilemma(format_: str) -> None:
    trial, records, asked = await heard("stranger", format_)
    theirs = [text for shared, text in asked if shared]
    own = [text for shared, text in asked if not shared]
    assert len(records) == len(own) == 6
    assert theirs
    assert not any(trial.dilemma.text in text for text in theirs)
    assert all(trial.dilemma.text in text for text in own)
    assert "Agent 2's current verdict: NTA." in own[2]
    assert "Agent 1's current verdict: YTA." in own[3]
    explained = {record.explanation for record in records}
    assert not any(one in text for one in explained for text in theirs)


def decisions(values: dict[tuple[int, int, int], tuple[str, ...]], verdicts: dict[tuple[int, int, int], str]) -> Any:
    """Messages by dilemma, seat and round."""
    return pl.DataFrame(
        [
            {
                "deliberation": f"d{dilemma}",
                "dilemma": f"d{dilemma}",
                "format": "synchronous",
                "goal": "correctness",
                "agent": f"Agent {seat}",
                "model": "ab"[seat - 1],
                "round": round_,
                "position": None,
                "failure": None,
                "crowd": None,
                "verdict": verdicts[dilemma, seat, round_],
                "values": list(values[dilemma, seat, round_]),
            }
            for dilemma, seat, round_ in values
        ]
    )


def test_values_taken_over_from_a_partner_are_distinguished_from_those_of_other_discussions() -> None:
    """In each discussion the second opens with a value of its own, which the first takes over with its verdict."""
    values: dict[tuple[int, int, int], tuple[str, ...]] = {}
    verdicts: dict[tuple[int, int, int], str] = {}
    for dilemma in range(6):
        values |= {(dilemma, 1, 1): ("base",), (dilemma, 2, 1): (f"own {dilemma}",)}
        values |= {(dilemma, 1, 2): (f"own {dilemma}",), (dilemma, 2, 2): (f"own {dilemma}",)}
        verdicts |= {(dilemma, 1, 1): "YTA", (dilemma, 2, 1): "NTA", (dilemma, 1, 2): "NTA", (dilemma, 2, 2): "NTA"}
    talks = talks_from(decisions(values, verdicts))
    taken, chance = inherited(talks, "a"), inherited(talks, "a", np.random.default_rng(0))
    assert (taken.above == 1).all()
    assert (taken.below == 1).all()
    assert (chance.above == 0).all()
    assert (similarity(talks).above == 1).all()
    assert (similarity(talks, np.random.default_rng(0)).above == 0).all()


def test_partners_lent_to_other_discussions_make_no_difference_from_chance() -> None:
    """The first always gives the same values, so that the second alone decides how alike they are, shuffled or not."""
    values: dict[tuple[int, int, int], tuple[str, ...]] = {}
    for dilemma in range(40):
        values |= {(dilemma, 1, 1): ("base",), (dilemma, 2, 1): ("base",) if dilemma % 2 else ("other",)}
    talks = talks_from(decisions(values, dict.fromkeys(values, "YTA")))
    alike, chance = similarity(talks), similarity(talks, np.random.default_rng(0))
    assert alike.above.sum() == 20
    assert chance.above.sum() == pytest.approx(20, abs=1)  # 40 means of 50 deals: 20 +- 0.4
    assert (chance.below == alike.below).all()
    differences = alike.above - chance.above
    assert alike.above.std() == 0.5
    assert differences.std() < 0.15


def test_lending_partners_changes_no_sum() -> None:
    """All deals are known where there are two discussions: each has the other as its only partner."""
    values: dict[tuple[int, int, int], tuple[str, ...]] = {
        (0, 1, 1): ("x",),
        (0, 2, 1): ("y",),
        (1, 1, 1): ("y",),
        (1, 2, 1): ("z",),
    }
    talks = talks_from(decisions(values, dict.fromkeys(values, "YTA")))
    made = similarity(talks, np.random.default_rng(0))
    assert made.above.tolist() == [0.0, 1.0]  # "x" and "z" share nothing, "y" and "y" everything
    assert made.below.tolist() == [1.0, 1.0]


def test_a_run_with_its_null_conditions(tmp_path: Path) -> None:
    given: dict[str, Any] = {"models": AGENTS, "others": {"values": ["simulated/values-judge"]}, "rounds": 2}
    plain = overton.run("deliberation", out=tmp_path / "plain", **given)
    nulls = overton.run("deliberation", out=tmp_path / "nulls", nulls=["all"], **given)
    design = nulls.records().filter(~nulls.records()["deliberation"].str.starts_with("null/"))
    assert design.equals(plain.records())
    found, without = (overton.analyze("deliberation", run.path) for run in (nulls, plain))
    of_nulls = {row.key for row in found.rows if "null/" in f"{row.variant} {row.against}"}
    assert {key[0] for key in of_nulls} == {"consensus", "rounds_to_consensus", "changed"}
    assert tuple(row for row in found.rows if row.key not in of_nulls) == without.rows
    assert found.counts == without.counts
    page = overton.report([nulls.path]).read_text("utf-8")
    assert "Compared with null conditions" in page
