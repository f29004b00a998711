"""Shares by token probabilities: one call tells what many answers would, where they mean the same.

A study whose roles choose among a form's options has an option `shares: Shares = "sampled"` and an option
`calibrate: Calibrate = CALIBRATE`, and says in `Study.weighs` which roles are then asked for probabilities. It asks
with `Form(weigh=...)`, reads `judging.weighing.chances_at` where the option falls, and keeps them in columns of its
own. Its trials go through `sharing`, which draws some of them: these are asked again as often as it says, each time as
a speaker of its own, and what came of that stands in a column too: from both a run's calibration is made, anew
whenever it is measured.

`auto` uses probabilities only where `statistics.calibration` finds of every model measured together that they agree:
one comparison is never made of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from overton.calls import Ask, Draw, Form, Message, Reply, Settings, Trial
from overton.judging import Reading
from overton.statistics.calibration import Calibration
from overton.studies.numbers import number, sentence
from overton.studies.options import Option
from overton.studies.readable import Wanted, ask_all_until_read

if TYPE_CHECKING:
    from overton.studies.exhibits import Section

__all__ = [
    "CALIBRATE",
    "AsAsked",
    "Calibrate",
    "Shares",
    "Weighing",
    "asked_again",
    "decided",
    "one_trial",
    "sharing",
    "told",
    "weighing_section",
]

Shares = Annotated[
    Literal["sampled", "probabilities", "auto"],
    Option(
        "How shares are found: by sampling answers, by the token probabilities of one call, or by these only where"
        " single answers agree with them"
    ),
]
AsAsked = Annotated[
    Literal["as-asked", "sampled", "probabilities"],
    Option("Whether shares are means of token probabilities, or count the answers that were sampled"),
]
CALIBRATE = 200
"""Single answers where nobody says otherwise."""
Calibrate = Annotated[
    int,
    Option(
        "Single answers of each model that are sampled beside its token probabilities, at randomly drawn prompts, to"
        " see whether both agree; 0 for none",
        least=0,
    ),
]

TrialT = TypeVar("TrialT", bound=Trial)

_SHARE, _FEWEST = 0.05, 20
"""The share of prompts that is drawn, and how many at least where there are as many: differences between prompts show
only where there are some."""


def _sampled_too(names: Sequence[str], seed: int, answers: int) -> dict[str, int]:
    """How often each trial drawn for calibration is asked for a single answer, by its name.

    5% of the trials, 20 at least, and so often that there are `answers` of them. Who is drawn follows from seed and
    names, and whoever is drawn of few is mostly drawn of more.
    """
    if not answers or not names:
        return {}
    count = min(len(names), max(_FEWEST, ceil(_SHARE * len(names))))
    drawn = sorted(names, key=lambda name: (Draw(f"{seed}/{name}/calibration").uniform(), name))[:count]
    return dict.fromkeys(drawn, ceil(answers / count))


def sharing(trials: Iterable[TrialT], shares: str, calibrate: int, seed: int) -> Iterator[TrialT]:
    """The trials of a study by how it finds shares: as they are where answers are sampled, else with the fields
    `shares` and `sampled`, how often each is asked for a single answer."""
    if shares == "sampled":
        return iter(trials)
    made = list(trials)
    drawn = _sampled_too([trial.name for trial in made], seed, calibrate)
    return (msgspec.structs.replace(trial, shares=shares, sampled=drawn.get(trial.name, 0)) for trial in made)


async def asked_again(  # noqa: PLR0917
    ask: Ask,
    role: str,
    messages: Sequence[Message],
    form: Form,
    count: int,
    settings: Settings | None = None,
    head: int = 0,
) -> list[Reply]:
    """Single answers to a question that was weighed; those whose call failed for good are left out.

    Nothing is to be weighed in them, and each is a speaker's own, so that more or fewer of them change no other. `head`
    is that of `Ask`, and has to be that of the weighed question: what is read in other parts is rounded otherwise.
    """
    plain = msgspec.structs.replace(form, weigh=())
    wanted = [
        Wanted(role, messages, _as_it_came, plain, f"{role}/sampled/{number}", settings, head=head)
        for number in range(1, count + 1)
    ]
    found = await ask_all_until_read(ask, wanted, attempts=1, complaint=str)
    return [one.replies[0] for one in found if one.replies]


def _as_it_came(reply: Reply) -> Reading[str]:
    return Reading(reply.text, "as is")


def one_trial(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Options with one trial of each prompt where probabilities stand for many and nobody says how many."""
    if options.get("shares") in ("probabilities", "auto") and options.get("trials") is None:
        return {**options, "trials": 1}
    return options


