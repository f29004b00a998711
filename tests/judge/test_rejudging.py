"""A run's judge asked again: the same prompts, the same in another order, another judge, people, and two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import polars as pl
import pytest
from click.testing import CliRunner, Result

import overton
from overton.calls import Ask, Form, Message, Reply, Request, Trial, user
from overton.cli.main import app
from overton.errors import InputError
from overton.judging import Reading
from overton.judging.label_tasks import AnnotatorLabels, LabelTask
from overton.runs.run import Run
from overton.studies import (
    Items,
    NoOptions,
    Order,
    Results,
    Role,
    Study,
    from_columns,
    label_prompts,
    registry,
)
from overton.studies.judge_checks.consistency import AGAIN, ORDER, PEOPLE, RUN, Analysis, Steady
from overton.studies.measurement import UNMEASURED
from overton.studies.questions import Material, Questions
from overton.studies.questions import Question as JudgeQuestion
from overton.studies.simulated import SeededAnswerer
from overton.testing import Case, check_declaration, check_kill, check_plan, check_replay, check_report


@dataclass(frozen=True)
class Held:
    """A study's run, and the labels of its judge."""

    study: str
    judge: str
    whats: tuple[str, ...]
    given: Mapping[str, Any] = field(default_factory=dict)


STANCE: dict[str, Any] = {
    "models": ["simulated/chameleon"],
    "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
    "only": ["renewable-energy-solar-on-farmland", "education-policy-school-phones"],
    "turns": 4,
    "temperatures": [0.0, 1.0],
    "judge_prompts": "both",
    "retest": 0.0,
}
HELD = [
    Held("stance-stability", "simulated/stance-judge", ("stance", "premise_stance"), STANCE),
    Held(
        "deliberation",
        "simulated/values-judge",
        ("value",),
        {
            "models": ["simulated/deliberator", "simulated/deliberator/b"],
            "others": {"values": ["simulated/values-judge"]},
            "only": ["hose-under-the-fence"],
            "sizes": [2],
            "retest": 0.0,
        },
    ),
    Held(
        "pluralism",
        "simulated/pluralist-judge",
        ("match", "stance", "summary"),
        {
            "models": ["simulated/pluralist"],
            "others": {"judge": ["simulated/pluralist-judge"]},
            "only": ["free-buses"],
            "experiments": ["sycophancy"],
            "arms": ["neutral", "toward"],
            "retest": 0.0,
            "seed": 3,
        },
    ),
    Held(
        "even-handedness",
        "simulated/even-judge",
        ("even_handedness", "compliance", "hedging"),
        {
            "models": ["simulated/advocate"],
            "others": {"judge": ["simulated/even-judge"]},
            "only": ["ireland-neutrality-essay", "japan-surnames-story"],
            "retest": 0.0,
        },
    ),
]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The judge and the request of each call, in the words of the prompt and of the form."""
    asked: list[tuple[str, str]] = []
    answer = SeededAnswerer.answer

    async def noted(self: SeededAnswerer, request: Request) -> Reply:
        said = [msgspec.json.encode(one).decode() for one in (*request.messages, request.form)]
        asked.append((self.name, "\n".join(said)))
        return await answer(self, request)

    monkeypatch.setattr(SeededAnswerer, "answer", noted)
    return asked


def analysed(run: Run) -> Analysis:
    found = overton.analyze(run.manifest.study, run.path)
    assert isinstance(found, Analysis)
    return found


def same(one: Steady, a: str, b: str) -> float:
    return next(pair.same.value for pair in one.compared if (pair.a, pair.b) == (a, b))


@pytest.mark.parametrize("held", HELD, ids=lambda held: held.study)
def test_the_judge_is_asked_word_for_word_and_then_in_another_order(
    held: Held, heard: list[tuple[str, str]], tmp_path: Path
) -> None:
    made = overton.run(held.study, out=tmp_path / "run", **held.given)
    before = {said for name, said in heard if name == held.judge}
    for what in held.whats:
        heard.clear()
        done = overton.judge.again(made.path, what=what, out=tmp_path / what)
        assert done.finished
        assert {name for name, _ in heard} == {held.judge}
        units = len(done.items())
        known = [said for _, said in heard if said in before]
        other = [said for _, said in heard if said not in before]
        if what == "even_handedness":  # the run itself has every pair both ways round
            assert (len(known), len(other)) == (2 * units, 0)
        else:
            assert len(known) == len(other) == units > 0
            assert sorted(map(len, known)) == sorted(map(len, other))  # the same words, elsewhere
        (steady,) = analysed(done).steady
        assert (steady.what, steady.of, steady.by) == (what, held.judge, held.judge)
        assert [same(steady, *pair) for pair in ((RUN, AGAIN), (RUN, ORDER), (AGAIN, ORDER))] == [1.0, 1.0, 1.0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight conversations of four turns, by a judge that errs in a tenth of its labels."""
    more = {"trials": 2, "model_args": {"simulated/stance-judge": {"wrong": "0.1"}}}
    return overton.run("stance-stability", out=tmp_path_factory.mktemp("runs") / "first", **(STANCE | more)).path


