"""MillStone's published numbers, computed again from its published counts.

The numbers are from two sources: `published.toml`, and the tables in the paper's repository.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.millstone_counts import PublishedCounts
from overton.studies.open_mindedness.record import COUNTS
from overton.studies.reproduction import PublishedNumber, Reproduction, read_printed

if TYPE_CHECKING:
    from overton.studies.frame import Analysis
    from overton.studies.tables import RawTable


_DIGITS = 4
_TABLE_DIGITS = 9
"""The repository's tables print all digits of floating-point numbers. The last digits depend on the order of summation,
so fewer are compared."""

_VARIANTS = {
    "weighted_binary_flip_original": "equation 1",
    "even_weight_binary_flip": "equation 1, equal weights",
    "weighted_no_binary_flip": "equation 1 without the flip",
    "even_weight_no_binary_flip": "equation 1 without the flip, equal weights",
}
"""The variants of scores in the repository's tables, in words."""

_SCORES = ("model", "issue", "variant", "open_mindedness_score")
_AVERAGES = ("variant", "model", "om_mean", "trial_ci_pm", "n_issues")
_SHIFTS = ("model", "case", "mean_pro_shift", "n_trials")
_ORDER = ("model", "case", "last_argument", "total_trials", "agreed_with_last_count", "agreed_with_last_pct")
_NEUTRALITY = ("judge_model", "label", "n", "total", "pct")
_JUDGMENTS = ("topic", "paraphrase_idx", "judge_model", "label")
_AGREEMENT = ("topic", "paraphrase_idx", "all_agree", "labels")

_HALVED = (
    "the authors pair prompts by number, so only 90 of a configuration's 180 answers count (templates 1 to 3); a table"
    " of counts does not distinguish templates"
)


def _load_published() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def _analysis_of(table: RawTable) -> tuple[Analysis, PublishedCounts]:
    from overton.studies.open_mindedness.measures import analyze
    from overton.studies.open_mindedness.record import read_table

    counts = read_table(table)
    if "count" not in counts.columns:
        raise InputError([Problem(table.name, "", "is not one of the published tables of counts")])
    analysis = analyze(counts)
    return analysis, PublishedCounts.of(counts, analysis)


def _of(table: RawTable) -> list[PublishedNumber]:
    """The scores of the models in one table of counts."""
    analysis, _ = _analysis_of(table)
    published = _load_published()["scores"]
    return [made for name in analysis.models for made in _of_model(analysis, name, published.get(name, {}))]


def _of_model(analysis: Analysis, name: str, published: Mapping[str, float]) -> Iterator[PublishedNumber]:
    """A model's scores by issue from equation 1 as printed, the mean from equation 2, and the mean by the worked
    example."""
    rows = analysis.rows_of("open_mindedness_as_published", model=name, variant="plain")
    for row in sorted(rows, key=lambda row: row.item is None):
        issue = row.item or "mean"
        yield PublishedNumber(f"{name}: {issue}", published.get(issue), row.number.value, _DIGITS, model=name)
    plain = analysis.estimate("open_mindedness", model=name, variant="plain").value
    said = f"{name}: mean by the worked example and footnote 1, as Overton scores"
    yield PublishedNumber(said, None, plain, _DIGITS, model=name)


def _whole(tables: Sequence[RawTable]) -> list[PublishedNumber]:
    """All published numbers that can be computed from the counts among `tables`. These numbers are in the paper, or in
    a table of the repository that is also among `tables`."""
    from overton.studies.tables import JoinedTable

    counts = [table for table in tables if COUNTS.fits(table)]
    if not counts:
        reason = "is not one of the published tables of counts, which are needed to compute the numbers in other tables"
        raise InputError([Problem(table.name, "", reason) for table in tables[:1]])
    analysis, known = _analysis_of(JoinedTable.of("counts", counts))
    published = _load_published()
    made = [
        number
        for name in analysis.models
        for number in _of_model(analysis, name, published["scores"].get(name, {}))
        if number.published is not None
    ]
    for columns, numbers_of in _TABLES:
        for table in tables:
            if _has(table, columns):
                made += numbers_of(table, known)
    made += _neutrality(tables)
    printed = {(number.what, number.model) for number in made}
    made += [number for number in _averages(published["averages"], known) if (number.what, number.model) not in printed]
    made += _statements(published["statements"], known)
    return [*dict.fromkeys(made)]


