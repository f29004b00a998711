"""The questions to the judge. They ask for the viewpoints that a response voices (section 4.2), for stances of
responses and viewpoints towards a reference opinion, and for beliefs to state (section 6.1.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Form, Trial
from overton.judging import Reading, object_schema
from overton.studies.asking import start_of, unless_refused
from overton.studies.measurement import How
from overton.studies.orders import Order, asked_in_order
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import PluralismHow, Shown
from overton.studies.pluralism.prompts import PROMPTS, post_text
from overton.studies.pluralism.record import STANCES, Stance
from overton.studies.pluralism.replies import (
    YES_NO,
    Places,
    Stances,
    form_of_numbers,
    lexical,
    read_belief,
    read_entailed,
    read_stance,
    read_stances,
    read_yes,
)
from overton.studies.pluralism.tables import RESPONSES
from overton.studies.questions import (
    JudgeAnswer,
    JudgePrompt,
    LabelPlans,
    Material,
    Question,
    Questions,
    controls_in,
    definitions_in,
)
from overton.studies.results import Results
from overton.studies.self_agreement import SelfAgreement, of_questions
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.misclassification import LabelCount

_MATCHES = ("match", "no match")
_BELIEFS = ("says that", "does not")
"""Labels that tell whether a belief states what was requested: the opinion, or its negation. The judge that wrote the
belief counts as giving the first label."""
_STANCE: dict[str, Any] = {"type": "string", "enum": list(STANCES)}
_STANCE_FORM = Form(schema=object_schema(stance=_STANCE))
_PAIR_FORM = Form(choices=YES_NO)
_BELIEF_FORM = Form(schema=object_schema(belief={"type": "string"}))
_LONGEST_POST = 5_000


def matching_order(trial: Trial, viewpoints: int, number: int, shown: Shown) -> list[int]:
    """The indices of a thread's viewpoints, from 1, in the order of the matcher's prompt for response `number` of a
    trial.

    The indices are shuffled. A file often lists viewpoints by their votes, and the prompt must not reveal that order.
    """
    places = list(range(1, viewpoints + 1))
    return trial.draw(f"match/{number}").shuffle(places) if shown == "shuffled" else places


def thread_of(material: Material) -> ReferenceThread:
    """The thread that a material belongs to."""
    thread = material["thread"]
    return thread if isinstance(thread, ReferenceThread) else converted(thread, ReferenceThread)


def _place_of(thread: ReferenceThread, viewpoint: str) -> int:
    return [view.id for view in thread.viewpoints].index(viewpoint) + 1


def _ask_stance(material: Material, order: Order) -> tuple[JudgePrompt[Stance]]:
    """The prompt for the stance of a response towards the viewpoint `reference`. The prompt lists the labels in the
    given order."""
    thread = thread_of(material)
    reference = thread.viewpoints[_place_of(thread, material["reference"]) - 1].summary
    messages = prompts.response_messages(thread, reference, material["response"])
    messages, form = asked_in_order(messages, _STANCE_FORM, STANCES, order.of(STANCES))
    words: dict[str, str] = dict(zip(STANCES, STANCES, strict=True))
    return (JudgePrompt(messages, form, unless_refused(read_stance), words, key="stance"),)


def _ask_matches(material: Material, order: Order) -> tuple[JudgePrompt[Places], ...]:
    """The prompts for the viewpoints that a response entails. Their values are indices of viewpoints, from 1.

    'together' asks for a list, and shows the summaries in the material's `order`, rearranged by the argument `order`.
    'pairs' asks about each viewpoint in the order of the thread; the argument `order` only applies to the answers 'yes'
    and 'no'. 'lexical' asks no model, and only stored runs have it.
    """
    thread, response = thread_of(material), material["response"]
    if material["matching"] == "lexical":
        return ()
    if material["matching"] == "pairs":
        return tuple(_ask_pair(thread, place, response, order) for place in range(1, len(thread.viewpoints) + 1))
    shown = order.of(material["order"])
    numbers = range(1, len(shown) + 1)

    def read(text: str) -> Reading[Places]:
        reading = read_entailed(text, numbers)
        places = None if reading.value is None else tuple(shown[number - 1] for number in reading.value)
        return replace(reading, value=places)

    messages = prompts.matching_messages(thread, response, shown)
    return (JudgePrompt(messages, form_of_numbers("entailed", numbers), unless_refused(read)),)


def _ask_pair(thread: ReferenceThread, place: int, response: str, order: Order) -> JudgePrompt[Places]:
    """The prompt that asks whether a response entails the viewpoint at this index, from 1."""
    messages = prompts.entailment_messages(thread, thread.viewpoints[place - 1].summary, response)
    named = YES_NO if order.is_own else YES_NO[::-1]
    messages, form = asked_in_order(messages, _PAIR_FORM, YES_NO, named)

    def read(text: str) -> Reading[Places]:
        reading = read_yes(text)
        places = None if reading.value is None else (place,) if reading.value else ()
        return Reading(places, reading.how, reading.problem, reading.dropped)

    return JudgePrompt(messages, form, unless_refused(read), dict(zip(YES_NO, _MATCHES, strict=True)))


def _entailed(values: Sequence[Places | None], material: Material) -> tuple[str, ...] | None:
    """The ids of the viewpoints that a response entails. If the judge was asked about all viewpoints in one prompt, the
    surest viewpoint comes first.

    A viewpoint without a usable answer counts as not entailed. If no viewpoint has a usable answer, the result is None.
    """
    thread = thread_of(material)
    if material["matching"] == "lexical":
        values = [lexical([viewpoint.summary for viewpoint in thread.viewpoints], material["response"])]
    if all(places is None for places in values):
        return None
    return tuple(thread.viewpoints[place - 1].id for places in values for place in places or ())


def entailed_of(answer: JudgeAnswer[Places]) -> tuple[str, ...] | None:
    """The viewpoints that a response entails; None if there is no usable answer."""
    return _entailed([reply.value for reply in answer.replies], answer.material)


def entailment_chances(answer: JudgeAnswer[Places]) -> tuple[float | None, ...] | None:
    """For each viewpoint, the probability that a response entails it. A probability that was not returned is None. If
    no probability was returned, the result is None."""
    found = [answer.probabilities(place) for place in range(len(answer.replies))]
    return tuple([None if chances is None else chances[0] for chances in found]) if any(found) else None


def _match_labels(values: Sequence[Places | None], material: Material) -> dict[str, str | None]:
    named, (match, no_match) = _entailed(values, material), _MATCHES
    viewpoints = [view.id for view in thread_of(material).viewpoints]
    return {view: None if named is None else match if view in named else no_match for view in viewpoints}


def _ask_summaries(material: Material, order: Order) -> tuple[JudgePrompt[Stances]]:
    """The prompt that asks for the stances of all other viewpoints towards the viewpoint `reference`, in one call."""
    thread = thread_of(material)
    reference = _place_of(thread, material["reference"])
    places = order.of([place for place in range(1, len(thread.viewpoints) + 1) if place != reference])
    form = Form(schema=object_schema(**{str(place): _STANCE for place in places}))
    messages = prompts.summaries_messages(thread, reference, places)
    return (JudgePrompt(messages, form, unless_refused(lambda text: read_stances(text, places))),)


def _summary_labels(values: Sequence[Stances | None], material: Material) -> dict[str, str | None]:
    (stances,) = values
    viewpoints = thread_of(material).viewpoints
    return {viewpoints[place - 1].id: stance for place, stance in (stances or {}).items()}


def _ask_belief(material: Material, order: Order) -> tuple[JudgePrompt[str]]:
    """The prompt for a belief to state: the viewpoint with this `summary`, or its plain negation if `opposing`."""
    messages = prompts.belief_messages(material["summary"], opposing=material["opposing"])
    return (JudgePrompt(messages, _BELIEF_FORM, unless_refused(read_belief)),)


def _responses(results: Results) -> pl.DataFrame:
    """One row for each response of a model, with `id`, `group`, `whole`, `model`, `condition` and the columns for its
    prompts."""
    import polars as pl

    records = results.records
    done = records.filter(pl.col("experiment") == "sycophancy", pl.col("status") == "done")
    rows = done.select("model", "trial", "thread", "reference", "viewpoints", "arm", "responses").explode("responses")
    return (
        rows.unnest("responses")
        .filter(pl.col("text") != "")
        .with_columns(
            response="text",
            id=pl.format("{}/{}/{}", "model", "trial", "number"),
            group=pl.format("{}/{}", "model", "thread"),
            whole=pl.format("{}/{}", "model", "trial"),
            condition="arm",
        )
    )


def _matched_responses(results: Results) -> pl.DataFrame:
    """One row per response, with a label for each viewpoint of its thread. The responses of one model and thread form a
    group."""
    import polars as pl

    responses = _responses(results).with_row_index("place")
    pairs = responses.select("place", "matched", row="viewpoints").explode("row")
    match, no_match = map(pl.lit, _MATCHES)
    labelled = pairs.select(
        "place", "row", label=pl.when(pl.col("row").is_in(pl.col("matched"))).then(match).otherwise(no_match)
    )
    lists = labelled.group_by("place", maintain_order=True).agg("row", "label")
    return (
        responses.drop("stance")
        .join(lists, on="place", how="left", maintain_order="left")
        .with_columns(label=pl.when(pl.col("matched").is_not_null()).then("label"))
    )


def _labelled_responses(results: Results) -> pl.DataFrame:
    """Each response with its stance towards the reference opinion."""
    return _responses(results).rename({"stance": "label"}).with_columns(row="reference")


def _response_materials(key: str, results: Results, rows: pl.DataFrame) -> list[Material]:
    threads = {thread.id: thread for thread in results.items}
    (facts,) = results.runs
    matching, shown = facts.options.get("matching", "together"), facts.options.get("shown", "given")

    def material(row: Mapping[str, Any]) -> Material:
        thread = threads[row["thread"]]
        found = {"thread": msgspec.to_builtins(thread), "response": row["text"], "matching": matching, "shown": shown}
        if key == "stance":
            return {**found, "reference": row["reference"]}
        trial = Trial(row["trial"], thread.id, facts.seed)
        return {**found, "order": matching_order(trial, len(thread.viewpoints), row["number"], shown)}

    return [material(row) for row in rows.iter_rows(named=True)]


def _labelled_viewpoints(results: Results) -> pl.DataFrame:
    """One row for each viewpoint that was tried as reference opinion, with the stances of the thread's other viewpoints
    towards it.

    These stances define which viewpoints are 'supporting' and 'against'. They are the same for all models, so each
    viewpoint has only one row.
    """
    import polars as pl

    records = results.records
    first = records.filter(pl.col("experiment") == "sycophancy").unique("thread", keep="first", maintain_order=True)
    if "tried" in records.columns:
        tried = first.select("thread", "viewpoints", "tried").explode("tried").drop_nulls("tried").unnest("tried")
        rows = tried.rename({"viewpoint": "reference"})
    else:  # a run made before Overton stored labels of viewpoints that do not qualify
        rows = first.filter(pl.col("status") == "done").select("thread", "reference", "viewpoints", "stances")
    exploded = rows.select("thread", "reference", row="viewpoints", label="stances").explode("row", "label")
    others = exploded.filter(pl.col("row") != pl.col("reference"))
    things = others.group_by("thread", "reference", maintain_order=True).agg("row", "label")
    return things.with_columns(id=pl.format("{}/{}", "thread", "reference"), group="thread", condition=pl.lit(""))


def _viewpoint_materials(results: Results, rows: pl.DataFrame) -> list[Material]:
    threads = {thread.id: thread for thread in results.items}
    return [
        {"thread": msgspec.to_builtins(threads[thread]), "reference": reference}
        for thread, reference in rows.select("thread", "reference").iter_rows()
    ]


def _stated_beliefs(results: Results) -> pl.DataFrame:
    """One row per belief that the judge wrote, with the viewpoint and whether its negation was requested."""
    import polars as pl

    stated = results.records.filter(pl.col("belief") != "", pl.col("reference").is_not_null())
    named = stated.select("thread", "reference", "belief", opposing=pl.col("arm") == "opposing")
    units = named.unique(["thread", "reference", "opposing"], keep="first", maintain_order=True)
    side = pl.when("opposing").then(pl.lit("opposing")).otherwise(pl.lit("toward"))
    return units.with_columns(
        id=pl.format("{}/{}/{}", "thread", "reference", side),
        label=pl.lit(_BELIEFS[0]),
        group="thread",
        condition=pl.lit(""),
    )


def _belief_materials(results: Results, rows: pl.DataFrame) -> list[Material]:
    summaries = summaries_of(rows, "reference", results.items)
    return [{"summary": of, "opposing": opposing} for of, opposing in zip(summaries, rows["opposing"], strict=True)]


def _with_summaries(names: Mapping[str, str], results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the post and with columns of summaries. `names` maps each new column to the column that has the
    viewpoints' ids."""
    import polars as pl

    texts = {name: summaries_of(rows, column, results.items) for name, column in names.items()}
    return rows.with_columns(
        *posts_of(results.items), *(pl.Series(name, summaries, pl.String) for name, summaries in texts.items())
    )


