"""The study that makes reference viewpoints of threads (section 4.1), which are the items of pluralism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Literal

import msgspec

from overton.calls import Ask, Form, Settings, Trial
from overton.errors import CallFailed, InputError, MissingExtra, Problem
from overton.studies.options import Demands, Option, StudyOptions
from overton.studies.pluralism.clustering import EMBEDDING, METHODS, Method, clustering_named
from overton.studies.pluralism.clustering.embedding import ROLE
from overton.studies.pluralism.clustering.parts import Clustered, ClusteringFaults, Opinion, Writer, WriterSettings
from overton.studies.pluralism.items import THREADS, AtomicOpinion, ReferenceThread, Thread, Viewpoint
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.pluralism.references.opinions import CommentOpinions, decompose, opinions_of
from overton.studies.study import Dataset, Role, Study

Status = Literal["built", "empty", "failed"]

_EMBEDDER = "wordllama/l2_supercat"
"""The default embedder of opinions. Its weights come from a package, so no model hub is needed."""


class ReferenceOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options for making reference viewpoints."""

    methods: Annotated[
        tuple[str, ...],
        Option("Clustering methods to apply to every thread's opinions", known=METHODS, flag="--method"),
    ] = ("algorithm-1",)
    alpha: Annotated[
        float,
        Option("Proportion of a thread's opinions with which algorithm 1 starts (its bootstrap)", above=0, most=1),
    ] = 0.2
    temperature: Annotated[
        float | None,
        Option(
            "Temperature of calls to the writer (0 in the paper); own for the endpoint's default",
            least=0,
            most=2,
            none="own",
        ),
    ] = 0.0
    distance: Annotated[float, Option("DBSCAN's radius in cosine distance", above=0, most=2)] = 0.6
    least: Annotated[int, Option("Smallest number of opinions in a cluster, for the density methods", least=1)] = 2

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Demand an embedder if a clustering method needs vectors.

        Raises:
            InputError: the user named an embedder, but no chosen method uses it.
            MissingExtra: the package for clustering by density is not installed.
        """
        if {"dbscan", "hdbscan"} & set(self.methods) and find_spec("sklearn") is None:
            raise MissingExtra("clustering by density", "clustering")  # before any call is paid for
        if set(EMBEDDING) & set(self.methods):
            return Demands(answering={**named, ROLE: named.get(ROLE) or [_EMBEDDER]})
        if named.get(ROLE):
            raise InputError(
                [Problem(f"role {ROLE}", named[ROLE][0], f"is only used by the methods {', '.join(EMBEDDING)}")]
            )
        return Demands()


class ReferenceTrial(Trial, frozen=True):
    """One thread, clustered with one method."""

    thread: Thread
    method: Method
    options: ReferenceOptions


class BuiltReferences(msgspec.Struct, frozen=True):
    """The result for one thread with one clustering method.

    trial, thread, community  the trial's name, the thread's id and where it was posted
    method      the clustering
    status      'built', 'empty' if no comment gave an opinion, 'failed' if a call of the clustering failed
    comments    comments of the thread
    none        comments that state no opinion
    unread      comments whose list of opinions could not be read
    refused     comments that the writer refused
    uncalled    comments whose call failed permanently
    repaired    comments whose JSON had to be repaired
    asked_again repeated requests for a comment's opinions
    opinions    the atomic opinions, each with its viewpoint (none if not built)
    viewpoints  the reference set, in the order in which the clusters were made
    clustering  problems while clustering
    problem     the reason if the status is 'failed'
    """

    trial: str
    thread: str
    community: str
    method: str
    status: Status
    comments: int
    none: int = 0
    unread: int = 0
    refused: int = 0
    uncalled: int = 0
    repaired: int = 0
    asked_again: int = 0
    opinions: tuple[AtomicOpinion, ...] = ()
    viewpoints: tuple[Viewpoint, ...] = ()
    clustering: ClusteringFaults = msgspec.field(default_factory=ClusteringFaults)
    problem: str = ""


def _trials(threads: Sequence[Thread], options: ReferenceOptions, seed: int) -> Iterator[ReferenceTrial]:
    for thread in threads:
        for method in METHODS:
            if method in options.methods:
                yield ReferenceTrial(
                    f"{thread.id}/{method}", thread.id, seed, thread=thread, method=method, options=options
                )


async def _conduct(trial: ReferenceTrial, ask: Ask) -> list[BuiltReferences]:
    """Extract opinions from every comment, cluster them, and add up votes."""
    thread, options = trial.thread, trial.options
    asking = ask if options.temperature is None else WriterSettings(ask, Settings(temperature=options.temperature))
    decomposed = await decompose(asking, thread)
    opinions = opinions_of(decomposed)
    row = _row(trial, decomposed)
    if not opinions:
        return [row]
    clustering = clustering_named(trial.method, alpha=options.alpha, distance=options.distance, least=options.least)
    try:
        clustered = await clustering([opinion.text for opinion in opinions], Writer(asking, thread.title, trial.draw))
    except CallFailed as failed:
        return [msgspec.structs.replace(row, status="failed", problem=str(failed))]
    return [
        msgspec.structs.replace(
            row,
            status="built",
            opinions=_placed(opinions, clustered),
            viewpoints=_viewpoints(thread, opinions, clustered),
            clustering=clustered.counts,
        )
    ]


def _row(trial: ReferenceTrial, decomposed: Sequence[CommentOpinions]) -> BuiltReferences:
    """The row of a thread before its opinions are clustered."""
    seen = Counter(comment_opinions.status for comment_opinions in decomposed)
    return BuiltReferences(
        trial=trial.name,
        thread=trial.item,
        community=trial.thread.community,
        method=trial.method,
        status="empty",
        comments=len(decomposed),
        none=seen["none"],
        unread=seen["unread"],
        refused=seen["refused"],
        uncalled=seen["failed"],
        repaired=sum(comment.repaired for comment in decomposed),
        asked_again=sum(comment.attempts - 1 for comment in decomposed),
    )


def _placed(opinions: Sequence[Opinion], clustered: Clustered) -> tuple[AtomicOpinion, ...]:
    homes = {place: f"v{number}" for number, cluster in enumerate(clustered.clusters, 1) for place in cluster.members}
    return tuple(AtomicOpinion(opinion.text, opinion.comments, homes[place]) for place, opinion in enumerate(opinions))


def _viewpoints(thread: Thread, opinions: Sequence[Opinion], clustered: Clustered) -> tuple[Viewpoint, ...]:
    """Each cluster as a viewpoint with its comments. In a viewpoint, every comment and its votes count once (section
    6.2: votes transfer from comments)."""
    votes = {comment.id: comment.votes for comment in thread.comments}
    found = []
    for number, cluster in enumerate(clustered.clusters, 1):
        stated = [comment for place in cluster.members for comment in opinions[place].comments]
        comments = tuple(comment for comment in votes if comment in set(stated))
        total = sum(votes[comment] for comment in comments)
        found.append(Viewpoint(f"v{number}", cluster.summary, total, comments, len(stated)))
    return tuple(found)


def references_of(
    records: Iterable[BuiltReferences], threads: Iterable[Thread], method: str | None = None
) -> list[ReferenceThread]:
    """The dataset of one clustering: every thread whose viewpoints were built, in the order of `threads`.

    `method` may be left out if all records are from one clustering method.

    Raises:
        InputError: the records contain several clusterings and `method` is None, or `method` is not among them.
    """
    rows = list(records)
    methods = dict.fromkeys(row.method for row in rows)
    chosen = method or (next(iter(methods)) if len(methods) == 1 else None)
    if rows and chosen not in methods:
        raise InputError([Problem("--method", method or "", f"name one of {', '.join(methods)}")])
    built = {row.thread: row for row in rows if row.method == chosen and row.status == "built"}
    return [_referenced(thread, built[thread.id]) for thread in threads if thread.id in built]


def _referenced(thread: Thread, built: BuiltReferences) -> ReferenceThread:
    """The thread with its viewpoints, and with the opinions and lost comments that an audit needs."""
    found = {name for viewpoint in built.viewpoints for name in viewpoint.comments}
    lost = tuple(comment for comment in thread.comments if comment.id not in found)
    about = (thread.id, thread.community, thread.title, thread.text)
    return ReferenceThread(*about, built.viewpoints, built.method, built.opinions, lost)


def counted(records: Iterable[BuiltReferences]) -> dict[str, dict[str, int]]:
    """For each clustering method: the number of threads of each status, and the sums of comments, opinions, viewpoints
    and failures."""
    totals: dict[str, Counter[str]] = {}
    for row in records:
        total = totals.setdefault(row.method, Counter())
        total[row.status] += 1
        total["opinions"] += len(row.opinions)
        total["viewpoints"] += len(row.viewpoints)
        for name in ("comments", "none", "unread", "refused", "uncalled", "repaired", "asked_again"):
            total[name] += getattr(row, name)
        total.update({f"clustering.{name}": value for name, value in msgspec.structs.asdict(row.clustering).items()})
    return {method: dict(total) for method, total in totals.items()}


_COUNTED = {
    "built": "threads built",
    "empty": "threads without an opinion",
    "failed": "threads failed",
    "comments": "comments",
    "opinions": "opinions",
    "viewpoints": "viewpoints",
    "none": "comments that state no opinion",
    "unread": "comments whose opinions could not be read",
    "refused": "comments that the model refused",
    "uncalled": "comments whose call failed",
    "repaired": "lists of opinions repaired",
    "asked_again": "requests repeated",
    "clustering.asked_again": "clustering requests repeated",
    "clustering.unread": "requests without a usable reply",
    "clustering.own": "opinions left unclustered because no reply named a cluster",
    "clustering.regrouped": "opinions that the first grouping left out",
    "clustering.noise": "opinions outside all clusters",
    "clustering.replaced": "summaries replaced by an opinion",
}
"""The names of the counts in `counted`, in words."""


def _summary(records: Sequence[BuiltReferences]) -> Iterator[str]:
    """A line for each clustering method with its counts of threads, comments and opinions."""
    for method, counts in counted(records).items():
        found = [f"{counts[name]:,} {words}" for name, words in _COUNTED.items() if counts.get(name)]
        yield f"{method}: {', '.join(found)}"


def _made(
    threads: Sequence[Thread], records: Sequence[BuiltReferences], options: Mapping[str, Any]
) -> list[ReferenceThread] | None:
    """The dataset if there is a single clustering method. If there are several, the user chooses one later, so the
    result is None."""
    return references_of(records, threads) if len(options["methods"]) == 1 else None


@dataclass
class _Canned:
    """Replies for planning. Each comment has `opinions` different opinions, numbered consecutively, and all opinions
    are in one cluster."""

    opinions: int
    number: int = 0

    def __call__(self, role: str, speaker: str, form: Form | None) -> str:
        schema = (form and form.schema) or {}
        if role == ROLE:
            return msgspec.json.encode([[1.0, 0.0]] * int(schema["minItems"])).decode()
        if schema.get("type") == "array":
            return msgspec.json.encode([schema["items"]["items"]["enum"]]).decode()
        answer = dict(_USUAL)
        first, self.number = self.number + 1, self.number + self.opinions
        answer["opinions"] = [_OPINION.format(number=number) for number in range(first, self.number + 1)]
        keys = schema.get("properties", {})
        return msgspec.json.encode({key: answer[key] for key in keys}).decode() if keys else _SENTENCE


_OPINION = "An opinion of a length that is usual, number {number}, for the plan."
_SENTENCE = "A sentence that stands for the summary of a cluster, of a length that is usual."
_USUAL: Mapping[str, object] = {
    "cluster": 1,
    "viewpoints": [_SENTENCE],
    "supports": [1],
    "label": "A label",
    "description": _SENTENCE,
    "topics": [{"label": "A label", "description": _SENTENCE}],
    "properties": [_SENTENCE],
}


REFERENCING: Study[Thread, ReferenceOptions, BuiltReferences, None] = Study(
    name="references",
    title="Reference viewpoints",
    question="Make the reference viewpoints of threads: extract, cluster and summarise opinions (PluralEval, 4.1).",
    roles=(
        Role("writer", "Model that extracts, groups and summarises opinions", flag="model", max_tokens=4096),
        Role(
            ROLE, "Embedding model that turns opinions into vectors, for the clusterings that need them", optional=True
        ),
    ),
    items=THREADS,
    dataset=Dataset("references.jsonl", _made, _summary),
    options=ReferenceOptions,
    record=BuiltReferences,
    kind="makes",
    trials=_trials,
    conduct=_conduct,
    prompts=prompts.texts,
    planning=(_Canned(1), _Canned(5)),
)
"""The study that makes reference viewpoints, with one trial per thread and clustering method. `references_of` makes the
dataset from its records."""
