"""The four tables from which measures are computed, and the table of an audit. They come from users' files or from a
run's records.

In tables made from a run's records, `model` (if the records name one) and `experiment` precede the other columns. The
rows come from completed trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from overton.errors import InputError, Problem
from overton.studies.options import option_place
from overton.studies.pluralism.record import STANCES, OpinionAudit, Record, Response
from overton.studies.tables import Once, RawTable, Rule, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


UNNAMED = "unnamed"
"""The model's name if a table gives none."""

_OF_RUN = ("trial", "experiment", "arm", "status")

_MODEL = TableField("model", "name", "who answered", together=True, added=True, usual=UNNAMED)


def _nothing_true() -> pl.Expr:
    import polars as pl

    return pl.col("true").list.len() == 0


def _true_twice() -> pl.Expr:
    import polars as pl

    return pl.col("true").list.n_unique() < pl.col("true").list.len()


MATCHES = TableKind.of(
    Response,
    "matches",
    (
        TableField.of(Record, "thread"),
        TableField.of(Record, "condition"),
        TableField("response", "whole", "its number", needed=True, filled=True, must="must be a whole number"),
        "stance",
        "matched",
        "faults",
        _MODEL,
        TableField.of(Record, "community"),
    ),
)
"""One row for each response. A table of matches also needs a table of `SUMMARIES`."""

SUMMARIES = TableKind.of(
    Record,
    "summaries",
    (
        "thread",
        TableField("summary", "name", "the viewpoint's name, as in matches", needed=True, filled=True),
        TableField.of(
            Response,
            "stance",
            help="towards the reference opinion, which is 'reference' itself; empty or 'invalid' if there is no usable"
            " label",
            known=(*STANCES, "reference"),
        ),
        TableField("votes", "number", "the viewpoint's votes"),
        TableField(
            "model", "name", "the model whose responses these are, if stances differ between models", together=True
        ),
        "community",
    ),
    once=Once(
        ("model", "thread", "summary"),
        "repeats the summary of {first}",
        "this summary occurs more than once",
    ),
)
"""One row for each viewpoint of a thread."""

RANKINGS = TableKind.of(
    Record,
    "rankings",
    ("thread", "condition", "predicted", "true", "faults", _MODEL, "community"),
    rules=(
        Rule("true", _nothing_true, "must name a viewpoint", "'true' names no viewpoint", of="thread"),
        Rule("true", _true_twice, "must name each viewpoint once", "'true' names a viewpoint twice", of="thread"),
    ),
)
"""One row for each ranking that was requested."""

PAIRS = TableKind.of(
    Record,
    "pairs",
    (
        *("thread", "condition", "correct", "first"),
        TableField("experiment", "name", "'pairwise-gap' for random pairs"),
        *("p_popular", "p_other", "faults"),
        _MODEL,
        "community",
    ),
)
"""One row for each comparison that was requested."""

KINDS = (MATCHES, SUMMARIES, RANKINGS, PAIRS)
"""The tables that measures are computed from."""

OPINIONS = TableKind.of(
    OpinionAudit,
    "opinions",
    (
        TableField("model", "name", "the judge", needed=True, filled=True),
        *("thread", "viewpoint", "entailed", "others"),
    ),
)
"""One row for each opinion that a judge was asked about, in a run of `audit-references` or elsewhere."""


class Tables(NamedTuple):
    """The tables from which measures are computed; each is None if it is missing or has no rows."""

    matches: pl.DataFrame | None
    summaries: pl.DataFrame | None
    rankings: pl.DataFrame | None
    pairs: pl.DataFrame | None

    def checked(self) -> Tables:
        """The same tables with typed columns.

        Raises:
            InputError: a column is missing or contains a value that is not allowed, or matches have no summaries.
        """
        from overton.studies import table_frames

        if self.matches is not None and self.summaries is None:
            reason = "are needed for matches: a table with thread, summary, stance, votes"
            raise InputError([Problem("summaries", "", reason)])
        summaries = None if self.matches is None else self.summaries
        given = zip(KINDS, (self.matches, summaries, self.rankings, self.pairs), strict=True)
        return Tables(*(None if table is None else table_frames.check(kind, table) for kind, table in given))