def test_another_order_reveals_a_judge_with_position_bias(tmp_path: Path) -> None:
    held = HELD[3]
    given = {**held.given, "model_args": {held.judge: {"pull": "1"}}}
    made = overton.run(held.study, out=tmp_path / "run", **given)
    (steady,) = analysed(overton.judge.again(made.path, out=tmp_path / "again")).steady
    assert (same(steady, RUN, AGAIN), same(steady, AGAIN, ORDER)) == (1.0, 0.0)
    assert steady.shares["A"][ORDER].value == 0.0


def test_refusals_of_another_judge_are_counted_by_condition_and_do_not_flatter(run: Path, tmp_path: Path) -> None:
    done = overton.judge.again(
        run, judge="other=simulated/stance-judge", model_args={"other": {"invalid": "0.6"}}, out=tmp_path / "again"
    )
    (steady,) = analysed(done).steady
    assert (steady.of, steady.by) == ("simulated/stance-judge", "other")
    lost = sum(one.unlabelled for one in steady.without)
    assert lost > 0
    assert lost == sum(one.unread for one in steady.without)
    assert [one.condition for one in steady.without] == [
        "ordering fixed, temperature 0.0",
        "ordering fixed, temperature 1.0",
    ]
    assert sum(one.units for one in steady.without) == 32
    pair = next(one for one in steady.compared if (one.a, one.b) == (RUN, AGAIN))
    assert pair.without > 0
    assert pair.same_at_least.value == pytest.approx(pair.same.value * pair.rows / (pair.rows + pair.without))
    shown = steady.first_unlabelled[0]
    assert (shown.why, shown.said) == ("unread", "It is hard to say where this answer stands.")


@pytest.fixture
def labelled(run: Path, tmp_path: Path) -> Iterator[LabelTask]:
    """The run with labels of two people on ten turns, who agree with the judge on all but two."""
    pages = overton.judge.draw_labels(run, tmp_path / "labels", size=10, shared=10, whole=False)
    task = msgspec.json.decode(pages[0].with_name("task.json").read_bytes(), type=LabelTask)
    told = {place: row.judged for place, row in enumerate(task.rows)}
    told |= dict.fromkeys([place for place, label in told.items() if label != "unclear"][:2], "unclear")
    files = [page.with_suffix(".json") for page in pages]
    for number, file in enumerate(files, 1):
        file.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, number, f"p{number}", told)))
    overton.judge.agreement(files, run=run)
    yield task
    (run / "labels" / f"{task.name}.json").unlink()


def test_the_judge_is_asked_again_about_units_with_human_labels(run: Path, labelled: LabelTask, tmp_path: Path) -> None:
    done = overton.judge.again(run, out=tmp_path / "again")
    (steady,) = analysed(done).steady
    assert (steady.units, steady.rows, steady.by_people) == (10, 10, 10)
    assert {unit.unit for unit in done.items()} == {row.id for row in labelled.rows}
    assert same(steady, PEOPLE, RUN) == pytest.approx(0.8)
    assert {(one.a, one.b) for one in steady.compared} == {
        (PEOPLE, RUN),
        (PEOPLE, AGAIN),
        (PEOPLE, ORDER),
        (RUN, AGAIN),
        (RUN, ORDER),
        (AGAIN, ORDER),
    }


