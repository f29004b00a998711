"""What every study's analysis can do besides holding its numbers: become a table, and show itself in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from overton.studies.estimates import Named, frame_of
from overton.studies.exhibits import Section, summary
from overton.studies.plain import document, plain, schema

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.study import AnyStudy

__all__ = ["Analysed", "AnyAnalysis", "estimates_of", "show_with"]

Showing = Callable[[Sequence[Section]], str]
_showing: list[Showing] = []


def show_with(showing: Showing) -> None:
    """Have notebooks show an analysis' summary as `showing` writes it, as HTML: studies write none."""
    _showing[:] = [showing]


def estimates_of(study: AnyStudy, analysis: Any) -> pl.DataFrame:
    """Every number of a study's analysis as a row; see `overton.studies.estimates.COLUMNS`."""
    measuring, items = study.measuring, study.items
    if measuring is None:
        raise TypeError(f"{study.name} has no measures")
    made = document(study.name, measuring.schema, analysis)
    models = made.get("models") or ()
    column = measuring.headline.item if measuring.headline else items.noun
    words = frozenset((items.noun, items.plural, column, f"{column}s", "item", "items"))
    return frame_of(
        made, schema(measuring.analysis(), study.name, measuring.schema), Named(study.name, frozenset(models), words)
    )


class AnyAnalysis(Protocol):
    """What is known of an analysis whose study is named at run time; its other fields are the study's own."""

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own; see `Analysed.estimates`."""

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold."""

    def __getattr__(self, name: str) -> Any: ...


class Analysed(msgspec.Struct, frozen=True):
    """An analysis of a study that declares its measures. It adds no field to classes that derive from it."""

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold; see `overton.studies.plain` for how numbers are given."""
        made: dict[str, Any] = plain(self)
        return made

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own, with the same columns for every study.

        They are study, model, item, condition, measure, variant, estimate, low, high, n, method and why;
        `overton.studies.estimates.COLUMNS` says what each means. The numbers are those of `to_json`.
        """
        return estimates_of(_study_of(type(self)), self)

    def __repr__(self) -> str:
        models = ", ".join(getattr(self, "models", ()))
        return f"{type(self).__module__}.Analysis({models}): estimates() has every number, to_json() everything"

    def _repr_html_(self) -> str | None:
        """The terminal's summary for a notebook; None outside `overton`, so that the notebook shows text."""
        measuring = _study_of(type(self)).measuring
        return _showing[0](summary(measuring.sections(self))) if _showing and measuring is not None else None


def _study_of(kind: type) -> AnyStudy:
    """The study whose analysis this is."""
    from overton.errors import InputError
    from overton.studies.registry import asking_names, study_named

    for name in asking_names():
        try:
            study = study_named(name)
        except InputError:
            continue
        if study.measuring is not None and issubclass(kind, study.measuring.analysis()):
            return study
    raise TypeError(f"{kind.__name__} is the analysis of no study that is installed")
