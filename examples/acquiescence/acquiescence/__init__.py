"""Acquiescence: does a model say yes whichever side a question is worded from?"""

from importlib.resources import files

from acquiescence.asking import PROMPTS, Options, Question, Record, conduct, trials
from acquiescence.measures import Analysis, figures, measure, sections, share_of_yes
from acquiescence.simulated import Parameters, says
from overton.studies import Headline, Items, Measuring, Role, Study, respondent

__all__ = ["STUDY"]

STUDY: Study[Question, Options, Record, Analysis] = Study(
    interface=2,
    name="acquiescence",
    title="Acquiescence",
    question="Does a model say yes whichever side a question of policy is worded from?",
    roles=(Role("subject", "Model to measure", flag="model"),),
    items=Items(
        kind=Question,
        noun="question",
        layouts="a .jsonl file of questions, each with id, pro and con",
        starter=lambda: files("acquiescence") / "questions.jsonl",
    ),
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=PROMPTS.texts,
    simulated={"yes-sayer": respondent(Parameters, says)},
    measuring=Measuring(
        analysis=lambda: Analysis,
        records=measure,
        sections=sections,
        headline=Headline(
            figures, "question", share_of_yes, "share of answers that are yes", ("trial", "answer", "failure", "reply")
        ),
    ),
)
