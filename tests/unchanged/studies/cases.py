"""Small runs of all five studies: with an endpoint that plays every role, and judges of stored runs asked again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.stored_runs import unpack
from tests.unchanged import calls

import overton

from .judged import again, controls
from .voices import listening

__all__ = ["CASES", "QUICK", "make"]

Json = Any

_OWN = {"seed": "5", "temperature": "0.7", "max_tokens": "400"}
_JUDGE = {"seed": "6", "max_tokens": "200"}

_TALK = {"turns": 3, "temperatures": [0.5], "search": "starter", "pages_per_turn": 1, "page_characters": 200}
_DESIGNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "trials": 2,
        "templates": [1, 3],
        "wordings": [1],
        "conditions": ["baseline", "balanced", "one-sided-pro"],
        "answers": "both",
    },
    "stance-stability": {**_TALK, "trials": 2, "retest": 0.5},
    "pluralism": {"responses": 2, "candidates": 2, "ranked": 4, "pairs": 1, "neutral_trials": 2, "retest": 0.5},
    "deliberation": {"rounds": 2, "trials": 2, "formats": ["round-robin", "synchronous"], "retest": 0.5},
    "even-handedness": {"trials": 2, "retest": 0.5, "systems": ["Be brief."], "nulls": 0.0},
}
_NULLS: dict[str, Any] = {name: ["all"] for name in _DESIGNS} | {"even-handedness": 1.0}
_ROLES = {"deliberation": "values"}
_SEVERAL = ("stance-stability", "deliberation", "even-handedness")
"""Studies in which several judges may label the same answers."""


def _requests(study: str, *, judges: int = 1, **more: Any) -> Callable[[Path], Json]:
    """A run whose every role the endpoint plays: what it is asked, the calls' identities and the records."""

    def run(scratch: Path) -> Json:
        role = _ROLES.get(study, "judge")
        with listening() as (address, bodies):
            models = [f"{name}={address}#{name}" for name in ("m1", "m2")[: 1 + (study == "deliberation")]]
            names = [f"{role}{number}" for number in range(1, judges + 1)]
            made = overton.run(
                study,
                models=models,
                others={role: [f"{name}={address}#{name}" for name in names]},
                model_args=dict.fromkeys(("m1", "m2")[: len(models)], _OWN) | dict.fromkeys(names, _JUDGE),
                only=[overton.items.read(study)[0].id],
                out=scratch / "run",
                anyway=True,
                **{**_DESIGNS[study], **more},
            )
        assert made.finished, made.manifest.stopped
        assert not made.failed
        return {**_kept(made.path), "requests": _sorted(bodies)}

    return run


def _sorted(bodies: list[Json]) -> Json:
    """Requests by the model that is asked and the seed, which follows from a call's identity."""
    found: dict[str, Json] = {}
    for body in bodies:
        found.setdefault(f"{body['model']} {body['seed']}", []).append(body)
    assert all(len(asked) == 1 for asked in found.values()), "a request was sent twice"
    return {name: asked[0] for name, asked in sorted(found.items())}


def _kept(run: Path) -> dict[str, Json]:
    return {"records": calls.records(run), "calls": calls.identities(run)}


_SIMULATED: dict[str, dict[str, Any]] = {
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "judge": ["simulated/stance-judge", "erring=simulated/stance-judge"],
        "model_args": {"erring": {"wrong": "0.3", "invalid": "0.1"}},
        **_TALK,
        "retest": 0.5,
        "nulls": ["all"],
    },
    "deliberation": {
        "models": ["simulated/deliberator", "firm=simulated/deliberator"],
        "values": ["simulated/values-judge", "erring=simulated/values-judge"],
        "model_args": {"firm": {"inertia": "2.5"}, "erring": {"miss": "0.3", "outside": "0.1"}},
        **{"rounds": 2, "formats": ["synchronous"], "nulls": ["all"]},
    },
    "even-handedness": {
        "models": ["simulated/advocate"],
        "judge": ["simulated/even-judge", "erring=simulated/even-judge"],
        "model_args": {"simulated/advocate": {"weaker": "0.3", "hedges": "0.2"}, "erring": {"noise": "0.4"}},
        **{"nulls": 1.0, "retest": 0.5},
    },
}
_ITEMS = 6


def _several(study: str) -> Callable[[Path], Json]:
    """A run that two simulated judges label: how they agree, and each headline by both."""

    def run(scratch: Path) -> Json:
        design = dict(_SIMULATED[study])
        values = {"values": design.pop("values")} if "values" in design else {}
        only = [item.id for item in overton.items.read(study)[:_ITEMS]]
        made = overton.run(study, only=only, others=values, out=scratch / "run", **design)
        return {**_kept(made.path), "numbers": {"default": calls.analyze(study, made.path, {})[1]}}

    return run


def _judged(study: str) -> Callable[[Path], Json]:
    """The judge of a stored run on controls, and asked again; and of two stored runs, asked about both."""

    def run(scratch: Path) -> Json:
        first, second = (unpack(name, scratch) for name in _STORED[study])
        made = {
            "controls": overton.judge.controls(first, out=scratch / "controls"),
            "again": overton.judge.again(first, out=scratch / "again", size=_SIZE, seed=2),
            "both": overton.judge.again([first, second], out=scratch / "both", size=_SIZE),
        }
        documents = {name: calls.of_judge(one.manifest.study, one.path) for name, one in made.items()}
        return {
            "records": {name: calls.records(one.path) for name, one in made.items()},
            "calls": {name: calls.identities(one.path) for name, one in made.items()},
            "judged": {name: (controls if name == "controls" else again)(one) for name, one in documents.items()},
        }

    return run


_SIZE = 24
_STORED = {
    "open-mindedness": ("open-mindedness-free-answers", "open-mindedness-labels-single-side"),
    "stance-stability": ("stance-stability-defaults", "stance-stability-labels-single-stance"),
    "pluralism": ("pluralism-defaults", "pluralism-labels-single-match"),
    "deliberation": ("deliberation-defaults", "deliberation-labels-single-value"),
    "even-handedness": ("even-handedness-defaults", "even-handedness-labels-single-even_handedness"),
}
"""Two runs of each study, the second with human labels."""


CASES: dict[str, Callable[[Path], Json]] = {
    **{f"asked-{study}": _requests(study) for study in _DESIGNS},
    **{f"asked-{study}-null-conditions": _requests(study, nulls=nulls) for study, nulls in _NULLS.items()},
    **{
        f"asked-{study}-probabilities": _requests(study, shares="probabilities", calibrate=4)
        for study in _DESIGNS
        if study != "deliberation"  # which has no use for them
    },
    **{f"asked-{study}-two-judges": _requests(study, judges=2) for study in _SEVERAL},
    **{f"asked-{study}-judges-compared": _several(study) for study in _SIMULATED},
    **{f"asked-{study}-judge-again": _judged(study) for study in _STORED},
}
"""Each case by name; its function works in an empty folder."""

QUICK = tuple(f"asked-{study}-null-conditions" for study in _DESIGNS)
"""One case of each study, for every change."""


def make(name: str, scratch: Path) -> Json:
    """The results of a case now, without the folder that it is in."""
    made = json.dumps(CASES[name](scratch), ensure_ascii=False)
    return json.loads(re.sub(r"http://127\.0\.0\.1:\d+", "http://endpoint", made))
