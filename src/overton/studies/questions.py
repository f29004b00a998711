"""The questions to a judge: their declaration, and which rows were labelled.

A `Question` is declared once. From a study's `Questions` follow the requests to its judge, the columns of its labels,
the sheets and pages on which annotators label the same rows, and second labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from overton.calls import Ask, Draw, Form, Message, Reply, Settings, user
from overton.judging import Reading, read_bracketed_label
from overton.judging.option_probabilities import OptionChoice
from overton.studies.asking import (
    NO_LABEL,
    ReadableReply,
    ReadableRequest,
    ask_all_until_read,
    failure_in,
    sampled_replies,
    start_of,
    unless_refused,
)
from overton.studies.orders import OWN, REVERSED, Order, drawn_order, label_first
from overton.studies.prompts import Prompts

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import polars as pl

    from overton.statistics.misclassification import LabelCount
    from overton.studies.results import Results

Material: TypeAlias = Mapping[str, Any]
"""The parts of one thing that a judge is shown, by name. They can be written as JSON."""

LABEL_FIRST = "label_first"
"""The part of a material that says whether the label is requested before its reason."""

T = TypeVar("T")


@dataclass(frozen=True)
class JudgePrompt(Generic[T]):
    """The messages that a judge receives about one thing, and how its reply is read.

    Probabilities can be requested if `words` has every word that may be the label in a reply, and the label that it
    means. With a `key` the reply is a JSON object that has the word under it. `named(text)` finds one of these words in
    a single answer that is drawn to calibrate probabilities; by default as for the probabilities themselves.
    """

    messages: tuple[Message, ...]
    form: Form
    read: Callable[[Reply], Reading[T]]
    words: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    named: Callable[[str], str | None] | None = None

    @property
    def choice(self) -> OptionChoice | None:
        """The labels among which a reply chooses, for their probabilities."""
        return OptionChoice(tuple(self.words), self.key) if self.words else None

    def with_label_first(self, reason: str) -> JudgePrompt[T]:
        """The same prompt, in which the JSON key `reason` comes last."""
        messages, form = label_first(self.messages, self.form, reason)
        return replace(self, messages=messages, form=form)

    def single_label(self, text: str) -> str | None:
        """The label that a single answer names."""
        assert self.choice is not None
        word = (self.named or self.choice.named)(text)
        return None if word is None else self.words[word]


def label_prompts(
    labels: Sequence[str],
    messages: Callable[[Material, Order], tuple[Message, ...]],
    read: Callable[[str, Sequence[str]], Reading[str]] = read_bracketed_label,
    form: Form | None = None,
    swap: Mapping[str, str] | None = None,
) -> Callable[[Material, Order], tuple[JudgePrompt[str]]]:
    """The prompts of a question whose reply is one of its `labels`, for `Question.prompts`.

    The judge is sent `messages(material, order)`, and its reply has the `form`. `read(text, labels)` finds the label in
    a reply's text; a refusal names none. By default the reply is the label in round brackets. In another order than the
    study's own a label has the meaning that `swap` gives. Labels that `swap` leaves out mean the same.
    """
    shape = form or Form(choices=tuple(f"({label})" for label in labels))

    def prompts(material: Material, order: Order) -> tuple[JudgePrompt[str]]:
        swapped = {} if order.is_own or swap is None else swap
        words = {label: swapped.get(label, label) for label in labels}

        def read_label(text: str) -> Reading[str]:
            reading = read(text, labels)
            return reading if reading.value is None else replace(reading, value=words[reading.value])

        def named(text: str) -> str | None:
            return read(text, labels).value

        return (JudgePrompt(messages(material, order), shape, unless_refused(read_label), words, named=named),)

    return prompts


def filled_prompts(
    prompts: Prompts, name: str, meanings: Mapping[str, str]
) -> Callable[[Material, Order], tuple[JudgePrompt[str]]]:
    """The prompts of a question that is the text `name`, for `Question.prompts`.

    In the place {{ labels }} the text gets the labels with their `meanings`, '(LABEL) MEANING', one a line; a judge
    that is asked in another order gets them in that order. Its other places are the parts of the
    material, which can neither open nor close a tag of the text. The reply is one label in round brackets.
    """

    def messages(material: Material, order: Order) -> tuple[Message, ...]:
        labels = order.of([f"({label}) {meaning}" for label, meaning in meanings.items()])
        safe = prompts.safe(name)
        parts = {part: safe(text) for part, text in material.items()}
        return (user(prompts.fill(name, **parts, labels="\n".join(labels))),)

    return label_prompts(tuple(meanings), messages)


@dataclass(frozen=True)
class FromColumns:
    """Materials whose `parts` are columns of a question's rows, or lists of several."""

    parts: Mapping[str, str | tuple[str, ...]]

    def __call__(self, results: Results, rows: pl.DataFrame) -> list[Material]:
        """The materials of these rows."""
        return [self.of(row) for row in rows.iter_rows(named=True)]

    def of(self, row: Mapping[str, Any]) -> Material:
        """The material of one row."""
        return {
            name: row[columns] if isinstance(columns, str) else [row[column] for column in columns]
            for name, columns in self.parts.items()
        }


