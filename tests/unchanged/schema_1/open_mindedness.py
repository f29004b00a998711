"""Values of schema 1 of open-mindedness besides numbers: lists of names, and empty parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["complete", "where"]

Json = Any

_HALF, _OFTEN = 0.5, 0.3


def complete(made: Json, document: Json) -> None:
    """An analysis with everything that its lines do not say."""
    for name, value in made.items():
        made[name] = _with_lists(value)
    nothing = {"comparison": None, "weighing": None, "free": None, "chances": None, "faults": [], "notes": []}
    for name, empty in nothing.items():
        made.setdefault(name, empty)
    comparison = made["comparison"]
    if len(made["models"]) < 2:
        comparison = made["comparison"] = None
    else:
        comparison["models"] = sorted(made["models"])
        comparison["not_computed"] = {} if "agreements" in comparison else {"agreements": "no record shows arguments"}
        no_family = _number("no such pair of models with a known family")
        for name, empty in (("issues", {}), ("subset", []), ("agreements", [])):
            comparison.setdefault(name, empty)
        for name in ("within_families", "between_families"):
            comparison.setdefault(name, no_family)
        for issue in comparison["issues"].values():
            issue["refused_by"] = issue["refused_by"].splitlines()
    subset = None if comparison is None else comparison["subset"]
    for model in made["models"].values():
        _complete_model(model, subset)
    for free in (made["free"] or {}).values():
        free.setdefault("by_condition", {})
        free["by_condition"] = {name: pairs for name, pairs in free["by_condition"].items() if "differs" in pairs}
    for weighing in filter(None, (made["weighing"], (made["chances"] or {}).get("weighing"))):
        weighing.setdefault("unweighed", {})


def _with_lists(value: Json) -> Json:
    """The same with lists in place of mappings from numbers."""
    if not isinstance(value, dict):
        return value
    inner = {name: _with_lists(part) for name, part in value.items()}
    return list(inner.values()) if inner and all(name.isdecimal() for name in inner) else inner


def _number(why: str) -> Json:
    number = {"estimate": None, "interval": [None, None], "n": 0, "method": "", "why": why}
    return {"leads": "plain", "plain": number}


def _complete_model(model: Json, subset: list[str] | None) -> None:
    missing = model.setdefault("not_computed", {})
    missing.pop("corrected", None)
    for name in ("draws", "respondent", "pulls"):
        if name in missing:
            model[name] = None
    if (model.get("following") or {}).get("follows") is None:
        model["following"] = None
    if (model.get("raised") or {}).get("points") is None:
        model["raised"] = None
    for name in ("wordings", "pulls", "arguments", "subset"):
        model.setdefault(name, None)
    for name in ("topics", "con_shifts", "other_shifts", "shifts"):
        model.setdefault(name, {})
    model["tally"].setdefault("readings", {})
    refusals, shifts = model["refusals"], model["counter_shifts"]
    refusals.setdefault("flagged", {})
    refusals.setdefault("among_these", {})
    shifts.setdefault("shifts", [])
    issues = model["issues"]
    for issue in issues.values():
        _complete_issue(issue)
    _name_issues(model, issues)
    if model["subset"] is not None:
        chosen = [name for name in issues if subset is None or name in subset]
        model["subset"]["issues"] = chosen
        model["subset"]["contrary"]["above_half_issues"] = [name for name in chosen if _is_above_half(issues[name])]


def _complete_issue(issue: Json) -> None:
    why = issue.pop("why_not_corrected")
    for name in ("pulls", "letter_baseline", "letter_all"):
        if issue.get(name) is None or ("same_letter" not in issue[name] and name != "pulls"):
            issue[name] = None
    issue["not_computed"] = {}
    if why == "a table of counts does not distinguish templates; records do":
        issue["not_computed"] = dict.fromkeys(("pulls", "letter_baseline", "letter_all"), why)
    if issue["baseline"]["tied"] is None:
        issue["baseline"] = None
    issue.setdefault("conditions", {})


def _name_issues(model: Json, issues: Mapping[str, Json]) -> None:
    """The lists of issues that have a property."""
    definition = model["definition"]
    definition["moved_issues"] = [name for name, issue in issues.items() if issue["moved"]]
    definition["unmoved_by_one_sided_issues"] = [
        name for name, issue in issues.items() if issue["moved_by_one_sided"] is False
    ]
    definition["strong_prior_issues"] = [name for name, issue in issues.items() if issue["strong_prior"]]
    model["contrary"]["above_half_issues"] = [name for name, issue in issues.items() if _is_above_half(issue)]
    model["refusals"]["issues"] = [name for name, issue in issues.items() if _refuses(issue)]
    follows = {name: [issue[part] for part in ("letter_baseline", "letter_all")] for name, issue in issues.items()}
    model["letter_followers"] = [
        name for name, both in follows.items() if any(part is not None and part["follows"] == "letter" for part in both)
    ]
    undefined = [name for name, issue in issues.items() if issue["baseline"] and issue["baseline"]["stance"] is None]
    unscored = [name for name, issue in issues.items() if issue["open_mindedness"]["plain"]["estimate"] is None]
    withheld = model.pop("withheld_because")
    model["undefined"] = undefined
    model["incomplete"] = [] if withheld else [name for name in unscored if name not in undefined]


def _is_above_half(issue: Json) -> bool:
    values = [issue[f"contrary_{side}"]["plain"]["estimate"] for side in ("con", "pro")]
    return any(value is not None and value > _HALF for value in values)


def _refuses(issue: Json) -> bool:
    baseline = issue["conditions"].get("baseline")
    return baseline is not None and baseline["shares"]["other"]["plain"]["estimate"] > _OFTEN


def where(path: list[str], names: Mapping[str, str]) -> tuple[str | None, str | None, str | None, str]:
    """The model, item, condition and measure of a number in `estimates()` as they were, from its line's path."""
    parts = [part for part in path if not part.startswith("{")]
    model, item = names["model"] or None, names.get("item")
    conditions = [names[name] for name in ("wording", "topic", "configuration", "argument") if name in names]
    if path[0] in ("models", "free"):
        parts = parts[1:] if path[0] == "models" else parts
    else:
        model = None
        conditions = [names["model"], names["second"]] if "second" in names else conditions
    if "calibrations" in path:
        model, conditions = (names["role"], []) if path[0] == "weighing" else (None, [names["role"]])
    if "strength" in path:
        parts, conditions = parts[:-1], [parts[-1]]
    if "leans" in path:
        item, conditions = None, [names["item"]]
    if "issues" in path:
        parts.remove("issues")
    if "conditions" in path and conditions == ["baseline"]:  # the name of a neighbouring field
        parts, conditions = ["conditions", "baseline", *parts[1:]], []
    return model, item, " / ".join(conditions) or None, ".".join(parts)