def is_of_run(records: pl.DataFrame) -> bool:
    """Whether the records come from a run, and not from tables made outside Overton."""
    return "responses" in records.columns


def tables_of(records: pl.DataFrame, of_matches: RawTable | pl.DataFrame | None = None, *, weighed: bool) -> Tables:
    """The tables in a run's records, or in the rows of other tables (see `stacked`). `weighed` is passed to `pairs`.

    `of_matches` are the summaries of a table of matches.

    Raises:
        InputError: `of_matches` is given, but the records come from a run, which has its own summaries.
    """

    if is_of_run(records):
        if of_matches is not None:
            reason = "summaries belong to a table of matches; a run has its own"
            raise InputError([Problem(option_place("summaries"), "", reason)])
        made = Tables(matches(records), summaries(records), rankings(records), pairs(records, weighed=weighed))
        return Tables(*(table if table is not None and table.height else None for table in made))
    own = {kind.name: _rows_of(kind, records) for kind in (MATCHES, RANKINGS, PAIRS)}
    known = _read_summaries(of_matches) if isinstance(of_matches, RawTable) else of_matches
    some = known if known is not None and known.height else None
    return Tables(own["matches"], some, own["rankings"], own["pairs"])


def _rows_of(kind: TableKind, records: pl.DataFrame) -> pl.DataFrame | None:
    """The rows of one kind of table among the rows of several tables; None if there are none of this kind."""
    import polars as pl

    if "table" in records.columns:
        records = records.filter(pl.col("table") == kind.name)
    elif not set(kind.needed) <= set(records.columns):
        return None
    return records if records.height else None


def stacked(tables: Mapping[str, pl.DataFrame | None]) -> pl.DataFrame:
    """The rows of several tables in one frame of records, with a column `table` for the kind of table.

    Raises:
        InputError: none of the tables has a row.
    """
    import polars as pl

    some = {name: table for name, table in tables.items() if table is not None and table.height}
    if not some:
        raise InputError([Problem("pluralism", "", NOTHING_TO_MEASURE)])
    named = [table.with_columns(table=pl.lit(name)) for name, table in some.items()]
    return named[0] if len(named) == 1 else pl.concat(named, how="diagonal_relaxed")


NOTHING_TO_MEASURE = "there are no matches, rankings or pairs to measure"


def read_table(raw: RawTable, summaries: RawTable | None = None) -> pl.DataFrame:
    """Read a table: the records of a run, or rows of matches (which need `summaries`), rankings or pairs, recognised by
    their columns.

    Raises:
        InputError: the table is of another kind, summaries are missing, or summaries are given but not needed. Errors
            of `table_frames.read` are also raised.
    """
    from overton.studies import table_frames

    if is_run(raw):
        return _records_of_run(raw)
    kind = next((kind for kind in (MATCHES, RANKINGS, PAIRS) if kind.fits(raw)), None)
    if kind is None:
        known = "; ".join(f"{kind.name} ({', '.join(kind.needed)})" for kind in (MATCHES, RANKINGS, PAIRS))
        had = ", ".join(raw.columns[:30]) or "no columns"
        raise _refused(raw, f"is neither a run's records nor a table of {known}; it has {had}")
    if kind is MATCHES and summaries is None:
        raise _refused(raw, "has matches; also name the file of their summaries (--summaries)")
    if kind is not MATCHES and summaries is not None:
        raise _refused(summaries, f"summaries belong to matches, and {raw.name} has {kind.name}")
    found = table_frames.read(kind, raw)
    return found if summaries is None else _with_communities(found, _read_summaries(summaries))


