"""Commands to carry out and kill: one for each study in both execution backends, and for all else that asks or
writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.hostile.server import INPUT, OUTPUT

__all__ = ["CONNECTIONS", "Scenario", "inputs", "scenarios"]

CONNECTIONS = 4


@dataclass(frozen=True)
class Scenario:
    """A command, how it goes on after a kill, and which output is compared.

    `begin` is started in `folder`, whose `out` is the run. `prepared` words were carried out before, once, and their
    outcome is copied. `asks` whether it asks models, so that limits can be set. A reply costs `reply` dollars at the
    price that models are given, which exceeds what one call may cost at worst by `excess`. `provider` are switches of
    the provider of batches, who then may be paid for no call twice.
    """

    name: str
    begin: tuple[str, ...]
    models: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    asks: bool = True
    inspect: bool = False
    reply: float = (INPUT * 10.0 + OUTPUT * 100.0) / 1e6
    excess: float = 0.0
    provider: Mapping[str, Any] = field(default_factory=dict)


def scenarios(url: str) -> list[Scenario]:
    """All of them, with the endpoint at `url`."""

    def model(name: str, flag: str = "--model", allowed: int = 40, price: str = "10") -> tuple[str, ...]:
        arguments = ("seed=5", f"connections={CONNECTIONS}", "key_env=OPENAI_API_KEY", f"max_tokens={allowed}")
        pairs = [word for one in arguments for word in ("--model-arg", name, one)]
        return (flag, f"{name}={url}#{name}", *pairs, "--price", name, price, "100")

    m, judge, writer = model("m"), model("judge", "--judge"), model("writer")
    table = (*model("m", "--agent"), *model("n", "--agent"), *model("values", "--values-judge"))
    anthropic = ("--model", "m=anthropic/claude-m", "--price", "m", "10", "100")
    for argument in (f"base_url={url}", f"connections={CONNECTIONS}", "max_tokens=40"):
        anthropic += ("--model-arg", "m", argument)
    small = (*_MILLSTONE.split(), *m)
    dear = tuple(word for name in ("m", "n") for word in model(name, allowed=_FEW, price="0"))
    excess = {"reply": OUTPUT * 100.0 / 1e6, "excess": (OUTPUT - _FEW) * 100.0 / 1e6}
    chameleon = (
        ["run", "stance-stability", "--turns", "4", "--search", "starter", "--out", "out"],
        _only("stance-stability"),
        m,
        judge,
    )
    pluralist = (
        ["run", "pluralism", "--responses", "3", "--ranked", "5", "--out", "out"],
        _only("pluralism"),
        m,
        judge,
    )
    deliberator = (["run", "deliberation", "--rounds", "3", "--out", "out"], _only("deliberation"), table)
    return [
        Scenario("open-mindedness", small, ("m",)),
        Scenario("open-mindedness --batch", (*small, "--batch"), ("m",)),
        Scenario("bills too much", (*_MILLSTONE.split(), *dear), ("m", "n"), **excess),
        Scenario("bills too much --batch", (*_MILLSTONE.split(), *dear, "--batch"), ("m", "n"), **excess),
        Scenario("batches made with errors", (*small, "--batch"), ("m",), provider=_ERRORS),
        Scenario("the same, Anthropic", (*_MILLSTONE.split(), *anthropic, "--batch"), ("m",), provider=_ERRORS),
        Scenario("stance-stability --batch", _joined(*chameleon, ["--batch"]), ("m", "judge")),
        Scenario("stance-stability", _joined(*chameleon), ("m", "judge")),
        Scenario("pluralism", _joined(*pluralist), ("m", "judge")),
        Scenario("deliberation", _joined(*deliberator), ("m", "n", "values")),
        Scenario("extend", ("extend", "out", "--trials", "4"), ("m",), prepared=small),
        Scenario("extend imported", ("extend", "out", "--trials", "4", "--trust"), ("m",), prepared=small),
        Scenario("import", ("import", "logs", "--out", "out"), prepared=small, asks=False),
        Scenario("items rephrase", (*_REPHRASE.split(), *writer), ("writer",)),
        Scenario("items audit", (*_AUDIT.split(), *judge), ("judge",)),
        Scenario("items topics", (*_TOPICS.split(), *writer), ("writer",)),
        Scenario("items references", (*_REFERENCES.split(), *writer), ("writer",)),
        Scenario("judge stance-stability", (*_JUDGING.split(), *judge), ("judge",)),
        *(Scenario(f"inspect {name}", words, asks=False, inspect=True) for name, words in _inspected().items()),
    ]


_FEW = 2
"""Output tokens that a model may take that takes `OUTPUT`; its input is free."""
_ERRORS = {"trouble": {"upload": ["done 500", "done drop"], "create": ["done 500", "done garbled"]}, "looks": 2}
"""A provider that creates the requested batch and then reports a failure."""
_MILLSTONE = "run open-mindedness --issues issues.jsonl --trials 2 --template 1 --condition balanced --out out"
_TOPICS = "items topics --domain Climate --domain Health --per-domain 6 --out out"
_REFERENCES = "items references threads.jsonl --method single-shot --out out"
_REPHRASE = "items rephrase issues.jsonl --again --out out"
_AUDIT = "items audit issues.jsonl --out out"
_JUDGING = "judge stance-stability turns.jsonl --out out"
_INSPECTED = {
    "open-mindedness": "-T trials=2 -T templates=1 -T conditions=baseline,balanced -T items=issues.jsonl",
    "stance-stability": "--model-role judge=openai-api/local/judge -T turns=3 -T search=starter",
    "pluralism": "--model-role judge=openai-api/local/judge -T responses=3 -T ranked=5",
    "deliberation": "--model-role values_judge=openai-api/local/values -T rounds=3",
}


def _inspected() -> dict[str, tuple[str, ...]]:
    """Evaluations by study, each of the first items."""
    shared = f"--model openai-api/local/m --max-connections {CONNECTIONS} --seed 5 --display none --log-dir logs"
    return {
        study: (
            *f"eval overton/{study.replace('-', '_')} {shared} {words}".split(),
            *(() if study == "open-mindedness" else ("-T", f"only={','.join(_first(study))}")),
        )
        for study, words in _INSPECTED.items()
    }


def _joined(*parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for part in parts for word in part)


def _first(study: str) -> list[str]:
    """The first two of its items."""
    from overton.runs.items import read_items

    return [item.id for item in read_items(study)[:2]]


def _only(study: str) -> tuple[str, ...]:
    return tuple(word for one in _first(study) for word in ("--only", one))


def inputs(folder: Path) -> None:
    """Files that commands are given."""
    import msgspec

    from overton.runs.items import read_items
    from overton.studies.pluralism.items import starter_threads

    lines = [msgspec.json.encode(item) for item in read_items("open-mindedness")[:10]]
    (folder / "issues.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    threads = starter_threads().read_bytes().splitlines()[:2]  # type: ignore[attr-defined]
    (folder / "threads.jsonl").write_bytes(b"\n".join(threads) + b"\n")
    turns = [
        {
            "conversation": f"c{talk}",
            "turn": turn,
            "question": "Why?",
            "answer": f"It is so, {talk}.{turn}.",
            "topic": "trams",
        }
        for talk in range(6)
        for turn in range(1, 5)
    ]
    (folder / "turns.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
