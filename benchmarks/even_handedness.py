"""Does even-handedness recover the parameters of simulated models, and do its intervals cover them?

    python benchmarks/even_handedness.py [--simulations 500] [--first 0] [--topics 6 15] [--parts]

Each simulation runs the study's own protocol, including the null condition of every trial, with a simulated model and
judge. There are two pairs per topic, so that the topics by default are 12 pairs, and the 30 of the starter. The model
favours one side. It helps the other less with a probability that differs from topic to topic (Beta(1.2, 4)), refuses it
with 0.15, and hedges with 0.3. The judge names the dialogue shown first, unread, with a probability of 0.1. A row has
the true value, the mean estimate, the percentage of 95% intervals that cover the truth, and their mean width. `--parts`
gives the sums instead, so that parts of a long run can be combined.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from zlib import crc32

import msgspec
import numpy as np
import polars as pl

from overton.calls import Draw, Form, Message, Question, Reply, Request, Settings, Trial
from overton.engine.records import columns_of, record_type_columns
from overton.statistics import Estimate
from overton.studies.even_handedness import OpposedPair, Options, Record
from overton.studies.even_handedness.measures import analyze
from overton.studies.even_handedness.options import NULL
from overton.studies.even_handedness.protocol import conduct, trials
from overton.studies.even_handedness.simulated import Advocate, JudgeParameters, judged, said
from overton.studies.frame import Analysis

TOPICS = (6, 15)
PAIRS = 2
WEAKER = (1.2, 4.0)
REFUSES, HEDGES, PULL = 0.15, 0.3, 0.1

_mean = WEAKER[0] / sum(WEAKER)
_square = _mean * (WEAKER[0] + 1) / (sum(WEAKER) + 1)
_helped = (1 - REFUSES) * (1 - _mean)
_alike = REFUSES**2 + (1 - REFUSES) ** 2 * (_square + 1 - 2 * _mean + _square)
"""Two answers to the side that it does not favour: both refused, both weaker or neither."""

Of = Callable[[Analysis], Estimate]


def _prompts(measure: str) -> Of:
    """A difference between the two prompts."""
    return lambda one: one.estimate(measure, condition="none / prompt a", facet="prompt", against="prompt b")


MEASURES: Mapping[str, tuple[float, Of]] = {
    "`even`": ((1 - PULL) * _helped, lambda one: one.estimate("even")),
    "`even_as_published`": ((1 - PULL) * _helped, lambda one: one.estimate("even_as_published")),
    "`even`, one prompt twice": ((1 - PULL) * (1 + _alike) / 2, lambda one: one.estimate("even", variant=NULL)),
    "`even` against one prompt twice": (
        (1 - PULL) * (_helped - (1 + _alike) / 2),
        lambda one: one.estimate("even", against=NULL),
    ),
    "`gap`": ((1 - PULL) * (1 - _helped), _prompts("gap")),
    "difference of `complied`": (REFUSES, _prompts("complied")),
    "`declined_alone`, the other side": (
        REFUSES,
        lambda one: one.estimate("declined_alone", condition="none / prompt b", facet="prompt"),
    ),
    "difference of `hedged`": (-(1 - REFUSES) * HEDGES, _prompts("hedged")),
    "`pull`": (PULL, lambda one: one.estimate("pull")),
}


@dataclass
class Stage:
    """An `Ask` answered by the simulated model, with its parameters for the topic, and by the judge."""

    trial: Trial
    pairs: Sequence[OpposedPair]
    model: Advocate
    _numbers: dict[str, int] = field(default_factory=dict)

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **_: object,
    ) -> Reply:
        """The reply follows from the trial, who speaks, and how often it was asked before."""
        who = speaker or role
        number = self._numbers[who] = self._numbers.get(who, 0) + 1
        seed = crc32(f"{self.trial.seed}/{self.trial.name}/{who}/{number}".encode())
        request = Request(tuple(messages), Settings(), form, seed)

        def draw(purpose: str) -> Draw:
            return Draw(f"{seed}/{purpose}")

        if role == "subject":
            return Reply(said(self.model, self.pairs, request, draw) or "")
        return judged(JudgeParameters(pull=PULL), self.pairs, request, draw) or Reply("")

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """One after the other."""
        return [await self(q.role, q.messages, speaker=q.speaker, form=q.form) for q in questions]


def pair(number: int, topic: int) -> OpposedPair:
    """A pair of its own."""
    template = "Argue that {stance}."
    built, not_built = (f"bridge {number} should {word}" for word in ("be built", "not be built"))
    return OpposedPair(
        id=f"bridge-{number}",
        topic=f"topic-{topic:03}",
        task="argument",
        template=template,
        stance_a=built,
        stance_b=not_built,
        prompt_a=template.replace("{stance}", built),
        prompt_b=template.replace("{stance}", not_built),
        group_a=f"builders {topic}",
        group_b=f"keepers {topic}",
    )


def simulated(topics: int, seed: int) -> Analysis:
    """The study's results for one such model."""
    chances = np.random.default_rng((seed, topics)).beta(*WEAKER, topics)
    pairs = [pair(number, number // PAIRS) for number in range(PAIRS * topics)]
    models = [Advocate(weaker=float(chance), refuses=REFUSES, hedges=HEDGES) for chance in chances]
    options = Options(nulls=1.0, retest=0.0)
    rows = [
        record
        for place, trial in enumerate(trials(pairs, options, seed))
        for record in asyncio.run(conduct(trial, Stage(trial, [pairs[place]], models[place // PAIRS])))
    ]
    table = columns_of(rows, record_type_columns(Record)).with_columns(model=pl.lit("m"))
    return analyze(table)


class Coverage(msgspec.Struct):
    """Sums over simulations: how many have an interval, how many cover the truth, values and widths."""

    simulations: int = 0
    given: int = 0
    held: int = 0
    value: float = 0.0
    width: float = 0.0

    def add(self, truth: float, estimate: Estimate) -> None:
        """Count one more."""
        self.simulations += 1
        self.value += estimate.value
        if not isnan(estimate.low):
            self.given += 1
            self.held += estimate.low <= truth <= estimate.high
            self.width += estimate.high - estimate.low


def coverage(topics: int, simulations: int, first: int) -> Iterator[tuple[str, float, Coverage]]:
    """Each measure with its truth."""
    found = {name: Coverage() for name in MEASURES}
    for seed in range(first, first + simulations):
        result = simulated(topics, seed)
        for name, (truth, of) in MEASURES.items():
            found[name].add(truth, of(result))
    for name, (truth, _) in MEASURES.items():
        yield name, truth, found[name]


def main() -> None:
    """Print a table for each number of topics."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--simulations", type=int, default=500)
    arguments.add_argument("--first", type=int, default=0, help="number of the first, to continue an earlier run")
    arguments.add_argument("--topics", type=int, nargs="*", default=list(TOPICS))
    arguments.add_argument("--parts", action="store_true")
    chosen = arguments.parse_args()
    if not chosen.parts:
        print("| measure | pairs | truth | mean | covered | width |")
        print("|---|--:|--:|--:|--:|--:|")
    for topics in chosen.topics:
        for name, truth, one in coverage(topics, chosen.simulations, chosen.first):
            if chosen.parts:
                print(msgspec.json.encode([name, topics, truth, one]).decode(), flush=True)
            else:
                print(line(name, topics, truth, one), flush=True)


def line(name: str, topics: int, truth: float, one: Coverage) -> str:
    """A row of the table; after the coverage, the percentage with an interval if not all have one."""
    if not one.given:
        return f"| {name} | {PAIRS * topics} | {100 * truth:.1f} | {100 * one.value / one.simulations:.1f} | none | |"
    share = f"{100 * one.held / one.given:.1f}"
    share += "" if one.given == one.simulations else f" ({100 * one.given / one.simulations:.0f})"
    mean, width = 100 * one.value / one.simulations, 100 * one.width / one.given
    return f"| {name} | {PAIRS * topics} | {100 * truth:.1f} | {mean:.1f} | {share} | {width:.1f} |"


if __name__ == "__main__":
    main()
