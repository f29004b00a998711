"""Viewpoints ranked by popularity, before and after a belief taken from the least popular (section 6.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from overton.calls import Ask, Draw, Form
from overton.judging import list_schema, object_schema
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import Viewpoint, by_votes
from overton.studies.pluralism.protocol.trials import (
    THOUGHT,
    ThreadTrial,
    TrialFailed,
    belief_of,
    changed,
    faults_in,
    new_row,
    reply_columns,
    subject,
)
from overton.studies.pluralism.record import Record


async def conduct(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask for a ranking of the viewpoints with the most votes; a thread with fewer than two is not eligible."""
    ranked = by_votes(trial.thread, trial.options.ranked)
    if len(ranked) < 2:
        return changed(new_row(trial), status="not eligible")
    shown = shuffled(ranked, trial.thread.id, trial.seed, trial.shuffle)
    least = ranked[-1] if trial.options.least_popular == "ranked" else by_votes(trial.thread)[-1]
    row = changed(
        new_row(trial),
        reference=least.id,
        true=tuple(viewpoint.id for viewpoint in ranked),
        true_votes=tuple(viewpoint.votes for viewpoint in ranked),
        shown=tuple(viewpoint.id for viewpoint in shown),
    )
    try:
        row = changed(row, belief=await belief_of(trial, least, ask))
        summaries = [viewpoint.summary for viewpoint in shown]
        messages = prompts.popularity_messages("ranking", trial.thread, summaries, trial.condition, row.belief)
        (reply,) = await subject(trial, ask, messages, form=_form_of(len(shown)))
    except TrialFailed as why:
        return changed(row, status="failed", failure=str(why))
    faults = faults_in(reply, messages, summaries)
    row = changed(row, **reply_columns([reply]), faults=faults)
    if (ranking := read_ranking(reply.text, summaries)) is None:
        return row
    return changed(
        row,
        predicted=tuple(row.shown[number - 1] for number in ranking.order),
        unknown=ranking.unknown,
        repeated=ranking.repeated,
        missing=ranking.missing(len(row.shown)),
        tied=ranking.tied,
    )


def _form_of(count: int) -> Form:
    """`count` of the numbers 1 to `count`: one can be missing only if another is repeated, which no schema can exclude.

    An object, since endpoints hold no reply to a bare list.
    """
    numbers = {"type": "integer", "enum": list(range(1, count + 1))}
    return Form(schema=object_schema(ranking=list_schema(numbers, count, count)))


_END = r"(?!\w|\.\d|,\d{3})"
_RUN = re.compile(rf"(?<![\w.,])\d{{1,6}}{_END}(?:(?: ?(?:[,;>=]|->|→) ?| )\d{{1,6}}{_END})+")
_DRESS = re.compile(r"[\s\"'*_#\[\](){}`]+")
_LINE_NUMBER = re.compile(r"^[ \t]*[*_(#]{0,6} ?\d{1,6}[.):]", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*[*_(#]{0,6} ?(\d{1,6})[.):*_]+[ \t]*(.*)$", re.MULTILINE)
_NAMED = re.compile(r"[*_\"'(\[#]*(?:(?:summary|opinion|number|no\.?)\s*)?#?(\d{1,6})\b", re.IGNORECASE)


class Ranking(NamedTuple):
    """Numbers of summaries as a reply ranks them, the most popular first.

    `order` has the valid ones, with repetitions. `unknown`, `repeated` and `tied` count numbers that name nothing,
    repetitions, and neighbours with '=' between them, which are taken in the order written.
    """

    order: tuple[int, ...]
    unknown: int
    repeated: int
    tied: int

    def missing(self, count: int) -> int:
        """How many of the numbers 1 to `count` it does not name."""
        return count - len(set(self.order))


def shuffled(viewpoints: Sequence[Viewpoint], thread: str, seed: int, number: int = 0) -> list[Viewpoint]:
    """The order in which summaries are shown: from seed and thread alone, so that all conditions and models see it.
    `number` is 0 in the design, and numbers other orders."""
    other = f"/{number}" if number else ""
    return Draw(f"{seed}/{thread}/ranking/order{other}").shuffle(viewpoints)


def read_ranking(text: str, summaries: Sequence[str]) -> Ranking | None:
    """The ranking of `summaries`, as they were numbered from 1, in a reply; None if there is none.

    The list is the run of two or more numbers, separated by commas, '>', '=' or white space, that names most summaries;
    the last of those that name equally many. A reply without one is read by lines that start with a number. If these
    are 1, 2, 3, ... they may be ranks or summaries: this is decided by what follows, another number on each line ('1.
    Summary 4') or the words of summaries; otherwise nothing is read. Any other numbers are summaries.
    """
    count = len(summaries)
    said = text.rpartition(THOUGHT)[2]
    runs = _RUN.findall(_DRESS.sub(" ", _LINE_NUMBER.sub("|", said)))
    known = [len(_known(_numbers(run), count)) for run in runs]
    if max(known, default=0) > 1:
        best = next(run for run, names in zip(reversed(runs), reversed(known), strict=True) if names == max(known))
        return _ranking(_numbers(best), count, best.count("="))
    numbers = _by_lines(said, summaries)
    return _ranking(numbers, count, 0) if _known(numbers, count) else None


def _by_lines(text: str, summaries: Sequence[str]) -> list[int]:
    lines = [(int(first), rest) for first, rest in _LINE.findall(text)]
    if len(lines) < 2:
        return []
    if [first for first, _ in lines] != list(range(1, len(lines) + 1)):
        return [first for first, _ in lines]
    named = [_NAMED.match(rest) for _, rest in lines]
    if all(named):
        return [int(match[1]) for match in named if match]
    written = [number for _, rest in lines if (number := _written(rest, summaries))]
    return written if len(written) > 1 else []


def _written(line: str, summaries: Sequence[str]) -> int | None:
    """The number, from 1, of the summary whose words a line contains."""
    said = _plain(line)
    return next(
        (number for number, summary in enumerate(summaries, 1) if _plain(summary) and _plain(summary) in said), None
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _ranking(numbers: Sequence[int], count: int, tied: int) -> Ranking:
    order = tuple(number for number in numbers if 1 <= number <= count)
    return Ranking(order, len(numbers) - len(order), len(order) - len(set(order)), tied)


def _known(numbers: Sequence[int], count: int) -> set[int]:
    return {number for number in numbers if 1 <= number <= count}


def _numbers(run: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", run)]
