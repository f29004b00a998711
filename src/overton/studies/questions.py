"""Questions to a judge: their declaration, and the rows that the judge labelled.

A `Question` is declared once. From a study's `Questions` Overton derives the requests to the judge, the columns of
first and second labels, and the sheets and pages on which annotators label the same rows.
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
"""The parts of a unit that the judge's prompt shows, by name. They can be written as JSON."""

LABEL_FIRST = "label_first"
"""The part of a material that is true if the prompt requests the label before its reason."""

T = TypeVar("T")


@dataclass(frozen=True)
class JudgePrompt(Generic[T]):
    """The messages to a judge about one unit, and the parsing of the reply.

    Requests for probabilities need `words`, which maps every word that can express a label to that label. With a `key`,
    the reply is a JSON object that has the word under this key. `named(text)` finds one of the words in an answer that
    is sampled to calibrate probabilities. By default, the word is found in the same way as for the probabilities.
    """

    messages: tuple[Message, ...]
    form: Form
    read: Callable[[Reply], Reading[T]]
    words: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    named: Callable[[str], str | None] | None = None

    @property
    def choice(self) -> OptionChoice | None:
        """The words among which a reply chooses, for requests with probabilities; None without `words`."""
        return OptionChoice(tuple(self.words), self.key) if self.words else None

    def with_label_first(self, reason: str) -> JudgePrompt[T]:
        """The prompt with the JSON key `reason` last."""
        messages, form = label_first(self.messages, self.form, reason)
        return replace(self, messages=messages, form=form)

    def single_label(self, text: str) -> str | None:
        """The label that a sampled answer names; None if it names no label."""
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

    `messages(material, order)` gives the messages to the judge, whose reply has the `form`. `read(text, labels)` finds
    the label in a reply's text; a refusal has no label. By default the reply is the label in round brackets. `swap`
    applies to orders other than the study's own. It maps a label in the reply to its meaning, such as 'A' to 'B'.
    Labels that `swap` leaves out keep their meaning.
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
    """A function for `Question.prompts` that makes a question's prompts from the text `name`. In the text, {{ labels }}
    is replaced by one line '(LABEL) MEANING' for each label, in the order of the request. Parts of the material replace
    the other placeholders. If a part contains a tag that the text uses, the tag is escaped. The reply is one label in
    round brackets.
    """

    def messages(material: Material, order: Order) -> tuple[Message, ...]:
        labels = order.of([f"({label}) {meaning}" for label, meaning in meanings.items()])
        safe = prompts.safe(name)
        parts = {part: safe(text) for part, text in material.items()}
        return (user(prompts.fill(name, **parts, labels="\n".join(labels))),)

    return label_prompts(tuple(meanings), messages)


@dataclass(frozen=True)
class FromColumns:
    """Materials whose `parts` are columns of a question's rows, or lists of such columns."""

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
    """Materials whose parts are columns of a question's rows, or lists of such columns, for `Question.material`."""
    return FromColumns(parts)


