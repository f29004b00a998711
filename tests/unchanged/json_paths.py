"""Today's form of the recorded JSON of an analysis, for each study: every number became a measure.

Everywhere {"value", "low", "high", "n", "method", "level"}, and {"estimate", "interval", "n", "method", "level", ...},
are {"leads": "plain", "plain": {"estimate", "interval", "n", "method", "why", ...}}. `level` is at the head only,
and `method` no longer has the reason for missing values. `MOVED` has all other moves, from old path to new path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from math import isnan
from typing import Any

__all__ = ["ESTIMATORS", "MOVED", "RESHAPE", "deliberation_since_0_2", "printed", "since_0_2"]

_HELD = " (held to the answer format)"

MOVED: dict[str, tuple[tuple[str, str], ...]] = {
    "open-mindedness": (
        (f"models > NAME{_HELD}", "models > NAME"),
        # At X, which is a model, an issue, a topic, or a model's `subset > scores` (today `subset`):
        ("X > open_mindedness, interval, n, method", "X > open_mindedness > plain > estimate, interval, n, method"),
        *(
            (f"X > {name}, {name}_interval", f"X > {name} > plain > estimate, interval")
            for name in (
                *("open_mindedness_as_published", "open_mindedness_even"),
                "open_mindedness_even_as_published",
            )
        ),
        ("X > open_mindedness_as_published", "X > open_mindedness > as_published, too"),
        ("X > open_mindedness_even_as_published", "X > open_mindedness_even > as_published, too"),
        ("X > corrected > NAME", "X > NAME > letter_balanced"),
        ("X > not_computed > corrected", "X > NAME > letter_balanced > why"),
        ("models > * > subset > scores, corrected", "models > * > subset"),
        ("models > * > corrected_leaning_pro", "models > * > leaning_pro > letter_balanced"),
        ("models > * > corrected_shares > ** > *", "models > * > shares > ** > * > letter_balanced"),
        ("models > * > corrected_shifts > *", "models > * > shifts > * > letter_balanced"),
        ("ISSUE > baseline > share, interval, n", "ISSUE > baseline > share > plain > estimate, interval, n"),
        ("ISSUE > corrected_baseline > share, interval, n", "ISSUE > baseline > share > letter_balanced > ..."),
        ("ISSUE > corrected_baseline > stance, tied, refused", "ISSUE > baseline > *_letter_balanced"),
        ("ISSUE > conditions > * > corrected_shares > *", "ISSUE > conditions > * > shares > * > letter_balanced"),
        ("ISSUE > conditions > * > corrected_stance, corrected_flips", "ISSUE > conditions > * > *_letter_balanced"),
    ),
    "deliberation": (
        ("PARAMETER > estimate, interval, se, odds_ratio", "PARAMETER > plain > estimate, interval, se, odds_ratio"),
        ("PARAMETER > reason", "PARAMETER > plain > why"),
        ("(a fit's decisions)", "PARAMETER > plain > n"),
        ("consensus > settings > * > format, goal, agents", "consensus > settings > * > setting > ..."),
        ("crowd > settings > * > format, goal, agents", "crowd > settings > * > setting > ..."),
        ("choice_models_by_estimator > paper", "choice_models_by_estimator > penalised"),
    ),
    "stance-stability": (("GROUP > MEASURE > sd", "GROUP > sd > MEASURE"),),
    "pluralism": (
        ("** > compared > ** > MEASURE > p, adjusted, of", "** > compared > ** > MEASURE > plain > p, adjusted, of"),
        ("(no shift, no communities)", "CONDITION > shift, models > * > communities: there, and empty"),
    ),
}
"""By study. `X > a, b` stands for `X > a` and `X > b`."""

_FORMS = (("value", "low", "high", "n", "method", "level"), ("estimate", "interval", "n", "method", "level"))
_SCORES = (
    *("open_mindedness", "open_mindedness_as_published"),
    *("open_mindedness_even", "open_mindedness_even_as_published"),
)
_BALANCED = "Wilson, corrected for letter and order"
_WALD, _OF_THE_LOGARITHM = "Wald", "Wald, of the logarithm"


def _open_mindedness(marked: dict[str, Any]) -> dict[str, Any]:
    old = _unmarked(marked)
    models = {name: _model(one) for name, one in old["models"].items()}
    return {**_numbers(old), "models": models}


def _unmarked(old: Any) -> Any:
    """The same with models under their names alone, in keys and in texts."""
    if isinstance(old, dict):
        return {_unmarked(name): _unmarked(one) for name, one in old.items()}
    if isinstance(old, list):
        return [_unmarked(one) for one in old]
    return old.replace(_HELD, "") if isinstance(old, str) else old


def _model(old: dict[str, Any]) -> dict[str, Any]:
    made = _scored(old)
    made["topics"] = {name: _scored(one) for name, one in old["topics"].items()}
    made["issues"] = {name: _issue(one) for name, one in old["issues"].items()}
    if old["subset"]:
        scores = {**old["subset"]["scores"], "corrected": old["subset"]["corrected"]}
        made["subset"] = _scored({**scores, **_without(old["subset"], "scores", "corrected")})
    why = old["not_computed"].get("corrected")
    for name in ("leaning_pro", "shares", "shifts"):
        made[name] = _beside(made[name], made.pop(f"corrected_{name}"), why)
    return made


def _issue(old: dict[str, Any]) -> dict[str, Any]:
    made = _scored(old)
    corrected, why = old["corrected_baseline"], old["not_computed"].get("corrected")
    if baseline := old["baseline"]:
        told = {name: baseline[name] for name in ("stance", "tied", "refused")}
        told |= {f"{name}_letter_balanced": corrected[name] if corrected else None for name in list(told)}
        shares = old["conditions"]["baseline"]["shares"]
        methods = {one["value"]: one["method"] for one in shares.values()}
        made["baseline"] = {**told, "share": _shared(baseline, methods[baseline["share"]], corrected, why)}
    del made["corrected_baseline"]
    made["conditions"] = {name: _condition(one) for name, one in old["conditions"].items()}
    return made


def _condition(old: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _numbers(_without(old, "corrected_stance", "corrected_flips", "corrected_shares"))
    made |= {f"{name}_letter_balanced": old[f"corrected_{name}"] for name in ("stance", "flips")}
    if old["corrected_shares"]:
        made["shares"] = _beside(made["shares"], _numbers(old["corrected_shares"]))
    return made


def _shared(baseline: dict[str, Any], method: str, corrected: dict[str, Any] | None, why: str | None) -> dict[str, Any]:
    """The baseline's share, whose method was not recorded: it is that of the same share in the condition."""
    made = _measure(baseline["share"], baseline["interval"], baseline["n"], method)
    if corrected:
        made["letter_balanced"] = _number(corrected["share"], corrected["interval"], corrected["n"], _BALANCED)
    elif why:
        made["letter_balanced"] = _absent(why)
    return made


