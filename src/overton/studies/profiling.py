"""What a study contributes to a model's profile: the aspects that it covers, and the subjects of its starter items.

A profile is put together by its host (`overton.api.profiling`), which knows no study.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from overton.studies.traits import Aspect, Trait

__all__ = ["Profiling", "starter_subjects"]

Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Profiling(Generic[Analysis]):
    """What a study contributes to a profile.

    `aspects` are those that it covers, so that a profile can say what would be known if it were run. `traits(analysis)`
    gives what it found, model by model. `by_item` names those measures of the study's `Comparing`, means or ratios,
    whose value for a single item is shown beside the findings of other studies on the same subject, and says of each in
    a few words what it means.
    """

    aspects: tuple[Aspect, ...]
    traits: Callable[[Analysis], Iterable[Trait]]
    by_item: Mapping[str, str] = field(default_factory=dict)


def starter_subjects(package: str) -> Mapping[str, str]:
    """The subjects of a study's starter items, by what the study compares by (mostly the item's id).

    They are in `starter/subjects.toml` of `package`, one subject per line: what it is about, in the words under which a
    profile shows the items of all studies together, then its items.
    """
    text = files(package).joinpath("starter", "subjects.toml").read_text(encoding="utf-8")
    subjects: dict[str, Any] = tomllib.loads(text)
    return {item: subject for subject, items in subjects.items() for item in items}
