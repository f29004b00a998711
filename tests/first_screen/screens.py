"""The first screen of a run whose records are drawn: what `overton run` prints first, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from overton.analysis.analyze import Measured, chosen_how
from overton.analysis.results import measuring_of
from overton.studies.contributions import Contribution
from overton.studies.findings import Finding, evidence
from overton.studies.frame import EstimateRow
from overton.studies.measures import Grouping
from overton.studies.null_conditions import split_nulls
from overton.studies.registry import study_named
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Table
from overton.studies.study_measures import StudyMeasures
from overton.studies.tables import RawTable

from .respondents import Respondent

SIDES = pl.DataFrame({"group": ["left", "right"], "side": ["left", "right"]})
"""Whose sides the groups of even-handedness are."""
RESAMPLES = 200


@dataclass(frozen=True)
class Screen:
    """An outcome with what its readers see first; `truth` has the respondent behind each model, and behind ''."""

    outcome: Measured
    items: int
    truth: Mapping[str, Respondent]

    @cached_property
    def findings(self) -> list[Finding]:
        return self.outcome.findings

    @cached_property
    def tables(self) -> list[Table]:
        """The tables that the terminal prints below the findings."""
        return [one for section in self.outcome.summary() for one in section.exhibits if isinstance(one, Table)]

    @cached_property
    def contributions(self) -> dict[tuple[str, str], Contribution]:
        """The contributions of items to every measure by which models are compared, by its name and the model's."""
        comparing, results = measuring_of(self.outcome.study).comparing, self.outcome.results
        sides = comparing.records(results, self.outcome.how) if comparing and results else {}
        return {(one.measure.name, model): one for model, found in sides.items() for one in found}

    def __str__(self) -> str:
        return "\n".join(map(printed, self.findings))


def printed(one: Finding) -> str:
    """A finding as the terminal prints it, without its cautions."""
    return f"{one.sentence} ({evidence(one)})"


def screen(seed: int, items: int, *respondents: Respondent) -> Screen:
    """The first screen of a run with these respondents, as models m and n; agents that deliberate are two of a kind."""
    (study,) = {one.study for one in respondents}
    rng = np.random.default_rng((seed, items))
    if study == "deliberation":
        (one,) = respondents
        return screen_of(study, one.draw(rng, items, ("m", "n")), items, dict.fromkeys(("m", "n", ""), one))
    truth = dict(zip("mn", respondents, strict=False))
    records = pl.concat([one.draw(rng, items, [name]) for name, one in truth.items()])
    return screen_of(study, records, items, truth)


def screen_of(
    study: str, records: pl.DataFrame, items: int, truth: Mapping[str, Respondent] | None = None, **facts: Any
) -> Screen:
    """The first screen of a run with these records; `facts` are further fields of its `Results`."""
    named, results = study_named(study), results_of(study, records, **facts)
    how = chosen_how(named, how_of(study))
    outcome = Measured(named, measuring_of(named).records(results, how), how, results)
    return Screen(outcome, items, truth or {})


@contextmanager
def only_what_is_shown_first() -> Iterator[None]:
    """Leave out measures by topic, by task and by what topics are like, which are not on the first screen. Also P
    values of pluralism's conditions: they decide only how rows of tables are called."""
    from overton.studies.even_handedness import rows as even
    from overton.studies.grouping import Frame
    from overton.studies.open_mindedness import issue_numbers
    from overton.studies.pluralism import belief_shift
    from overton.studies.stance_stability.rows import FACETS

    counted, rows, later = even.counts_of, Frame.rows, {*FACETS} - {"temperature"}

    def rows_shown_first(frame: Frame, groupings: Iterable[Grouping]) -> Iterator[EstimateRow]:
        return rows(frame, (one for one in groupings if not one.by_item and not later & one.by.keys()))

    def counts_shown_first(frame: Frame, facets: object) -> Any:
        return {"counts": counted(frame, ())["counts"], "topics": ()}

    with ExitStack() as stack:
        for where, name, instead in (
            (StudyMeasures, "facets", ()),
            (Frame, "rows", rows_shown_first),
            (even, "counts_of", counts_shown_first),
            (issue_numbers, "agreements", lambda *_: ()),
            (belief_shift, "signed_rank", lambda _: 1.0),
        ):
            stack.enter_context(patch.object(where, name, instead))
        yield


def results_of(study: str, records: pl.DataFrame, **facts: Any) -> Results:
    """The results of a run with these records, those of null conditions apart."""
    design, nulls = split_nulls(records, study_named(study).nulls)
    models = [MeasuredModel(name, f"openai/{name}") for name in sorted(set(design["model"]))]
    return Results(design, models=models, nulls=nulls, **facts)


def how_of(study: str) -> Mapping[str, Any]:
    """The choices of computing it: few resamples, and sides where a study has them."""
    if study == "even-handedness":
        return {"sides": RawTable("sides.csv", ".csv", ("group", "side"), lambda: SIDES)}
    return {"resamples": RESAMPLES}