@dataclass(frozen=True)
class FromRecords:
    """Rows of a question in which each record is a unit: see `from_records`."""

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
                f"rename the record's column {taken[0]!r}, because this name has a meaning in rows of a question"
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
    """Rows that are records, for `Question.rows`. Each record has one label, in the column `label`.

    Records of one model with the same value in the column `group` count as similar. The columns `names` identify a
    record, as in `StudyMeasures`. The column `condition` has the record's condition, if the study has conditions. Rows
    have all columns of records.
    """
    return FromRecords(label, group, condition, names)


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to a judge: its prompts, the columns of its labels, and the same question to people. A unit is one
    object that the judge labels.

    `key` is the kind of label, which names the question's labelling sheet, label tasks and controls.

    The judge of `role` receives `prompts(material, order)`: one prompt with the published words, or several prompts
    whose replies are parsed together. `labels_of(values, material)` gives the labels of one unit by key, from the
    values of its replies. A reply without a value is None. A label in the row 'UNIT/KEY' has the key 'KEY', and a label
    in the row 'UNIT' has the key ''. By default, the first reply's value is the only label. `reason` is the JSON key of
    a reason that the prompt requests before the label, or after it if the material requires this (`LABEL_FIRST`). If
    one reply has the labels of several questions, these questions have the same `prompts`. The study then asks only the
    first of these questions.

    `columns` maps each column of first labels in the records to the column with second labels of the same units,
    requested in the other order. It maps to '' if the study never requests second labels. `repeated` is the column that
    tells whether the run requested the second label, '' if every run requests it. `stored` maps labels to other values
    that columns store for them. `recorded(value)` gives the column's content if the value is not a single label.
    `details(value)` gives further columns, computed from the reply in the study's own order. `probability_columns` maps
    a label's column to the column with the probabilities of all labels, by default p_COLUMN. If first and second labels
    do not have separate columns, `repeats(records)` gives a table with the columns `first`, `second` and `item`. It
    gives None if records have no second labels. `agreement` names the judge's agreement with itself, by default the
    key.

    `rows(results)` has one row for each unit that the judge may have labelled. Its columns are `id`, `label` (null
    without a label), `group` (rows of one group are similar), `model`, `condition`, and those that `material` and
    `texts` need. If one unit has several labels, `label` and `row` are lists: the labels, and their keys as in
    `labels_of`. With one label, `row` may be its key as a single text. The column `whole` names the groups that are
    sampled as a whole, by default `group`. The column `asked` is false for units about which the judge was not asked.
    `material(results, rows)` gives the material of some of these rows, and `texts(results, rows)` adds the columns that
    annotators see. `unasked(results)` is the reason why a judge cannot be asked about these units again, '' if it can
    be asked. `labeller(results)` names the source of the labels if it is not a judge.

    `asks` is the question to people, and `meanings()` gives each label's meaning in the words of the judge's prompt.
    `shown` maps headings to columns, which contain everything that the judge received. A CSV sheet has the columns
    `sheet`, by default the columns of `shown`. `row` and `group` are the words for one row and one group in a sentence.
    With `whole`, samples for people consist of whole groups by default. Measures of many labels can then be corrected
    without assumptions about the judge's errors.
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
        """The prompts about one unit, with the label before its reason if the material requires this."""
        prompts = tuple(self.prompts(material, order))
        if not (self.reason and material.get(LABEL_FIRST)):
            return prompts
        return tuple(prompt.with_label_first(self.reason) for prompt in prompts)

    async def sample(
        self, ask: Ask, material: Material, count: int, place: str = "", *, prompt: int = 0
    ) -> tuple[str, ...] | None:
        """Sample answers about one unit at temperature 1, to calibrate token probabilities; None if `count` is 0.

        The result has each answer's label as a text, converted as for columns of records. `NO_LABEL` stands for a reply
        without a label. If a trial has several such units, each unit needs a different `place`. `prompt` is the index
        of one of several prompts about the unit.
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
        """The value that a column stores for a label; None without a label."""
        return None if label is None else self.stored.get(label, label)

    def record_values(self, column: str, answer: JudgeAnswer[T]) -> dict[str, Any]:
        """All columns of a record that are computed from the judge's reply about the label in `column`."""
        read = answer.value
        found = {column: self.value(answer.labels.get("")) if self.recorded is None else self.recorded(read)}
        if answer.replies[0].choice is not None:
            found[self.probability_column(column)] = answer.probabilities()
        return {**found, **self.details(read)} if self.is_own(column) else found

    def probability_column(self, column: str) -> str:
        """The column of records with the probabilities of all labels, for the column of the label."""
        return self.probability_columns.get(column, f"p_{column}")

    def label(self, column: str) -> pl.Expr:
        """The label for each value of a column of records; null without a label."""
        import polars as pl

        labels = {self.value(label): label for label in self.labels}
        return pl.col(column).replace_strict(labels, default=None, return_dtype=pl.String)

    def put(self, records: pl.DataFrame, label: str) -> pl.DataFrame:
        """Records in which all first and second labels are replaced by this label, and all probabilities are
        missing."""
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
    """A judge's replies to all `prompts` of a question about one unit."""

    question: Question[T]
    material: Material
    prompts: tuple[JudgePrompt[T], ...]
    replies: tuple[ReadableReply[T], ...]

    @property
    def value(self) -> T | None:
        """The value parsed from the first reply; None if that reply has no value."""
        return self.replies[0].value

    @property
    def labels(self) -> Mapping[str, str | None]:
        """The unit's labels by key: see `Question.labels_of`."""
        return self.question.labels_of([reply.value for reply in self.replies], self.material)

    def probabilities(self, place: int = 0) -> tuple[float, ...] | None:
        """The probability of each of the question's labels; None if probabilities were not requested or not
        returned."""
        found = self.replies[place].chances
        if found is None:
            return None
        by_label = dict(zip(self.prompts[place].words.values(), found, strict=True))
        return tuple([by_label[label] for label in self.question.labels])

    @property
    def failure(self) -> str | None:
        """The first call that failed permanently ('role: kind: message'); None if all succeeded."""
        return failure_in(self.question.role, self.replies)