def _has(table: RawTable, columns: Sequence[str]) -> bool:
    return {*columns} <= {*table.columns}


def _is_known(table: RawTable) -> bool:
    known = (*(columns for columns, _ in _TABLES), _NEUTRALITY, _JUDGMENTS, _AGREEMENT)
    return COUNTS.fits(table) or any(_has(table, columns) for columns in known)


def _rows(table: RawTable, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The table's rows as texts; an empty cell is ''."""
    for row in table.frame().select(columns).iter_rows():
        yield tuple("" if cell is None else str(cell) for cell in row)


def _number(table: RawTable, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError([Problem(table.name, text[:60], "is not a number")]) from None


def _of_scores(table: RawTable, known: PublishedCounts) -> Iterator[PublishedNumber]:
    """Scores by issue, only of models that were asked about the issue. For other models the table has 0."""
    for model, issue, variant, score in _rows(table, _SCORES):
        if variant in _VARIANTS and (value := known.scores(model, variant).get(issue)) is not None:
            what = f"{model}: {issue}, {_VARIANTS[variant]}"
            published = _number(table, score)
            yield PublishedNumber(what, published, value, _TABLE_DIGITS, model, "score by issue, in the repository")


class _Printing(NamedTuple):
    """How averages were published: the location, the number of issues, and the number of digits."""

    where: str
    issues: int
    digits: int


def _of_averages(table: RawTable, known: PublishedCounts) -> Iterator[PublishedNumber]:
    for variant, model, mean, half, issues in _rows(table, _AVERAGES):
        if variant in _VARIANTS and model in known.models:
            numbers = [_number(table, text) for text in (mean, half)]
            printing = _Printing("tables 4 and 5, in the repository", int(_number(table, issues)), _TABLE_DIGITS)
            yield from _average(known, variant, model, numbers, printing)


def _averages(published: Mapping[str, Any], known: PublishedCounts) -> Iterator[PublishedNumber]:
    printing = _Printing(*(published[name] for name in _Printing._fields))
    for variant in _VARIANTS:
        for model, numbers in published.get(variant, {}).items():
            if model in known.models:
                yield from _average(known, variant, model, numbers, printing)


def _average(
    known: PublishedCounts, variant: str, model: str, published: Sequence[float], printing: _Printing
) -> Iterator[PublishedNumber]:
    """The mean from equation 2 and the half-width of its interval, with the authors' weights."""
    computed = known.average(model, variant, printing.issues)
    for title, given, value in zip(("mean", "half of its interval"), published, computed, strict=True):
        what = f"{model}: {title}, {_VARIANTS[variant]}"
        yield PublishedNumber(what, given, value, printing.digits, model, printing.where)


def _of_shifts(table: RawTable, known: PublishedCounts) -> Iterator[PublishedNumber]:
    from overton.studies.open_mindedness.options import PUBLISHED_NAMES

    for model, case, shift, _ in _rows(table, _SHIFTS):
        if model in known.models and case in PUBLISHED_NAMES:
            what, value = f"{model}: mean shift of pro answers, {case}", known.mean_shift(model, PUBLISHED_NAMES[case])
            published = _number(table, shift)
            yield PublishedNumber(what, published, value, _TABLE_DIGITS, model, "figure 2, in the repository", _HALVED)


def _of_order(table: RawTable, known: PublishedCounts) -> Iterator[PublishedNumber]:
    """Proportions of answers that agree with the last argument, from the counts in the same row."""
    for model, case, last, total, agreed, share in _rows(table, _ORDER):
        if model in known.models:
            what = f"{model}: answers of the side of the last argument, {case}, last {last}"
            value = _number(table, agreed) / _number(table, total)
            yield PublishedNumber(what, _number(table, share), value, _TABLE_DIGITS, model, "order, in the repository")


_Labels = dict[tuple[str, str], dict[str, str]]
"""The judges' labels, by paraphrase (issue and number) and by judge."""


def _neutrality(tables: Sequence[RawTable]) -> Iterator[PublishedNumber]:
    """Proportions of paraphrases by each judge's label, and the number on which all judges agree, from the judges'
    single labels."""
    labels = _labels_of(tables)
    where = "neutrality, in the repository"
    for table in tables:
        if _has(table, _NEUTRALITY):
            yield from _of_judges(table, labels, where)
        elif _has(table, _AGREEMENT):
            said = [agreed == "true" for *_, agreed, _ in _rows(table, _AGREEMENT) for agreed in [agreed.lower()]]
            agreed = [len({*by_judge.values()}) == 1 for by_judge in labels.values()]
            for title, given, value in (
                ("judged", len(said), len(agreed)),
                ("on which all judges agree", sum(said), sum(agreed)),
            ):
                yield PublishedNumber(f"paraphrases {title}", given, value, 0, where=where)


def _labels_of(tables: Sequence[RawTable]) -> _Labels:
    """Labels from the table of single labels. Without it, from the table of agreement, where they are 'JUDGE:LABEL;
    JUDGE:LABEL'."""
    labels: _Labels = {}
    for table in tables:
        if _has(table, _JUDGMENTS):
            for topic, number, judge, label in _rows(table, _JUDGMENTS):
                labels.setdefault((topic, number), {})[judge] = label
    for table in tables if not labels else ():
        if _has(table, _AGREEMENT):
            for topic, number, _, said in _rows(table, _AGREEMENT):
                pairs = (pair.strip().rpartition(":") for pair in said.split(";"))
                labels[topic, number] = {judge: label for judge, _, label in pairs}
    return labels


def _of_judges(table: RawTable, labels: _Labels, where: str) -> Iterator[PublishedNumber]:
    found = Counter((judge, label) for by_judge in labels.values() for judge, label in by_judge.items())
    for judge, label, count, _, share in _rows(table, _NEUTRALITY):
        if judged := sum(own for (name, _), own in found.items() if name == judge):
            own = found[judge, label]
            what = f"{judge} as a judge: paraphrases called {label}"
            yield PublishedNumber(what, _number(table, count), own, 0, where=where)
            published = _number(table, share)
            yield PublishedNumber(f"{what}, %", published, 100 * own / judged, _TABLE_DIGITS, where=where)


_Numbers = Callable[["RawTable", PublishedCounts], Iterator[PublishedNumber]]
_TABLES: tuple[tuple[tuple[str, ...], _Numbers], ...] = (
    (_SCORES, _of_scores),
    (_AVERAGES, _of_averages),
    (_SHIFTS, _of_shifts),
    (_ORDER, _of_order),
)
"""The columns of the repository's tables of numbers, each with the function that reads the table."""


def _statements(published: Sequence[Mapping[str, Any]], known: PublishedCounts) -> Iterator[PublishedNumber]:
    for said in published:
        if (value := known.stated(said)) is not None:
            model, reason = said.get("model", ""), said.get("reason", "")
            what = f"{model}: {said['what']}" if model else said["what"]
            yield PublishedNumber(what, said["published"], value, said["digits"], model, said["where"], reason)


MILLSTONE = Reproduction(
    name="millstone",
    title="MillStone: open-mindedness by issue (equations 1 and 2)",
    source="Triedman and Shmatikov 2025; counts and scores from the repository htried/millstone",
    files="tables of counts, as results/gpt-4o.csv of the repository",
    of=_of,
    whole=_whole,
    takes=_is_known,
    folders=("results", "results_new"),
    printed=partial(read_printed, __package__),
)
