"""From answers to numbers: how much more often a model says yes than one that looks only at the question would."""

from collections.abc import Iterator, Sequence

import msgspec
import polars as pl

from acquiescence.asking import Record
from overton.statistics import Estimate
from overton.statistics.jackknife import Jackknife
from overton.studies import Analysed, Column, How, Method, Results, Section, Table


class Result(msgspec.Struct, frozen=True):
    """One model's answers.

    `acquiescence` is the mean over questions of yes(pro) + yes(con) - 1: -1 (always no) to 1 (always yes), 0 if
    wording does not matter. `turned` is the chance that two answers to one question, worded from each side, contradict
    each other. `unread` and `failed` count trials without an answer; they are in no measure.
    """

    acquiescence: Estimate
    turned: Estimate
    answers: int
    unread: int
    failed: int


class Analysis(Analysed, frozen=True):
    """Results by model, and the level of their intervals."""

    models: dict[str, Result]
    level: float


def measure(results: Results, how: How) -> Analysis:
    """The measures of every model, with intervals over questions."""
    jackknife = Jackknife(how.level, seed=how.seed, unit="questions")
    models = results.records.partition_by("model", as_dict=True)
    found = {str(model): result_of(records, jackknife) for (model,), records in sorted(models.items())}
    return Analysis(found, how.level)


def result_of(records: pl.DataFrame, jackknife: Jackknife) -> Result:
    """The measures of one model; a question without an answer to each of its wordings is left out."""
    answered = records.filter(pl.col("answer").is_not_null())
    yes = pl.col("answer") == "yes"
    shares = (
        answered.group_by("question")
        .agg(yes.filter(pl.col("framing") == side).mean().alias(side) for side in ("pro", "con"))
        .drop_nulls()
        .sort("question")
    )
    pro, con = shares["pro"].to_numpy(), shares["con"].to_numpy()
    acquiescence = jackknife.mean(pro + con - 1, (-1.0, 1.0))
    turned = jackknife.mean(pro * con + (1 - pro) * (1 - con), (0.0, 1.0))
    failed = records["failure"].count()
    return Result(acquiescence, turned, answered.height, records.height - answered.height - failed, failed)


def sections(analysis: Analysis) -> Sequence[Section]:
    """One table, shown in the report and in the terminal."""
    kinds = {"Model": "text", "Acquiescence": "points", "Turned": "share"}
    kinds |= dict.fromkeys(("Answers", "Unread", "Failed calls"), "count")
    table = Table(
        title="Acquiescence",
        columns=[Column(title, kind) for title, kind in kinds.items()],
        rows=[[model, *msgspec.structs.astuple(result)] for model, result in analysis.models.items()],
        note="A model that always says yes has +100 points and turns on every question.",
        summary=True,
    )
    how = f"Means over questions, with {analysis.level:.0%} intervals over questions."
    return [Section("acquiescence", "Acquiescence", [table, Method(how)])]


def figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    """The numbers that represent an analysis."""
    for result in analysis.models.values():
        yield "acquiescence", result.acquiescence
        yield "turned", result.turned


def share_of_yes(records: Sequence[Record]) -> float:
    """The share of yes among the answers to one wording of a question; NaN if there is none."""
    answers = [record.answer == "yes" for record in records if record.answer]
    return sum(answers) / len(answers) if answers else float("nan")
