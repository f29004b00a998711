"""The seven steps of appendix A, from a community's posts and comments to dilemmas.

Each step counts the posts that it kept.

`survey` reads posts and comments once and stores little of them. `select` takes a judge's verdicts on unclear comments
and chooses posts. It reads the posts again for the texts of the chosen posts, and returns the dilemmas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappush, heapreplace
from statistics import median

import msgspec

from overton.errors import InputError
from overton.studies.deliberation.dilemmas.crowd import UnclearComment
from overton.studies.deliberation.dilemmas.posts import Filter, SelectionOptions
from overton.studies.deliberation.items import VERDICTS, CrowdVerdicts, Dilemma, Verdict
from overton.studies.deliberation.verdicts import read_comment
from overton.studies.forum import Comment, Post, is_bot, is_gone, plain, seconds


class PostStep(msgspec.Struct, frozen=True):
    """One of the seven steps. `kept` is the number of posts left after it, and `note` has further facts."""

    number: int
    name: str
    kept: int
    note: str


_LONGEST_BODY = 10_000
"""The maximum number of characters of a comment that is stored for a judge. It is the forum's own limit."""


class CommentExcerpt(msgspec.Struct, frozen=True, order=True, gc=False):
    """The stored part of a comment. Comments are ordered by priority: by score, then age, then id.

    For an unclear comment, `doubtful` says whether the comment names any verdict. `body` is the text for a judge, ''
    if no judge needs it.
    """

    score: int | float
    age: float
    id: str
    verdict: Verdict | None
    doubtful: bool
    body: str


class BestComments:
    """The `limit` top-level comments with the highest scores on each post in `posts`.

    The order of input does not matter.

    Overton leaves out replies, deleted or removed comments, and comments by bots, moderators and the post's author.
    Bots and moderators are recognised by name or mark, and the author by a mark. `left_out` counts these comments by
    reason, and `top_level` counts all other comments. A repeated comment counts once.
    """

    def __init__(self, posts: set[str], limit: int, *, keep_bodies: bool) -> None:
        self.kept: dict[str, list[CommentExcerpt]] = {post: [] for post in posts}
        self.top_level = 0
        self.left_out: Counter[str] = Counter()
        self._limit = limit
        self._keep_bodies = keep_bodies

    def add(self, comment: Comment) -> None:
        """Consider one comment."""
        best = self.kept.get(comment.post)
        if best is None:
            return
        if reason := _why_left_out(comment):
            self.left_out[reason] += 1
            return
        self.top_level += 1
        place = (comment.score or 0, -(seconds(comment.created_utc) or 0.0), comment.id)
        if len(best) >= self._limit and place <= (best[0].score, best[0].age, best[0].id):
            return
        if any(kept.id == comment.id for kept in best):
            self.top_level -= 1
            return
        self._keep(best, place, comment.body or "")

    def _keep(self, best: list[CommentExcerpt], place: tuple[int | float, float, str], body: str) -> None:
        reading = read_comment(body)
        wanted = self._keep_bodies and reading.verdict is None
        kept = CommentExcerpt(
            *place, reading.verdict, bool(reading.doubtful), plain(body)[:_LONGEST_BODY] if wanted else ""
        )
        if len(best) < self._limit:
            heappush(best, kept)
        else:
            heapreplace(best, kept)


def _why_left_out(comment: Comment) -> str | None:
    if not comment.top_level:
        return "replies"
    if comment.is_submitter:
        return "by the post's author"
    if comment.distinguished or is_bot(comment.author):
        return "by bots and moderators"
    return "deleted or removed" if not comment.body or is_gone(comment.body) else None


_FEW = 10
"""With fewer readable verdicts than this, the note of step 7 warns that entropy is mostly chance."""


@dataclass(frozen=True)
class PostSurvey:
    """The result of the first pass: steps 1 to 4, and the comments kept for each remaining post."""

    options: SelectionOptions
    steps: tuple[PostStep, ...]
    comments: dict[str, list[CommentExcerpt]]

    def unclear(self) -> list[UnclearComment]:
        """The comments for a judge, by post and id, if `survey` stored their texts."""
        return [
            UnclearComment(comment.id, post, comment.body)
            for post in sorted(self.comments)
            for comment in sorted(self.comments[post], key=lambda comment: comment.id)
            if comment.verdict is None and comment.body
        ]


@dataclass(frozen=True)
class Selection:
    """The dilemmas, most contested first, and the seven steps that led to them."""

    dilemmas: list[Dilemma]
    steps: tuple[PostStep, ...]


def survey(
    posts: Iterable[Post],
    comments: Iterable[Comment],
    options: SelectionOptions | None = None,
    *,
    for_judge: bool = False,
) -> PostSurvey:
    """Run steps 1 to 4, and read comments by pattern. `for_judge` keeps the texts of unclear comments.

    Memory grows with the posts that pass the filters and their kept comments, not with the size of the input.
    """
    options = options or SelectionOptions()
    filter_ = Filter(options)
    for post in posts:
        filter_.text(post)
    best = BestComments(filter_.ids, options.comments, keep_bodies=for_judge)
    for comment in comments:
        best.add(comment)
    return PostSurvey(options, tuple(_first_steps(filter_, best, options)), best.kept)


