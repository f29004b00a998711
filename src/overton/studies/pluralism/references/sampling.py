"""Sampling of threads from a community's posts and comments, by the rules of table 2 (section 5.3). Each step reports
the number of threads that it kept.

Posts and comments are read twice. First, `survey` counts them and stores little. Then `sample` chooses threads at
random and reads them again. Names and identifiers that match documented patterns are replaced by fixed words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from typing import Literal

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.studies.forum import Comment, Post, is_bot, is_gone, plain, seconds
from overton.studies.pluralism import items
from overton.studies.pluralism.items import Thread

Kind = Literal["e-mail", "link", "account", "phone", "number", "computer"]

_PLACEHOLDERS: dict[Kind, str] = {
    "e-mail": "[email]",
    "link": "[link]",
    "account": "[user]",
    "phone": "[phone]",
    "number": "[number]",
    "computer": "[address]",
}
"""The replacement for each kind of identifier."""

_SOCIAL = (
    r"(?:[\w-]{1,63}\.){0,5}(?:reddit|redd|twitter|x|facebook|fb|instagram|tiktok|linkedin|snapchat|tumblr|pinterest|threads"
    r"|t|discord|discordapp|twitch|patreon|onlyfans|venmo|cash|gofundme|paypal|keybase|steamcommunity|telegram)"
    r"\.(?:com|it|net|me|gg|tv|app)"
)
_END = r"[^\s<>\[\]()\"']"

_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    # A link with credentials, to a page of a social site, or to a path that starts with '@name'.
    ("link", re.compile(rf"\bhttps?://[^\s/@<>]{{1,200}}@{_END}{{1,2000}}", re.IGNORECASE)),
    ("link", re.compile(rf"(?<![\w@.-])(?:https?://)?{_SOCIAL}/{_END}{{1,2000}}", re.IGNORECASE)),
    ("link", re.compile(rf"\bhttps?://[\w.:-]{{1,255}}/@{_END}{{1,2000}}", re.IGNORECASE)),
    ("e-mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?![\w@])")),
    # '/u/name', 'u/name' and '/user/name', but not a 'u/' inside a longer path.
    ("account", re.compile(r"(?<![\w/.:])/?(?:u|user)/[A-Za-z0-9_-]{3,20}(?![\w-])", re.IGNORECASE)),
    ("account", re.compile(r"(?<![\w@./+-])@[A-Za-z_][\w]{1,29}(?!\w)")),
    ("number", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    # +49 30 1234567; (555) 123-4567, 555-123-4567, 1-800-555-0199; 07700 900123.
    ("phone", re.compile(r"(?<![\w+])\+\d(?:[ .()-]{0,2}\d){7,14}(?!\d)")),
    ("phone", re.compile(r"(?<![\w.-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])")),
    ("phone", re.compile(r"(?<![\w.,-])0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}(?![\w-])")),
    (
        "computer",
        re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)"),
    ),
)

_COMMON_NAME = re.compile(r"[A-Za-z]?[a-z]*")
_SHORTEST = 5


class Remover:
    """Removes identifiers from one text after another; `removed` counts them by kind."""

    def __init__(self) -> None:
        self.removed: Counter[Kind] = Counter()

    def clean(self, text: str, accounts: Iterable[str] = ()) -> str:
        """The text without identifiers. `accounts` are the names of the thread's accounts.

        If an account's name has no prefix such as 'u/', Overton removes only a name that differs from ordinary words.
        Such a name has at least five characters, and a digit, an underscore, a hyphen, or a capital after the first
        letter.
        """
        for kind, pattern in _PATTERNS:
            text, count = pattern.subn(_PLACEHOLDERS[kind], text)
            self.removed[kind] += count
        names = sorted({name for name in accounts if _is_distinctive(name)}, key=len, reverse=True)
        if names:
            alone = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
            text, count = alone.subn(_PLACEHOLDERS["account"], text)
            self.removed["account"] += count
        return text


def _is_distinctive(name: str) -> bool:
    return len(name) >= _SHORTEST and not _COMMON_NAME.fullmatch(name)


class SamplingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for sampling threads.

    year          only posts of this year (UTC); None for posts of any year
    min_comments, max_comments   the minimum and the maximum number of usable comments of a thread
    sample        the maximum number of threads of each community, chosen at random
    replies       whether replies to other comments count as comments, too; the paper does not specify this
    seed          the seed of the random choice

    Raises InputError for numbers out of range.
    """

    year: int | None = None
    min_comments: int = 10
    max_comments: int = 50
    sample: int = 500
    replies: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        checks = (
            ("min-comments", self.min_comments, self.min_comments >= 1, "must be 1 or more"),
            ("max-comments", self.max_comments, self.max_comments >= self.min_comments, "is below --min-comments"),
            ("sample", self.sample, self.sample >= 1, "must be 1 or more"),
            ("year", self.year, self.year is None or 1970 <= self.year <= 9999, "must be between 1970 and 9999"),
        )
        problems = [Problem(f"--{name}", str(value), why) for name, value, fine, why in checks if not fine]
        if problems:
            raise InputError(problems)


