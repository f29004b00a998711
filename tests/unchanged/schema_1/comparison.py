"""Comparisons (schema 2), written as their schema 1 was.

`comparison.csv` says for each path of schema 1 in which table it is now, and in which column (`value`), or why it was
dropped. Names in braces stand for a cell of the row, `{number}` for its place in the table. Of a difference's variants,
a line without `variant` is about the one that leads.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

Json = Any

FILE = Path(__file__).with_suffix(".csv")
_LISTS = frozenset(("differing", "pairs", "interval", "worst_case", "places", "missing"))


@cache
def lines() -> tuple[Mapping[str, str], ...]:
    """All lines."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def comparison_1(document: Json) -> Json:
    """The document of schema 1."""
    made: dict[str, Any] = {"schema": 1, "differing": {}, "pairs": {}, "ranks": {}, "lost": {}}
    for line in lines():
        if line["value"] == "itself":
            made[line["path"]] = document[line["path"]]
        for number, row in _rows_of(line, document):
            _put(made, line["path"].format(**row, number=number).split(" > "), row[line["value"]])
    made = _with_lists(made)
    made["ranks"] = {measure: [*models.values()] for measure, models in made["ranks"].items()}
    for measure, models in made["ranks"].items():
        for standing in models:
            _tell_undetermined(standing["value"], document["measures"][measure]["range"])
    made["lost"] = {model: {"missing": [], **counts} for model, counts in made["lost"].items()}
    for pair in made["pairs"]:
        pair["study"] = document["study"]
        for name, measure in pair["measures"].items():
            _complete(measure, document["level"], document["measures"][name]["range"])
    return made


def lines_used(document: Json) -> set[str]:
    """The paths by which something of this document is found."""
    return {line["path"] for line in lines() if line["value"] == "itself" or next(_rows_of(line, document), None)}


def _rows_of(line: Mapping[str, str], document: Json) -> Iterator[tuple[int, Json]]:
    """The rows that a line is about, with their places in the table."""
    variants: dict[tuple[str, ...], list[str]] = {}
    for row in document["rows"]:
        variants.setdefault((row["measure"], row["base"], row["candidate"]), []).append(row["variant"])
    titled = [{**row, "title": document["measures"][row["measure"]]["title"]} for row in document["rows"]]
    tables = {"rows": document["rows"], "measures": titled, **document["tables"]}
    for number, row in enumerate(tables.get(line["table"], ())):
        if line["model"].format(**row) not in {"", row.get("model")}:
            continue
        leads, *others = variants[row["measure"], row["base"], row["candidate"]] if "variant" in row else [None]
        if others if line["variant"] else row.get("variant") == leads:
            yield number, row


def _put(made: Json, path: list[str], value: Any) -> None:
    *above, last = path
    for key in above:
        made = made.setdefault(key, {})
    made[last] = value


def _with_lists(made: Json, key: str = "") -> Json:
    """The same with lists where keys counted members."""
    if not isinstance(made, dict):
        return made
    inner = {name: _with_lists(one, name) for name, one in made.items()}
    return [*inner.values()] if key in _LISTS else inner


def _complete(measure: Json, level: float, within: Sequence[float | None]) -> None:
    """Add what follows from the rest, and null where there is nothing."""
    low, high = within
    apart = (None, None) if low is None or high is None else (low - high, high - low)
    difference, own = measure["difference"], measure["difference"]
    if own["estimate"] is None:
        measure["why"] = f"not computed: {own['why']}"
    elif own["interval"][0] is None:
        measure["why"] = f"{own['method']}: {own['why']}" if own["method"] else own["why"]
    else:
        measure["why"] = None
    difference["level"] = level
    if difference["worst_case"] == [None, None]:
        difference["worst_case"] = None
    intervals = [difference, difference["equivalence"]]
    if difference["simultaneous"]["level"] is None:
        difference["simultaneous"] = None
    else:
        intervals += [difference["simultaneous"], difference["simultaneous"]["equivalence"]]
    measure.setdefault("needed", None)
    if measure["as_with_trials"] is None:
        del measure["as_with_trials"]
    numbers = [measure["base"], measure["candidate"]]
    if labels := measure.get("labels"):
        leads = next(iter(labels["difference"]))
        numbers += [one for side in ("base", "candidate") for one in labels[side].values()]
        intervals += labels["difference"].values()
        for one in (labels, labels["base"], labels["candidate"]):
            one["leads"] = leads
    for ends, some in ((within, numbers), (apart, intervals)):
        for one in some:
            _tell_undetermined(one, ends, own["estimate"])


def _tell_undetermined(one: Json, ends: Sequence[float | None], number: float | None = None) -> None:
    """Say which limits lie at the ends of the range, unless the number, its own or this one, is that very end."""
    (low, high), (least, most), value = one["interval"], ends, one.get("estimate", number)
    if low is None or high is None:
        return
    told = ["low"] if least is not None and low <= least != value else []
    told += ["high"] if most is not None and high >= most != value else []
    if told:
        one["undetermined"] = told
