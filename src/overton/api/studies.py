"""What a study needs from the rooms around it: where its items come from, and how its options are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overton.errors import InputError, Problem
from overton.studies.study import Study

__all__ = ["Binding", "binding_of", "makes_items", "study_named"]


@dataclass(frozen=True)
class Binding:
    """A study with the reader of its items (raises InputError), its starter items and a check of its options."""

    study: Study
    read: Callable[[Path], Sequence[Any]]
    starter: Callable[[], Sequence[Any]]
    check_options: Callable[[Any], None]


def binding_of(name: str) -> Binding:
    """The study that a user names.

    Raises:
        InputError: there is no such study.
    """
    if name not in _BINDINGS:
        raise InputError([Problem("study", name, f"no such study; known are {', '.join(_BINDINGS)}")])
    return _BINDINGS[name]()


def study_named(name: str) -> Study:
    """The study of a run, those that make items included.

    Raises:
        InputError: this version knows no such study.
    """
    makers = _makers()
    return makers[name] if name in makers else binding_of(name).study


def makes_items(name: str) -> bool:
    """Whether a study's outcome is items or verdicts on items, not a model's opinions."""
    return name in _makers()


def _makers() -> dict[str, Study]:
    from overton.studies.open_mindedness import auditing, rephrasing

    return {study.name: study for study in (rephrasing.STUDY, auditing.STUDY)}


def _open_mindedness() -> Binding:
    from overton.api.issues import issues_at, starter_issues
    from overton.studies.open_mindedness import STUDY
    from overton.studies.open_mindedness.options import check_options

    return Binding(study=STUDY, read=issues_at, starter=starter_issues, check_options=check_options)


_BINDINGS: dict[str, Callable[[], Binding]] = {"open-mindedness": _open_mindedness}