def _scored(old: dict[str, Any]) -> dict[str, Any]:
    """An object with scores: measures in their place, those with biases removed as their variants."""
    own = {name for score in _SCORES for name in (score, f"{score}_interval")} | {"interval", "n", "method"}
    made: dict[str, Any] = _numbers(_without(old, *own, "corrected"))
    scores, why = _scores(old), old.get("not_computed", {}).get("corrected")
    corrected = _scores(old["corrected"]) if old.get("corrected") else None
    if corrected:
        scores = _beside(scores, corrected)
    elif "corrected" in old and why:
        scores = {name: {**one, "letter_balanced": _absent(why)} for name, one in scores.items()}
    if "not_computed" in old:
        made["not_computed"] = _without(old["not_computed"], "corrected", "corrected_shares", "corrected_shifts")
    return {**made, **scores}


def _scores(old: dict[str, Any]) -> dict[str, Any]:
    intervals = {name: old["interval" if name == _SCORES[0] else f"{name}_interval"] for name in _SCORES}
    made = {name: _measure(old[name], intervals[name], old["n"], old["method"]) for name in _SCORES}
    for name in ("open_mindedness", "open_mindedness_even"):
        made[name]["as_published"] = made[f"{name}_as_published"]["plain"]
    return made


def _beside(made: dict[str, Any], other: dict[str, Any] | None, why: str | None = None) -> dict[str, Any]:
    why = None if other else why
    if "leads" not in made:
        return {name: _beside(one, (other or {}).get(name), why) for name, one in made.items()}
    if not other:
        return {**made, "letter_balanced": _absent(why)} if why else made
    return {**made, "letter_balanced": other["plain"]}


