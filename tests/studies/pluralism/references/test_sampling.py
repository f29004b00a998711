"""Table 2's rules step by step, on posts and comments in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import InputError
from overton.studies.forum import Comment, Post
from overton.studies.pluralism.references.sampling import PUBLISHED, Remover, SamplingOptions, rules_for, sample, survey

JULY_2019 = 1562000000


@pytest.fixture
def forum() -> Callable[..., tuple[list[Post], list[Comment]]]:
    """A community of posts by id, each with this many comments by readers."""

    def make(comments: dict[str, int], community: str = "AskEconomics", **post: Any) -> Any:
        posts = [
            Post(
                name,
                f"Why {name}?",
                JULY_2019,
                **{"text": "So?", "author": f"op_{name}9", "subreddit": community, **post},
            )
            for name in comments
        ]
        return posts, [said(name, number) for name, count in comments.items() for number in range(count)]

    return make


def said(post: str, number: int, **changes: Any) -> Comment:
    made = {
        "id": f"{post}c{number}",
        "link_id": f"t3_{post}",
        "parent_id": f"t3_{post}",
        "body": f"Opinion {number} on {post}",
        "created_utc": JULY_2019 + 60 * number,
        "author": f"reader{number}",
        "score": 10 - number,
    }
    return Comment(**{**made, **changes})


def taken(posts: list[Post], comments: list[Comment], **options: Any) -> Any:
    return sample(survey(posts, comments, SamplingOptions(**options)), posts, comments)


def kept(sampled: Any) -> list[int]:
    return [step.kept for step in sampled.steps]


def test_every_step_says_what_it_kept(forum: Any) -> None:
    posts, comments = forum({"few": 2, "right": 3, "most": 5, "many": 6, "other": 4})
    posts[4] = Post("other", "Old?", 1500000000)
    found = taken(posts, comments, year=2019, min_comments=3, max_comments=5)
    assert [step.number for step in found.steps] == [1, 2, 3, 4, 5, 6]
    assert kept(found) == [4, 4, 4, 2, 2, 2]
    assert found.steps[3].note == "1 with fewer than 3, 1 with more than 5"
    assert sorted(len(thread.comments) for thread in found.threads) == [3, 5]


def test_threads_hold_text_votes_and_comments_in_the_order_of_writing(forum: Any) -> None:
    posts, comments = forum({"p": 3})
    (thread,) = taken(posts, comments[::-1], min_comments=1).threads
    assert (thread.community, thread.title, thread.text) == ("AskEconomics", "Why p?", "So?")
    assert [(one.id, one.text, one.votes) for one in thread.comments] == [
        ("c1", "Opinion 0 on p", 10),
        ("c2", "Opinion 1 on p", 9),
        ("c3", "Opinion 2 on p", 8),
    ]


def test_none_of_the_forums_ids_and_names_remain(forum: Any) -> None:
    posts, comments = forum({"p1x2y3": 2})
    comments[0] = said("p1x2y3", 0, body="As reader1 and op_p1x2y39 say, u/reader1, see https://redd.it/p1x2y3 &amp; x")
    found = taken(posts, comments, min_comments=1)
    (thread,) = found.threads
    assert thread.id == "AskEconomics-0001"
    assert thread.comments[0].text == "As [user] and [user] say, [user], see [link] & x"
    assert found.steps[5].note == "removed: 3 account, 1 link"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"body": "[deleted]"}, "1 deleted, removed or empty"),
        ({"body": None}, "1 deleted, removed or empty"),
        ({"body": " \u200b "}, "1 deleted, removed or empty"),
        ({"author": "AutoModerator"}, "1 by moderators and bots"),
        ({"stickied": True}, "1 by moderators and bots"),
        ({"author": "op_p9"}, "1 by the post's author"),
        ({"is_submitter": True}, "1 by the post's author"),
        ({"parent_id": "t1_pc0"}, "1 replies to other comments"),
    ],
)
def test_comments_that_are_not_the_crowds_do_not_count(forum: Any, change: Any, reason: str) -> None:
    posts, comments = forum({"p": 2})
    found = taken(posts, [*comments, said("p", 7, **change)], min_comments=2)
    assert len(found.threads[0].comments) == 2
    assert found.steps[2].note == f"comments left out: {reason}"


def test_replies_count_on_request_and_a_repeated_comment_counts_once(forum: Any) -> None:
    posts, comments = forum({"p": 2})
    more = [*comments, said("p", 7, parent_id="t1_pc0"), comments[0]]
    assert len(taken(posts, more, min_comments=1, replies=True).threads[0].comments) == 3
    assert len(taken(posts, more, min_comments=1).threads[0].comments) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"text": "[removed]"},
        {"removed_by_category": "moderator"},
        {"author": "AutoModerator"},
        {"distinguished": "moderator"},
        {"stickied": True},
    ],
)
def test_posts_that_readers_cannot_see_or_moderators_wrote_are_left_out(forum: Any, change: Any) -> None:
    posts, comments = forum({"p": 2}, **change)
    found = survey(posts, comments, SamplingOptions(min_comments=1))
    assert [step.kept for step in found.steps] == [1, 0, 0, 0]


def test_a_title_alone_is_enough(forum: Any) -> None:
    posts, comments = forum({"p": 1}, text=None)
    assert taken(posts, comments, min_comments=1).threads[0].text == ""


def test_the_draw_is_random_repeatable_and_by_community(forum: Any) -> None:
    one = forum({f"a{k}": 1 for k in range(30)})
    other = forum({f"b{k}": 1 for k in range(3)}, community="Politics")
    posts, comments = one[0] + other[0], one[1] + other[1]
    rules = {"min_comments": 1, "sample": 5}
    first = taken(posts, comments, **rules).threads
    assert [thread.id for thread in first] == [
        *(f"AskEconomics-000{k}" for k in range(1, 6)),
        *(f"Politics-000{k}" for k in range(1, 4)),
    ]
    assert first == taken(posts[::-1], comments[::-1], **rules).threads
    assert first != taken(posts, comments, seed=1, **rules).threads
    assert taken(posts, comments, **rules).steps[4].note.endswith("5 of 30 in AskEconomics, 3 of 3 in Politics")


def test_files_that_changed_between_the_readings_are_refused(forum: Any) -> None:
    posts, comments = forum({"p": 2})
    surveyed = survey(posts, comments, SamplingOptions(min_comments=2))
    with pytest.raises(InputError, match="has changed since"):
        sample(surveyed, posts, comments[:1])
    with pytest.raises(InputError, match="has changed since"):
        sample(surveyed, [], comments)


def test_scores_and_times_that_are_not_numbers_are_accepted(forum: Any) -> None:
    posts, _ = forum({"p": 0})
    comments = [
        said("p", 0, score=None),
        said("p", 1, score=2.6, created_utc="1562000001"),
        said("p", 2, created_utc="?"),
    ]
    (thread,) = taken(posts, comments, min_comments=1).threads
    assert sorted(one.votes for one in thread.comments) == [0, 3, 8]


def test_table_2_has_numbers_for_its_communities_which_can_be_replaced() -> None:
    assert rules_for("r/AskEconomics") == SamplingOptions(None, 8, 70, 500)
    assert rules_for("AmItheAsshole", year=2019) == SamplingOptions(2019, 10, 50, 500) == PUBLISHED["amitheasshole"]
    assert rules_for("PoliticalDiscussion", sample=10, year=None) == SamplingOptions(None, 8, 70, 10)
    assert rules_for("elsewhere") == rules_for(None) == SamplingOptions(None, 10, 50, 500)


def test_as_published_takes_the_year_of_table_2_unless_another_is_given() -> None:
    assert rules_for("AmItheAsshole", as_published=True) == SamplingOptions(2019, 10, 50, 500)
    assert rules_for("r/politicaldiscussion", as_published=True) == SamplingOptions(2019, 8, 70, 212)
    given = rules_for("AskEconomics", as_published=True, year=2021, sample=3, replies=True)
    assert given == SamplingOptions(2021, 8, 70, 3, replies=True)


@pytest.mark.parametrize("community", [None, "elsewhere"])
def test_as_published_is_refused_for_communities_that_are_not_in_table_2(community: str | None) -> None:
    with pytest.raises(InputError, match="table 2 has numbers only for AmItheAsshole"):
        rules_for(community, as_published=True)


@pytest.mark.parametrize(
    "given", [{"min_comments": 0}, {"min_comments": 9, "max_comments": 8}, {"sample": 0}, {"year": 19}]
)
def test_numbers_out_of_range_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="--"):
        SamplingOptions(**given)
    with pytest.raises(InputError, match="--"):
        rules_for("elsewhere", **given)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("As /u/Some_User-99 said", "As [user] said"),
        ("u/abc: no", "[user]: no"),
        ("(u/throw_away12).", "([user])."),
        ("see user/Name123", "see [user]"),
        ("[him](/u/Some_User)", "[him]([user])"),
        ("thanks @jane_doe!", "thanks [user]!"),
        ("write to jane.doe+x@mail.example.co.uk.", "write to [email]."),
        ("mailto:jane@example.com", "mailto:[email]"),
        ("https://www.reddit.com/user/SomeName/comments/", "[link]"),
        ("https://old.reddit.com/r/AskEconomics/comments/abc123/title/def/?context=3", "[link]"),
        ("here: https://redd.it/abc123, ok", "here: [link] ok"),
        ("[post](https://np.reddit.com/r/x/comments/1)", "[post]([link])"),
        ("twitter.com/someone/status/1", "[link]"),
        ("www.instagram.com/someone", "[link]"),
        ("https://x.com/someone", "[link]"),
        ("https://t.me/someone", "[link]"),
        ("https://medium.com/@someone/story", "[link]"),
        ("https://name:secret@files.example/x", "[link]"),
        ("call (555) 123-4567 now", "call [phone] now"),
        ("call 555-123-4567.", "call [phone]."),
        ("1-800-555-0199", "[phone]"),
        ("555.123.4567", "[phone]"),
        ("+49 30 1234 5678", "[phone]"),
        ("+1 (555) 123-4567", "[phone]"),
        ("07700 900123", "[phone]"),
        ("my SSN is 123-45-6789", "my SSN is [number]"),
        ("from 192.168.0.12", "from [address]"),
    ],
)
def test_identifiers_are_replaced(text: str, clean: str) -> None:
    assert Remover().clean(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "a 50/50 split and/or either/u/or not",
        "GDP grew from 1,000,000 to 2 000 000 in 1990-2000",
        "on 2019-10-12 at 12:30, rates went 0.25 to 0.50",
        "$100 200 300 and 3.5% @ 5pm, £0.99",
        "version 1.2.3 of r/AskEconomics",
        "see https://www.bls.gov/news.release/empsit.nr0.htm and netflix.com/title",
        "my sister Anna, 34F, and I",
        "u/s",
        "the year 1990, pages 555-123",
        "1.5.2.300.4",
    ],
)
def test_other_words_and_numbers_stay(text: str) -> None:
    assert Remover().clean(text) == text


def test_names_of_the_threads_accounts_are_replaced_unless_they_are_ordinary_words() -> None:
    remover = Remover()
    accounts = ["jane_doe42", "teacher", "BobTheBuilder", "Karen", "x_1", "jane_doe"]
    text = "jane_doe42 and jane_doe are right, BobTheBuilder is not; the teacher and Karen said x_1. myjane_doe42"
    assert remover.clean(text, accounts) == (
        "[user] and [user] are right, [user] is not; the teacher and Karen said x_1. myjane_doe42"
    )
    assert remover.removed["account"] == 3


def test_removals_are_counted_by_kind() -> None:
    remover = Remover()
    remover.clean("u/someone a@b.example and @other")
    remover.clean("u/someone")
    assert {kind: count for kind, count in remover.removed.items() if count} == {"account": 3, "e-mail": 1}


@pytest.mark.parametrize(
    "text", ["a-" * 20_000, "a." * 20_000, "@" * 40_000, "1 " * 20_000, "http://" * 6_000, "+1" * 20_000]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    Remover().clean(text, ["name_1"])
