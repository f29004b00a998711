"""The judge labels each text once, and a sample of texts once more with the labels in reverse order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.calls import Ask, Trial
from overton.studies.questions import Material, Questions
from overton.studies.self_agreement import is_retested, retest_speaker
from overton.studies.texts.items import TextRow
from overton.studies.texts.options import TableOptions
from overton.studies.texts.question_files import LABEL
from overton.studies.texts.questions import material_from, questions_of
from overton.studies.texts.record import Record

_JUDGE = "judge/1"
"""The judge's name. A role whose models share one pipeline numbers its models: 'ROLE/1', 'ROLE/2', ..."""


class TextTrial(Trial, frozen=True):
    """A trial about one text."""

    row: TextRow
    questions: Questions
    material: Material
    retest: float

    @property
    def judged_again(self) -> bool:
        """Whether the judge labels this text a second time."""
        return is_retested(self.draw("retest"), self.retest)


def trials(rows: Sequence[TextRow], options: TableOptions, seed: int) -> Iterator[TextTrial]:
    """One trial for each text."""
    questions, material = questions_of(options.question), material_from(options.question)
    for row in rows:
        shown = material.of(row.columns)
        yield TextTrial(row.id, row.id, seed, row=row, questions=questions, material=shown, retest=options.retest)


async def conduct(trial: TextTrial, ask: Ask) -> list[Record]:
    """Ask the judge for the text's label, and for a sample of texts for a second label."""
    row, questions = trial.row, trial.questions
    material = {LABEL: trial.material}
    labels = await questions.ask(ask, material, _JUDGE)
    repeated = questions.in_other_order(material) if trial.judged_again else {}
    second = await questions.ask(ask, repeated, retest_speaker(_JUDGE))
    return [
        Record(
            trial=trial.name,
            text=row.id,
            model=row.model,
            group=row.group,
            condition=row.condition,
            judged_again=trial.judged_again,
            unread=labels.unread,
            failure=labels.failure,
            **labels.columns,
            **second.columns,
        )
    ]
