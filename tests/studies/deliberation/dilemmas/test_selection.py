from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import count, permutations
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.studies.deliberation.dilemmas.posts import SelectionOptions
from overton.studies.deliberation.dilemmas.selection import Selection, select, survey
from overton.studies.deliberation.items import Verdict
from overton.studies.forum import Comment, Post

STORY = "My sister ate my cheese. " * 50
NEW_YEAR = 1735689600  # 2025-01-01 00:00 UTC
DAY = 86_400
NUMBERS = count()


def post(id: str = "p1", **changes: Any) -> Post:
    return Post(**{"id": id, "title": "AITA?", "created_utc": NEW_YEAR, "text": STORY, "author": "teller", **changes})


def comment(body: str, post: str = "p1", **changes: Any) -> Comment:
    made = {"id": f"c{next(NUMBERS)}", "link_id": f"t3_{post}", "parent_id": f"t3_{post}", "body": body}
    return Comment(**{**made, "created_utc": NEW_YEAR + 1, "author": "reader", "score": 1, **changes})


def chosen(
    posts: list[Post], said: Iterable[Comment], judged: dict[str, Verdict] | None = None, **options: Any
) -> Selection:
    return select(survey(posts, said, SelectionOptions(**{"fewest": 1, **options})), posts, judged)


def kept(selection: Selection) -> list[int]:
    assert [step.number for step in selection.steps] == [1, 2, 3, 4, 5, 6, 7]
    return [step.kept for step in selection.steps]


def ids(selection: Selection) -> list[str]:
    return [dilemma.id for dilemma in selection.dilemmas]


def test_a_post_with_its_comments_becomes_a_dilemma_with_its_crowd() -> None:
    told = post(title="AITA for &lt;this&gt;?", text=f"{STORY}\n\nEDIT: thanks")
    found = chosen([told], [comment("NTA"), comment("nta!"), comment("YTA"), comment("NAH, really"), comment("Hm.")])
    (dilemma,) = found.dilemmas
    assert (dilemma.id, dilemma.title, dilemma.text) == ("p1", "AITA for <this>?", STORY.strip())
    assert dilemma.crowd
    assert dilemma.crowd.counts == {"YTA": 1, "NTA": 2, "ESH": 0, "NAH": 1, "INFO": 0}
    assert not dilemma.crowd.simulated
    assert dilemma.crowd.entropy == pytest.approx(1.5)


def test_every_step_says_how_many_posts_it_kept() -> None:
    posts = [
        post("old", created_utc=NEW_YEAR - 1),
        post("meta", flair="META"),
        post("deleted", text="[deleted]"),
        post("short", text="Too short."),
        post("all-edit", text=f"Edit: {STORY}"),
        post("silent"),
        post("p1"),
        post("p2"),
    ]
    comments = [comment("NTA"), comment("YTA"), comment("NTA", "p2"), comment("Hm.", "silent")]
    found = chosen(posts, comments, first=date(2025, 1, 1), top=1)
    assert kept(found) == [7, 7, 4, 3, 2, 2, 1]
    assert ids(found) == ["p1"]
    notes = [step.note for step in found.steps]
    assert notes[0] == "8 posts read; 2025-01-01 to the end"
    assert "4 of 4 comments. Left out: none" in notes[1]
    assert notes[2] == "left out: 1 deleted, 1 meta, 1 too short"
    assert "1 empty" in notes[3]
    assert "3 comments read by pattern, 0 by a judge" in notes[4]
    assert "1 without a verdict" in notes[4]
    assert "1 post with fewer than 1 readable verdicts" in notes[4]
    assert notes[5] == "median 0.50 bits, highest 1.00"
    assert "down to 1.00 bits, on 2 to 2 readable verdicts. 1 have fewer than 10" in notes[6]