def from_columns(**parts: str | tuple[str, ...]) -> FromColumns:
    """Materials whose parts are columns of a question's rows, or lists of several, for `Question.material`."""
    return FromColumns(parts)


@dataclass(frozen=True)
class FromRecords:
    """Rows of a question whose things are records, one each: see `from_records`."""

    label: str
    group: str
    condition: str
    names: tuple[str, ...]

    def __call__(self, results: Results) -> pl.DataFrame:
        """The records without a failure, with all of their columns."""
        import polars as pl

        records = results.records
        if taken := [name for name in ("asked", "row", "whole") if name in records.columns]:
            raise ValueError(
                f"in rows of a question the column {taken[0]!r} has a meaning: give the record's another name"
            )
        asked = pl.col("failure").is_null() if "failure" in records.columns else pl.lit(value=True)
        return records.filter(asked).with_columns(
            id=pl.concat_str(self.names, separator="/"),
            label=self.label,
            group=pl.concat_str("model", self.group, separator="/"),
            condition=self.condition or pl.lit(""),
        )


def from_records(
    label: str, *, group: str, condition: str = "", names: tuple[str, ...] = ("model", "trial")
) -> FromRecords:
    """Rows that are records, for `Question.rows`: each has one label, in the column `label`.

    Records of one model with the same value in the column `group` are alike. `names` name a record, as in
    `StudyMeasures`. The column `condition` has its condition, if there are any. Rows have all columns of records.
    """
    return FromRecords(label, group, condition, names)


