"""The calls that a run would make, and their cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import msgspec

from overton.calls import Form, Message, Price, Question, Reply, Trial, Usage
from overton.calls.model import Model
from overton.engine.ask import ScriptedAsk, seat_name
from overton.runs.answerers import is_simulated
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import BATCHED_AT_ONCE, Experiment
from overton.runs.temperature_probe import PROBE, READY
from overton.studies.findings import counted
from overton.studies.judge_checks.control_texts import first_control
from overton.studies.null_conditions import null_of
from overton.studies.planned_headlines import PlannedHeadline, planned_headlines
from overton.studies.sections import Column, Section, Table
from overton.studies.study import AnyStudy, Canned
from overton.studies.system_prompts import NONE, name_of

BYTES_PER_TOKEN = 4.0
"""The number of bytes per token. It is about four for English prose with today's tokenizers. This is an estimate, and
is marked as one wherever it is shown."""


class ModelPlan(msgspec.Struct, frozen=True):
    """The calls that one model, search engine or source of pages would get.

    If the number of calls depends on the answers, `calls` and the token counts are for the shortest possible course of
    each trial, and `calls_at_most` is for the longest. Tokens are estimated from bytes. `cost` assumes the shortest
    course and answers of the expected length. `cost_at_most` assumes the longest course and every allowed output token.
    Both costs are in US dollars, None if the price is unknown. `cost_in_batches` and `cost_in_batches_at_most` are the
    same costs at the batch price, None if the model takes no batches. `retrieves` is True for searches and pages, which
    take no tokens and have no known price. Repeated searches and pages count each time, although a run requests each
    only once.
    """

    model: str
    role: str
    calls: int
    calls_at_most: int
    input_tokens: int
    output_tokens: int
    input_tokens_at_most: int
    output_tokens_at_most: int
    price: Price | None
    cost: float | None
    cost_at_most: float | None
    retrieves: bool = False
    cost_in_batches: float | None = None
    cost_in_batches_at_most: float | None = None


class ConditionPlan(msgspec.Struct, frozen=True):
    """The trials per pipeline, the calls and the cost of one null condition or one system prompt."""

    name: str
    trials: int
    calls: int
    calls_at_most: int
    cost: float | None
    cost_at_most: float | None


class PrecisionPlan(msgspec.Struct, frozen=True):
    """The expected calls and cost until the run reaches its target precision. They cover all models, and assume that
    the models answer as in `pilot`.

    `calls` is the median number in several simulated runs. The simulated numbers range from `calls_least` to
    `calls_most`. `cost` is computed with the plan's cost per call, None if a price is unknown. `rounds` and `halves`
    (half-widths by measure) are taken from the median run.
    """

    pilot: str
    calls: int
    calls_least: int
    calls_most: int
    cost: float | None
    rounds: int
    halves: dict[str, float] = {}


class PlanOption(msgspec.Struct, frozen=True):
    """A way to run the planned design, and its price. `options` are the command-line options for this way, '' for the
    planned way. `gives` says how the result differs from that of the planned way."""

    options: str
    gives: str
    calls: int
    calls_at_most: int
    cost: float | None
    cost_at_most: float | None


class Plan(msgspec.Struct, frozen=True):
    """The plan of a run: items, trials per model pipeline, and the minimum and maximum number of calls to each model.

    `nulls` are the null conditions that the options choose, each with its own calls and cost. All other numbers of the
    plan include these calls. `systems` has the part of the plan for each system prompt, and for trials without one. It
    is empty if there are no system prompts.

    Costs include models only. They are None if a price is unknown. Costs with batches use the usual price for models
    that take no batches. `batches_in_turn` is the maximum number of batches that are sent one after another, because
    each turn of a conversation waits for the previous turn. `hours_in_batches` is the time that providers may take for
    these batches, 0 if no model takes batches. `prices_as_of` is the earliest date (ISO) of the prices used, '' if no
    price is known. `precision` is given if the run is to stop at a target precision. `ways` has the ways to run the
    design, each with its price. The planned way comes first.
    """

    study: str
    items: int
    trials: int
    calls: int
    calls_at_most: int
    models: list[ModelPlan]
    cost: float | None
    cost_at_most: float | None
    nulls: list[ConditionPlan] = []
    cost_in_batches: float | None = None
    cost_in_batches_at_most: float | None = None
    batches_in_turn: int = 0
    hours_in_batches: float = 0.0
    prices_as_of: str = ""
    precision: PrecisionPlan | None = None
    ways: list[PlanOption] = []
    systems: list[ConditionPlan] = []
    headlines: tuple[PlannedHeadline, ...] = ()
    pilot: str = ""

    def _repr_html_(self) -> str:
        """The plan in a notebook: one row per model and role."""
        from overton.reporting.notebook import fragment

        titles = ("calls", "calls at most", "tokens in", "tokens out", "cost", "cost at most", "in batches")
        columns = [Column("model"), Column("role"), *(Column(title, "text") for title in titles)]
        rows = [
            [row.model, row.role, f"{row.calls:,}", f"{row.calls_at_most:,}", *_cost_cells(row)] for row in self.models
        ]
        note = "Tokens are estimated at four bytes each; no call was made."
        title = f"{counted(self.items, 'items')}, {counted(self.trials, 'trials')} per model"
        table = Table(title, columns, rows, note=note)
        return fragment([Section("plan", f"Plan of {self.study}", [table])])


def _cost_cells(row: ModelPlan) -> list[str]:
    if row.retrieves:
        return ["–"] * 5
    batches = "–" if row.cost_in_batches is None else f"${row.cost_in_batches:,.2f}"
    costs = ("unknown" if cost is None else f"${cost:,.2f}" for cost in (row.cost, row.cost_at_most))
    return [f"{row.input_tokens:,}", f"{row.output_tokens:,}", *costs, batches]


def plan(experiment: Experiment, models: Mapping[str, Sequence[Model]]) -> Plan:
    """Conduct every trial with canned replies, and count the calls.

    Raises:
        InputError: there would be more trials than a run may have.
    """
    experiment.check_trials()
    study, trials = experiment.study, list(experiment.trials())
    seats = _seats(study, models)
    courses = _count_courses(study, seats, trials)
    rows = _model_plans(study, seats, courses)
    in_turn, hours = _batches_in_turn(courses[-1], seats, len(trials))
    return Plan(
        study=study.name,
        items=len(experiment.items),
        trials=len(trials),
        calls=sum(row.calls for row in rows),
        calls_at_most=sum(row.calls_at_most for row in rows),
        models=rows,
        cost=_total_cost([row.cost for row in rows if not row.retrieves]),
        cost_at_most=_total_cost([row.cost_at_most for row in rows if not row.retrieves]),
        nulls=[_condition_plan(study, seats, name, own) for name, own in _group_by_null(trials).items()],
        cost_in_batches=_total_cost([_first_known(row.cost_in_batches, row.cost) for row in rows if not row.retrieves])
        if in_turn
        else None,
        cost_in_batches_at_most=_total_cost(
            [_first_known(row.cost_in_batches_at_most, row.cost_at_most) for row in rows if not row.retrieves]
        )
        if in_turn
        else None,
        batches_in_turn=in_turn,
        hours_in_batches=hours,
        prices_as_of=min((row.price.as_of for row in rows if row.price and row.price.as_of), default=""),
        systems=[_condition_plan(study, seats, name, own) for name, own in _group_by_system_prompt(trials).items()],
        headlines=planned_headlines(study, experiment.options, experiment.items, trials),
    )


def _count_courses(study: AnyStudy, seats: Sequence[_Seat], trials: Sequence[Trial]) -> tuple[CallCount, CallCount]:
    """Count the calls of all trials, once with the canned replies that make trials shortest and once with those that
    make them longest."""
    names, alike = {name for _, _, name, _ in seats}, _group_alike(trials)
    replies = study.replies() or (_first_choice,)
    shortest = _CannedReplies(replies[0], study.retrieval, names, instead=replies[-1])
    run_to_end(_conduct_all(study, alike, shortest))
    if not shortest.varies:
        return shortest.course, shortest.course
    longest = _CannedReplies((study.replies() or replies)[-1], study.retrieval, names)
    run_to_end(_conduct_all(study, alike, longest))
    return shortest.course, longest.course


def _group_alike(trials: Iterable[Trial]) -> list[tuple[Trial, int]]:
    """Group trials that make the same calls (`Trial.plan_key`). Return one trial of each group, and the size of the
    group."""
    first: dict[Hashable, Trial] = {}
    counted: Counter[Hashable] = Counter()
    for trial in trials:
        known = (trial.name,) if trial.plan_key is None else trial.plan_key
        key = known, trial.system_prompt
        first.setdefault(key, trial)
        counted[key] += 1
    return [(trial, counted[key]) for key, trial in first.items()]


def _model_plans(
    study: AnyStudy, seats: Sequence[_Seat], courses: tuple[CallCount, CallCount], *, starts: bool = True
) -> list[ModelPlan]:
    """The plan of each model. With `starts`, it includes the calls before the first trial."""
    return [
        _model_plan(
            role,
            model,
            *(
                course.count(name, lanes) + (before if starts else _CallTotals())
                for course, before in zip(courses, _count_before(study, role, model), strict=True)
            ),
        )
        for role, model, name, lanes in seats
    ]


def _count_before(study: AnyStudy, role: str, model: Model) -> tuple[_CallTotals, _CallTotals]:
    """The minimum and maximum number of calls to a model before the first trial."""
    probe, control, found = _count_probe(model), _CallTotals(), first_control(study)
    if found is None or is_simulated(model) or found[0].role != role:
        return probe, probe
    questions, text = found
    for prompt in questions.question(text.what).prompts_about(text.material):
        sent = sum(_count_bytes(message.content) for message in prompt.messages)
        control.add(sent, _count_bytes((study.replies() or (_first_choice,))[0](role, role, prompt.form)))
    return probe + control, probe + control * questions.attempts


def _group_by_null(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        if name := null_of(trial.name):
            found.setdefault(name, []).append(trial)
    return found


def _group_by_system_prompt(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """The trials under each system prompt and without one; empty if no trial has a system prompt."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(name_of(trial.system_prompt), []).append(trial)
    return {} if found.keys() <= {NONE} else found