def _with_communities(matches: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """Matches with the communities of their threads, as far as the matches or the summaries name the communities."""
    import polars as pl

    tables = [table for table in (matches, summaries) if "community" in table.columns]
    if not tables:
        return matches
    known = pl.concat(table.select("thread", "community") for table in tables).drop_nulls()
    return with_communities(matches, dict(known.unique().sort("thread", "community").iter_rows()))


def with_communities(records: pl.DataFrame, communities: Mapping[str, str]) -> pl.DataFrame:
    """Records with the communities of their threads, null where unknown."""
    import polars as pl

    known = pl.col("thread").cast(pl.String).replace_strict(communities, default=None, return_dtype=pl.String)
    return records.with_columns(community=known)


def _read_summaries(raw: RawTable) -> pl.DataFrame:
    from overton.studies import table_frames

    return table_frames.read(SUMMARIES, raw)


def _refused(raw: RawTable, reason: str) -> InputError:
    return InputError([Problem(raw.name, "", reason)])


def is_run(raw: RawTable) -> bool:
    """Whether a table has the columns by which a run's records are recognised."""
    return set(_OF_RUN) <= set(raw.columns)


def _records_of_run(raw: RawTable) -> pl.DataFrame:
    """Read a run's records from a table.

    Raises:
        InputError: the table is not a Parquet file, a column is missing or of another type, or columns do not fit
            together.
    """
    import polars as pl

    if raw.suffix != ".parquet":
        raise _refused(raw, "contains records of a run, which are read from .parquet only")
    records = raw.frame()
    kinds = {**_KINDS} | {name: kind for name, kind in _KINDS_IF_THERE.items() if name in records.columns}
    if wrong := [name for name, kind in kinds.items() if not _is_of_kind(records, name, kind)]:
        raise _refused(raw, f"has other columns than a run's records: {', '.join(wrong)}")
    try:
        tables_of(records, weighed=False)
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or [""])[0][:200]
        raise _refused(raw, f"has other columns than a run's records: {said}") from error
    return records


_NAMES = ("thread", "community", "condition", "experiment", "status", "pairing")
_LISTS = ("viewpoints", "stances", "predicted", "true")
_RESPONSES = "List(Struct({'number': Int64, 'text': String, 'stance': String, 'matched': List(String)"
_FAULTS_OF_IT = ", 'faults': List(String)"
_CHANCES = (
    ", 'p_stance': List(Float64), 'p_matched': List(Float64), 'sampled': List(String), 'sampled_match': List(String),"
    " 'sampled_of': String"
)
RESPONSES = tuple(_RESPONSES + more + "}))" for more in (_FAULTS_OF_IT + _CHANCES, _FAULTS_OF_IT, ""))
"""Three types of the column `responses` in a run's records, the newest first: today's, the type before Overton stored
the judge's probabilities, and the type before Overton checked for malformed replies."""
_KINDS: Mapping[str, str | Sequence[str]] = {
    **dict.fromkeys(_NAMES, "String"),
    **dict.fromkeys(_LISTS, "List(String)"),
    **dict.fromkeys(("correct", "first"), "Boolean"),
    "votes": "List(Int64)",
    "responses": RESPONSES,
}
"""The types of the columns in a run's records that the tables are made from."""
_KINDS_IF_THERE: Mapping[str, str] = {
    **dict.fromkeys(("model", "trial", "shares"), "String"),
    **dict.fromkeys(("p_popular", "p_other"), "Float64"),
    **dict.fromkeys(("faults", "sampled"), "List(String)"),
    "held": "Boolean",
}


def _is_of_kind(records: pl.DataFrame, name: str, kind: str | Sequence[str]) -> bool:
    """Whether a column exists and has only nulls, or has the type `kind` (or one of these types, if there are
    several)."""
    kinds = (kind,) if isinstance(kind, str) else kind
    return name in records.columns and str(records.schema[name]) in (*kinds, "Null")


