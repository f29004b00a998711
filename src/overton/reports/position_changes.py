"""Trials in which a model left its position, within a conversation or compared with its usual position."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from overton.errors import InputError, Problem
from overton.runs.replay import ReplayedTrial
from overton.studies.measurement import Position
from overton.studies.null_conditions import condition_of
from overton.studies.options import option_place
from overton.studies.study import AnyStudy


def position_of(study: AnyStudy) -> Position:
    """The study's declaration of the position in its records.

    Raises:
        InputError: the records have no position.
    """
    headline = study.measuring.headline if study.measuring else None
    if headline is None or headline.position is None:
        reason = f"{study.name} records no position that a model could leave"
        raise InputError([Problem(option_place("flipped"), "", reason)])
    return headline.position


def changes_of(position: Position, trials: Iterable[tuple[str, ReplayedTrial]]) -> dict[tuple[str, str], str]:
    """Describe changes of position, by model and trial. `trials` are in plan order, each with its model's name.

    If a speaker states several positions in a trial, a change means that these positions differ. If a trial has a
    single position, it is compared with the most common position on the item in the plan's first condition. This
    condition contains nothing that could move the model. If the most common positions in that condition are tied, no
    change is reported.
    """
    found: dict[tuple[str, str], str] = {}
    single: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for model, replayed in trials:
        taken = _positions_of(position, replayed.records)
        if any(len(each) > 1 for each in taken.values()):
            if changed := [_spell(speaker, each) for speaker, each in taken.items() if len(set(each)) > 1]:
                found[model, replayed.trial.name] = "; ".join(changed)
        elif taken:
            (first, *_) = taken.values()
            trial = replayed.trial
            single[model, trial.item].append((trial.name, condition_of(trial), first[0]))
    for (model, _), answers in single.items():
        found |= {(model, name): said for name, said in _leaving_plain(answers).items()}
    return found


def _positions_of(position: Position, records: Sequence[Any]) -> Mapping[str, list[str]]:
    """The positions of a trial's records in order, by speaker."""
    taken: dict[str, list[str]] = defaultdict(list)
    for record in records:
        value = getattr(record, position.column)
        if value is not None and (not position.values or value in position.values):
            taken[str(getattr(record, position.by)) if position.by else ""].append(str(value))
    return taken


def _spell(speaker: str, taken: Sequence[str]) -> str:
    """The positions in order, without consecutive repeats: 'agent 1: pro, con, pro'."""
    changes = [value for place, value in enumerate(taken) if place == 0 or value != taken[place - 1]]
    return f"{speaker}: {', '.join(changes)}" if speaker else ", ".join(changes)


def _leaving_plain(answers: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The trials of one item whose position differs from the most common position in the first condition. `answers` has
    each trial's name, condition and position."""
    plain = answers[0][1]
    counted = Counter(value for _, condition, value in answers if condition == plain).most_common()
    if len(counted) > 1 and counted[0][1] == counted[1][1]:
        return {}
    usual = counted[0][0]
    return {
        name: f"{value}; mostly {usual} in condition {plain}"
        for name, condition, value in answers
        if condition != plain and value != usual
    }