def _condition_plan(study: AnyStudy, seats: Sequence[_Seat], name: str, trials: Sequence[Trial]) -> ConditionPlan:
    rows = _model_plans(study, seats, _count_courses(study, seats, trials), starts=False)
    return ConditionPlan(
        name=name,
        trials=len(trials),
        calls=sum(row.calls for row in rows),
        calls_at_most=sum(row.calls_at_most for row in rows),
        cost=_total_cost([row.cost for row in rows if not row.retrieves]),
        cost_at_most=_total_cost([row.cost_at_most for row in rows if not row.retrieves]),
    )


def _first_known(cost: float | None, otherwise: float | None) -> float | None:
    return otherwise if cost is None else cost


def _batches_in_turn(course: CallCount, seats: Sequence[tuple[str, Model, str, int]], trials: int) -> tuple[int, float]:
    """The number of batches that are sent one after another, and the hours that they may take. The number is that of
    the longest trial, multiplied by the number of groups of trials that have to run one after another."""
    taking = {name: model.batching for _, model, name, _ in seats if model.batching}
    deepest = max((sum(count for name, count in steps if name in taking) for steps in course.steps), default=0)
    lanes = len([name for role, _, name, _ in seats if role == seats[0][0]])
    waves = -(-trials // (BATCHED_AT_ONCE // lanes))
    return deepest * waves, deepest * waves * max((batching.hours for batching in taking.values()), default=0.0)


@dataclass
class _CallTotals:
    """Totals of the calls to one model or service: their number, and the bytes of prompts and replies."""

    calls: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def add(self, bytes_in: int, bytes_out: int, times: int = 1) -> None:
        self.calls += times
        self.bytes_in += bytes_in * times
        self.bytes_out += bytes_out * times

    def __add__(self, other: _CallTotals) -> _CallTotals:
        return _CallTotals(self.calls + other.calls, self.bytes_in + other.bytes_in, self.bytes_out + other.bytes_out)

    def __mul__(self, lanes: int) -> _CallTotals:
        return _CallTotals(self.calls * lanes, self.bytes_in * lanes, self.bytes_out * lanes)


@dataclass
class CallCount:
    """Totals of calls to each model or service, by name. `own` has the calls of each pipeline. `shared` has the calls
    that are made once for all pipelines."""

    own: defaultdict[str, _CallTotals] = field(default_factory=lambda: defaultdict(_CallTotals))
    shared: defaultdict[str, _CallTotals] = field(default_factory=lambda: defaultdict(_CallTotals))
    steps: set[frozenset[tuple[str, int]]] = field(default_factory=set)
    """For each name, the number of calls that a trial makes in sequence. Trials with the same numbers are listed
    once."""

    def count(self, name: str, lanes: int) -> _CallTotals:
        """The total calls of `lanes` pipelines."""
        return self.own[name] * lanes + self.shared[name]


def _count_probe(model: Model) -> _CallTotals:
    """The request that tests whether a judge accepts a temperature. It is made only if this is unknown."""
    if not model.unsure:
        return _CallTotals()
    return _CallTotals(1, sum(len(message.content.encode()) for message in PROBE), len(READY))


_Seat = tuple[str, Model, str, int]
"""A role, its model or service, the name under which it is called, and the number of pipelines in which it answers."""


def _seats(study: AnyStudy, models: Mapping[str, Sequence[Model]]) -> list[_Seat]:
    """Each model or service with its role, the name under which it is called, and the number of pipelines in which it
    answers."""
    first, *others = study.role_names
    lanes = 1 if study.together else len(models[first])
    subjects = [
        (first, model, f"{first}/{number}" if study.together else first, 1)
        for number, model in enumerate(models[first], 1)
    ]
    return subjects + [(role, model, role, lanes) for role in others for model in models[role]]


class _CannedReplies:
    """Canned replies to every question, with a count of the calls.

    A call that trials share is counted once. Searches and pages are counted each time, because canned replies repeat
    the same ones. `varies` is True if the canned replies `instead` differ from the replies given so far.
    """

    def __init__(
        self, canned: Canned, retrieval: Sequence[str], names: Set[str], instead: Canned | None = None
    ) -> None:
        self.course = CallCount()
        self.varies = False
        self._instead = instead
        self._trials = 1
        self._shared: set[tuple[str, tuple[Message, ...]]] = set()
        self._canned = canned
        self._retrieval = retrieval
        self._names = names
        self._steps: Counter[str] = Counter()

    def begin_trial(self, alike: int) -> None:
        """Begin a trial that stands for `alike` equal trials. Each of its calls is counted `alike` times."""
        self._trials = alike
        self._steps.clear()

    def end_trial(self) -> None:
        """Record the number of calls that the trial made in sequence."""
        self.course.steps.add(frozenset(self._steps.items()))

    async def reply_to(self, questions: Sequence[Question]) -> Sequence[Reply]:
        """Return the replies to parallel questions. Parallel questions to the same name count as one step of a
        sequence."""
        named = [seat_name(self._names, question.role, question.speaker or question.role) for question in questions]
        self._steps.update({*named})
        return [self._count(name, question) for name, question in zip(named, questions, strict=True)]

    def _count(self, name: str, question: Question) -> Reply:
        role, speaker = question.role, question.speaker or question.role
        text = self._canned(role, speaker, question.form)
        if self._instead is not None and not self.varies:
            self.varies = self._instead(role, speaker, question.form) != text
        shared = question.shared and role not in self._retrieval
        call = role, question.messages
        if not (shared and call in self._shared):
            sent = sum(_count_bytes(message.content) for message in question.messages)
            counts, times = (self.course.shared, 1) if shared else (self.course.own, self._trials)
            counts[name].add(sent, _count_bytes(text), times)
        if shared:
            self._shared.add(call)
        return Reply(text, usage=Usage(0, 0))


def _first_choice(role: str, speaker: str, form: Form | None) -> str:
    return form.choices[0] if form and form.choices else "{}"


def _count_bytes(text: str) -> int:
    """The length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


async def count_calls(study: AnyStudy, trials: Sequence[Trial], number: int) -> CallCount:
    """Count the calls of one pipeline's `trials`. The study has several sets of canned replies, and `number` is the
    index of the set to use."""
    replies = _CannedReplies((study.replies() or (_first_choice,))[number], study.retrieval, set())
    await _conduct_all(study, _group_alike(trials), replies)
    return replies.course


async def _conduct_all(study: AnyStudy, trials: Iterable[tuple[Trial, int]], replies: _CannedReplies) -> None:
    ask = ScriptedAsk(replies.reply_to)
    for trial, alike in trials:
        replies.begin_trial(alike)
        await study.conduct(trial, ask)
        replies.end_trial()


def _model_plan(role: str, model: Model, least: _CallTotals, most: _CallTotals) -> ModelPlan:
    if model.retrieves:
        calls = least.calls, most.calls
        return ModelPlan(model.answerer.name, role, *calls, 0, 0, 0, 0, None, None, None, retrieves=True)
    sent, received = _estimate_tokens(least.bytes_in), _estimate_tokens(least.bytes_out)
    batched = model.price.in_batches if model.price and model.batching else None
    sent_most, received_most = _estimate_tokens(most.bytes_in), most.calls * (model.settings.max_tokens or 0)
    return ModelPlan(
        model=model.answerer.name,
        role=role,
        calls=least.calls,
        calls_at_most=most.calls,
        input_tokens=sent,
        output_tokens=received,
        input_tokens_at_most=sent_most,
        output_tokens_at_most=received_most,
        price=model.price,
        cost=model.price.cost(Usage(sent, received)) if model.price else None,
        cost_at_most=model.price.cost(Usage(sent_most, received_most)) if model.price else None,
        cost_in_batches=batched.cost(Usage(sent, received)) if batched else None,
        cost_in_batches_at_most=batched.cost(Usage(sent_most, received_most)) if batched else None,
    )


def _estimate_tokens(count: int) -> int:
    return round(count / BYTES_PER_TOKEN)


def _total_cost(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
