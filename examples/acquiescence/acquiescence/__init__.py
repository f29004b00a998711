"""Acquiescence: does a model say yes whichever side a proposal is worded from?"""

from acquiescence.asking import PROMPTS, PROPOSALS, Options, Proposal, Record, conduct, trials
from acquiescence.measures import MEASURES, REPORT
from acquiescence.simulated import Parameters, says
from overton.studies import Role, Study, degenerate, respondent, word_judge

STUDY: Study[Proposal, Options, Record, object] = Study(
    interface=2,
    name="acquiescence",
    title="Acquiescence",
    question="Does a model say yes whichever side a proposal is worded from?",
    roles=(Role("subject", "Model to measure", flag="model"), Role("judge", "Model that labels answers", judges=True)),
    items=PROPOSALS,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=PROMPTS.texts,
    simulated={"yes-sayer": respondent(Parameters, says), "word-judge": word_judge, "degenerate/NAME": degenerate},
    planning=(lambda role, speaker, form: form.choices[0] if form else "Gladly.", lambda role, speaker, form: ""),
    measuring=REPORT.measuring,
    nulls=MEASURES.nulls,
)