def test_the_range_of_dates_is_in_utc_and_holds_both_days() -> None:
    times = {"before": -1, "first": 0, "last": 2 * DAY - 1, "after": 2 * DAY}
    posts = [post(name, created_utc=str(NEW_YEAR + offset)) for name, offset in times.items()]
    posts.append(post("unknown", created_utc="some day"))
    comments = [comment("NTA", one.id) for one in posts]
    found = chosen(posts, comments, first=date(2025, 1, 1), last=date(2025, 1, 2))
    assert sorted(ids(found)) == ["first", "last"]
    assert sorted(ids(chosen(posts, comments, last=date(2024, 12, 31)))) == ["before"]
    assert len(ids(chosen(posts, comments))) == 5


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"flair": "META"}, "meta"),
        ({"flair": "Best of 2024 | Meta"}, "meta"),
        ({"flair": "UPDATE"}, "meta"),
        ({"flair": "Open Forum"}, "meta"),
        ({"author": "AutoModerator"}, "meta"),
        ({"author": "AmItheAsshole-ModTeam"}, "meta"),
        ({"author": "AITAMod"}, "meta"),
        ({"distinguished": "moderator"}, "meta"),
        ({"text": "[deleted]"}, "deleted"),
        ({"text": "[removed]"}, "removed"),
        ({"text": "[ Removed by Reddit ]"}, "removed"),
        ({"title": "[deleted by user]", "text": ""}, "deleted"),
        ({"removed_by_category": "moderator"}, "removed"),
        ({"removed_by_category": "deleted"}, "deleted"),
        ({"text": "x" * 999}, "too short"),
        ({"text": "x" * 998 + "&amp;"}, "too short"),
        ({"text": None}, "too short"),
        ({"id": "../p1"}, "without a usable id"),
    ],
)
def test_posts_other_than_dilemmas_are_left_out_with_a_reason(changes: dict[str, Any], reason: str) -> None:
    found = chosen([post(**changes)], [comment("NTA")])
    assert found.dilemmas == []
    assert found.steps[2].note == f"left out: 1 {reason}"


@pytest.mark.parametrize(
    "changes",
    [
        {"flair": "Not the A-hole"},
        {"flair": "metal"},
        {"text": "x" * 1000},
        {"author": "[deleted]"},
        {"author": "talbot"},
        {"title": "[Removed] from my wedding: AITA?"},
    ],
)
def test_posts_that_only_look_a_little_so_are_kept(changes: dict[str, Any]) -> None:
    assert ids(chosen([post(**changes)], [comment("NTA")])) == ["p1"]


def test_length_is_asked_of_the_post_as_it_was_and_of_the_rest_only_where_wanted() -> None:
    posts = [post(text=f"A short story.\n\nEdit: {STORY}")]
    found = chosen(posts, [comment("NTA")])
    assert [dilemma.text for dilemma in found.dilemmas] == ["A short story."]
    assert found.steps[3].note == "1 post had edits; without edits, 1 below 1,000 characters (kept), 0 empty"
    assert kept(chosen(posts, [comment("NTA")], recheck=True)) == [1, 1, 1, 0, 0, 0, 0]
    assert ids(chosen(posts, [comment("NTA")], recheck=True, shortest=14)) == ["p1"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parent_id": "t1_c0"}, "replies"),
        ({"parent_id": 12345}, "replies"),
        ({"author": "AutoModerator"}, "by bots and moderators"),
        ({"author": "Judgement_Bot_AITA"}, "by bots and moderators"),
        ({"distinguished": "moderator"}, "by bots and moderators"),
        ({"is_submitter": True}, "by the post's author"),
        ({"body": "[deleted]"}, "deleted or removed"),
        ({"body": "[removed]"}, "deleted or removed"),
        ({"body": None}, "deleted or removed"),
    ],
)
def test_comments_by_others_than_readers_do_not_count_as_verdicts(changes: dict[str, Any], reason: str) -> None:
    found = chosen([post()], [comment("YTA"), comment(**{"body": "NTA", **changes})])
    assert found.dilemmas[0].crowd
    assert sum(found.dilemmas[0].crowd.counts.values()) == 1
    assert found.steps[1].note.endswith(f"1 of 1 comments. Left out: 1 {reason}")


def test_the_best_scored_comments_count_in_any_order() -> None:
    scored = [("YTA", 5), ("NTA", 9), ("ESH", None), ("NAH", 7), ("INFO", -3)]
    for order in permutations(scored):
        found = chosen([post()], [comment(body, score=score) for body, score in order], comments=2)
        assert found.dilemmas[0].crowd
        assert {one for one, number in found.dilemmas[0].crowd.counts.items() if number} == {"NTA", "NAH"}


def test_of_comments_with_the_same_score_the_older_count() -> None:
    comments = [comment("YTA", created_utc=NEW_YEAR + 9), comment("NTA", created_utc=NEW_YEAR + 5)]
    for order in permutations(comments):
        found = chosen([post()], order, comments=1)
        assert found.dilemmas[0].crowd
        assert found.dilemmas[0].crowd.verdict == "NTA"


def test_a_hundred_comments_count_by_default() -> None:
    comments = [comment("NTA", score=2) for _ in range(60)] + [comment("YTA") for _ in range(60)]
    crowd = chosen([post()], comments).dilemmas[0].crowd
    assert crowd
    assert (crowd.counts["NTA"], crowd.counts["YTA"]) == (60, 40)


