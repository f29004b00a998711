"""Documents of schema 1 of deliberation: the numbers that it gave twice, and the order of its lists.

`deliberation.csv` has every number once. Schema 1 also gave the numbers of two groups with their difference, and
headlines without malformed messages where there were none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from overton.studies.deliberation.deliberations import Setting, in_order, place_of

from .rows import KeyWords, frame_of

__all__ = ["complete", "estimates"]

Json = Any
_SCHEMA = Path(__file__).with_name("deliberation.json")
"""The JSON Schema of schema 1, by which `estimates()` built its rows."""
_LEFT = "without_faults"
_BESIDE = ("findings", "against_null", "judges", "labels")
"""The keys that the platform adds to an analysis."""


def complete(made: Json, document: Json) -> None:
    """Further values of schema 1 that `deliberation.csv` does not name, and those where there are no data."""
    rows = {_key(row): row for row in document["rows"]}
    tables = document["tables"]
    for name, nothing in (
        ("steering", []),
        ("faults", []),
        ("notes", []),
        ("not_computed", {}),
        ("self_agreement", {}),
    ):
        made.setdefault(name, nothing)
    for name in ("values", "order", "crowd"):
        if name in made["not_computed"] or name not in made:
            made[name] = None
    for agreement in made["self_agreement"].values():
        agreement["kappa"] = None
    _complete_endings(made)
    _complete_values(made, tables)
    _complete_influences(made)
    _complete_choice(made)
    _put_sides(made, rows)
    _complete_faultless(made, tables)
    _put_against_nulls(made, document.get("against_null") or ())
    _name_settings(made, {row["condition"]: row for row in tables["settings"]})
    for name, inner in made.items():
        if name not in _BESIDE:
            _sort(inner)


def _put_against_nulls(made: Json, against: Json) -> None:
    """Differences from null conditions as variants of headlines."""
    for found in against:
        places = {
            "consensus": made["consensus"]["reached"],
            "rounds_to_consensus": made["consensus"]["rounds"],
            "changed": made["change_of_verdict"].get(found["model"]),
        }
        if found["measure"] in places:
            name = "against_null" if found["null"] == "alone" else f"against_null_{found['null']}"
            verdict = {key: found[key] for key in ("null", "verdict")}
            places[found["measure"]][name] = {**found["difference"]["plain"], **verdict}


def estimates(made: Json) -> pl.DataFrame:
    """The rows of `estimates()` as they were."""
    own = {name: _without_nulls(value) for name, value in made.items() if name not in _BESIDE}
    words = KeyWords("deliberation", frozenset(made["models"]), frozenset(("dilemma", "dilemmas", "item", "items")))
    return frame_of(own, json.loads(_SCHEMA.read_text("utf-8")), words)


def _without_nulls(made: Json) -> Json:
    if isinstance(made, list):
        return [_without_nulls(inner) for inner in made]
    if not isinstance(made, dict):
        return made
    return {key: _without_nulls(inner) for key, inner in made.items() if not key.startswith("against_null")}


def _key(row: Json) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("measure", "model", "facet", "condition", "variant", "against"))


def _complete_endings(made: Json) -> None:
    made["consensus"].setdefault("formats", [])
    made["change_of_verdict"].setdefault("contrasts", [])
    for found in made["change_of_verdict"]["settings"]:
        found.setdefault("position", None)
    for found in made["verdicts"]:
        found["without"] = found["agreed"].pop("none")
        for speaker in found["speakers"]:
            speaker.setdefault("position", None)
            for end in ("first", "last"):
                speaker.setdefault(end, {})
    for found in made["archetypes"]:
        for kind in ("changes", "holdouts", "unresolved"):
            found.setdefault(kind, [])


def _complete_values(made: Json, tables: Json) -> None:
    if made["values"] is None:
        return
    use = made["values"].setdefault("use", [])
    known = {found["setting"]: found for found in use}
    for row in tables["settings"]:
        if row["facet"] == "pooled":
            found = known.get(row["condition"]) or {"setting": row["condition"], "models": {}}
            found.setdefault("differences", [])
            found["models"] = {model: {} for model in row["agents"].split(" + ")} | found["models"]
            use += [] if row["condition"] in known else [found]
    for found in made["values"]["similarity"]:
        found.setdefault("by_round", [])
    for found in made["values"]["inheritance"]:
        for name in ("values", "as_published"):
            found.setdefault(name, {})


def _complete_influences(made: Json) -> None:
    if made["order"] is not None:
        for name in ("at_once", "changes"):
            made["order"].setdefault(name, [])
    for found in made["steering"]:
        found.setdefault("model", None)
    if made["crowd"] is not None:
        for found in made["crowd"].setdefault("models", []):
            found["goal"] = None if found["goal"] == "all" else found["goal"]


def _complete_choice(made: Json) -> None:
    others = made.get("choice_models_by_estimator", {})
    made["choice_models_by_estimator"] = {name: fits for name, fits in others.items() if name not in {"plain", _LEFT}}
    for fit in (*made["choice_models"].values(), *(f for fits in others.values() for f in fits.values())):
        for name, nothing in (("inertia", {}), ("preferences", {}), ("taste_spreads", {}), ("notes", [])):
            fit.setdefault(name, nothing)
        for name in ("dilemma_spread", "taste_spread"):
            fit.setdefault(name, None)
        for name in ("likelihood_ratio", "likelihood_ratio_of_spreads"):
            fit[name] = None if fit[name]["statistic"] is None else fit[name]
        conformity = fit.setdefault("conformity", {})
        for name in ("previous", "within"):
            conformity.setdefault(name, {})
    goals: list[str] = in_order(made["choice_models"])  # type: ignore[assignment]
    made["choice_model"] = made["choice_models"][goals[0]]


def _put_sides(made: Json, rows: Json) -> None:
    """Both numbers of each difference."""

    def put(found: Json, *places: tuple[str, str | None, str, str]) -> None:
        for side, place in zip(("first", "second"), places, strict=True):
            found[side] = _number(rows[*place, "plain", None])

    def of_models(found: Json, measure: str, facet: str, condition: str) -> None:
        put(found, *((measure, found[f"{side}_name"], facet, condition) for side in ("first", "second")))

    for found in made["consensus"]["formats"]:
        _, _, rest = found["setting"].partition(" / ")
        put(
            found, *(("consensus", None, "pooled", f"{found[f'{side}_name']} / {rest}") for side in ("first", "second"))
        )
    for found in made["change_of_verdict"]["contrasts"]:
        of_models(found, "changed", "setting", found["setting"])
    for setting in (made["values"] or {"use": []})["use"]:
        for found in setting["differences"]:
            of_models(found, "value_used", "pooled / value", f"{setting['setting']} / {found['value']}")
    order = made["order"] or {"at_once": [], "changes": []}
    for found in order["at_once"]:
        of_models(found, "led_to_consensus_at_once", "pooled", found["setting"])
    for found in order["changes"]:
        names = ("first", "later")
        put(found, *(("changed", found["model"], "pooled / speaks", f"{found['setting']} / {name}") for name in names))
    for found in made["steering"]:
        format_, agents = found["setting"].split(" / ", 1)
        measure, goals = "changed" if found["model"] else "consensus", ("first_name", "second_name")
        put(
            found["contrast"],
            *(
                (measure, found["model"], "pooled", f"{format_} / {found['contrast'][goal]} / {agents}")
                for goal in goals
            ),
        )
    for found in (made["crowd"] or {"models": []})["models"]:
        conditions = [f"{found['goal'] or 'all'} / {name}" for name in ("round 1", "last round")]
        put(
            found["contrast"],
            *(("verdict_is_crowds", found["model"], "goal / round", condition) for condition in conditions),
        )


def _number(row: Json) -> Json:
    plain = {name: row[name] for name in ("estimate", "n", "method", "why")}
    return {"leads": "plain", "plain": {**plain, "interval": [row["low"], row["high"]]}}


def _complete_faultless(made: Json, tables: Json) -> None:
    """Headlines without malformed messages: the same numbers if there are none and the run checked for them."""
    consensus, changed = made["consensus"], made["change_of_verdict"]
    numbers = [consensus[name] for name in ("reached", "without", "majority", "rounds")]
    numbers += [*consensus["by_round"].values(), *(changed[model] for model in made["models"])]
    for fit in made["choice_models"].values():
        conformity = fit["conformity"].values()
        numbers += [*fit["inertia"].values(), *(one for kind in conformity for one in _measures(kind))]
    if tables["faults"] and not any(row["faulty"] for row in tables["faults"]):
        for number in numbers:
            number[_LEFT] = number["plain"]
    consensus["deliberations_without_faults"] = consensus["reached"].get(_LEFT, {"n": None})["n"]


def _measures(kind: Json) -> Iterator[Json]:
    """A measure, or those by model."""
    if "plain" in kind:
        yield kind
    else:
        yield from kind.values()


def _name_settings(made: Json, known: Json) -> None:
    """Settings as objects in the place of their names."""
    if isinstance(made, list):
        for inner in made:
            _name_settings(inner, known)
    elif isinstance(made, dict):
        for key, inner in made.items():
            if key == "setting" and isinstance(inner, str):
                made[key] = _setting(inner, known)
            else:
                _name_settings(inner, known)


def _setting(name: str, known: Json) -> Json:
    format_, _, rest = name.partition(" / ")
    row = known.get(name) or known.get(f"synchronous / {rest}")
    if row is None or (format_ != "both" and name not in known):  # of all goals
        row = {"goal": None, "agents": rest}
    return {"format": format_, "goal": row["goal"], "agents": row["agents"].split(" + ")}


_FIRST = ("setting", "format", "goal", "model", "position", "value", "round", "first_name", "second_name")
"""Keys by which `estimates()` told members of a list apart, in their order."""


def _sort(made: Json) -> None:
    """Members of lists in the order of settings, models and rounds, and keys that tell them apart first."""
    if isinstance(made, list):
        if made and isinstance(made[0], dict):
            made.sort(key=_place)
        for inner in made:
            _sort(inner)
    elif isinstance(made, dict):
        for key in [*(key for key in _FIRST if key in made), *(key for key in [*made] if key not in _FIRST)]:
            made[key] = made.pop(key)
            _sort(made[key])


def _place(member: Json) -> tuple[Any, ...]:
    setting, goal = member.get("setting"), member.get("goal")
    if isinstance(setting, dict):
        setting = place_of(Setting(setting["format"], setting["goal"], tuple(setting["agents"])))
    of_goal = (goal != "correctness", goal or "") if "goal" in member and "contrast" in member else ()
    model = member.get("model")
    names = (member.get("first_name") or "", member.get("second_name") or "")
    second = (member.get("contrast") or {}).get("second_name", "") if "setting" in member else ""
    return (
        setting or (),
        of_goal,
        second,
        member.get("position") or 0,
        model is None,
        model or "",
        names,
        _round(member),
    )


def _round(member: Json) -> int:
    number = member.get("round")
    return number if isinstance(number, int) else 0