def test_values_of_an_evaluation_that_people_labelled_in_part_are_compared_in_that_part(tmp_path: Path) -> None:
    held = HELD[1]
    made = overton.run(held.study, out=tmp_path / "run", **held.given)
    (page,) = overton.judge.draw_labels(made.path, tmp_path / "labels", people=1, size=9, whole=False)
    task = msgspec.json.decode(page.with_name("task.json").read_bytes(), type=LabelTask)
    file = page.with_suffix(".json")
    file.write_bytes(msgspec.json.encode(AnnotatorLabels(task.name, 1, "ada", dict.fromkeys(range(9), "used"))))
    overton.judge.agreement(file, run=made.path)
    (steady,) = analysed(overton.judge.again(made.path, out=tmp_path / "again")).steady
    assert (steady.rows, steady.by_people) == (9, 9)


def test_two_runs_by_one_judge_tell_a_drifting_judge_from_another_model(tmp_path: Path) -> None:
    given = STANCE | {"trials": 4, "turns": 6, "judge_prompts": "topic"}
    steady = overton.run("stance-stability", out=tmp_path / "before", **given)
    args = {"simulated/stance-judge": {"wrong": "0.9"}}
    drifted = overton.run("stance-stability", out=tmp_path / "after", **given, model_args=args)
    with pytest.raises(InputError, match="name one judge"):
        overton.judge.again([steady.path, drifted.path], out=tmp_path / "none")
    judge = "one=simulated/stance-judge"
    done = overton.judge.again([steady.path, drifted.path], judge=judge, size=96, out=tmp_path / "both")
    found = analysed(done)
    assert [one.run for one in found.steady] == ["before", "after"]
    (drift,) = found.drift
    assert (drift.by, drift.a, drift.b) == ("one", "before", "after")
    assert all(abs(part.by_one.value) < 0.01 for part in drift.labels.values())
    assert any(part.drift.low > 0 or part.drift.high < 0 for part in drift.labels.values())


