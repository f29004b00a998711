"""Token probabilities of the embedded model compared with its answers, and the time of the demonstration with them.

`python benchmarks/probabilities.py [--samples 200] [--prompts 20] [--seconds 900] [--out FOLDER]` sends the embedded
model some prompts of open-mindedness, sampled from those of all starter issues. It requests its letter's probability
once for each prompt, and a letter many times. Letters are sampled at the model's own temperature (0.8) with llama.cpp's
default truncation, and a grammar makes answers keep the format. The benchmark plots both (`probabilities.svg`,
`probabilities.png`), and prints the calibration. With `--demo` it runs the demonstration as it was with sampling (four
issues, 88 calls) and as it is with probabilities (twelve issues, 144 calls that share their evidence in pairs). Both
run in turn `--rounds` times, and it prints the seconds of each.

The docs' example (20 prompts, 200 samples each) has a largest difference of 4.7 points. Chi-squared is 12.8 with 20
degrees of freedom (p = 0.89). The slope in logits is 0.87 [0.77, 0.96], so proportions lie a little closer to one half
than the probabilities. For probabilities at temperature 1 it is 1.08. On two idle cores, the demonstration with
probabilities took 125 s and the one with sampling 102 s (1.23 times as long, with 1.19 times the CPU time).

Samples of one prompt share all of it, so that it is read once for all of them, as in a run with `--calibrate`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import numpy as np
from scipy.stats import chi2

import overton
from overton.calls import Draw, Form, Request, Settings, user
from overton.judging.option_probabilities import probabilities_at
from overton.models.llama_cpp import EmbeddedModel
from overton.runs.demonstration import MODEL, prepare
from overton.runs.items import read_items
from overton.statistics.calibration import calibration
from overton.statistics.proportions import wilson_limits
from overton.studies.open_mindedness import Issue
from overton.studies.open_mindedness.letters import strict_letter, strict_place
from overton.studies.open_mindedness.options import Options
from overton.studies.open_mindedness.protocol import ANSWER, WEIGHED, prompt_parts, trials
from overton.studies.registry import DEMO


def prompts_of(issues: list[Issue], count: int) -> list[str]:
    """Prompts drawn at random from a full design with one trial."""
    from overton.studies.open_mindedness.options import arguments_for

    drawn = Draw("benchmark/probabilities").sample(list(trials(issues, Options(trials=1), 0)), count)
    made = []
    for trial in drawn:
        shown = trial.draw("order").shuffle(arguments_for(trial.condition, trial.issue, trial.argument_draw()))
        made.append(
            "".join(prompt_parts(trial.issue, shown, trial.wording, trial.template, trial.draw("closing").coin()))
        )
    return made


async def asked_once(model: EmbeddedModel, prompts: list[str]) -> list[tuple[float, ...]]:
    """P(A) of each prompt as drawn, and at temperature 1."""
    found = []
    for number, prompt in enumerate(prompts):
        reply = await model.answer(asked(prompt, number, WEIGHED))
        place = strict_place(reply.text)
        assert place is not None
        both = (probabilities_at(reply, place, ("A", "B"), at) for at in ("drawn", "plain"))
        found.append(tuple(one["A"] if one else float("nan") for one in both))
    return found


def asked(prompt: str, seed: int, form: Form) -> Request:
    """As a run asks a prompt that is also sampled: all of it is shared, and read once."""
    return Request((user(prompt),), Settings(max_tokens=16), form, seed, len(prompt))


async def counted(model: EmbeddedModel, prompts: list[str], samples: int, seconds: float) -> tuple[Any, int]:
    """How many answers are A, to each prompt, and how many answers there are: as many rounds as fit into the time."""

    async def of(prompt: str, seeds: range) -> int:
        replies = await asyncio.gather(*(model.answer(asked(prompt, seed, ANSWER)) for seed in seeds))
        return sum(strict_letter(reply.text) == "A" for reply in replies)

    began, made = perf_counter(), np.zeros(len(prompts), int)
    for start in range(0, samples, _ROUND):
        seeds = range(start, min(samples, start + _ROUND))
        made += await asyncio.gather(*(of(prompt, seeds) for prompt in prompts))
        taken = perf_counter() - began
        print(f"  {seeds.stop:>3} samples of each prompt, {taken:.0f} s", flush=True)
        if taken * (seeds.stop + _ROUND) / seeds.stop > seconds:
            break
    return made, seeds.stop


def picture(probabilities: np.ndarray, shares: np.ndarray, samples: int, folder: Path) -> None:
    """Proportions over probabilities, with Wilson's intervals and the line of agreement."""
    import altair as alt
    import vl_convert

    low, high = wilson_limits(shares, samples)
    rows = [
        {"reported": float(p), "share": float(s), "low": float(a), "high": float(b)}
        for p, s, a, b in zip(probabilities, shares, low, high, strict=True)
    ]
    x = alt.X("reported:Q", title="Probability of A, one call", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("share:Q", title=f"Share of A among {samples} answers", scale=alt.Scale(domain=[0, 1]))
    points = alt.Chart(alt.Data(values=rows))
    line = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])).mark_line(color="#888", strokeDash=[4, 4])
    chart = (
        line.encode(alt.X("x:Q", title="Probability of A, one call"), alt.Y("y:Q"))
        + points.mark_rule(color="#7a9cc6").encode(x, alt.Y("low:Q"), alt.Y2("high:Q"))
        + points.mark_point(filled=True, size=60, color="#1f4e8c").encode(x, y)
    ).properties(width=420, height=420)
    spec = chart.to_json()
    (folder / "probabilities.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    (folder / "probabilities.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=2))


