"""The best scored top-level comments of each post, read as they come, a bounded number of them kept."""

from __future__ import annotations

from collections import Counter
from heapq import heappush, heapreplace

import msgspec

from overton.studies.deliberation.items import Verdict
from overton.studies.deliberation.verdicts import read_comment
from overton.studies.forum import Comment, is_bot, is_gone, plain, seconds

__all__ = ["LONGEST_BODY", "BestComments", "Kept"]

LONGEST_BODY = 10_000
"""Characters of an unclear comment that are kept for a judge: as many as the forum allows."""


class Kept(msgspec.Struct, frozen=True, order=True, gc=False):
    """What is kept of a comment. The order is that of being kept: by score, then the older, then by id.

    Of an unclear one, `doubtful` says whether it names a verdict at all, and `body` is kept where a judge wants it.
    """

    score: int | float
    age: float
    id: str
    verdict: Verdict | None
    doubtful: bool
    body: str


class BestComments:
    """The `limit` best scored top-level comments of each post in `posts`, whatever the order in which they come.

    Left out are replies, and what no reader said: comments of bots and moderators (by name, or marked as such), of the
    post's own author where the comment is marked so, and deleted and removed ones. `left_out` counts them by reason,
    `top_level` the readers' comments seen. A comment that comes twice is taken once.
    """

    def __init__(self, posts: set[str], limit: int, *, keep_bodies: bool) -> None:
        self.kept: dict[str, list[Kept]] = {post: [] for post in posts}
        self.top_level = 0
        self.left_out: Counter[str] = Counter()
        self._limit = limit
        self._keep_bodies = keep_bodies

    def add(self, comment: Comment) -> None:
        """Look at one comment."""
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
        if any(one.id == comment.id for one in best):
            self.top_level -= 1
            return
        self._keep(best, place, comment.body or "")

    def _keep(self, best: list[Kept], place: tuple[int | float, float, str], body: str) -> None:
        reading = read_comment(body)
        wanted = self._keep_bodies and reading.verdict is None
        kept = Kept(*place, reading.verdict, bool(reading.doubtful), plain(body)[:LONGEST_BODY] if wanted else "")
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