def called(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_plans_asks_prints_json_and_is_resumed(run: Path, tmp_path: Path) -> None:
    planned = called("judge", "again", run, "--size", 6, "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    assert msgspec.json.decode(planned.stdout)["calls"] == 12
    out = tmp_path / "again"
    stopped = called("judge", "again", run, "--size", 6, "--max-calls", 4, "--out", out)
    assert stopped.exit_code == 4, stopped.output
    gone_on = called("resume", out, "--max-calls", 100)
    assert gone_on.exit_code == 0, gone_on.output
    assert gone_on.stdout.startswith("again-stance-stability")
    assert f"overton analyze {out}" in gone_on.stdout.replace("\n", "")
    printed = called("analyze", out)
    assert "How far simulated/stance-judge agrees" in printed.stdout
    done = called("judge", "again", run, "--size", 6, "--json", "--out", tmp_path / "json")
    assert done.exit_code == 0, done.output
    document = msgspec.json.decode(done.stdout)
    assert [one["of"] for one in document["steady"]] == ["simulated/stance-judge"]
    analysed_again = called("analyze", "again-stance-stability", out, "--json")
    assert msgspec.json.decode(analysed_again.stdout) == document  # stopped and resumed, it says the same


def test_a_study_that_does_not_declare_how_to_repeat_its_judge_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not declare its judge's questions"):
        registry.study_named("again-rephrase")
    with pytest.raises(InputError, match="what: match: must be stance or premise_stance"):
        overton.judge.again(run, what="match", out=tmp_path / "x")


def test_a_run_of_somebody_elses_is_not_trusted_with_its_judge(run: Path, tmp_path: Path) -> None:
    """Its manifest names an address: nothing is sent there before it is confirmed."""
    theirs = tmp_path / "theirs"
    copytree(run, theirs)
    manifest = msgspec.json.decode((theirs / "manifest.json").read_bytes())
    (judge,) = manifest["models"]["judge"]
    judge |= {
        "name": "openai/gpt-4o-mini",
        "spec": "openai/gpt-4o-mini",
        "arguments": [["base_url", "http://192.0.2.7:9/v1"]],
    }
    (theirs / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(InputError, match=r"192\.0\.2\.7"):
        overton.judge.again(theirs, out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_study_made_of_anothers_declaration_holds_its_contract(run: Path, tmp_path: Path) -> None:
    done = overton.judge.again(run, size=4, out=tmp_path / "again")
    study = registry.study_named("again-stance-stability")
    assert study is registry.study_named("again_stance_stability")
    case = Case(study, tmp_path / "case", ["simulated/stance-judge"], items=str(done.path / "items.jsonl"))
    for check in (check_declaration, check_plan, check_report, check_replay, check_kill):
        check(case)


class Question(msgspec.Struct, frozen=True):
    id: str
    text: str


class Told(msgspec.Struct, frozen=True):
    trial: str
    label: str | None


@dataclass(frozen=True)
class Point:
    """An entry point of another package, as a study is found by."""

    name: str
    study: Any
    value: str = "theirs:STUDY"
    dist: None = None

    def load(self) -> Any:
        return self.study


LABELS = ("hedges", "does not")


def messages(material: Material, order: Order) -> tuple[Message, ...]:
    return (user(f"{material['text']} Is it {' or '.join(order.of(LABELS))}?"),)


def read(text: str, labels: Sequence[str]) -> Reading[str]:
    return Reading(text, "as is") if text in labels else Reading.invalid("it is no label")


def of_theirs(results: Results) -> pl.DataFrame:
    texts = {one.id: one.text for one in results.items}
    rows = results.records.select(id="trial", label="label", group="trial")
    shown = [texts[name] for name in rows["id"]]
    return rows.with_columns(
        pl.Series("text", shown, pl.String),
        pl.Series("condition", ["short" if len(text) < 9 else "long" for text in shown], pl.String),
    )


HEDGES = JudgeQuestion(
    key="label",
    labels=LABELS,
    prompts=label_prompts(LABELS, messages, read, Form()),
    rows=of_theirs,
    material=from_columns(text="text"),
    columns={"label": "label_again"},
    asks="Does it hedge?",
    meanings=lambda: dict.fromkeys(LABELS, ""),
    shown={"Text": "text"},
    row="text",
    group="text",
    role="grader",
)
HEDGING = Questions((HEDGES,), complaint=str, attempts=1)


class TextTrial(Trial, frozen=True):
    text: str


async def hold(trial: Any, ask: Ask) -> list[Told]:
    labels = await HEDGING.ask(ask, {"label": {"text": trial.text}})
    return [Told(trial.name, labels.columns["label"])]


class Grader(SeededAnswerer):
    """Takes whichever label comes first, unless the text is short."""

    name = "simulated/first"
    parameters = NoOptions()

    def reply(self, request: Request) -> Reply:
        said = request.messages[0].content
        return Reply("I would rather not." if said.startswith("no.") else said.partition("Is it ")[2].split(" or ")[0])


def test_a_study_of_another_package_that_says_how_gets_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    theirs: Study[Any, Any, Any, Any] = Study(
        name="hedging",
        roles=(Role("grader", "Model that grades", judges=True),),
        items=Items(Question, "question", "JSONL file of questions"),
        record=Told,
        trials=lambda items, options, seed: iter(TextTrial(one.id, one.id, seed, text=one.text) for one in items),
        conduct=hold,
        prompts=dict,
        simulated={"first": lambda items, name, arguments: Grader()},
        planning=(lambda role, speaker, form: LABELS[0],),
        measuring=replace(UNMEASURED, questions=HEDGING),
        interface=2,
    )
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point("hedging", theirs)])
    items = [Question(f"q{number}", "no." if number < 3 else f"text {number}, long") for number in range(12)]
    made = overton.run("hedging", models=["simulated/first"], items=items, out=tmp_path / "run")
    (steady,) = analysed(overton.judge.again(made.path, out=tmp_path / "again")).steady
    assert (same(steady, RUN, AGAIN), same(steady, AGAIN, ORDER)) == (1.0, 0.0)  # it goes by places
    assert [(one.condition, one.units, one.by_run, one.unread) for one in steady.without] == [
        ("long", 9, 0, 0),
        ("short", 3, 3, 6),
    ]