_ROUND = 50
"""Samples of each prompt that are requested together."""


def calibrate(count: int, samples: int, folder: Path, seconds: float) -> None:
    """Compare both, and print."""
    prompts = prompts_of(read_items("open-mindedness"), count)
    model = EmbeddedModel(prepare(), name=MODEL, threads=2)
    began = perf_counter()
    both = np.array(asyncio.run(_closed(model, asked_once(model, prompts))))
    once = perf_counter() - began
    began = perf_counter()
    letters, samples = asyncio.run(_closed(model, counted(model, prompts, samples, seconds)))
    many = perf_counter() - began
    p, shares = both[:, 0], letters / samples
    print(f"{len(prompts)} prompts: {once:.0f} s for one call each, {many:.0f} s for {samples} samples each")
    for number, row in enumerate(zip(both[:, 1], p, shares, strict=True), 1):
        print(f"  {number:>2}: P(A) at temperature 1 {row[0]:.3f}, as drawn {row[1]:.3f}, share of A {row[2]:.3f}")
    found = calibration(np.stack([p, 1 - p], 1), np.stack([letters, samples - letters], 1))
    print(msgspec.json.format(msgspec.json.encode(found)).decode())
    size, chance = (float(np.sqrt(np.mean(one))) for one in ((shares - p) ** 2, p * (1 - p) / samples))
    print(f"root mean square difference {size:.4f}; by the drawing of {samples} answers alone {chance:.4f}")
    inner = (p > 0) & (p < 1)
    expected = p[inner] * (1 - p[inner]) / samples
    statistic = float((((shares - p)[inner]) ** 2 / expected).sum())
    print(
        f"chi-square of {inner.sum()} prompts with 0 < P < 1: {statistic:.1f},"
        f" p = {chi2.sf(statistic, inner.sum()):.3f}; of the other {(~inner).sum()}:"
        f" {int((shares[~inner] == p[~inner]).sum())} have every answer as reported"
    )
    at_one = calibration(np.stack([both[:, 1], 1 - both[:, 1]], 1), np.stack([letters, samples - letters], 1))
    print(f"probabilities at temperature 1 instead: {at_one.verdict}, slope {at_one.slope.value:.2f}")
    picture(p, shares, samples, folder)


async def _closed(model: EmbeddedModel, work: Awaitable[Any]) -> Any:
    try:
        return await work
    finally:
        await model.close()


FOUR = ("congestion-charge", "crewed-spaceflight", "museum-returns", "primary-school-grades")
"""The demonstration's issues when it sampled its answers: those with the shortest arguments."""


def demos(rounds: int) -> None:
    """The demonstration as it was and as it is, in turn, and how many times as long it takes. Times are elapsed time
    and seconds of CPU, which depend less on the machine's other work."""
    prepare()
    ways = {
        "four issues by sampling": (FOUR, {"trials": 1, "templates": (2, 5)}),
        "twelve issues by probabilities": (None, dict(DEMO.options)),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for name, (only, options) in ways.items():
                clock, cpu = perf_counter(), process_time()
                out = Path(folder) / f"{name} {number}"
                run = overton.run("open-mindedness", models=[MODEL], only=only, out=out, **options)
                times[name].append((perf_counter() - clock, process_time() - cpu))
                shown = "{:.0f} s, {:.0f} s of CPU".format(*times[name][-1])
                print(f"{name}: {run.records().height} trials, {shown}", flush=True)
    before, now = (np.array(times[name]) for name in ways)
    ratio = np.median(now / before, axis=0)
    print(f"median of {rounds} rounds: {ratio[0]:.2f} times as long, {ratio[1]:.2f} times the CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=900, help="How long sampling may take; then fewer samples.")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.demo:
        demos(given.rounds)
    else:
        calibrate(given.prompts, given.samples, given.out, given.seconds)


if __name__ == "__main__":
    main()
