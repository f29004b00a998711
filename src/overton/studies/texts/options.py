"""The options of a run over a table of texts, and of its analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from overton.errors import InputError, Problem
from overton.studies.measurement import How
from overton.studies.options import Option, StudyOptions, option_place
from overton.studies.self_agreement import RETEST, Retest
from overton.studies.texts.question_files import TableQuestion, faults_of, read_question


class TableOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """The options of a run. The question is given as an option of the items. It is stored here too, so that a run keeps
    it."""

    question: Annotated[TableQuestion, Option("The question to the judge", file=True, follows=True)]
    retest: Retest = RETEST

    def problems(self) -> Iterator[Problem]:
        """Errors in a stored question, which a run folder contains."""
        for key, reason in faults_of(self.question):
            yield Problem(option_place("question"), key, reason)

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The given options, with the question read from its file.

        Raises:
            InputError: the question is invalid, or the user names several judges.
        """
        if len(named.get("judge", ())) > 1:
            reason = "only one judge labels a table; ask further judges with overton judge again"
            raise InputError([Problem("role judge", ", ".join(named["judge"]), reason)])
        question = given.get("question")
        return given if question is None else {**given, "question": read_question(question)}


class TableHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the proportions of labels are computed."""

    population: Annotated[
        Literal["like-these", "these"],
        Option("Texts that corrected shares describe: texts like these, or exactly these"),
    ] = "like-these"

    @property
    def describes_these(self) -> bool:
        """Whether corrected proportions describe only these texts."""
        return self.population == "these"