def select(surveyed: PostSurvey, posts: Iterable[Post], judged: Mapping[str, Verdict] | None = None) -> Selection:
    """Run steps 5 to 7: take the dilemmas with the highest entropy of verdicts, ties by id.

    `posts` are the same posts that `survey` read. `judged` has the judge's verdicts, by the comment's id.

    Raises:
        InputError: a post that `survey` read is missing.
    """
    options = surveyed.options
    crowds, step = _crowds(surveyed, judged or {})
    chosen = dict(sorted(crowds.items(), key=lambda pair: (-pair[1].entropy, pair[0]))[: options.top])
    dilemmas = _dilemmas(chosen, posts, options)
    steps = (*surveyed.steps, step, _entropies(crowds), _chosen(chosen, options))
    return Selection([dilemmas[post] for post in chosen], steps)


def _crowds(surveyed: PostSurvey, judged: Mapping[str, Verdict]) -> tuple[dict[str, CrowdVerdicts], PostStep]:
    crowds: dict[str, CrowdVerdicts] = {}
    seen: Counter[str] = Counter()
    for post, comments in surveyed.comments.items():
        counts = dict.fromkeys(VERDICTS, 0)
        for comment in comments:
            verdict = comment.verdict or judged.get(comment.id)
            seen[_how_read(comment, verdict)] += 1
            if verdict:
                counts[verdict] += 1
        if sum(counts.values()) >= surveyed.options.fewest:
            crowds[post] = CrowdVerdicts(counts)
    note = (
        f"{seen['pattern']:,} comments read by pattern, {seen['judge']:,} by a judge. Left out: {seen['none']:,}"
        f" without a verdict, {seen['doubtful']:,} with unclear verdicts, and"
        f" {_posts(len(surveyed.comments) - len(crowds))} with fewer than {surveyed.options.fewest:,} readable"
        " verdicts ('fewest')"
    )
    return crowds, PostStep(5, "comments classified", len(crowds), note)


def _how_read(comment: CommentExcerpt, verdict: Verdict | None) -> str:
    if verdict is None:
        return "doubtful" if comment.doubtful else "none"
    return "pattern" if comment.verdict else "judge"


def _dilemmas(
    chosen: Mapping[str, CrowdVerdicts], posts: Iterable[Post], options: SelectionOptions
) -> dict[str, Dilemma]:
    """The chosen posts as dilemmas, by id."""
    filter_ = Filter(options)
    made = {
        post.id: Dilemma(post.id, plain(post.title), text, chosen[post.id])
        for post in posts
        if post.id in chosen and (text := filter_.text(post))
    }
    if missing := chosen.keys() - made.keys():
        raise InputError(
            f"post {min(missing)} was found when the files were read first, but not the second time; start again"
        )
    return made


def _first_steps(filter_: Filter, best: BestComments, options: SelectionOptions) -> Iterable[PostStep]:
    days = f"{options.first or 'the beginning'} to {options.last or 'the end'}"
    yield PostStep(1, "posts in the range of dates", filter_.in_range, f"{_posts(filter_.read)} read; {days}")
    kept = sum(map(len, best.kept.values()))
    comments = (
        f"the {options.comments:,} comments with the highest scores on each post that steps 3 and 4 keep: {kept:,}"
    )
    passed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(best.left_out.items()))
    left_out = f"{comments} of {best.top_level:,} comments. Left out: {passed or 'none'}"
    yield PostStep(2, "top-level comments taken", filter_.in_range, left_out)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(filter_.left_out.items()))
    yield PostStep(
        3, "meta, deleted, removed and short posts left out", filter_.filtered, f"left out: {reasons or 'none'}"
    )
    edits = f"{_posts(filter_.edited)} had edits; without edits, {filter_.shortened:,} below {options.shortest:,}"
    fate = f"characters ({'left out' if options.recheck else 'kept'})"
    yield PostStep(4, "edits and updates removed", len(filter_.ids), f"{edits} {fate}, {filter_.emptied:,} empty")


def _entropies(crowds: Mapping[str, CrowdVerdicts]) -> PostStep:
    found = [crowd.entropy for crowd in crowds.values()]
    note = f"median {median(found):.2f} bits, highest {max(found):.2f}" if found else "no post has a readable verdict"
    return PostStep(6, "disagreement computed", len(found), note)


def _chosen(chosen: Mapping[str, CrowdVerdicts], options: SelectionOptions) -> PostStep:
    counts = sorted(sum(crowd.counts.values()) for crowd in chosen.values())
    note = f"the {options.top:,} with the highest entropy"
    if counts:
        lowest = min(crowd.entropy for crowd in chosen.values())
        note += f": down to {lowest:.2f} bits, on {counts[0]:,} to {counts[-1]:,} readable verdicts"
        if counts[0] < _FEW:
            few = sum(count < _FEW for count in counts)
            note += f". {few:,} have fewer than {_FEW} verdicts, so their entropy is largely chance; raise 'fewest'"
    return PostStep(7, "most contested taken", len(chosen), note)


def _posts(count: int) -> str:
    return f"{count:,} post{'' if count == 1 else 's'}"