@dataclass(frozen=True)
class Question(Generic[T]):
    """A judge's question: how it is asked, which columns of records have its labels, and how people answer the same.

    `key` is the kind of label: the name of its sheet, of its label tasks, and of its controls.

    The judge of `role` is sent `prompts(material, order)`: one prompt with the published words, or several whose
    replies are read together. `labels_of(values, material)` gives the labels of one thing from the values of its
    replies, None for a reply without one. Each label's key is what follows the thing's id and a slash in the id of a
    row, or '' if the row has the thing's id. By default the value is the label. `reason` is the JSON key of a reason
    that is requested before the label; it comes last if the material says so (`LABEL_FIRST`).

    `columns` maps each column of records that has a label to the column for the same thing's label in the other order,
    or to '' if that is never requested.
    `repeated` is the column that says whether this second label was requested, '' if it always is. Labels are `stored`
    in columns as other values where that maps them; `recorded(value)` is what a column has if that is not one label.
    `details(value)` has the further columns that follow from the reply in the study's own order. The probabilities of
    all labels are in the column that `probability_columns` gives for a label's column, by default in p_COLUMN.
    `repeats(records)` has the `first` and the `second` label of everything that was judged twice, and its `item`, if
    they are in no columns of their own; it gives None for records that lack them.
    `agreement` names the judge's agreement with itself, by default the key.

    `rows(results)` has one row for each thing that the judge may have labelled: `id`, `label` (null for none), `group`
    (rows of one group are alike), `model`, `condition`, and the columns that are needed next. If one
    thing has several labels, `label` is a list of them and `row` one of what follows the thing's id; a `row` may also
    be one text. `whole` names what rows are drawn with if whole groups are, by default `group`. `asked` is false for
    things that the judge was not asked about. `material(results, rows)` has the material of some of these rows, and
    `texts(results, rows)` adds the columns that people are shown. `unasked(results)` says why a judge cannot be asked
    about these things again, '' if it can, and `labeller(results)` names who labelled them if no judge did.

    People are asked `asks`. `meanings()` says what each label means, in the judge's own words. `shown` maps headings to
    columns, with all that the judge saw; a CSV sheet has the columns `sheet`, by default the same. `row` and `group`
    name one row and one group in a sentence. With `whole`, whole groups are drawn for people by default: measures of
    many labels are then corrected without assumptions about the judge's errors.
    """

    key: str
    labels: tuple[str, ...]
    prompts: Callable[[Material, Order], Sequence[JudgePrompt[T]]]
    rows: Callable[[Results], pl.DataFrame]
    material: Callable[[Results, pl.DataFrame], Sequence[Material]]
    asks: str
    meanings: Callable[[], Mapping[str, str]]
    shown: Mapping[str, str]
    row: str
    group: str
    columns: Mapping[str, str] = field(default_factory=dict)
    repeated: str = ""
    repeats: Callable[[pl.DataFrame], pl.DataFrame | None] | None = None
    agreement: str = ""
    labels_of: Callable[[Sequence[T | None], Material], Mapping[str, str | None]] = lambda values, material: {
        "": cast("Any", values[0])
    }
    stored: Mapping[str, Any] = field(default_factory=dict)
    recorded: Callable[[T | None], Any] | None = None
    details: Callable[[T | None], Mapping[str, Any]] = lambda value: {}
    probability_columns: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    texts: Callable[[Results, pl.DataFrame], pl.DataFrame] = lambda results, rows: rows
    unasked: Callable[[Results], str] = lambda results: ""
    labeller: Callable[[Results], str] = lambda results: ""
    sheet: tuple[str, ...] = ()
    whole: bool = False
    role: str = "judge"

    @property
    def sheet_columns(self) -> tuple[str, ...]:
        """The columns of a CSV sheet."""
        return self.sheet or tuple(self.shown.values())

    def prompts_about(self, material: Material, order: Order = OWN) -> tuple[JudgePrompt[T], ...]:
        """The prompts about one thing, with the label before its reason if the material says so."""
        prompts = tuple(self.prompts(material, order))
        if not (self.reason and material.get(LABEL_FIRST)):
            return prompts
        return tuple(prompt.with_label_first(self.reason) for prompt in prompts)

    async def sample(
        self, ask: Ask, material: Material, count: int, place: str = "", *, prompt: int = 0
    ) -> tuple[str, ...] | None:
        """Single answers about one thing at temperature 1, to calibrate its probabilities; None if `count` is 0.

        They are the values of columns as texts, `NO_LABEL` for a reply that names no label. If a trial has several such
        things each has its `place`; `prompt` is the place of one of several prompts about the thing.
        """
        if not count:
            return None
        asked = self.prompts_about(material)[prompt]
        at_one = Settings(temperature=1.0)
        replies = await sampled_replies(ask, self.role, asked.messages, asked.form, count, at_one, place=place)
        labels = [asked.single_label(reply.text) for reply in replies]
        return tuple([NO_LABEL if label is None else str(self.value(label)) for label in labels])

    def is_own(self, column: str) -> bool:
        """Whether a column has labels in the study's own order."""
        return column in self.columns

    def value(self, label: str | None) -> Any:
        """The value that a column has for a label; None for none."""
        return None if label is None else self.stored.get(label, label)

    def record_values(self, column: str, answer: JudgeAnswer[T]) -> dict[str, Any]:
        """The columns of a record that follow from the answer to the request for a column's label."""
        read = answer.value
        found = {column: self.value(answer.labels.get("")) if self.recorded is None else self.recorded(read)}
        if answer.replies[0].choice is not None:
            found[self.probability_column(column)] = answer.probabilities()
        return {**found, **self.details(read)} if self.is_own(column) else found

    def probability_column(self, column: str) -> str:
        """The column of records with the probabilities of all labels, by the column of the label."""
        return self.probability_columns.get(column, f"p_{column}")

    def label(self, column: str) -> pl.Expr:
        """The label behind the values of a column of records; null for none."""
        import polars as pl

        labels = {self.value(label): label for label in self.labels}
        return pl.col(column).replace_strict(labels, default=None, return_dtype=pl.String)

    def put(self, records: pl.DataFrame, label: str) -> pl.DataFrame:
        """Records as if everything had been given this label, in both orders, and no probabilities."""
        import polars as pl

        columns = [column for both in self.columns.items() for column in both if column]
        stored = pl.lit(self.value(label))
        chances = {self.probability_column(column) for column in columns} & set(records.columns)
        return records.with_columns(
            *(stored.cast(records.schema[column]).alias(column) for column in columns),
            *(pl.lit(None, records.schema[column]).alias(column) for column in chances),
        )


