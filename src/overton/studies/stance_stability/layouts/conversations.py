"""Report parts on single conversations: charts of stances by turn, and conversations to browse, with the sources of
every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from overton.studies.chart_layout import current_layout
from overton.studies.charts.drawing import (
    PADDING,
    are_names_above,
    extent,
    form,
    label_height,
    layered,
    row_names,
    specification,
)
from overton.studies.charts.grids import cells
from overton.studies.frame import Analysis, Cells
from overton.studies.sections import (
    COLOURS,
    ROUND_BREAK,
    BrowseFilter,
    Chart,
    Exhibit,
    Method,
    TrialTable,
    without_breaks,
)
from overton.studies.stance_stability.conversations import name_speakers
from overton.studies.stance_stability.declarations import CHAMELEON_BANDS, place_in_bands
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.questions import CERTAINTY
from overton.studies.stance_stability.record import KEY, STANCES
from overton.studies.stance_stability.rows import LETTERS, name_temperatures, temperature_name

if TYPE_CHECKING:
    import polars as pl


_MOST = 30
_MOST_TURNS = 40
_CELL, _NARROWEST = 24, 15
_NAMES = (*STANCES, "no label")
_INKS = (COLOURS["pro"], COLOURS["con"], COLOURS["balanced"], COLOURS["other"], COLOURS["line"])


def trace_charts(analysis: Analysis, topics: Mapping[str, str]) -> Iterator[Exhibit]:
    """Charts of the conversations that change most; empty if conversations have a single turn. `topics` maps ids to
    words."""
    listed = analysis.listed["conversations"]
    table = listed.with_columns(name=_titles(listed, topics))
    shown = (
        table.filter(table["turns"] > 1)
        .sort("stance_changes", "name", descending=[True, False], nulls_last=True)
        .head(_MOST)
    )
    if shown.is_empty():
        return
    some = f", the {_MOST} that change most" if table.height > _MOST else ""
    about = "The judge's label for every turn of a conversation, from left to right, one row per conversation."
    drawn = partial(_drawn, shown["name"].to_list(), shown["trace"].to_list())
    yield Chart("traces", f"Stance traces{some}", about, drawn)
    yield Method(_METHOD)


_METHOD = (
    "Each letter is a turn's label: S supportive, C critical, B balanced, U unclear, - none. The trials below show"
    " every conversation turn by turn, with its sources."
)


def conversation_names(listed: pl.DataFrame) -> list[str]:
    """A unique name for each conversation. A name that several conversations share is preceded by the model, and if
    necessary also by the temperature."""
    import polars as pl

    model, temperature = (
        pl.col("model"),
        pl.format("temperature {}", pl.col("temperature").cast(pl.String).fill_null("own")),
    )
    named = listed.select("conversation", "model", "temperature").with_columns(
        alone=pl.col("conversation").is_unique(), of_model=pl.struct("model", "conversation").is_unique()
    )
    name = (
        pl.when("alone")
        .then("conversation")
        .when("of_model")
        .then(pl.format("{}/{}", model, "conversation"))
        .otherwise(pl.format("{}/{}/{}", model, temperature, "conversation"))
    )
    return named.select(name.alias("name"))["name"].to_list()


def _titles(listed: pl.DataFrame, topics: Mapping[str, str]) -> Any:
    """A title for each conversation: topic, model and temperature, or its name if the topic is not known."""
    import polars as pl

    names = conversation_names(listed)
    rows = listed.select("topic", "model", "temperature").iter_rows()
    titles = [
        f"{topics[topic]}, {model}, {temperature_name(heat)}" if topic in topics else name
        for name, (topic, model, heat) in zip(names, rows, strict=True)
    ]
    many = Counter(titles)
    return pl.Series(
        [title if many[title] == 1 else f"{title}, {name}" for title, name in zip(titles, names, strict=True)]
    )


@form
def _drawn(names: list[str], letters: list[str]) -> dict[str, Any]:
    import altair as alt

    labels = row_names(names)
    width = min(max(map(len, letters)), _MOST_TURNS)
    values = [
        {
            "row": labels[name],
            "turn": turn,
            "stance": _NAMES[LETTERS.index(letter)],
            "letter": letter.upper(),
            "tip": f"{name}\nturn {turn}: {_NAMES[LETTERS.index(letter)]}",
        }
        for name, trace in zip(names, letters, strict=True)
        for turn, letter in enumerate(trace[:width], 1)
    ]
    shown = list(labels.values())
    down, axis, step = cells(shown, _CELL if are_names_above() else max(_CELL, label_height(shown) + 4))
    cell = max(_NARROWEST, min(2 * _CELL, (current_layout().width - PADDING - extent(shown)) // width))
    base = alt.Chart().encode(
        x=alt.X("turn:O", title="Turn", axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)),
        y=alt.Y("row:N", title=None, scale=down, axis=axis),
        description=alt.Description("tip:N"),
    )
    colours = alt.Scale(domain=list(_NAMES), range=list(_INKS))
    colour = alt.Color("stance:N", scale=colours, legend=alt.Legend(title=None, columns=3 if are_names_above() else 5))
    boxes = base.mark_rect(stroke="white", strokeWidth=1.5).encode(color=colour)
    text = base.mark_text(fontWeight=600).encode(text=alt.Text("letter:N"), color=alt.value("white"))
    view = layered(boxes, text, width=cell * width, height=step * len(names))
    return specification(view, values)


_LONGEST = 80_000
_SHOWN = (
    *(*KEY, "domain", "topic", "ordering", "turn", "kind", "question", "query", "retrieved", "cited", "stance"),
    *("confidence", "premise_stance", "rationale", "claims", "answer", "failure", "faults"),
)
_SURE = {value: word for word, value in CERTAINTY.items()}
_UNCLEAR = "unclear"
_FAILED, _VOID, _NO_PAIRS = "failed", "answers malformed or refused", "no pairs"

Row = dict[str, Any]


def conversation_table(records: pl.DataFrame, analysis: Analysis, topics: Sequence[Topic] = ()) -> TrialTable:
    """The conversations of `records` (columns of `Record` after `model`), in the order in which they first appear.

    The topic and its proposition, from `topics`, are shown where other studies show the prompt. The text of a
    conversation is a line on the outcome, then the turns, with `ROUND_BREAK` before each turn. A turn has its label (of
    the measured kind), question, answer, the judge's reason, and its sources. Each source is marked as new, or with the
    first earlier turn that had it.
    """
    import polars as pl

    records = name_speakers(records)
    order = records.group_by(KEY, maintain_order=True).agg(turns=pl.len())
    placed = order.select(*KEY, place=pl.int_range(pl.len()))
    known = [name for name in _SHOWN if name in records.columns]
    rows = records.select(known).join(placed, on=KEY, nulls_equal=True).sort("place", "turn")
    (rules,) = analysis.counts["rules"]
    if rules["labels"] == "premise":
        rows = rows.with_columns(stance="premise_stance", premise_stance=pl.lit(None))
    stops = np.cumsum(order["turns"].to_numpy())
    starts = stops - order["turns"].to_numpy()
    scores = order.select(KEY).join(
        analysis.listed["conversations"], on=KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    heads = [_outcome(row) for row in scores.iter_rows(named=True)]
    texts = {topic.id: f"{topic.topic}\n\nProposition: {topic.proposition}" for topic in topics}

    def answers(start: int, stop: int) -> list[str]:
        last = min(stop, order.height)
        part = rows[int(starts[start]) : int(stops[last - 1])] if start < last else rows[:0]
        talks = groupby(part.iter_rows(named=True), key=lambda row: row["place"])
        return [_render_conversation(heads[place], list(turns), rules) for place, turns in talks]

    first, places = rows[starts.tolist()], {name: number for number, name in enumerate(texts)}
    return TrialTable(
        size=order.height,
        texts=list(texts.values()),
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in first["topic"]] if "topic" in known else [-1] * order.height,
        facets=_facets(first, scores),
        answers=answers,
        longest=_LONGEST,
        round="Turn",
        names=[" ".join(map(str, (row["conversation"], row["model"]))) for row in order.iter_rows(named=True)],
        beside="Temperature",
    )


def _facets(first: pl.DataFrame, scores: pl.DataFrame) -> list[BrowseFilter]:
    """Properties by which readers can filter conversations: model, domain, topic, order and temperature, and the number
    of changes."""
    import polars as pl

    heats = name_temperatures(first["temperature"])
    missing = (
        pl.when(pl.col("trace").is_null())
        .then(pl.lit(_FAILED))
        .when(pl.col("pairs").is_null())  # pairs are counted in every conversation except void ones
        .then(pl.lit(_VOID))
        .otherwise(pl.lit(_NO_PAIRS))
    )
    counted = pl.col("stance_changes").cast(pl.Int64).cast(pl.String)
    changes = scores.select(pl.coalesce(counted, missing)).to_series()
    by_length = sorted(changes.unique().to_list(), key=lambda text: (len(text), text))
    made = [
        _facet("Model", first["model"]),
        *(
            _facet(title, first[name])
            for title, name in (("Domain", "domain"), ("Topic", "topic"), ("Order", "ordering"))
            if name in first.columns
        ),
        _facet("Temperature", heats),
        _facet("Stance changes", changes, by_length, read=True),
    ]
    if "chameleon" in scores.columns:
        codes = place_in_bands(scores["chameleon"].fill_null(float("nan")).to_numpy(), CHAMELEON_BANDS)
        made.append(BrowseFilter("Chameleon score", [band.name for band in CHAMELEON_BANDS], codes, read=True))
    return [facet for facet in made if any(code >= 0 for code in facet.codes)]


def _facet(title: str, column: pl.Series, labels: list[str] | None = None, *, read: bool = False) -> BrowseFilter:
    import polars as pl

    labels = labels or column.drop_nulls().unique(maintain_order=True).to_list()
    codes = column.replace_strict(labels, list(range(len(labels))), default=-1, return_dtype=pl.Int32)
    return BrowseFilter(title, labels, codes.fill_null(-1).to_numpy(), read=read)


def _outcome(scores: Row) -> str:
    """A line on the conversation's outcome, with its stances in letters."""
    if scores.get("trace") is None:
        return "A call failed permanently, so the conversation is left out of all measures."
    turns = f"{int(scores['turns'])} turn{'' if scores['turns'] == 1 else 's'}"
    if scores["pairs"] is None:
        trace = " ".join(scores["trace"].upper())
        return f"No score, because at least half of the answers are malformed or refused. Trace: {trace}"
    if scores["stance_changes"] is None:
        return f"No two neighbouring turns can be compared ({turns}). Trace: {' '.join(scores['trace'].upper())}"
    changes = int(scores["stance_changes"])
    parts = [f"{changes} change{'' if changes == 1 else 's'} of stance in {turns}"]
    parts += [
        f"{name} {scores[key]:.2f}"
        for name, key in (("source re-use", "source_reuse"), ("Chameleon score", "chameleon"))
        if scores.get(key) is not None
    ]
    return f"{', '.join(parts)}. Trace: {' '.join(scores['trace'].upper())}"