def _deliberation(old: dict[str, Any]) -> dict[str, Any]:
    made = _numbers(_without(old, "choice_model", "choice_models", "choice_models_by_estimator"))
    made["choice_model"] = _fit(old["choice_model"]) if old["choice_model"] else None
    made["choice_models"] = {goal: _fit(one) for goal, one in old["choice_models"].items()}
    made["choice_models_by_estimator"] = {
        ESTIMATORS[name]: {goal: _fit(one) for goal, one in fits.items()}
        for name, fits in old["choice_models_by_estimator"].items()
    }
    made["estimator"] = ESTIMATORS[old["estimator"]]
    for part in filter(None, (made["consensus"], made["crowd"])):
        part["settings"] = [
            {"setting": {name: one[name] for name in _SETTING}, **_without(one, *_SETTING)} for one in part["settings"]
        ]
    return made


_SETTING = ("format", "goal", "agents")


ESTIMATORS = {"random": "random", "taste": "taste", "paper": "penalised"}
"""Of deliberation's choice model, as they were called and as they are: `random` was the default, and 'auto' is. Results
of the authors' own estimator were not recorded."""


def _fit(old: dict[str, Any]) -> dict[str, Any]:
    """The remaining parts of a fit: all of `penalised`, and of `random` all but two.

    These are intervals, which are Student's over dilemmas now, and notes, which hold the likelihood ratio of tastes.
    `taste` takes its integrals in another way, so that its numbers differ by some hundredths of a standard error.
    """
    if old["estimator"] == "taste" and not old["not_computed"]:
        return {name: old[name] for name in ("goal", "estimator", "decisions", "dilemmas")}
    made: dict[str, Any] = _parameters(old, old["decisions"])
    made["estimator"] = ESTIMATORS[old["estimator"]]
    return _without_intervals(_without(made, "notes")) if old["estimator"] == "random" else made


def _without_intervals(made: Any) -> Any:
    if not isinstance(made, dict):
        return made
    return {name: _without_intervals(one) for name, one in made.items() if name != "interval"}


def _parameters(old: Any, n: int) -> Any:
    if isinstance(old, dict) and "se" in old:
        reason = old["reason"]
        usual = _WALD if "odds_ratio" in old else _OF_THE_LOGARITHM
        method = usual if reason is None else reason if old["estimate"] is not None else f"not computed: {reason}"
        made = _measure(old["estimate"], old["interval"], n, method)
        made["plain"] |= _without(old, "estimate", "interval", "reason")
        return made
    return {name: _parameters(one, n) for name, one in old.items()} if isinstance(old, dict) else old