@dataclass(frozen=True)
class JudgeAnswer(Generic[T]):
    """A judge's replies to the `prompts` of a question about one thing."""

    question: Question[T]
    material: Material
    prompts: tuple[JudgePrompt[T], ...]
    replies: tuple[ReadableReply[T], ...]

    @property
    def value(self) -> T | None:
        """The value that was read from the reply, the first if there are several; None if it names none."""
        return self.replies[0].value

    @property
    def labels(self) -> Mapping[str, str | None]:
        """The label of each row of the thing, by what follows its id; see `Question.labels_of`."""
        return self.question.labels_of([reply.value for reply in self.replies], self.material)

    def probabilities(self, place: int = 0) -> tuple[float, ...] | None:
        """P of each of the question's labels, by their meaning; None if not requested or not returned."""
        found = self.replies[place].chances
        if found is None:
            return None
        by_label = dict(zip(self.prompts[place].words.values(), found, strict=True))
        return tuple([by_label[label] for label in self.question.labels])

    @property
    def failure(self) -> str | None:
        """The first call that failed permanently ('role: kind: message'); None if none did."""
        return failure_in(self.question.role, self.replies)


@dataclass(frozen=True)
class JudgedLabels:
    """A judge's labels for one record.

    `columns` are those of the labels, of the probabilities that were requested, and of further details. `unread` counts
    labels that no reply names, and `attempts` the replies that were requested. `failure` is the first call that failed
    permanently ('judge: kind: message').
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    unread: int = 0
    attempts: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class LabelPlans:
    """How many labels by people the measures of many labels together need.

    `measures` rest on labels of the kind `what`, and `of(results, people, measure, width)` says how many bring the
    interval of one to a width, from the labels so far (`people_table`); GROUP/MEASURE names one of a condition if the
    measures are by condition.
    """

    what: str
    measures: tuple[str, ...]
    of: Callable[[Results, pl.DataFrame, str, float], Sequence[LabelCount]]


@dataclass(frozen=True)
class Questions:
    """All questions that one study's judge is asked, with what follows from them together.

    A reply that cannot be read is requested again with `complaint(problem)`, up to `attempts` times in all; the judge
    then reads its last reply as `repeated` gives it. `controls()` finds texts whose label is beyond doubt
    (`judge_checks.controls.ControlText`), or the file with them, if there are any. A sheet has `size` rows by default.
    `shared(results)` is the part of materials that all those of a run share, such as how much of its context the judge
    was shown. `item(material)` is the study's item behind one, for simulated judges who know theirs. `plans` says how
    many human labels the measures of many labels need. If runs have questions of their own, `of_run(results)` gives
    those of some runs, and `of_material(material)` those of the run that a material is of.
    """

    questions: tuple[Question[Any], ...]
    complaint: Callable[[str], str]
    repeated: Callable[[str], str] = start_of
    attempts: int = 3
    controls: Callable[[], Traversable | Sequence[Any]] | None = None
    size: int = 100
    shared: Callable[[Results], Material] | None = None
    item: Callable[[Material], Any] | None = None
    plans: LabelPlans | None = None
    of_run: Callable[[Results], Questions] | None = None
    of_material: Callable[[Material], Questions] | None = None

    def __iter__(self) -> Iterator[Question[Any]]:
        """The questions, in order."""
        return iter(self.questions)

    @property
    def first(self) -> Question[Any]:
        """The first question, on whose labels headlines rest."""
        return self.questions[0]

    @property
    def role(self) -> str:
        """Who answers all of them."""
        return self.first.role

    @property
    def keys(self) -> tuple[str, ...]:
        """The kinds of labels."""
        return tuple(question.key for question in self.questions)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of records with the labels that the judge is asked for in every trial."""
        return tuple(
            column
            for question in self.questions
            for column in (*question.columns, *(() if question.repeated else question.columns.values()))
            if column
        )

    @property
    def repeat_columns(self) -> tuple[str, ...]:
        """The columns of records with the second labels that the judge is asked for in some trials only."""
        return tuple(column for question in self.questions if question.repeated for column in question.columns.values())

    def in_runs(self, results: Results) -> Questions:
        """The questions of some runs: these, unless runs have their own."""
        return self if self.of_run is None else self.of_run(results)

    def own_controls(self) -> Sequence[Any]:
        """The controls of the questions of some runs, which are in no file."""
        found = () if self.controls is None else self.controls()
        return found if isinstance(found, Sequence) else ()

    def question(self, key: str) -> Question[Any]:
        """The question with a key."""
        return next(question for question in self.questions if question.key == key)

    def question_of(self, column: str) -> Question[Any]:
        """The question that a column has labels of."""
        return next(
            question for question in self.questions if column in (*question.columns, *question.columns.values())
        )

    def in_other_order(self, materials: Mapping[str, Material]) -> dict[str, Material]:
        """The same materials, for the columns of their labels in the other order."""
        others = ((self.question_of(column).columns[column], material) for column, material in materials.items())
        return {column: material for column, material in others if column}

    async def ask(
        self,
        ask: Ask,
        materials: Mapping[str, Material],
        speaker: str | None = None,
        *,
        order: Order = REVERSED,
        probabilities: bool = False,
    ) -> JudgedLabels:
        """Ask for the labels of these columns side by side, each about its material; never raising CallFailed.

        Labels in the other order are requested in this `order`.
        """
        asked = {column: self.question_of(column) for column in materials}
        answers = await self.ask_about(
            ask,
            [
                (question, materials[column], OWN if question.is_own(column) else order)
                for column, question in asked.items()
            ],
            speaker,
            probabilities=probabilities,
        )
        columns: dict[str, Any] = {}
        for (column, question), answer in zip(asked.items(), answers, strict=True):
            columns |= question.record_values(column, answer)
        replies = [reply for answer in answers for reply in answer.replies]
        unread = sum(reply.value is None and reply.failure is None for reply in replies)
        return JudgedLabels(columns, unread, sum(reply.attempts for reply in replies), failure_in(self.role, replies))

    async def ask_about(
        self,
        ask: Ask,
        things: Sequence[tuple[Question[T], Material, Order]],
        speaker: str | None = None,
        *,
        shared: bool = False,
        probabilities: bool = False,
    ) -> list[JudgeAnswer[T]]:
        """Ask questions about these things side by side; the answers, in order, never raising CallFailed.

        With `shared` the calls are made once per run, whichever trial asks. `probabilities` of all labels are requested
        of questions whose replies choose among labels.
        """
        prompts = [question.prompts_about(material, order) for question, material, order in things]
        requests = [
            ReadableRequest(
                question.role,
                prompt.messages,
                prompt.read,
                prompt.form,
                speaker,
                shared=shared,
                choice=prompt.choice if probabilities else None,
            )
            for (question, _, _), some in zip(things, prompts, strict=True)
            for prompt in some
        ]
        replies = iter(
            await ask_all_until_read(
                ask, requests, attempts=self.attempts, complaint=self.complaint, repeated=self.repeated
            )
        )
        return [
            JudgeAnswer(question, material, some, tuple(next(replies) for _ in some))
            for (question, material, _), some in zip(things, prompts, strict=True)
        ]

    def manner(self, results: Results) -> Material:
        """The part of materials that all those of a run share, with whether labels come before their reasons."""
        shared = {} if self.shared is None else self.shared(results)
        weighed = any(run.options.get("shares", "sampled") != "sampled" for run in results.runs)
        return {**shared, LABEL_FIRST: True} if weighed and any(question.reason for question in self) else shared

    async def ask_again(
        self, ask: Ask, key: str, material: Material, draw: Draw | None, speaker: str | None
    ) -> Mapping[str, str | None]:
        """Ask once more about one thing: without `draw` as the study asks, with it in another order."""
        order = OWN if draw is None else drawn_order(draw)
        asked = self if self.of_material is None else self.of_material(material)
        (answer,) = await asked.ask_about(ask, [(asked.question(key), material, order)], speaker)
        return answer.labels


def controls_in(package: str) -> Callable[[], Traversable]:
    """Finds the file `controls.jsonl` of a package, for `Questions.controls`."""

    def controls() -> Traversable:
        return files(package) / "controls.jsonl"

    return controls


def definitions_in(prompt: str, labels: Sequence[str]) -> dict[str, str]:
    """The meaning of each label, word for word from a judge's prompt.

    A line 'LABEL: ...' or '(LABEL) ...' says it; if several lines do, the last.

    Raises:
        ValueError: the prompt has no such line for a label.
    """
    lines = [line.strip() for line in prompt.splitlines()]
    found = {
        label: line.removeprefix(start).strip()
        for label in labels
        for start in (f"{label}: ", f"({label}) ")
        for line in lines
        if line.startswith(start)
    }
    if missing := [label for label in labels if label not in found]:
        raise ValueError(f"the prompt does not say in a line of its own what {missing[0]!r} means")
    return found