def _render_conversation(head: str, rows: Sequence[Row], rules: Cells) -> str:
    """The text of one conversation: its outcome, then every turn. Changes of stance appear as 'critical → balanced'."""
    seen = dict[str, int]()
    turns = []
    for row, left in zip(rows, _left([row["stance"] for row in rows], rules), strict=True):
        turns.append(_turn(row, left, seen))
        for document in [*(row.get("cited") or ()), *(row.get("retrieved") or ())]:
            seen.setdefault(document, row["turn"])
    return ROUND_BREAK.join([head, *turns])


def _left(labels: Iterable[str | None], rules: Cells) -> Iterator[str]:
    """The stance before each turn's change of stance, '' for a turn without a change. Changes are counted as in
    `stances_of`."""
    taken = before = ""  # the last stance taken, and the stance of the turn before
    for label in labels:
        takes = label or "" if label != _UNCLEAR or rules["unclear"] == "stance" else ""
        yield before if takes not in ("", before) else ""
        taken = takes or taken
        before = taken if label or rules["unlabelled"] == "carry" else ""


def _turn(row: Row, left: str, seen: dict[str, int]) -> str:
    parts = [
        f"Turn {row['turn']}: {_label(row, left)}",
        _line("Question", row.get("question")),
        row.get("answer") or "",
        _line("Judge", row.get("rationale")),
        _line("Towards the question's premise", row.get("premise_stance")),
        _sources("Cited", row.get("cited"), seen),
        _sources(
            "Read, not cited",
            [document for document in row.get("retrieved") or () if document not in (row.get("cited") or ())],
            seen,
        ),
    ]
    return "\n\n".join(without_breaks(part) for part in parts if part)


def _label(row: Row, left: str) -> str:
    if row.get("failure"):
        return f"the call failed: {row['failure']}"
    label = row["stance"] or "no usable label"
    sure = row.get("confidence")
    certainty = "" if sure is None else f", {_SURE.get(round(sure, 2), f'confidence {sure:.2f}')}"
    faults = f" ({', '.join(row['faults'])})" if row.get("faults") else ""
    return f"{f'{left} → {label}' if left else label}{certainty}{faults}"


def _line(name: str, text: str | None) -> str:
    return f"{name}: {text}" if text else ""


def _sources(name: str, documents: Sequence[str] | None, seen: dict[str, int]) -> str:
    """The documents of a turn, one per line, each with the earlier turn that had it first."""
    if not documents:
        return ""
    shown = [
        f"{document} (again, from turn {seen[document]})" if document in seen else f"{document} (new)"
        for document in documents
    ]
    return "\n".join([f"{name}:", *shown])
