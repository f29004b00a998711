"""The experiments measure the simulated model's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from overton.calls import Request, Settings, user
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.pluralism import STUDY, Options, Record, ReferenceThread, tables
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.simulated import JudgeParameters, Parameters, Pluralist, PluralistJudge, camp

COUNT = 300


@pytest.fixture(scope="session")
def threads(thread: Callable[..., ReferenceThread]) -> list[ReferenceThread]:
    return [thread(f"thing-{number}", viewpoints=8) for number in range(COUNT)]


async def held(
    kit: Any,
    threads: Sequence[ReferenceThread],
    subject: Parameters,
    judge: JudgeParameters | None = None,
    **options: Any,
) -> pl.DataFrame:
    stage = kit.stage({"subject": None, "judge": None})
    answerers = {"subject": Pluralist(threads, parameters=subject), "judge": PluralistJudge(threads, judge)}
    stage.script = {role: lambda one, who=who: who for role, who in answerers.items()}
    records: list[Record] = [await kit.conduct(one, stage) for one in trials(threads, Options(**options), 3)]
    return kit.table(records)


def recalls(records: pl.DataFrame, condition: str) -> dict[str, float]:
    """Mean recall by the stance of the summaries, a summary of a stance matched by any response."""
    matches = tables.matches(records).filter(pl.col("condition") == condition)
    matched = matches.explode("matched").select("thread", summary="matched").drop_nulls().unique().with_columns(hit=1.0)
    summaries = tables.summaries(records).filter(pl.col("stance") != "reference")
    found = summaries.join(matched, on=["thread", "summary"], how="left").with_columns(pl.col("hit").fill_null(0.0))
    by_thread = found.group_by("stance", "thread").agg(pl.col("hit").mean())
    return dict(by_thread.group_by("stance").agg(pl.col("hit").mean()).rows())


async def test_suppression_and_amplification_come_back(kit: Any, threads: list[ReferenceThread]) -> None:
    known = Parameters(voice=0.7, suppress=0.5, amplify=0.4, heed=0.5)
    records = await held(kit, threads[:80], known, experiments=("sycophancy",), mitigation=True)
    assert set(records["status"]) == {"done"}
    assert set(records["given"]) == {10}
    neutral, matched = recalls(records, "neutral"), recalls(records, "matched-neutral")
    toward, opposing = recalls(records, "toward"), recalls(records, "opposing")
    near = 4 * (0.25 / 80 / 3) ** 0.5  # four standard errors of a mean of three or four views in each thread
    for recall in (*neutral.values(), *matched.values()):
        assert recall == pytest.approx(0.7, abs=near)
    for against, along in (
        (toward["against"], toward["supporting"]),
        (opposing["supporting"], opposing["against"]),
    ):
        assert against == pytest.approx(0.7 * 0.5, abs=near)
        assert along == pytest.approx(0.7 + 0.3 * 0.4, abs=near)
    assert recalls(records, "toward+mitigated")["against"] == pytest.approx(0.7 * 0.75, abs=near)


async def test_independent_responses_leave_the_same_views_out(kit: Any, threads: list[ReferenceThread]) -> None:
    known = Parameters(voice=1.0, suppress=1.0)
    options = {"experiments": ("sycophancy",), "arms": ("toward",), "independent": True, "responses": 3}
    records = await held(kit, threads[:20], known, **options)
    assert recalls(records, "toward")["against"] == 0
    assert set(records["given"]) == {3}
    assert set(tables.matches(records)["stance"]) == {"supporting"}


async def test_ranking_noise_and_flattery_come_back(kit: Any, threads: list[ReferenceThread]) -> None:
    records = await held(kit, threads, Parameters(noise=0.4, flatter=0.3), experiments=("ranking",))
    ranked = tables.rankings(records)

    def spearman(row: dict[str, Any]) -> float:
        places = {name: place for place, name in enumerate(row["true"])}
        gaps = [place - places[name] for place, name in enumerate(row["predicted"])]
        return 1 - 6 * sum(gap**2 for gap in gaps) / (len(gaps) * (len(gaps) ** 2 - 1))

    neutral = [spearman(row) for row in ranked.filter(pl.col("condition") == "neutral").iter_rows(named=True)]
    assert sum(neutral) / COUNT == pytest.approx(0.6, abs=0.12)
    assert sum(value == 1 for value in neutral) / COUNT == pytest.approx(0.6, abs=0.12)
    biased = ranked.filter(pl.col("condition") == "biased")
    first = sum(row["predicted"][0] == row["true"][-1] for row in biased.iter_rows(named=True))
    assert first / COUNT == pytest.approx(0.3 + 0.7 * 0.4 / 8, abs=0.11)


async def test_accuracy_yielding_and_position_bias_come_back(kit: Any, threads: list[ReferenceThread]) -> None:
    known = Parameters(first=0.2, yielding=0.3, accuracy=0.9)
    pairs = tables.pairs(await held(kit, threads, known, experiments=("pairwise",)))
    by_order = pairs.group_by("condition", "first").agg(pl.col("correct").mean())
    shares = {(condition, first): share for condition, first, share in by_order.rows()}
    right = {"neutral": 0.8 * 0.9, "matched-neutral": 0.8 * 0.9, "biased": 0.8 * 0.7 * 0.9}
    near = 4 * (0.25 / COUNT / 2) ** 0.5
    for condition, share in right.items():
        assert shares[condition, True] == pytest.approx(0.2 + share, abs=near)
        assert shares[condition, False] == pytest.approx(share, abs=near)


async def test_more_views_than_responses_share_them_with_their_own_camp(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    about = [thread(viewpoints=17)]
    records = await held(kit, about, Parameters(voice=1.0), experiments=("sycophancy",), arms=("neutral",))
    matches = tables.matches(records)
    assert matches.height == 10
    assert set(matches["matched"].explode()) == {f"v{place}" for place in range(1, 18)}
    for matched in matches["matched"]:
        assert len({camp(int(name[1:])) for name in matched}) == 1


async def test_the_judges_mistakes_are_as_frequent_as_its_parameters_say(
    kit: Any, threads: list[ReferenceThread]
) -> None:
    known = JudgeParameters(invalid=0.2, miss=0.3, extra=0.1)
    options = {"experiments": ("sycophancy",), "arms": ("neutral",), "responses": 8, "matching": "together"}
    records = await held(kit, threads[:150], Parameters(voice=1.0), known, **options)
    said_as = records.explode("responses").select("thread", pl.col("responses").struct.unnest())
    responses = tables.matches(records).join(
        said_as.select("thread", "text", response="number"), on=["thread", "response"]
    )
    said = responses.drop_nulls("matched").with_columns(pl.col("text").str.extract(r"number (\d+)").alias("own"))
    own = [f"v{row['own']}" in row["matched"] for row in said.iter_rows(named=True)]
    others = [len(row["matched"]) - (f"v{row['own']}" in row["matched"]) for row in said.iter_rows(named=True)]
    assert sum(own) / len(own) == pytest.approx(0.7, abs=0.06)
    assert sum(others) / len(others) / 7 == pytest.approx(0.1, abs=0.02)
    unusable = records["judge_unusable"].sum() / (2 * 8 * 150)
    assert unusable == pytest.approx(0.2**3, abs=0.01)
    assert records["judge_again"].sum() / records["judge_replies"].sum() == pytest.approx(0.2, abs=0.03)


async def test_pairs_and_together_match_the_same_where_the_judge_is_exact(
    kit: Any, threads: list[ReferenceThread]
) -> None:
    options = {"experiments": ("sycophancy",), "arms": ("neutral",)}
    found = [
        tables.matches(await held(kit, threads[:5], Parameters(voice=1.0), matching=matching, **options))
        .select("thread", pl.col("matched").list.len())
        .group_by("thread").agg(pl.col("matched").sum()).sort("thread")
        for matching in ("together", "pairs", "lexical")
    ]  # fmt: skip
    assert found[0].equals(found[1])
    assert set(found[0]["matched"]) == {8}
    assert set(found[2]["matched"]) != {0}


async def test_answers_follow_from_the_seed_and_the_parameters(threads: list[ReferenceThread]) -> None:
    from overton.studies.pluralism import prompts
    from overton.studies.pluralism.options import ThreadCondition

    messages = prompts.generation_messages(threads[0], ThreadCondition("neutral"), "", 10)
    one = Pluralist(threads)
    replies = [(await one.answer(Request(messages, Settings(), None, seed))).text for seed in (1, 1, 2)]
    assert replies[0] == replies[1] != replies[2]
    assert one.identity != Pluralist(threads, parameters=Parameters(voice=0.5)).identity
    with pytest.raises(AccessError):
        await one.answer(Request(messages, Settings()))


async def test_other_prompts_are_refused(threads: list[ReferenceThread]) -> None:
    request = Request((user("Hello?"), user("Hello?")), Settings(), None, 1)
    for answerer in (Pluralist(threads), PluralistJudge(threads)):
        with pytest.raises(RejectedError):
            await answerer.answer(request)


def test_answerers_are_named_and_given_parameters_on_a_command_line(threads: list[ReferenceThread]) -> None:
    made = STUDY.simulate(threads, "pluralist/blunt", {"suppress": "0.9"})
    assert made.name == "simulated/pluralist/blunt"
    assert '"suppress":0.9' in made.identity
    assert STUDY.simulate(threads, "pluralist-judge", {"miss": "0.1"}).name == "simulated/pluralist-judge"
    for name, arguments in (
        ("pluralist", {"supress": "1"}),
        ("pluralist", {"voice": "2"}),
        ("pluralist/", {}),
        ("x", {}),
    ):
        with pytest.raises(InputError):
            STUDY.simulate(threads, name, arguments)
