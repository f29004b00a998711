"""Threads for readers to browse: viewpoints with votes, and the responses that voiced each viewpoint by condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.layouts.report_rows import condition_words
from overton.studies.pluralism.options import in_order, named
from overton.studies.sections import ROUND_BREAK, TURN_BREAK, BrowseFilter, TrialTable, without_breaks

if TYPE_CHECKING:
    import polars as pl


_LONGEST = 60_000
_COLUMNS = (
    *("model", "thread", "community", "experiment", "condition", "status", "failure", "belief", "reference"),
    *("viewpoints", "votes", "stances", "responses", "true", "predicted", "pairing", "popular", "other", "first"),
    *("correct",),
)
_NOBODY = "no response"

Row = dict[str, Any]


def thread_table(records: pl.DataFrame, threads: Sequence[ReferenceThread] = ()) -> TrialTable:
    """The threads of `records`, once for each model, to browse. `records` has `model` and the columns of `Record`.

    The post from `threads` takes the place of the prompt. An answer lists the viewpoints with their votes and stances.
    Under each viewpoint, the answer lists the responses that voiced it under each condition. A mark shows whether the
    viewpoint is gone or new compared with the neutral condition. Then come the rankings and the comparisons. Below them
    are the responses, in one column per condition.
    """
    import polars as pl

    known = {thread.id: thread for thread in threads}
    order = records.group_by("model", "thread", maintain_order=True).agg(trials=pl.len())
    placed = order.select("model", "thread", place=pl.int_range(pl.len()))
    rows = records.select(_COLUMNS).join(placed, on=("model", "thread"), maintain_order="left")
    parts = rows.sort("place", maintain_order=True).partition_by("place", maintain_order=True)
    lost = [_most_lost(part) for part in parts]

    def answers(start: int, stop: int) -> list[str]:
        return [_render_thread(part.to_dicts(), known) for part in parts[start:stop]]

    firsts = [part.row(0, named=True) for part in parts]
    places = {name: number for number, name in enumerate(known)}
    return TrialTable(
        size=order.height,
        texts=[f"{thread.title}\n\n{thread.text}".strip() for thread in threads],
        prompts=lambda number: [number],
        prompt=[places.get(row["thread"], -1) for row in firsts],
        facets=[
            _facet("Model", [row["model"] for row in firsts]),
            _facet("Community", [row["community"] for row in firsts]),
            _facet("Thread", [row["thread"] for row in firsts]),
            _facet("Views gone after a belief is stated", lost, read=True),
        ],
        answers=answers,
        longest=_LONGEST,
        round="",
        across=True,
        names=[f"{row['thread']} {row['model']}" for row in firsts],
        beside="Model",
    )


def _facet(title: str, values: Sequence[str], *, read: bool = False) -> BrowseFilter:
    labels = (
        sorted(set(values), key=lambda text: (len(text), text))
        if title.startswith("Views")
        else list(dict.fromkeys(values))
    )
    return BrowseFilter(title, labels, [labels.index(value) for value in values], read=read)


def _most_lost(part: pl.DataFrame) -> str:
    """The largest number of viewpoints that a biased condition loses compared with its neutral condition; '–' if
    unknown."""
    voiced = _voiced([row for row in part.to_dicts() if row["experiment"] == "sycophancy"])
    lost = [
        len(set(voiced[neutral]) - set(by_view))
        for condition, by_view in voiced.items()
        if named(condition).arm in ("toward", "opposing") and (neutral := _neutral(condition, voiced))
    ]
    return str(max(lost)) if lost else "–"


def _voiced(rows: Sequence[Row]) -> dict[str, dict[str, list[int]]]:
    """For each condition, in order: the numbers of the responses that voice each viewpoint."""
    found: dict[str, dict[str, list[int]]] = {}
    done = {row["condition"]: row for row in rows if row["status"] == "done"}
    for condition in in_order(list(done)):
        by_view = found.setdefault(condition, {})
        for response in done[condition]["responses"] or ():
            for view in dict.fromkeys(response["matched"] or ()):
                by_view.setdefault(view, []).append(response["number"])
    return found


def _neutral(condition: str, voiced: Mapping[str, object]) -> str | None:
    setting = named(condition).setting
    return next((other for other in voiced if named(other).arm == "neutral" and named(other).setting == setting), None)


def _render_thread(rows: Sequence[Row], known: Mapping[str, ReferenceThread]) -> str:
    thread = known.get(rows[0]["thread"])
    summaries = {viewpoint.id: viewpoint.summary for viewpoint in thread.viewpoints} if thread else {}
    by_experiment: dict[str, list[Row]] = {}
    for row in rows:
        by_experiment.setdefault(row["experiment"], []).append(row)
    parts = [
        *_views(by_experiment.get("sycophancy", []), summaries),
        *_ranked(by_experiment.get("ranking", []), summaries),
        *_compared(by_experiment.get("pairwise", []), summaries),
    ]
    return ROUND_BREAK.join(
        ["\n\n".join(map(without_breaks, parts)), *_responses_by_condition(by_experiment.get("sycophancy", []))]
    )


def _views(rows: Sequence[Row], summaries: Mapping[str, str]) -> Iterator[str]:
    """A paragraph for each viewpoint, the most voted first."""
    voiced, failed = _voiced(rows), [row for row in rows if row["status"] != "done"]
    for row in failed:
        why = f" ({row['failure']})" if row["failure"] else ""
        yield f"{condition_words(row['condition'])}: {row['status']}{why}"
    first = next((row for row in rows if row["stances"]), None)
    if first is None:
        return
    yield "\n".join(_missing(first["viewpoints"], voiced))
    views = zip(first["viewpoints"], first["votes"], first["stances"], strict=True)
    for view, votes, stance in sorted(views, key=lambda entry: -entry[1]):
        towards = {"reference": "the reference opinion", None: "stance unknown"}.get(stance, stance)
        lines = [f"{view}, {votes:,} votes, {towards}: {summaries.get(view, '')}".rstrip(": ")]
        yield "\n".join([*lines, *(f"  {line}" for line in _voices_of(view, voiced))])


def _missing(views: Sequence[str], voiced: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[str]:
    """One line per condition: the number of viewpoints voiced, and the viewpoints that are gone compared with its
    neutral condition."""
    for condition, by_view in voiced.items():
        neutral = _neutral(condition, voiced)
        gone = [view for view in views if neutral and view in voiced[neutral] and view not in by_view]
        said = f"; gone: {', '.join(gone)}" if gone else ""
        yield f"{condition_words(condition)}: voices {len(by_view)} of {len(views)} viewpoints{said}"


def _voices_of(view: str, voiced: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[str]:
    for condition, by_view in voiced.items():
        numbers, neutral = by_view.get(view, ()), _neutral(condition, voiced)
        before = voiced[neutral].get(view, ()) if neutral and neutral != condition else None
        mark = "" if before is None or bool(before) == bool(numbers) else " (new)" if numbers else " (GONE)"
        plural = "response" if len(numbers) == 1 else "responses"
        said = f"{plural} {', '.join(map(str, numbers))}" if numbers else _NOBODY
        yield f"{condition_words(condition)}: {said}{mark}"


def _responses_by_condition(rows: Sequence[Row]) -> Iterator[str]:
    """A text for each condition: its name with the stated belief, then every response. `TURN_BREAK` separates the
    parts."""
    done = {row["condition"]: row for row in rows if row["status"] == "done"}
    for condition in in_order(list(done)):
        row = done[condition]
        belief = f"\n\nThe user says: {row['belief']}" if row["belief"] else ""
        lines = [f"{condition_words(condition)}{belief}", *(_response(response) for response in row["responses"] or ())]
        yield TURN_BREAK.join(map(without_breaks, lines))


def _response(row: Row) -> str:
    matched = "match unknown" if row["matched"] is None else ", ".join(row["matched"]) or "matches none"
    faults = f"; {', '.join(row['faults'])}" if row.get("faults") else ""
    return f"{row['number']}. {row['stance'] or 'no usable label'}; {matched}{faults}\n\n{row['text']}"


def _ranked(rows: Sequence[Row], summaries: Mapping[str, str]) -> Iterator[str]:
    done = {row["condition"]: row for row in rows if row["status"] == "done"}
    if done:
        true = next(iter(done.values()))["true"] or ()
        by_votes = [f"{place}. {view}: {summaries.get(view, '')}".rstrip(": ") for place, view in enumerate(true, 1)]
        yield "\n".join(["Ranking by votes", *by_votes])
    for condition in in_order(list(done)):
        predicted = done[condition]["predicted"]
        yield f"Ranking, {condition_words(condition)}: {'not readable' if predicted is None else ' > '.join(predicted)}"


def _compared(rows: Sequence[Row], summaries: Mapping[str, str]) -> Iterator[str]:
    done = [row for row in rows if row["status"] == "done"]
    for popular, other in dict.fromkeys((row["popular"], row["other"]) for row in done):
        lines = [
            f"Pair: {popular} ({summaries.get(popular, '')}) is more popular than {other} ({summaries.get(other, '')})"
        ]
        for row in done:
            if (row["popular"], row["other"]) == (popular, other):
                right = {True: "right", False: "wrong", None: "not readable"}[row["correct"]]
                order = "first" if row["first"] else "second"
                lines.append(f"  {condition_words(row['condition'])}, the more popular one {order}: {right}")
        yield "\n".join(lines)
