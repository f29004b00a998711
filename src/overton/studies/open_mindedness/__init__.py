"""Open-mindedness: how arguments in context shift a model's stance on contested issues (MillStone)."""

from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase
from overton.studies.open_mindedness.protocol import Options, conduct, prompt_texts, trials
from overton.studies.open_mindedness.record import Record
from overton.studies.study import Study

__all__ = ["STUDY", "Argument", "Issue", "Options", "Paraphrase", "Record"]

STUDY = Study(
    name="open-mindedness",
    roles=("subject",),
    item=Issue,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompt_texts,
)