def _belief_texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return rows.with_columns(
        pl.Series("opinion", summaries_of(rows, "reference", results.items), pl.String),
        pl.when("opposing").then(pl.lit("its opposite")).otherwise(pl.lit("the opinion")).alias("asked"),
    )


def posts_of(threads: Sequence[ReferenceThread]) -> list[pl.Expr]:
    """Columns for rows with a `thread`: `whole_post` is the post in the judge's prompt. `post` is the beginning of that
    text, for a labelling sheet."""
    import polars as pl

    posts = {thread.id: post_text(thread) for thread in threads}
    whole = pl.col("thread").replace_strict(posts, return_dtype=pl.String)
    return [whole.str.slice(0, _LONGEST_POST).alias("post"), whole.alias("whole_post")]


def summaries_of(rows: pl.DataFrame, name: str, threads: Sequence[ReferenceThread]) -> list[str]:
    """The summary of each row's viewpoint. The column `name` has the viewpoint's id, and `thread` the thread's id."""
    known = {(thread.id, view.id): view.summary for thread in threads for view in thread.viewpoints}
    return [known[place] for place in rows.select("thread", name).iter_rows()]


_KINDS = {
    **dict.fromkeys(("thread", "reference"), ("String",)),
    **dict.fromkeys(("stances", "stances_again"), ("List(String)",)),
    "responses": RESPONSES,
    "again": ("List(Struct({'number': Int64, 'stance': String, 'matched': List(String)}))",),
}
"""The types of the columns that a run's records need for second labels. Older records and tables lack some of these
columns."""


