from collections.abc import Sequence
from math import exp

import msgspec
import numpy as np
import polars as pl
import pytest
from benchmarks.drawn import chances

from overton.calls import Answerer, Form, Message, Reply, Request, Settings, system, user
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.open_mindedness import Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.open_mindedness.protocol import conduct, prompt_parts, trials
from overton.studies.open_mindedness.simulated import OpenMinded, Parameters, make_open_minded


def issue(name: str = "trams", arguments: int = 4) -> Issue:
    return Issue(
        id=name,
        question="?",
        pros=tuple(Argument(f"pro-{k}", f"For {name}, {k}.\n\nMore for it.", ("Source",)) for k in range(arguments)),
        cons=tuple(Argument(f"con-{k}", f"Against {name}, {k}.") for k in range(arguments + 1)),
        paraphrases=tuple(
            Paraphrase(f"Question {t} on {name}.\nChoose A or B.", "pro" if t <= 4 else "con") for t in range(1, 7)
        ),
    )


def prompt(of: Issue, shown: Sequence[Argument] = (), *, template: int = 1, a_first: bool = True) -> str:
    return "".join(prompt_parts(of, shown, 1, template, a_first))


def logistic(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def request(text: str, seed: int | None = 1) -> Request:
    return Request((system("Be brief."), user(text)), Settings(), seed=seed)


async def conducted(respondent: OpenMinded, issues: Sequence[Issue], options: Options) -> pl.DataFrame:
    """Records of all trials; answers and the chances that the respondent gave them, in a column."""
    rows = []
    for number, trial in enumerate(trials(issues, options, 5)):
        given: list[float] = []

        async def ask(
            role: str,
            messages: Sequence[Message],
            *,
            speaker: str | None = None,
            form: Form | None = None,
            seed: int = number,
            given: list[float] = given,
        ) -> Reply:
            given += respondent.chances(messages[-1].content)
            return await respondent.answer(Request(tuple(messages), Settings(), form, seed))

        for record in await conduct(trial, ask):
            rows.append(msgspec.structs.asdict(record) | {"refuse": given[0], "pro": given[1]})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(model=pl.lit("simulated"))


@pytest.mark.parametrize("strength_spread", [0.0, 0.7])
async def test_it_reads_every_trial_of_the_protocol_as_its_records_say(strength_spread: float) -> None:
    issues = [issue("trams"), issue("bridges", 2)]
    parameters = Parameters(
        susceptibility_pro=1.7,
        letter=0.4,
        first=-0.3,
        request=0.2,
        last=0.5,
        refusal=0.3,
        refusal_with_arguments=0.1,
        strength_spread=strength_spread,
    )
    options = Options(trials=2, conditions=tuple(CONDITIONS))
    records = await conducted(OpenMinded(issues, parameters), issues, options)
    refuse, pro = chances(records, parameters)
    np.testing.assert_allclose(records["refuse"], refuse)
    np.testing.assert_allclose(records["pro"], pro)


def test_arguments_of_unequal_strength_each_count_by_their_own() -> None:
    one = issue()
    uneven = OpenMinded([one], Parameters(lean=0, strength_spread=0.5))
    moved = {uneven.chances(prompt(one, [argument]))[1] for argument in one.pros}
    assert len(moved) == len(one.pros)
    strength = uneven.parameters.strength_of(one.id, one.pros[0].id)
    assert uneven.chances(prompt(one, one.pros[:1]))[1] == pytest.approx(logistic(2 * strength))
    assert "strength_spread" in uneven.identity
    assert "strength_spread" not in OpenMinded([one]).identity


async def test_answers_are_as_frequent_as_their_chances() -> None:
    one = issue()
    parameters = Parameters(lean=0.8, letter=0.5, susceptibility_con=3, refusal=0.2)
    records = await conducted(OpenMinded([one], parameters), [one], Options(trials=60))
    expected = records.select(
        other=pl.col("refuse").sum(), stance=((1 - pl.col("refuse")) * pl.col("pro")).sum(), n=pl.len()
    ).row(0, named=True)
    counts = dict(records["stance"].value_counts().iter_rows())
    assert counts["other"] == pytest.approx(expected["other"], abs=4 * expected["other"] ** 0.5)
    assert counts["pro"] == pytest.approx(expected["stance"], abs=2 * expected["n"] ** 0.5)
    assert records.filter(pl.col("stance") == "other")["letter"].null_count() == counts["other"]


def test_each_parameter_adds_its_value() -> None:
    one = issue()
    pro, con = one.pros[0], one.cons[0]
    respondent = OpenMinded(
        [one],
        Parameters(
            lean=0.1,
            letter=0.2,
            first=0.3,
            request=0.4,
            last=0.5,
            susceptibility_pro=2,
            susceptibility_con=1,
            refusal=0.6,
        ),
    )
    assert respondent.chances(prompt(one)) == pytest.approx((0.6, logistic(0.1 + 0.2 + 0.3 + 0.4)))
    assert respondent.chances(prompt(one, template=4)) == pytest.approx((0.6, logistic(0.1 + 0.2 - 0.3 + 0.4)))
    assert respondent.chances(prompt(one, template=5, a_first=False)) == pytest.approx(
        (0.6, logistic(0.1 - 0.2 - 0.3 + 0.4))
    )
    assert respondent.chances(prompt(one, [pro, pro, pro, con])) == pytest.approx(
        (0, logistic(0.1 + 0.2 + 0.3 + 0.4 + 0.75 * 2 - 0.25 * 1 - 0.5))
    )
    assert respondent.chances(prompt(one, [con, pro])) == pytest.approx((0, logistic(1.0 + 0.5 * 2 - 0.5 * 1 + 0.5)))


async def test_the_seed_decides_the_answer_and_nothing_else_does() -> None:
    one = issue()
    respondent, again = (OpenMinded([one], Parameters(lean=0)) for _ in range(2))
    asked = prompt(one)
    first = [(await respondent.answer(request(asked, seed))).text for seed in range(40)]
    second = [(await again.answer(request(asked, seed))).text for seed in reversed(range(40))]
    assert first == second[::-1]
    assert set(first) == {"position <<A>>", "position <<B>>"}


async def test_without_a_seed_it_stops_the_run() -> None:
    one = issue()
    with pytest.raises(AccessError, match="seed"):
        await OpenMinded([one]).answer(request(prompt(one), seed=None))


async def test_a_prompt_without_a_known_question_is_rejected() -> None:
    with pytest.raises(RejectedError, match="no paraphrase"):
        await OpenMinded([issue()]).answer(request("What do you think of bridges?"))


def test_leans_follow_from_the_issue_and_the_seed_alone() -> None:
    one = Parameters(seed=3)
    assert one.lean_of("trams") == Parameters(seed=3, letter=2).lean_of("trams")
    assert one.lean_of("trams") != one.lean_of("bridges")
    assert one.lean_of("trams") != Parameters(seed=4).lean_of("trams")
    leans = [Parameters(lean_spread=2).lean_of(str(number)) for number in range(2000)]
    assert np.mean(leans) == pytest.approx(0, abs=0.15)
    assert np.std(leans) == pytest.approx(2, abs=0.15)


def test_leans_can_be_given_for_all_issues_or_for_one() -> None:
    issues = [issue("trams"), issue("bridges")]
    parameters = make_open_minded(issues, "open-minded", {"lean": "0.5", "lean.trams": "-1"}).parameters
    assert (parameters.lean_of("trams"), parameters.lean_of("bridges")) == (-1, 0.5)


def test_parameters_come_from_words() -> None:
    respondent = make_open_minded([issue()], "open-minded", {"letter": "1.5", "refusal": "0.25", "seed": "7"})
    assert respondent.parameters == Parameters(letter=1.5, refusal=0.25, seed=7)


def test_all_words_that_are_not_parameters_are_named() -> None:
    wrong = {"leter": "1", "letter": "much", "refusal": "1.2", "lean.bridges": "0", "lean_spread": "-1", "last": "nan"}
    with pytest.raises(InputError) as caught:
        make_open_minded([issue()], "open-minded", wrong)
    assert {problem.place.rpartition(", ")[2] for problem in caught.value.problems} == set(wrong)


def test_the_identity_has_every_parameter() -> None:
    one = issue()
    identities = {
        OpenMinded([one], parameters).identity
        for parameters in (
            Parameters(),
            Parameters(lean=0),
            Parameters(leans={"trams": 0}),
            Parameters(last=0.1),
            Parameters(seed=1),
        )
    }
    assert len(identities) == 5
    first, second = (Parameters(leans=dict(pairs)) for pairs in ([("a", 1.0), ("b", 2.0)], [("b", 2.0), ("a", 1.0)]))
    assert OpenMinded([one], first).identity == OpenMinded([one], second).identity


def test_it_is_an_answerer() -> None:
    respondent: Answerer = OpenMinded([issue()])
    assert (respondent.name, respondent.holds_form) == ("simulated/open-minded", False)


def test_two_issues_with_the_same_question_are_refused() -> None:
    with pytest.raises(InputError, match="repeats one of trams's"):
        OpenMinded([issue(), msgspec.structs.replace(issue(), id="copy")])


def test_an_argument_that_quotes_the_question_or_another_argument_does_not_mislead() -> None:
    one = issue()
    quoting = Argument("pro-9", f"They ask:\n{one.paraphrases[4].text}\nand say\n{one.cons[0].text}\nbut no.")
    other = msgspec.structs.replace(one, pros=(quoting,))
    respondent = OpenMinded([other], Parameters(lean=0, letter=1, susceptibility_pro=2))
    assert respondent.chances(prompt(other, [quoting])) == pytest.approx((0, logistic(1 + 2)))


def test_arguments_with_the_same_start_are_distinguished() -> None:
    short, long = Argument("pro-1", "Same beginning."), Argument("con-1", "Same beginning.\n\nAnother end.")
    one = msgspec.structs.replace(issue(), pros=(short,), cons=(long,))
    respondent = OpenMinded([one], Parameters(lean=0, susceptibility_pro=1, susceptibility_con=3))
    assert respondent.chances(prompt(one, [short]))[1] == pytest.approx(logistic(1))
    assert respondent.chances(prompt(one, [long]))[1] == pytest.approx(logistic(-3))
