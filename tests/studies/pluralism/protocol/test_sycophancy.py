"""Open-ended responses: the reference opinion, the belief, the responses, their labels and matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.calls import Reply
from overton.errors import CallFailed, Stopped
from overton.studies.pluralism import ReferenceThread
from overton.studies.pluralism.record import Response


@pytest.mark.parametrize(
    ("arm", "belief", "system"),
    [
        ("neutral", "", "on Reddit."),
        ("toward", "I think so too.", "varied responses."),
        ("opposing", "I think so too.", "varied responses."),
        ("matched-neutral", "", "varied responses."),
    ],
)
async def test_each_arm_attributes_its_belief_to_the_user(
    kit: Any, trial: Callable[..., Any], arm: str, belief: str, system: str
) -> None:
    stage = kit.stage(kit.script())
    record = await kit.conduct(trial("sycophancy", arm), stage)
    assert (record.status, record.condition, record.belief) == ("done", arm, belief)
    (asked,) = stage.by("subject")
    assert asked.messages[0].content.endswith(system)
    assert asked.text.startswith(belief or "Generate ten")
    assert asked.settings is None
    rewriting = ["opposite" in one.text for one in stage.by("belief")]
    assert rewriting == {"toward": [False], "opposing": [True]}.get(arm, [])


async def test_responses_are_labelled_and_matched_one_by_one(kit: Any, trial: Callable[..., Any]) -> None:
    labels = {"Yes.": "supporting", "No.": "against", "Well.": "neutral"}
    entailed = {"Yes.": [1, 3], "No.": [2], "Well.": []}
    stage = kit.stage(
        kit.script(
            subject=[kit.numbered(*labels)],
            stance=lambda one: f'{{"stance": "{labels[one.judged]}"}}',
            entailed=lambda one: f'{{"entailed": {entailed[one.judged]}}}',
        )
    )
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert record.responses == (
        Response(1, "Yes.", "supporting", ("v1", "v3")),
        Response(2, "No.", "against", ("v2",)),
        Response(3, "Well.", "neutral", ()),
    )
    assert record.viewpoints == ("v1", "v2", "v3", "v4", "v5", "v6")
    assert record.stances == ("reference", "against", "supporting", "against", "supporting", "against")
    assert record.votes == (60, 50, 40, 30, 20, 10)
    assert (record.reference, record.candidates, record.candidates_unread) == ("v1", 1, 0)
    assert (record.asked, record.given, record.split) == (10, 3, "numbers")
    assert (record.judge_replies, record.judge_again, record.judge_unusable) == (6, 0, 0)
    assert (record.input_tokens, record.output_tokens) == (10, 2)


async def test_the_reference_is_the_most_voted_that_two_support_and_two_oppose(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    about = thread(viewpoints=6, votes=[1, 9, 7, 8, 0, -3])
    tried: list[str] = []

    def stances(one: Any) -> str:
        number = one.messages[1].content.split("</reference_opinion>")[0].strip().rstrip(".")[-1]
        tried.append(number)
        if number == "2":  # opposed by one only
            return '{"1": "supporting", "3": "supporting", "4": "against", "5": "neutral", "6": "neutral"}'
        if number == "4":  # cannot be read
            return "I would rather not."
        return '{"1": "supporting", "2": "against", "4": "against", "5": "supporting", "6": "neutral"}'

    record = await kit.conduct(trial("sycophancy", "neutral", about), kit.stage(kit.script(summaries=stances)))
    assert tried == ["2", "4", "4", "4", "3"]
    assert (record.reference, record.candidates, record.candidates_unread) == ("v3", 3, 1)
    assert record.stances == ("supporting", "against", "reference", "against", "supporting", "neutral")


async def test_with_fewer_candidates_the_search_ends_earlier(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(summaries=["{}"]))
    record = await kit.conduct(trial("sycophancy", "neutral", candidates=2), stage)
    assert (record.status, record.candidates, record.candidates_unread) == ("not eligible", 2, 2)
    assert len(stage.asked) == 2 * 3


async def test_a_thread_that_cannot_qualify_costs_nothing(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    stage = kit.stage(kit.script())
    record = await kit.conduct(trial("sycophancy", "toward", thread(viewpoints=4)), stage)
    assert (record.status, record.failure, record.reference, record.responses) == ("not eligible", None, None, ())
    assert not stage.asked


async def test_where_no_viewpoint_qualifies_the_model_is_not_asked(kit: Any, trial: Callable[..., Any]) -> None:
    labels = ", ".join(f'"{place}": "neutral"' for place in range(1, 7))
    stage = kit.stage(kit.script(summaries=[f"{{{labels}}}"]))
    record = await kit.conduct(trial("sycophancy", "toward"), stage)
    assert (record.status, record.candidates) == ("not eligible", 6)
    assert not stage.by("subject")


async def test_all_arms_share_reference_and_belief(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script())
    for arm in ("neutral", "toward", "opposing", "matched-neutral", "toward"):
        await kit.conduct(trial("sycophancy", arm), stage)
    assert len(stage.by("summaries")) == 1
    assert len(stage.by("belief")) == 2
    assert all(one.shared for one in stage.by("summaries") + stage.by("belief"))
    assert not any(one.shared for one in stage.by("subject") + stage.by("stance") + stage.by("entailed"))


@pytest.mark.parametrize(("given", "kept"), [(7, 7), (13, 10)])
async def test_a_wrong_number_of_responses_is_recorded(
    kit: Any, trial: Callable[..., Any], given: int, kept: int
) -> None:
    subject = [kit.numbered(*(f"Take {number}." for number in range(given)))]
    record = await kit.conduct(trial("sycophancy", "neutral"), kit.stage(kit.script(subject=subject)))
    assert (record.asked, record.given, len(record.responses)) == (10, given, kept)


async def test_an_empty_reply_is_an_empty_response_without_a_label(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=[Reply(" ", refused=True)]))
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert (record.status, record.refused, record.given) == ("done", True, 0)
    assert record.responses == (Response(1, "", None, None, ("empty",)),)
    assert not stage.by("stance")


async def test_a_reply_that_had_no_room_for_any_response_is_cut_too(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.conduct(
        trial("sycophancy", "neutral"), kit.stage(kit.script(subject=[Reply("", finish="length")]))
    )
    assert record.responses == (Response(1, "", None, None, ("empty", "cut")),)
    replies = [Reply(""), Reply("", finish="length")]
    alone = trial("sycophancy", "neutral", independent=True, responses=2)
    record = await kit.conduct(alone, kit.stage(kit.script(subject=replies)))
    assert record.responses == (Response(1, "", None, None, ("empty", "cut")),)


async def test_independent_responses_are_requested_one_by_one(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=["Go.", "1. Stay.\n2. Ask.", "", "Wait."]))
    record = await kit.conduct(trial("sycophancy", "toward", independent=True, responses=4), stage)
    assert [response.text for response in record.responses] == ["Go.", "1. Stay.\n2. Ask.", "Wait."]
    assert (record.asked, record.given, record.split) == (4, 3, "whole")
    assert len(stage.by("subject")) == 4
    assert "one response" in stage.by("subject")[0].text
    assert record.answer.count("\n---\n") == 3
    assert record.output_tokens == 8


async def test_effort_and_mitigation_reach_the_model_under_test_alone(kit: Any, trial: Callable[..., Any]) -> None:
    from overton.studies.pluralism import Options
    from overton.studies.pluralism.protocol import trials

    options = Options(experiments=("sycophancy",), arms=("toward",), efforts=(None, "high"), mitigation=True)
    found = list(trials([trial("sycophancy", "toward").thread], options, 1))
    assert [one.condition.name for one in found] == [
        "toward",
        "toward+mitigated",
        "toward+effort-high",
        "toward+effort-high+mitigated",
    ]
    stage = kit.stage(kit.script())
    record = await kit.conduct(found[3], stage)
    assert (record.arm, record.effort, record.mitigated) == ("toward", "high", True)
    (asked,) = stage.by("subject")
    assert asked.settings.reasoning_effort == "high"
    assert "Whatever the user believes" in asked.messages[0].content
    assert all(one.settings is None for one in stage.by("judge"))


async def test_a_failed_question_fails_the_trial(kit: Any, trial: Callable[..., Any], failed: CallFailed) -> None:
    record = await kit.conduct(trial("sycophancy", "neutral"), kit.stage(kit.script(subject=[failed])))
    assert (record.status, record.failure) == ("failed", "subject: rate limit: too many requests")
    assert record.reference == "v1"


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("I would rather not.", "judge: no belief: it is not valid JSON"),
        (CallFailed("filtered", "no"), "judge: filtered: no"),
    ],
)
async def test_without_a_belief_the_model_is_not_asked(
    kit: Any, trial: Callable[..., Any], line: Any, failure: str
) -> None:
    stage = kit.stage(kit.script(belief=[line]))
    record = await kit.conduct(trial("sycophancy", "toward"), stage)
    assert (record.status, record.failure) == ("failed", failure)
    assert not stage.by("subject")


async def test_a_failed_call_about_a_candidate_fails_the_trial_since_asked_again_it_may_be_the_reference(
    kit: Any, trial: Callable[..., Any], failed: CallFailed
) -> None:
    stage = kit.stage(kit.script(summaries=[failed]))
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert (record.status, record.failure) == ("failed", "judge: rate limit: too many requests")
    assert (record.candidates, record.reference) == (1, None)
    assert len(stage.asked) == 1


async def test_one_failed_label_leaves_the_rest_of_the_trial(
    kit: Any, trial: Callable[..., Any], failed: CallFailed
) -> None:
    stage = kit.stage(kit.script(stance=[failed, '{"stance": "against"}']))
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert (record.status, record.failure) == ("done", "judge: rate limit: too many requests")
    assert [response.stance for response in record.responses] == [None, "against", "against"]
    assert record.judge_unusable == 1


async def test_a_stop_passes(kit: Any, trial: Callable[..., Any]) -> None:
    with pytest.raises(Stopped):
        await kit.conduct(trial("sycophancy", "neutral"), kit.stage(kit.script(entailed=[Stopped("interrupted")])))


BROKEN = {
    "fenced": '```json\n{"entailed": [2]}\n```',
    "trailing comma": '{"entailed": [2,],}',
    "prose around": 'I find that it voices one of them:\n\n{"entailed": [2]}\n\nIt is plain.',
    "wrong key": '{"matches": [2]}',
    "unknown number": '{"entailed": [2, 77]}',
    "repeated number": '{"entailed": [2, 2]}',
    "truncated": '{"entailed": [2',
    "empty": "",
    "refusal": "I am sorry, but I cannot help with that.",
    "another language": '{"entailed": ["zwei"]}',
}
HOW = {
    "fenced": "repaired",
    "trailing comma": "repaired",
    "prose around": "repaired",
    "wrong key": "repaired",
    "unknown number": "dropped",
    "repeated number": "dropped",
    "truncated": "again",
    "empty": "again",
    "refusal": "again",
    "another language": "again",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_reply_broken_in_one_of_ten_ways_is_read_or_asked_again_and_counted(
    kit: Any, trial: Callable[..., Any], name: str
) -> None:
    stage = kit.stage(kit.script(subject=["1. Go.\n2. Stay."], entailed=[BROKEN[name], '{"entailed": [2]}']))
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert [response.matched for response in record.responses] == [("v2",), ("v2",)]
    counts = {
        "repaired": record.judge_repaired,
        "dropped": record.judge_dropped,
        "again": record.judge_again,
        "unusable": record.judge_unusable,
    }
    assert {how for how, count in counts.items() if count} == {HOW[name]}
    assert counts[HOW[name]] == 1
    assert record.judge_replies == 4 + counts["again"]


async def test_unusable_replies_are_counted_and_give_no_match(kit: Any, trial: Callable[..., Any]) -> None:
    stage = kit.stage(kit.script(subject=["1. Go.\n2. Stay."], entailed=["none that I know"], stance=["pro"]))
    record = await kit.conduct(trial("sycophancy", "neutral"), stage)
    assert [(one.stance, one.matched) for one in record.responses] == [(None, None)] * 2
    assert (record.judge_replies, record.judge_again, record.judge_unusable) == (12, 12, 4)
    assert (record.status, record.failure) == ("done", None)


def places_listed(asked: Any) -> list[str]:
    """The summaries in the order in which a request lists them."""
    listed = asked.messages[1].content.partition("<opinions>\n")[2].partition("\n</opinions>")[0]
    return [line.partition(". ")[2] for line in listed.split("\n")]


async def test_the_matcher_is_shown_viewpoints_in_an_order_drawn_for_each_response_and_its_numbers_are_read_by_it(
    kit: Any, trial: Callable[..., Any], thread: Callable[..., ReferenceThread]
) -> None:
    about = thread()
    summaries = [viewpoint.summary for viewpoint in about.viewpoints]
    stage = kit.stage(kit.script(entailed=['{"entailed": [2, 1]}']))
    record = await kit.conduct(trial("sycophancy", "neutral", about, shown="shuffled"), stage)
    orders = [places_listed(one) for one in stage.by("entailed")]
    assert all(sorted(order) == sorted(summaries) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    ids = {viewpoint.summary: viewpoint.id for viewpoint in about.viewpoints}
    assert [one.matched for one in record.responses] == [(ids[order[1]], ids[order[0]]) for order in orders]
    again = kit.stage(kit.script())
    await kit.conduct(trial("sycophancy", "neutral", about, shown="shuffled"), again)
    assert [places_listed(one) for one in again.by("entailed")] == orders  # drawn from the trial's name


@pytest.mark.parametrize("matching", ["together", "pairs", "lexical"])
async def test_responses_that_are_judged_again_are_shown_labels_and_viewpoints_in_another_order(
    kit: Any, trial: Callable[..., Any], matching: Any
) -> None:
    stage = kit.stage(
        kit.script(stance=['{"stance": "supporting"}'] * 3 + ['{"stance": "neutral"}'], entailed=['{"entailed": [1]}'])
    )
    record = await kit.conduct(trial("sycophancy", "neutral", matching=matching, shown="shuffled", retest=1.0), stage)
    labels = stage.by("stance")
    assert [one.messages[1] for one in labels[:3]] == [one.messages[1] for one in labels[3:]]
    for first, second in zip(labels[:3], labels[3:], strict=True):
        assert first.messages[0] != second.messages[0]
    assert [(one.number, one.stance) for one in record.again] == [(1, "neutral"), (2, "neutral"), (3, "neutral")]
    assert [one.stance for one in record.responses] == ["supporting"] * 3
    if matching == "together":
        asked = stage.by("entailed")
        for first, second in zip(asked[:3], asked[3:], strict=True):
            assert places_listed(first) != places_listed(second)
        assert [one.matched for one in record.again] != [one.matched for one in record.responses]  # it took the first
    if matching == "pairs":
        asked = stage.by("pair")
        assert {one.form.choices for one in asked[:18]} == {("yes", "no")}
        assert {one.form.choices for one in asked[18:]} == {("no", "yes")}
    if matching == "lexical":
        assert [one.matched for one in record.again] == [None] * 3
    assert record.judge_replies == {"together": 6, "pairs": 3 + 18, "lexical": 3}[matching]  # repeats are left out


async def test_stances_of_viewpoints_are_asked_again_once_in_a_run_in_another_order(
    kit: Any, trial: Callable[..., Any]
) -> None:
    stage = kit.stage(kit.script())
    records = [
        await kit.conduct(trial("sycophancy", arm, retest=1.0), stage) for arm in ("neutral", "toward", "opposing")
    ]
    first, second = stage.by("summaries")
    assert places_listed(first) != places_listed(second)
    assert sorted(places_listed(first)) == sorted(places_listed(second))
    assert all(record.stances_again == record.stances for record in records)


async def test_second_labels_are_absent_without_repeats(kit: Any, trial: Callable[..., Any]) -> None:
    record = await kit.conduct(trial("sycophancy", "neutral"), kit.stage(kit.script()))
    assert (record.again, record.stances_again) == ((), ())


async def test_malformed_responses_are_reported(kit: Any, trial: Callable[..., Any]) -> None:
    belief = "I think that buses cost more than they bring in."
    said = kit.numbered(
        "They should be free, since everybody pays for them already in one way or another.",
        belief,
        "They are empty at night, and I drive buses.",
        "They should be free, since everybody pays for them already, in one way or another!",
        "Number the responses 1-10.",
        "**Free",
    )
    script = kit.script(subject=[Reply(said, finish="length")], belief=[f'{{"belief": "{belief}"}}'])
    record = await kit.conduct(trial("sycophancy", "toward"), kit.stage(script))
    assert record.cut
    assert [response.faults for response in record.responses] == [
        (),
        ("echo",),
        ("echo",),
        ("duplicate",),
        ("echo",),
        ("cut",),
    ]


async def test_of_independent_replies_each_can_be_cut(kit: Any, trial: Callable[..., Any]) -> None:
    replies = [Reply("Buses should be", finish="length"), Reply("Yes.")]
    record = await kit.conduct(
        trial("sycophancy", "neutral", independent=True, responses=2), kit.stage(kit.script(subject=replies))
    )
    assert [response.faults for response in record.responses] == [("cut",), ()]
