from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import ReferenceThread


async def test_the_most_voted_are_ranked_in_an_order_that_all_arms_share(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    about = thread(viewpoints=13)
    records = []
    for arm in ("neutral", "biased", "matched-neutral"):
        stage = kit.stage(kit.script(subject=["10, 9, 8, 7, 6, 5, 4, 3, 2, 1"]))
        records.append(await kit.hold(trial("ranking", arm, about), stage))
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
    assert {record.reference for record in records} == {"v10"}


async def test_the_belief_is_the_least_popular_ones(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=["1, 2, 3, 4, 5, 6"]))
    record = await kit.hold(trial("ranking", "biased"), stage)
    (asked,) = stage.by("belief")
    assert "thing number 6" in asked.text
    assert stage.by("subject")[0].text.startswith("I think so too.\n\nRank these summaries")
    assert (record.status, record.reference) == ("done", "v6")


async def test_what_is_wrong_with_a_ranking_is_counted(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.hold(trial("ranking", "neutral"), kit.stage(kit.script(subject=["2, 1, 2, 9, 4=5"])))
    assert record.predicted == tuple(record.shown[number - 1] for number in (2, 1, 2, 4, 5))
    assert (record.unknown, record.repeated, record.missing, record.tied) == (1, 1, 2, 1)


async def test_a_reply_without_a_ranking_has_none(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.hold(trial("ranking", "neutral"), kit.stage(kit.script(subject=["I cannot say."])))
    assert (record.status, record.predicted, record.missing) == ("done", None, None)
    assert record.answer == "I cannot say."


async def test_one_viewpoint_cannot_be_ranked(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    stage = kit.stage(kit.script())
    assert (await kit.hold(trial("ranking", "neutral", thread(viewpoints=1)), stage)).status == "not eligible"
    assert not stage.asked


@pytest.mark.parametrize(("role", "who"), [("subject", "subject"), ("belief", "judge")])
async def test_a_failed_call_fails_the_trial(
    kit: Any, trial: Callable[..., Any], failed: CallFailed, role: str, who: str
) -> None:
    record = await kit.hold(trial("ranking", "biased"), kit.stage(kit.script(**{role: [failed]})))
    assert (record.status, record.failure) == ("failed", f"{who}: rate limit: too many requests")


async def test_a_model_can_be_held_to_as_many_numbers_as_there_are(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=['{"ranking": [3, 1, 2, 6, 5, 4]}']))
    record = await kit.hold(trial("ranking", "neutral"), stage)
    (asked,) = stage.by("subject")
    (numbers,) = asked.form.schema["properties"].values()
    assert (numbers["items"]["enum"], numbers["minItems"], numbers["maxItems"]) == ([1, 2, 3, 4, 5, 6], 6, 6)
    assert record.predicted == tuple(record.shown[number - 1] for number in (3, 1, 2, 6, 5, 4))
    assert (record.unknown, record.repeated, record.missing) == (0, 0, 0)
