"""The experiment in which a model ranks viewpoints by popularity, without and with a stated belief. The belief is taken
from the least popular viewpoint (section 6.2)."""

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
    choice_of_subject,
    faults_in,
    new_row,
    reply_columns,
)
from overton.studies.pluralism.record import Record


async def conduct(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask for a ranking of the viewpoints with the most votes. A thread with fewer than two viewpoints is not
    eligible."""
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
        form = _form_of(len(shown))
        reply = await choice_of_subject(trial, ask, messages, form, lambda text: read_ranking(text, summaries))
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
    """A reply format for a list of `count` numbers from 1 to `count`. A schema cannot prevent that one number is
    missing and another is repeated.

    The list is inside an object, because endpoints cannot constrain a reply to a bare list.
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
    """A reply's ranking, as numbers of summaries, the most popular first.

    `order` has the valid numbers, with repetitions. `unknown` counts invalid numbers, and `repeated` counts
    repetitions. `tied` counts pairs of neighbouring numbers with '=' between them. Tied numbers are ranked in the order
    written.
    """

    order: tuple[int, ...]
    unknown: int
    repeated: int
    tied: int

    def missing(self, count: int) -> int:
        """How many of the numbers from 1 to `count` the ranking does not name."""
        return count - len(set(self.order))


def shuffled(viewpoints: Sequence[Viewpoint], thread: str, seed: int, number: int = 0) -> list[Viewpoint]:
    """The viewpoints in the order in which the prompt shows their summaries. The order depends only on seed and thread,
    so it is the same in all conditions and for all models. The design uses the `number` 0, and other numbers give other
    orders."""
    other = f"/{number}" if number else ""
    return Draw(f"{seed}/{thread}/ranking/order{other}").shuffle(viewpoints)


def read_ranking(text: str, summaries: Sequence[str]) -> Ranking | None:
    """The ranking of `summaries`, numbered from 1, in a reply; None if the reply has no ranking.

    A ranking is a sequence of two or more numbers, separated by commas, '>', '=' or white space. The sequence with the
    largest number of distinct summaries counts. If several sequences have this number, the last of them counts.

    A reply without such a sequence may still have a ranking in numbered lines. If the lines' numbers are not 1, 2, 3,
    ..., they are numbers of summaries. Otherwise they may be ranks, so the summaries are taken from the rest of the
    lines. The rest of a line starts with the summary's number ('1. Summary 4') or contains the summary's words. If the
    lines name fewer than two summaries, the reply has no ranking.
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
