"""Numbers by what they measure, and not by their place in a document: analyses, comparisons and gates, as nested JSON.

An estimate is under its measure, model, item, condition and variant, as the rows of `estimates()` name them, next to
the name of the variant that leads. Numbers of all models, items or conditions have '-' there. Texts that the key
repeats are not kept.
"""

from __future__ import annotations

from typing import Any

import polars as pl

__all__ = ["ALL", "compared", "gated", "numbers"]

Json = Any

ALL = "-"
"""In place of the model, item or condition of a number that covers all of them."""
_KEY = ("measure", "model", "item", "condition")
_VALUES = ("estimate", "low", "high", "n", "method", "why")


def numbers(rows: pl.DataFrame, document: Json) -> Json:
    """All numbers of an analysis: `rows` are its estimates, and its document has further numbers."""
    estimates: dict[str, Any] = {}
    for row in rows.iter_rows(named=True):
        where = estimates
        for name in _KEY:
            where = where.setdefault(row[name] or ALL, {})
        assert row["variant"] not in where, f"two rows have the key {[*(row[name] for name in _KEY), row['variant']]}"
        where.setdefault("leads", row["variant"])
        where[row["variant"]] = {name: row[name] for name in _VALUES}
    found = {
        "estimates": estimates,
        "against nulls": _nested(document.get("against_null") or (), "measure", "model", "null"),
        "judges": _by_judges(document.get("judges") or {}),
        "labels": {what: _labels(one) for what, one in document.get("labels", {}).items()},
    }
    return {name: one for name, one in found.items() if one}


def compared(document: Json) -> Json:
    """A comparison: the verdict on each measure of each pair, the models' places, and the missing data."""
    pairs: dict[str, Any] = {}
    for pair in document["pairs"]:
        where = pairs.setdefault(f"{pair['base']} to {pair['candidate']}", {})
        for measure, one in pair["measures"].items():
            assert measure not in where
            where[measure] = _but(one, "title")
    return {"pairs": pairs, "ranks": document["ranks"], "lost": document["lost"]}


def gated(document: Json) -> Json:
    """A gate's outcome, and its checks by measure, with the comparison that they rest on."""
    checks = _nested(document["checks"], "measure", "base", "candidate")
    return {
        "outcome": document["outcome"],
        "passes": document["passes"],
        "checks": checks,
        "comparison": compared(document["comparison"]),
    }


def _by_judges(judges: Json) -> Json:
    """How judges agree, by label and pair, and headlines, by measure, model and judge."""
    if not judges:
        return {}
    labels = {
        one["what"]: {**_but(one, "what"), "pairs": _nested(one["pairs"], "first", "second")}
        for one in judges["labels"]
    }
    headlines = _nested([_but(one, "title") for one in judges["headlines"]], "measure", "model", "judge")
    return {"judges": judges["judges"], "labels": labels, "headlines": headlines}


def _labels(one: Json) -> Json:
    """Results from human labels: numbers that compare two models, or test equal errors, by the models or groups that
    they compare.
    """
    measures = one["measures"]
    if measures and "equal_errors" in measures:
        measures = {**measures, "equal_errors": _nested(measures["equal_errors"] or (), "by")}
    return {**_but(one, "run", "what"), "differences": _nested(one["differences"], "a", "b"), "measures": measures}


def _nested(members: Json, *keys: str) -> Json:
    """A list's members under what their keys hold."""
    found: dict[str, Any] = {}
    for one in members:
        where = found
        for key in keys:
            where = where.setdefault(str(one[key]) or ALL, {})
        assert not where, f"two members are {[one[key] for key in keys]}"
        where |= _but(one, *keys)
    return found


def _but(one: Json, *names: str) -> Json:
    return {name: value for name, value in one.items() if name not in names}
