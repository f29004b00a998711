"""What a study needs from the rooms around it: where its items come from, how its outcome is measured and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from overton.api.headlines import Headlines
from overton.errors import InputError, Problem
from overton.studies.study import AnyStudy

__all__ = ["Binding", "Exhibits", "binding_of", "makes_items", "study_named"]


@dataclass(frozen=True)
class Exhibits:
    """What a study puts into a report; `items` is what it calls its items, `data` what readers compute on."""

    title: str
    summary: str
    items: str
    models: Sequence[str]
    sections: Sequence[Any]
    trials: Any
    data: Any
    warnings: Sequence[str] = ()


def _as_given(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return options


def _none(options: Any) -> dict[str, dict[str, str]]:
    return {}


@dataclass(frozen=True)
class Binding:
    """A study with what it needs of other rooms.

    `read` gives its items from a path and `starter` those that come with Overton; `complete` adds to the options what
    follows from the models by role, and `check_options` refuses what no trial can be made of; `source_args` gives what
    follows from the options for what searches and reads pages, by role. `analyze_file` and
    `analyze_runs` give its measures, `exhibits` what a report shows. All raise InputError for what they cannot use.
    `headlines` are the few figures that stand for it elsewhere.
    """

    study: AnyStudy
    read: Callable[[Path], Sequence[Any]]
    starter: Callable[[], Sequence[Any]]
    check_options: Callable[[Any], None]
    analyze_file: Callable[..., Any]
    analyze_runs: Callable[..., Any]
    exhibits: Callable[..., Exhibits]
    complete: Callable[[dict[str, Any], Mapping[str, Sequence[str]]], dict[str, Any]] = _as_given
    source_args: Callable[[Any], Mapping[str, Mapping[str, str]]] = _none
    headlines: Headlines | None = None


def binding_of(name: str) -> Binding:
    """The study that a user names.

    Raises:
        InputError: there is no such study.
    """
    if name not in _BINDINGS:
        raise InputError([Problem("study", name, f"no such study; known are {', '.join(_STUDIES)}")])
    binding: Binding = import_module(f"overton.api.{_BINDINGS[name]}").BINDING
    return binding


def study_named(name: str) -> AnyStudy:
    """The study of a run, those that make items included.

    Raises:
        InputError: this version knows no such study.
    """
    makers = _makers()
    return makers[name] if name in makers else binding_of(name).study


def simulated_names() -> list[str]:
    """The simulated answerers that a user may name, without 'simulated/'."""
    studies = [binding_of(name).study for name in _STUDIES]
    return list(dict.fromkeys(name for study in studies for name in study.simulated if not name.endswith("/NAME")))


def makes_items(name: str) -> bool:
    """Whether a study's outcome is items or verdicts on items, not a model's opinions."""
    return name in _makers()


def _makers() -> dict[str, AnyStudy]:
    from overton.studies.deliberation import crowd
    from overton.studies.open_mindedness import auditing, rephrasing
    from overton.studies.pluralism.referencing import REFERENCING
    from overton.studies.stance_stability import generating

    made = (rephrasing.STUDY, auditing.STUDY, crowd.STUDY, generating.STUDY, REFERENCING)
    return {study.name: study for study in made}


_STUDIES = ("open-mindedness", "deliberation", "stance-stability", "pluralism")
_BINDINGS = {name: name.replace("-", "_") for name in _STUDIES} | {"judge-stance-stability": "transcripts"}
"""Where each study is bound; those besides `_STUDIES` label what exists already."""
