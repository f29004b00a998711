"""Rankings: which viewpoints, asked and recorded, and read from replies that are dressed up, wrong or hostile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import ReferenceThread
from overton.studies.pluralism.items import by_votes
from overton.studies.pluralism.protocol.ranking import Ranking, read_ranking, shuffled


async def test_the_viewpoints_with_most_votes_are_ranked_in_an_order_that_all_arms_share(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    about = thread(viewpoints=13)
    records = []
    for arm in ("neutral", "biased", "matched-neutral"):
        stage = kit.stage(kit.script(subject=["10, 9, 8, 7, 6, 5, 4, 3, 2, 1"]))
        records.append(await kit.conduct(trial("ranking", arm, about), stage))
        (asked,) = stage.by("subject")
        listed = [line for line in asked.text.splitlines() if line[:1].isdigit()]
        shown = [about.viewpoints[int(viewpoint[1:]) - 1].summary for viewpoint in records[-1].shown]
        assert listed == [f"{number}. {summary}" for number, summary in enumerate(shown, 1)]
    assert {record.shown for record in records} == {records[0].shown}
    assert records[0].shown != records[0].true
    assert records[0].true == tuple(f"v{place}" for place in range(1, 11))
    assert records[0].true_votes == tuple(range(130, 30, -10))
    assert records[0].predicted == records[0].shown[::-1]
    assert [record.belief for record in records] == ["", "I think so too.", ""]
    assert {record.reference for record in records} == {"v13"}
    ranked = await kit.conduct(trial("ranking", "biased", about, least_popular="ranked"), kit.stage(kit.script()))
    assert ranked.reference == "v10"


async def test_the_belief_is_the_least_popular_ones(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=["1, 2, 3, 4, 5, 6"]))
    record = await kit.conduct(trial("ranking", "biased"), stage)
    (asked,) = stage.by("belief")
    assert "thing number 6" in asked.text
    assert stage.by("subject")[0].text.startswith("I think so too.\n\nRank these summaries")
    assert (record.status, record.reference) == ("done", "v6")


async def test_problems_of_a_ranking_are_counted(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.conduct(trial("ranking", "neutral"), kit.stage(kit.script(subject=["2, 1, 2, 9, 4=5"])))
    assert record.predicted == tuple(record.shown[number - 1] for number in (2, 1, 2, 4, 5))
    assert (record.unknown, record.repeated, record.missing, record.tied) == (1, 1, 2, 1)


async def test_a_reply_without_a_ranking_has_none(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.conduct(trial("ranking", "neutral"), kit.stage(kit.script(subject=["I cannot say."])))
    assert (record.status, record.predicted, record.missing) == ("done", None, None)
    assert record.answer == "I cannot say."


async def test_one_viewpoint_cannot_be_ranked(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    stage = kit.stage(kit.script())
    assert (await kit.conduct(trial("ranking", "neutral", thread(viewpoints=1)), stage)).status == "not eligible"
    assert not stage.asked


@pytest.mark.parametrize(("role", "who"), [("subject", "subject"), ("belief", "judge")])
async def test_a_failed_call_fails_the_trial(
    kit: Any, trial: Callable[..., Any], failed: CallFailed, role: str, who: str
) -> None:
    record = await kit.conduct(trial("ranking", "biased"), kit.stage(kit.script(**{role: [failed]})))
    assert (record.status, record.failure) == ("failed", f"{who}: rate limit: too many requests")


async def test_a_model_can_be_held_to_as_many_numbers_as_there_are(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=['{"ranking": [3, 1, 2, 6, 5, 4]}']))
    record = await kit.conduct(trial("ranking", "neutral"), stage)
    (asked,) = stage.by("subject")
    (numbers,) = asked.form.schema["properties"].values()
    assert (numbers["items"]["enum"], numbers["minItems"], numbers["maxItems"]) == ([1, 2, 3, 4, 5, 6], 6, 6)
    assert record.predicted == tuple(record.shown[number - 1] for number in (3, 1, 2, 6, 5, 4))
    assert (record.unknown, record.repeated, record.missing) == (0, 0, 0)


WELL = (3, 1, 2, 5, 4)
SUMMARIES = ["Go, now.", "Stay here.", "Be kind to them.", "Wait a year.", "Ask her."]


@pytest.mark.parametrize(
    "text",
    [
        "3, 1, 2, 5, 4",
        "3,1,2,5,4",
        "Your ranking: 3, 1, 2, 5, 4.",
        "**3, 1, 2, 5, 4**",
        "[3, 1, 2, 5, 4]",
        "3 > 1 > 2 > 5 > 4",
        "3 1 2 5 4",
        "3\n1\n2\n5\n4",
        "#3, #1, #2, #5, #4",
        "<think>First 1, 2, 3, 4, 5; no.</think>\n3, 1, 2, 5, 4",
        "Of the 5 summaries I would say, as in 2019, that 1, 2 are close.\n\n3, 1, 2, 5, 4",
        "At first 1, 2, 3, 4, 5 came to mind. Then: 3, 1, 2, 5, 4",
        "1. Summary 3\n2. Summary 1\n3. Summary 2\n4. Summary 5\n5. Summary 4",
        "1. **3** - it is kind\n2. **1** - it is not\n3. **2**\n4. **5**\n5. **4**",
        "3. Be kind.\n1. Go.\n2. Stay.\n5. Ask.\n4. Wait.",
        "1. Be kind to them.\n2. **Go, now**\n3. Stay here: it is best.\n4. ASK HER\n5. Wait a year.",
    ],
)
def test_a_ranking_is_read(text: str) -> None:
    assert read_ranking(text, SUMMARIES) == Ranking(WELL, 0, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot rank these.",
        "It is 1,000 to 1.",
        "7, 8, 9",
        "1. Be kind.\n2. Go.\n3. Stay.\n4. Ask.\n5. Wait.",
    ],
)
def test_no_ranking_is_made_up(text: str) -> None:
    assert read_ranking(text, SUMMARIES) is None


def test_numbers_that_are_too_many_too_few_or_unknown_are_counted() -> None:
    ranking = read_ranking("3, 1, 3, 9, 2=5, 0", SUMMARIES)
    assert ranking == Ranking((3, 1, 3, 2, 5), unknown=2, repeated=1, tied=1)
    assert ranking is not None
    assert ranking.missing(5) == 1


@pytest.mark.parametrize("unit", ["1 ", "1, ", "1,", " ", "1.\n", "* ", "(", "1\n\n", "9999999999"])
def test_long_hostile_replies_are_read_quickly(unit: str) -> None:
    read_ranking(unit * 40_000, SUMMARIES)


def test_the_most_voted_come_first_and_equal_ones_in_their_order(thread: Callable[..., ReferenceThread]) -> None:
    ranked = by_votes(thread(viewpoints=5, votes=[3, 7, -2, 7, 3]), 4)
    assert [viewpoint.id for viewpoint in ranked] == ["v2", "v4", "v1", "v5"]


def test_the_order_shown_follows_from_seed_and_thread(thread: Callable[..., ReferenceThread]) -> None:
    views = thread(viewpoints=10).viewpoints
    orders = [[view.id for view in shuffled(views, *how)] for how in (("a", 1), ("a", 1), ("a", 2), ("b", 1))]
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == sorted(view.id for view in views) for order in orders)