PUBLISHED: Mapping[str, SamplingOptions] = {
    "amitheasshole": SamplingOptions(2019, 10, 50, 500),
    "askeconomics": SamplingOptions(2019, 8, 70, 500),
    "politicaldiscussion": SamplingOptions(2019, 8, 70, 212),
}
"""The rules of table 2, by community in lower case."""


def rules_for(community: str | None, *, as_published: bool = False, **given: int | bool | None) -> SamplingOptions:
    """The rules for a community: the numbers of table 2, or the defaults if the community is not in table 2. Numbers in
    `given` override them.

    Without `as_published`, the year in the table (2019) is not used, so that threads of other years can be sampled.

    Raises:
        InputError: `as_published` is set for a community that is not in table 2, or a number is out of range.
    """
    rules = PUBLISHED.get((community or "").removeprefix("r/").casefold())
    if rules is None and as_published:
        reason = "table 2 has numbers only for AmItheAsshole, AskEconomics and PoliticalDiscussion; name one of them"
        raise InputError([Problem("--community", community or "", reason)])
    rules = rules or SamplingOptions()
    chosen = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(rules, **{"year": rules.year if as_published else None, **chosen})


class SamplingStep(msgspec.Struct, frozen=True):
    """One step of sampling: the number of threads (or posts) left after it, and a note with further counts."""

    number: int
    name: str
    kept: int
    note: str


_LONGEST_TEXT = 40_000
"""The maximum length of a post or a comment in characters, as in the forum. Longer texts are truncated."""


@dataclass
class _Counted:
    """The part of a post that the first pass stores."""

    community: str
    author: str | None
    comments: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class ThreadSurvey:
    """The results of the first pass: steps 1 to 4, and the posts with a suitable number of comments, by community."""

    options: SamplingOptions
    steps: tuple[SamplingStep, ...]
    posts: dict[str, list[str]]


@dataclass(frozen=True)
class Sampled:
    """The threads, in the order of the random choice, and all steps that led to them."""

    threads: list[Thread]
    steps: tuple[SamplingStep, ...]


def survey(posts: Iterable[Post], comments: Iterable[Comment], options: SamplingOptions | None = None) -> ThreadSurvey:
    """Run steps 1 to 4. Memory grows with the usable posts, not with the size of the input."""
    options = options or SamplingOptions()
    read = in_year = 0
    unusable: Counter[str] = Counter()
    known: dict[str, _Counted] = {}
    for post in posts:
        if post.id in known:
            continue
        read += 1
        if options.year is not None and _year(post) != options.year:
            continue
        in_year += 1
        if reason := _why_no_thread(post):
            unusable[reason] += 1
        else:
            known[post.id] = _Counted(post.subreddit or "", post.author)
    left_out: Counter[str] = Counter()
    enough = options.max_comments + 1  # further comments need not be stored, because the post has too many
    for comment in comments:
        counted = known.get(comment.post)
        if counted is None or len(counted.comments) >= enough:
            continue
        if reason := _why_left_out(comment, counted.author, options):
            left_out[reason] += 1
        else:
            counted.comments.add(comment.id)
    right: dict[str, list[str]] = {}
    for name, counted in known.items():
        if options.min_comments <= len(counted.comments) <= options.max_comments:
            right.setdefault(counted.community, []).append(name)
    counts = [len(counted.comments) for counted in known.values()]
    few, many = (sum(count < options.min_comments for count in counts), sum(count >= enough for count in counts))
    note = f"{few:,} with fewer than {options.min_comments:,}, {many:,} with more than {options.max_comments:,}"
    steps = (
        SamplingStep(1, "posts of the year", in_year, f"{read:,} read; {options.year or 'any year'}"),
        SamplingStep(2, "posts that still exist", len(known), f"left out: {_listed(unusable)}"),
        SamplingStep(
            3, "posts with comments by readers", sum(map(bool, counts)), f"comments left out: {_listed(left_out)}"
        ),
        SamplingStep(4, "threads with a suitable number of comments", sum(map(len, right.values())), note),
    )
    return ThreadSurvey(options, steps, right)