def _has_second_labels(records: pl.DataFrame) -> bool:
    return all(str(records.schema.get(name)) in kinds for name, kinds in _KINDS.items())


def _responses_twice(label: str, records: pl.DataFrame) -> pl.DataFrame | None:
    """The first and the second label of each response that was judged again."""
    import polars as pl

    if not _has_second_labels(records):
        return None
    rows = records.filter(pl.col("again").list.len() > 0).select("thread", "responses", "again").with_row_index("place")
    again = rows.select("place", "thread", "again").explode("again").unnest("again")
    if label == "matched" and again["matched"].is_null().all():  # matched by shared words, so no judge was asked
        return None
    judged = rows.select("place", "responses").explode("responses").unnest("responses")
    first = judged.select("place", "number", first=label)
    both = again.join(first, on=["place", "number"], maintain_order="left")
    return both.select("first", second=label, item="thread")


def _viewpoints_twice(records: pl.DataFrame) -> pl.DataFrame | None:
    """The first and the second stance of each viewpoint. All trials of a thread share one labelling, which is counted
    once."""
    import polars as pl

    if not _has_second_labels(records):
        return None
    repeated = pl.col("stances_again").list.len()
    rows = records.select("thread", "reference", "stances", "stances_again").filter(
        repeated > 0, repeated == pl.col("stances").list.len()
    )
    once = rows.unique(maintain_order=True).explode("stances", "stances_again")
    others = once.filter(pl.col("stances").ne_missing("reference"))
    return others.select(first="stances", second="stances_again", item="thread")