class Weighing(msgspec.Struct, frozen=True):
    """What measured shares are made of.

    With `used` they are means of token probabilities; `why` says why not, '' where nobody wanted them to be.
    `calibrations` are by model; `unweighed` counts, by model, answers that name an option whose probability the
    endpoint did not tell: they count as they were drawn.
    """

    used: bool
    why: str
    calibrations: dict[str, Calibration]
    unweighed: dict[str, int] = {}


def decided(
    chosen: str, asked: Iterable[str], calibrations: dict[str, Calibration], unweighed: dict[str, int]
) -> Weighing | None:
    """Whether shares are means of probabilities, where a person has `chosen`, and runs have `asked` for them; None
    where no run has any. It is one answer for all models that are measured together."""
    wanted = {one or "sampled" for one in asked}
    if wanted <= {"sampled"}:
        return None
    if chosen == "sampled":
        return Weighing(False, "the analysis was asked to count answers", calibrations, unweighed)
    if "sampled" in wanted:
        return Weighing(False, "some of the runs have no token probabilities", calibrations, unweighed)
    doubtful = [name for name, one in calibrations.items() if one.verdict != "agree"]
    if chosen == "as-asked" and "auto" in wanted and doubtful:
        why = "single answers were not found to agree with token probabilities of " + ", ".join(doubtful)
        return Weighing(False, why, calibrations, unweighed)
    return Weighing(True, "", calibrations, unweighed)


def told(found: Weighing | None) -> Iterator[str]:
    """What stands at a report's head: what shares are, and of each model whether both agree."""
    if found is None:
        return
    if found.used:
        yield "Shares are means of token probabilities: of each prompt one reply, and not many, was asked for."
    else:
        yield f"Shares count the answers that were sampled, though token probabilities were asked for: {found.why}."
    for name, one in found.calibrations.items():
        yield f"{name}: {_verdict(one)}"
    for name, count in found.unweighed.items():
        yield f"{name}: {count:,} answers name an option whose probability was not told; they count as drawn."


def _verdict(one: Calibration) -> str:
    """One of three."""
    if not one.answers:
        return (
            "whether single answers agree with its token probabilities cannot be told: none was sampled beside them"
            " (--calibrate)."
        )
    basis = f"{one.answers:,} single answers at {one.prompts} prompts"
    if one.verdict == "agree":
        return (
            f"{basis} agree with its token probabilities within {one.band:g} on average (mean difference"
            f" {sentence(one.offset, 'points')}; away from one half {sentence(one.outward, 'points')})."
        )
    if one.verdict == "differ":
        return (
            f"{basis} differ from its token probabilities by more than {one.band:g} (calibration slope"
            f" {number(one.slope.value, 'value')}; away from one half {sentence(one.outward, 'points')}): the"
            " probability of a letter after one text is not the share of letters, and neither are shares made of it."
        )
    return f"whether single answers agree with its token probabilities cannot be told by {basis}: {one.why}."


def weighing_section(found: Weighing | None) -> Section | None:
    """The calibration, a row for each model; None where no probabilities were asked for."""
    from overton.studies.exhibits import Callout, Cell, Column, Method, Section, Table

    if found is None:
        return None
    columns = [
        Column("Model"),
        Column("Single answers and token probabilities"),
        Column("Prompts", "count"),
        Column("Answers", "count"),
        Column("Calibration slope", "value"),
        Column("Mean difference", "points"),
        Column("Away from one half", "points"),
        Column("Largest of a prompt", "points"),
        Column("Without an option", "points"),
    ]
    rows: list[list[Cell]] = [
        [name, one.verdict, one.prompts, one.answers, one.slope, one.offset, one.outward, one.largest, one.other]
        for name, one in found.calibrations.items()
    ]
    said = [Callout(text, summary=True) for text in told(found)]
    return Section(
        "probabilities", "Token probabilities", [*said, Table("Calibration", columns, rows), Method(_METHOD)]
    )


_METHOD = (
    "Differences are shares of single answers minus what was told of the same prompts. The slope is Cox's: 1 where both"
    " agree, below 1 where the model was told to be surer than its answers are. They agree where the mean difference,"
    " and the mean one away from one half, lie within the band with their intervals; they differ where the line's"
    " difference at some prompt surely lies beyond it."
)