@dataclass(frozen=True)
class JudgedLabels:
    """A judge's labels for one record.

    `columns` are the columns of the labels, of requested probabilities, and of further details. `unread` counts labels
    that could not be parsed from any reply, and `attempts` counts replies. `failure` is the first call that failed
    permanently ('judge: kind: message'), or None.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    unread: int = 0
    attempts: int = 0
    failure: str | None = None


@dataclass(frozen=True)
class LabelPlans:
    """The numbers of human labels required for measures that depend on many labels.

    `measures` depend on labels of the kind `what`. `of(results, people, measure, width)` estimates the number of labels
    with which the interval of a measure has the given width. The estimate uses the labels so far, `people` (a
    `people_table`). If measures are by condition, GROUP/MEASURE names the measure in one condition.
    """

    what: str
    measures: tuple[str, ...]
    of: Callable[[Results, pl.DataFrame, str, float], Sequence[LabelCount]]


@dataclass(frozen=True)
class Questions:
    """All questions to the judge of one study, with settings and functions that concern all of them.

    If a reply cannot be parsed, Overton sends `complaint(problem)` and requests the reply again. It makes at most
    `attempts` requests in all. The new request quotes the last reply as returned by `repeated`. `controls()` gives
    texts with known labels (`judge_checks.controls.ControlText`), or the file with such texts. `controls` is None if
    the study has no controls. A sheet has `size` rows by default. `shared(results)` is the part that all materials of a
    run have in common, such as how much context the judge receives. `item(material)` is the study's item behind a
    material, for simulated judges that know their items. `plans` gives the numbers of human labels that measures of
    many labels require. If questions differ between runs, `of_run(results)` gives the questions of the runs in
    `results`, and `of_material(material)` the questions of the material's run.
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
        """The first question. Headlines depend on its labels."""
        return self.questions[0]

    @property
    def role(self) -> str:
        """The role that answers all questions."""
        return self.first.role

    @property
    def keys(self) -> tuple[str, ...]:
        """The kinds of labels."""
        return tuple(question.key for question in self.questions)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of records with labels that are requested in every trial."""
        return tuple(
            column
            for question in self.questions
            for column in (*question.columns, *(() if question.repeated else question.columns.values()))
            if column
        )

    @property
    def repeat_columns(self) -> tuple[str, ...]:
        """The columns of records with second labels, which are requested in some trials only."""
        return tuple(column for question in self.questions if question.repeated for column in question.columns.values())

    def in_runs(self, results: Results) -> Questions:
        """The questions of some runs: these questions, unless questions differ between runs."""
        return self if self.of_run is None else self.of_run(results)

    def own_controls(self) -> Sequence[Any]:
        """Controls that the study makes itself; empty if the controls are in a file."""
        found = () if self.controls is None else self.controls()
        return found if isinstance(found, Sequence) else ()

    def question(self, key: str) -> Question[Any]:
        """The question with a key."""
        return next(question for question in self.questions if question.key == key)

    def question_of(self, column: str) -> Question[Any]:
        """The question whose labels a column has."""
        return next(
            question for question in self.questions if column in (*question.columns, *question.columns.values())
        )

    def in_other_order(self, materials: Mapping[str, Material]) -> dict[str, Material]:
        """The same materials, under the columns with labels in the other order. Columns without second labels are left
        out."""
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
        """Request labels for columns concurrently, each column with its material. Never raise CallFailed.

        Columns for labels in the other order use `order`.
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
        """Ask one question about each unit in `things` concurrently. Return the answers in order. Never raise
        CallFailed.

        With `shared`, Overton makes each call once per run, even if several trials request it. With `probabilities`, it
        requests the probabilities of all labels for questions whose replies choose among labels.
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
        """The part that all materials of a run have in common, including whether labels come before their reasons."""
        shared = {} if self.shared is None else self.shared(results)
        weighed = any(run.options.get("shares", "sampled") != "sampled" for run in results.runs)
        return {**shared, LABEL_FIRST: True} if weighed and any(question.reason for question in self) else shared

    async def ask_again(
        self, ask: Ask, key: str, material: Material, draw: Draw | None, speaker: str | None
    ) -> Mapping[str, str | None]:
        """Ask again about one unit, in a random other order if `draw` is given, otherwise in the study's own order."""
        order = OWN if draw is None else drawn_order(draw)
        asked = self if self.of_material is None else self.of_material(material)
        (answer,) = await asked.ask_about(ask, [(asked.question(key), material, order)], speaker)
        return answer.labels


def controls_in(package: str) -> Callable[[], Traversable]:
    """A function that finds the file `controls.jsonl` of a package, for `Questions.controls`."""

    def controls() -> Traversable:
        return files(package) / "controls.jsonl"

    return controls


def definitions_in(prompt: str, labels: Sequence[str]) -> dict[str, str]:
    """The meaning of each label, taken word for word from a judge's prompt.

    A line 'LABEL: ...' or '(LABEL) ...' defines a label. If several lines define the same label, the last line counts.

    Raises:
        ValueError: the prompt does not define one of the labels.
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
        raise ValueError(f"the prompt has no line that defines the label {missing[0]!r}")
    return found