def _stance_stability(old: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _deviations(old)
    return made


def _deviations(old: Any) -> Any:
    """Groups with their standard deviations apart; everything else as a measure."""
    if isinstance(old, dict) and "reuse_bands" in old:
        deviations = {name: _numbers(one["sd"]) for name, one in old.items() if isinstance(one, dict) and "sd" in one}
        means = {name: _numbers(_without(old[name], "sd")) for name in deviations}
        return {name: _deviations(one) for name, one in old.items() if name not in means} | means | {"sd": deviations}
    if isinstance(old, dict) and not _is_estimate(old):
        return {name: _deviations(one) for name, one in old.items()}
    return _numbers(old)


def _pluralism(old: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _numbers(_conditions(old))
    made["models"] = {name: {"communities": {}, **one} for name, one in made["models"].items()}
    return made


def _conditions(old: Any) -> Any:
    if not isinstance(old, dict):
        return old
    empty = {"shift": {}} if "compared" in old and "counts" in old else {}
    return {**empty, **{name: _conditions(one) for name, one in old.items()}}


def _numbers(old: Any) -> Any:
    """The recorded value with every estimate in it as a measure; fields next to an estimate go into its variant."""
    if isinstance(old, list):
        return [_numbers(one) for one in old]
    if not isinstance(old, dict):
        return old
    if not _is_estimate(old):
        return {name: _numbers(one) for name, one in old.items()}
    beside = _without(old, *_FORMS[0], *_FORMS[1])
    if "value" in old:
        made = _measure(old["value"], [old["low"], old["high"]], old["n"], old["method"])
    else:
        made = _measure(old["estimate"], old["interval"], old["n"], old["method"])
    made["plain"] |= beside
    return made


def printed(old: Any) -> Any:
    """The same for values that were recorded before printing, which has null for a number that is not finite."""
    return _numbers(_nulls(old))


def _nulls(old: Any) -> Any:
    if isinstance(old, dict):
        return {name: _nulls(one) for name, one in old.items()}
    if isinstance(old, list):
        return [_nulls(one) for one in old]
    return None if isinstance(old, float) and isnan(old) else old


def _is_estimate(old: Mapping[str, Any]) -> bool:
    return any(set(names) <= old.keys() for names in _FORMS)


def _measure(value: float | None, interval: list[float | None], n: int, method: str) -> dict[str, Any]:
    return {"leads": "plain", "plain": _number(value, interval, n, method)}


def _number(value: float | None, interval: list[float | None], n: int, method: str) -> dict[str, Any]:
    why = None
    if value is None:
        method, why = "", method.removeprefix("not computed: ")
    elif None in interval:
        how, _, rest = method.partition(": no interval")
        if rest:
            method, why = how, f"no interval{rest}"
        elif method.endswith(": no interval"):
            method, why = "", method
        else:
            why = "no interval is made for it"
    return {"estimate": value, "interval": interval, "n": n, "method": method, "why": why}


def _absent(why: str) -> dict[str, Any]:
    return {"estimate": None, "interval": [None, None], "n": 0, "method": "", "why": why}


def _without(old: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one for name, one in old.items() if name not in names}


def deliberation_since_0_2(old: dict[str, Any]) -> dict[str, Any]:
    """Without what the choice model gives otherwise since 0.2.0: see `_fit_since_0_2`."""
    fits = {goal: _fit_since_0_2(one) for goal, one in old["choice_models"].items()}
    return {**old, "choice_model": old["choice_model"] and _fit_since_0_2(old["choice_model"]), "choice_models": fits}


def _fit_since_0_2(old: dict[str, Any]) -> dict[str, Any]:
    """The default had one spread of tastes for all models and has one for each, so that all its numbers differ.

    Where tastes are not fitted, all numbers are as they were. Notes have new words.
    """
    if old["estimator"] != "taste":
        return _without(old, "notes")
    return {name: old[name] for name in ("goal", "decisions", "dilemmas")} | {"estimator": "taste_by_model"}


RESHAPE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "open-mindedness": _open_mindedness,
    "deliberation": _deliberation,
    "stance-stability": _stance_stability,
    "pluralism": _pluralism,
}
"""By study: an analysis as it was recorded, in today's shape."""


def since_0_2(study: str) -> Callable[[Any], Any]:
    """Analyses of stored runs without the numbers that null conditions changed on purpose.

    A headline is taken over all items that have it, also with a null condition that lacks some of them or all. The
    Chameleon score is compared with `no-history` alone. The difference in place of open-mindedness is that of the
    cross-fitted score.
    """
    return partial(_since_0_2, study)


_APART = ("items", "observed", "under_null", "difference", "together", "verdict")
"""Fields that change in a difference from a null condition if the two have different items."""
_FIXED = ("same-question", "same-pages")


def _since_0_2(study: str, recorded: Any) -> Any:
    made: dict[str, Any] = deepcopy(recorded)
    kept = [
        one for one in made.get("against_null", ()) if not (one["measure"] == "chameleon" and one["null"] in _FIXED)
    ]
    for one in kept:
        changed = study == "even-handedness" or one["measure"] == "rounds_to_consensus"
        for name in _APART if changed else ("observed",) if not one["items"] else ():
            one.pop(name)
    if "against_null" in made:
        if study == "pluralism":  # shifts are listed after the means over units
            nulls = list(dict.fromkeys(one["null"] for one in kept))
            kept.sort(key=lambda one: (nulls.index(one["null"]), one["model"], one["measure"].startswith(_SHIFTS)))
        made["against_null"] = kept
    for node in _compared_with_nulls(study, made):
        known = {name: node.pop(name) for name in [*node] if name.startswith("against_null")}
        if study == "stance-stability" and (one := known.get("against_null_no-history")):
            node["against_null"] = one
    return made


_SHIFTS = ("suppression", "amplification")


def _measures_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every measure in a part of a document."""
    if isinstance(value, dict) and "leads" in value:
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _measures_in(inner)


def _compared_with_nulls(study: str, made: Any) -> list[dict[str, Any]]:
    """The headlines whose difference from a null condition has changed."""
    if study == "deliberation":
        return [made["consensus"]["rounds"]]
    if study == "pluralism":
        return list(_measures_in(made["models"]))
    models = made["models"].values()
    if study == "open-mindedness":
        return [model["open_mindedness"] for model in models]
    if study == "stance-stability":
        return [model["chameleon"] for model in models]
    return [one["helped"] for model in models for one in model.values()]