def matches(records: pl.DataFrame) -> pl.DataFrame:
    """The table of responses: thread, condition, response (from 1), stance, matched (list of viewpoints), faults
    (list).

    `stance` is null if the judge gave no usable label. `matched` is null if the matcher gave no usable answer, and an
    empty list if the response entails no viewpoint. A reply without any response has one row with the fault 'empty', so
    that every completed trial has a row. Runs made before Overton checked for malformed replies have no other faults.
    """
    import polars as pl

    rows = _done(records, "sycophancy").explode("responses")
    response = pl.col("responses").struct
    return rows.select(
        *_labels(records),
        "thread",
        "condition",
        response.field("number").alias("response"),
        response.field("stance"),
        response.field("matched"),
        _faults_of(rows),
    )


def _faults_of(rows: pl.DataFrame) -> pl.Expr:
    """The column `faults` of responses. In runs made before Overton checked for malformed replies, responses without
    text have the fault 'empty'."""
    import polars as pl

    response = pl.col("responses").struct
    empty = pl.when(response.field("text") == "").then(pl.lit(["empty"])).otherwise(pl.lit([], pl.List(pl.String)))
    known = "faults" in [field.name for field in getattr(rows.schema["responses"], "fields", [])]
    # If tables of several runs are joined, `faults` is null for older runs.
    return (pl.coalesce(response.field("faults"), empty) if known else empty).alias("faults")


def summaries(records: pl.DataFrame) -> pl.DataFrame:
    """The table of viewpoints in the run's threads: thread, summary, stance, votes. Each viewpoint has one row per
    model.

    `stance` is the stance towards the reference opinion: 'reference' for the reference opinion itself, null if the
    judge gave no usable label.
    """
    labels = _labels(records)
    first = _done(records, "sycophancy").unique([*labels, "thread"], keep="first", maintain_order=True)
    return (
        first.select(*labels, "thread", "viewpoints", "stances", "votes")
        .explode("viewpoints", "stances", "votes")
        .rename({"viewpoints": "summary", "stances": "stance"})
    )


def rankings(records: pl.DataFrame) -> pl.DataFrame:
    """The table of rankings: thread, condition, predicted, true. The last two are lists of viewpoints, the most popular
    first.

    `predicted` has the viewpoints that the reply names, so some may be missing or repeated. It is null if no ranking
    could be read.
    """
    return _done(records, "ranking").select(
        *_labels(records), "thread", "condition", "predicted", "true", *_own_faults(records)
    )


def pairs(records: pl.DataFrame, *, weighed: bool = False) -> pl.DataFrame:
    """The table of comparisons: thread, condition, correct, first (whether the more popular viewpoint was named first).

    `correct` is null if no answer could be read. `experiment` is 'pairwise' if the most popular viewpoint is compared
    with a less popular one. It is 'pairwise-gap' if two random viewpoints with a sufficient gap of votes are compared
    (appendix A.6). If probabilities are used (`weighed`), there are also `p_popular` and `p_other`, null if not
    reported.
    """
    import polars as pl

    random = pl.col("pairing") == "random-gap"
    named = pl.when(random).then(pl.lit("pairwise-gap")).otherwise(pl.lit("pairwise")).alias("experiment")
    rows = _done(records, "pairwise").with_columns(named)
    chances = ("p_popular", "p_other") if weighed else ()
    return rows.select(*_labels(records), "thread", "condition", "correct", "first", *chances, *_own_faults(records))


def _own_faults(records: pl.DataFrame) -> list[str]:
    return ["faults"] if "faults" in records.columns else []


def _labels(records: pl.DataFrame) -> list[str]:
    return [*(["model"] if "model" in records.columns else []), "experiment"]


def _done(records: pl.DataFrame, experiment: str) -> pl.DataFrame:
    import polars as pl

    return records.filter(pl.col("experiment") == experiment, pl.col("status") == "done")