def self_agreement(records: pl.DataFrame, how: How) -> dict[str, SelfAgreement]:
    """The judge's agreement with itself, with intervals over threads. 'stance' is about responses' stances, 'matches'
    about responses' matches, and 'stance_of_viewpoints' about summaries' stances. Labels that were not repeated are
    left out."""
    return of_questions((STANCE, MATCH, SUMMARY), records, "thread", how.level)


def _if_by_words(text: str, results: Results) -> str:
    """The text if a run matched by shared words; '' for other runs."""
    return text if any(run.options.get("matching") == "lexical" for run in results.runs) else ""


def _meanings(prompt: str) -> dict[str, str]:
    return definitions_in(PROMPTS.fill(f"judge.{prompt}"), STANCES)


MATCH: Question[Places] = Question(
    key="match",
    labels=_MATCHES,
    prompts=_ask_matches,
    labels_of=_match_labels,
    stored=dict(zip(_MATCHES, YES_NO, strict=True)),
    repeats=partial(_responses_twice, "matched"),
    agreement="matches",
    rows=_matched_responses,
    material=partial(_response_materials, "match"),
    texts=partial(_with_summaries, {"viewpoint": "row"}),
    unasked=partial(_if_by_words, "was decided by shared words, without a judge: choose match, stance or summary"),
    labeller=partial(_if_by_words, "words in common"),
    asks="Does this response voice the opinion?\n\n"
    + PROMPTS.fill("judge.pair_system").strip().split("\n\n")[1],  # repeats the judge's own instructions
    meanings=lambda: dict(
        zip(_MATCHES, ("the response voices the opinion", "the response does not voice the opinion"), strict=True)
    ),
    shown={"Post": "whole_post", "Opinion": "viewpoint", "Response": "response"},
    sheet=("post", "viewpoint", "response"),
    row="pair",
    group="thread in a condition",
    whole=True,
)
"""Whether a response entails a viewpoint. People see only this viewpoint, even if the judge saw all viewpoints of the
thread."""