def test_posts_and_comments_that_come_twice_count_once() -> None:
    twice = comment("NTA")
    found = chosen([post(), post(text="[removed]"), post()], [twice, comment("YTA"), twice])
    assert found.dilemmas[0].crowd
    assert found.dilemmas[0].crowd.counts["NTA"] == 1
    assert kept(found)[3:] == [1, 1, 1, 1]
    removed_first = chosen([post(text="[removed]"), post()], [twice])
    assert [dilemma.text for dilemma in removed_first.dilemmas] == [STORY.strip()]


def test_the_most_contested_are_taken_ties_by_id() -> None:
    said = {"b": "NTA YTA", "a": "NTA YTA", "c": "NTA NTA", "d": "NTA YTA ESH", "e": "NTA NTA NTA YTA"}
    comments = [comment(body, name) for name, bodies in said.items() for body in bodies.split()]
    found = chosen([post(name) for name in said], comments, top=4)
    assert ids(found) == ["d", "a", "b", "e"]
    assert found.dilemmas[0].crowd
    assert found.dilemmas[0].crowd.entropy == pytest.approx(log2(3))
    assert kept(found) == [5, 5, 5, 5, 5, 5, 4]


def test_posts_with_too_few_readable_verdicts_are_left_out() -> None:
    comments = [
        comment(body, name) for name, bodies in {"a": "NTA YTA", "b": "NTA NTA YTA"}.items() for body in bodies.split()
    ]
    found = chosen([post("a"), post("b")], [*comments, comment("Hm.", "a")], fewest=3)
    assert ids(found) == ["b"]
    assert kept(found) == [2, 2, 2, 2, 1, 1, 1]


@pytest.mark.parametrize(("number", "ids_found"), [(0, []), (1, ["p1"])])
def test_one_readable_verdict_is_enough_by_default(number: int, ids_found: list[str]) -> None:
    posts = [post()]
    said = [comment("Hm."), *[comment("NTA") for _ in range(number)]]
    assert ids(select(survey(posts, said), posts)) == ids_found


def test_a_judges_labels_of_unclear_comments_count() -> None:
    posts, unclear, doubtful = [post()], comment("Go &amp; leave her."), comment("NTA or YTA")
    comments = [comment("NTA"), unclear, doubtful, comment("[deleted]")]
    surveyed = survey(posts, comments, SelectionOptions(fewest=1), for_judge=True)
    assert [(one.id, one.post, one.body) for one in surveyed.unclear()] == [
        (unclear.id, "p1", "Go & leave her."),
        (doubtful.id, "p1", "NTA or YTA"),
    ]
    found = select(surveyed, posts, {unclear.id: "YTA"})
    assert found.dilemmas[0].crowd
    assert found.dilemmas[0].crowd.counts == {"YTA": 1, "NTA": 1, "ESH": 0, "NAH": 0, "INFO": 0}
    assert "1 comments read by pattern, 1 by a judge" in found.steps[4].note
    assert "0 without a verdict, 1 with unclear verdicts" in found.steps[4].note


def test_texts_of_unclear_comments_are_kept_for_a_judge_only() -> None:
    assert survey([post()], [comment("Hm.")]).unclear() == []
    long = survey([post()], [comment("h" * 50_000)], for_judge=True).unclear()
    assert len(long[0].body) == 10_000


def test_a_post_that_is_gone_at_the_second_reading_is_named() -> None:
    surveyed = survey([post()], [comment("NTA")], SelectionOptions(fewest=1))
    with pytest.raises(InputError, match="post p1 was found when the files were read first, but not the second time"):
        select(surveyed, [post("p2")])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"top": 0}, "'top' is 0"),
        ({"comments": -1}, "'comments' is -1"),
        ({"fewest": 0}, "'fewest' is 0"),
        ({"first": date(2025, 2, 1), "last": date(2025, 1, 1)}, "ends .2025-01-01. before it starts .2025-02-01."),
    ],
)
def test_options_that_make_no_sense_are_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        SelectionOptions(**options)


ODD = st.text(max_size=20)


@given(
    posts=st.lists(st.builds(post, ODD, title=ODD, text=ODD | st.just(STORY), flair=st.none() | ODD, author=ODD)),
    comments=st.lists(
        st.builds(comment, ODD, ODD, id=ODD, score=st.none() | st.integers() | st.floats(allow_nan=False))
    ),
)
def test_steps_never_keep_more_than_the_step_before(posts: list[Post], comments: list[Comment]) -> None:
    found = chosen(posts, comments)
    assert kept(found) == sorted(kept(found), reverse=True)
    assert len(found.dilemmas) == kept(found)[-1]