def sample(surveyed: ThreadSurvey, posts: Iterable[Post], comments: Iterable[Comment]) -> Sampled:
    """Steps 5 and 6: the sampled threads, without names and identifiers.

    `posts` and `comments` must be the same that `survey` read. Threads and comments get new ids, which do not lead back
    to an account. Comments are in the order in which they were written.

    Raises:
        InputError: a post that `survey` read is missing, or its number of usable comments is now outside the limits.
    """
    options = surveyed.options
    names = _draw_names(surveyed)
    drawn: dict[str, Post] = {}
    for post in posts:
        if post.id in names:
            drawn.setdefault(post.id, post)
    said: dict[str, dict[str, Comment]] = {name: {} for name in drawn}
    for comment in comments:
        own = said.get(comment.post)
        if own is not None and not _why_left_out(comment, drawn[comment.post].author, options):
            own.setdefault(comment.id, comment)
    missing = [name for name in names if not options.min_comments <= len(said.get(name, ())) <= options.max_comments]
    if missing:
        raise InputError(f"post {missing[0]} has changed since the first reading; start again")
    remover = Remover()
    threads = [_thread(names[name], drawn[name], said[name].values(), remover) for name in names]
    removed = f"removed: {_listed(Counter({str(kind): count for kind, count in remover.removed.items()}))}"
    removal = SamplingStep(6, "names and identifiers removed", len(threads), removed)
    return Sampled(threads, (*surveyed.steps, _draw_step(surveyed, threads), removal))


def _draw_names(surveyed: ThreadSurvey) -> dict[str, str]:
    """The id that each sampled post gets, one community after another."""
    names: dict[str, str] = {}
    for community, posts in sorted(surveyed.posts.items()):
        chosen = Draw(f"{surveyed.options.seed}/threads/{community}").sample(sorted(posts), surveyed.options.sample)
        stem = re.sub(r"[^A-Za-z0-9]+", "-", community).strip("-") or "thread"
        names |= {post: f"{stem}-{number:04d}" for number, post in enumerate(chosen, 1)}
    return names


def _thread(name: str, post: Post, comments: Iterable[Comment], remover: Remover) -> Thread:
    ordered = sorted(comments, key=lambda comment: (seconds(comment.created_utc) or 0.0, comment.id))
    accounts = [name for name in (post.author, *(comment.author for comment in ordered)) if name]

    def clean(text: str | None) -> str:
        return remover.clean(plain(text)[:_LONGEST_TEXT], accounts)

    return Thread(
        name,
        post.subreddit or "",
        clean(post.title),
        clean(post.text),
        tuple(
            items.ThreadComment(f"c{number}", clean(comment.body), _votes(comment))
            for number, comment in enumerate(ordered, 1)
        ),
    )


def _votes(comment: Comment) -> int:
    return round(comment.score) if comment.score is not None and isfinite(comment.score) else 0


def _year(post: Post) -> int | None:
    when = seconds(post.created_utc)
    return datetime.fromtimestamp(when, UTC).year if when is not None and abs(when) < 2e11 else None


def _why_no_thread(post: Post) -> str:
    """The reason why a post cannot become a thread; '' if it can. The text may be empty, because many questions have
    only a title.
    """
    if post.distinguished or post.stickied or is_bot(post.author):
        return "by moderators and bots, or pinned"
    title, text = plain(post.title), plain(post.text)
    if post.removed_by_category or is_gone(text) or is_gone(title):
        return "deleted or removed"
    return "" if title else "without a title"


def _why_left_out(comment: Comment, author: str | None, options: SamplingOptions) -> str:
    """The reason why a comment is left out; '' if it is kept."""
    if not (options.replies or comment.top_level):
        return "replies to other comments"
    if comment.distinguished or comment.stickied or is_bot(comment.author):
        return "by moderators and bots"
    body = plain(comment.body)
    if not body or is_gone(body):
        return "deleted, removed or empty"
    own = comment.is_submitter or (comment.author == author and author and not is_gone(author))
    return "by the post's author" if own else ""


def _draw_step(surveyed: ThreadSurvey, threads: Iterable[Thread]) -> SamplingStep:
    taken = Counter(thread.community for thread in threads)
    found = sorted(surveyed.posts.items())
    shares = (f"{taken[name]:,} of {len(posts):,} in {name or '(no name)'}" for name, posts in found)
    options = surveyed.options
    note = f"at most {options.sample:,} per community, by seed {options.seed}: {', '.join(shares) or 'none'}"
    return SamplingStep(5, "threads drawn", taken.total(), note)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()) if count) or "none"