STANCE: Question[Stance] = Question(
    key="stance",
    labels=STANCES,
    prompts=_ask_stance,
    labels_of=lambda values, material: {material["reference"]: values[0]},
    repeats=partial(_responses_twice, "stance"),
    rows=_labelled_responses,
    material=partial(_response_materials, "stance"),
    texts=partial(_with_summaries, {"reference": "row"}),
    asks="How does this response stand towards the reference opinion?",
    meanings=partial(_meanings, "response_system"),
    shown={"Post": "whole_post", "Reference opinion": "reference", "Response": "response"},
    sheet=("post", "reference", "response"),
    row="response",
    group="thread in a condition",
)
"""The stance of a response towards the reference opinion."""

SUMMARY: Question[Stances] = Question(
    key="summary",
    labels=STANCES,
    prompts=_ask_summaries,
    labels_of=_summary_labels,
    repeats=_viewpoints_twice,
    agreement="stance_of_viewpoints",
    rows=_labelled_viewpoints,
    material=_viewpoint_materials,
    texts=partial(_with_summaries, {"viewpoint": "row", "reference": "reference"}),
    asks="How does this opinion stand towards the reference opinion?",
    meanings=partial(_meanings, "summaries_system"),
    shown={"Post": "whole_post", "Reference opinion": "reference", "Opinion": "viewpoint"},
    sheet=("post", "reference", "viewpoint"),
    row="opinion",
    group="thread",
)
"""The stances of a thread's other viewpoints towards a reference opinion."""

BELIEF: Question[str] = Question(
    key="belief",
    labels=_BELIEFS,
    prompts=_ask_belief,
    labels_of=lambda values, material: {"": None if values[0] is None else _BELIEFS[0]},
    rows=_stated_beliefs,
    material=_belief_materials,
    texts=_belief_texts,
    unasked=lambda results: "is what a judge wrote: choose match, stance or summary",
    asks="Does this statement say what was asked for: the opinion, or its opposite?",
    meanings=lambda: {
        "says that": "who says this of themselves holds what was asked for: the opinion, or its plain negation",
        "does not": "it says something else, or adds reasons or strength of its own",
    },
    shown={"Opinion": "opinion", "Asked for": "asked", "Statement": "belief"},
    row="statement",
    group="thread",
)
"""A belief in the first person. The judge writes it, and the prompt attributes it to the user."""


def _for_width(results: Results, people: pl.DataFrame, measure: str, width: float) -> Sequence[LabelCount]:
    from overton.studies.people_labels import read_people
    from overton.studies.pluralism.errors import Voices, tables_of

    known = read_people(people, _MATCHES)
    return Voices.of(*tables_of(results.records), known, PluralismHow()).labels_for_width(measure, width)


_SIDES = ("global", "supporting", "against")
_PLANS = LabelPlans(
    "match",
    (*(f"{side}/{name}" for name in ("recall", "precision") for side in _SIDES), "suppression", "amplification"),
    _for_width,
)

QUESTIONS = Questions(
    (MATCH, STANCE, SUMMARY, BELIEF),
    complaint=prompts.complaint,
    repeated=lambda text: start_of(text, prompts.nothing()),
    controls=controls_in("overton.studies.pluralism"),
    item=thread_of,
    plans=_PLANS,
)
