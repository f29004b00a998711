"""All recorded results, made again by the present code: plain JSON without addresses, folders and dates."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.stored_runs import ARCHIVES, GATES, LABELS, RUNS, unpack

from . import calls, mapping
from .cases import DATA, ITEMS, STUDIES, TABLE_CASES, TABLES, TOGETHER, Case
from .studies import CASES as ASKED
from .studies import make

Json = Any

_RESAMPLES = 2000
"""Of analyses with default options."""

_ONE_MODEL = "stored-even-handedness-stopped"
"""This run stopped before its second model."""
_ON_PURPOSE = "runs differ on purpose"

ENDPOINT = "http://endpoint/v1"
"""The endpoint's address in recorded results."""


def redo(name: str, folder: Path, address: str) -> dict[str, Json]:
    """The results of the case `name` now: plan, records, calls and analyses, where it has them."""
    if name in STUDIES:
        found = _study(STUDIES[name], folder / "run", address)
    elif name in STORED:
        found = _stored(name, folder)
    elif name in GATED:
        found = _gated(GATED[name], folder)
    elif name in TOGETHER:
        found = _together(TOGETHER[name], folder)
    elif name == "tables":
        found = _analysed({one: (table.study, table.path, table.how) for one, table in TABLE_CASES.items()})
    elif name in ASKED:
        found = make(name, folder)
    else:
        found = MAKERS[name](folder, address)
    return json.loads(_plain(json.dumps(found), folder, address))


def _plain(text: str, folder: Path, address: str) -> str:
    return text.replace(address, ENDPOINT).replace(json.dumps(str(folder))[1:-1], "FOLDER")


def called(name: str, out: Path, address: str) -> Json:
    """The identities of the calls of a study's case alone, made again."""
    return calls.identities(calls.run_study(**_arguments(STUDIES[name], address), out=out))


def _study(case: Case, out: Path, address: str) -> dict[str, Json]:
    arguments = _arguments(case, address)
    plan = calls.plan_study(**arguments)
    run = calls.run_study(**arguments, out=out)
    made = _analysed({name: (case.study, run, how) for name, how in case.analyses.items()})
    if not case.documents:
        del made["analyses"]
    return {"plan": plan, **_run(run), **made}


def _analysed(wanted: Mapping[str, tuple[str, Path, Mapping[str, Any]]]) -> dict[str, Json]:
    """Analyses by name, of a study and a source: each as a document, and as numbers by what they measure."""
    made = {
        name: calls.analyze(study, source, mapping.how(study, how)) for name, (study, source, how) in wanted.items()
    }
    return {
        "analyses": {name: document for name, (document, _) in made.items()},
        "numbers": {name: numbers for name, (_, numbers) in made.items()},
    }


def _stored(name: str, folder: Path) -> dict[str, Json]:
    """A stored run as it is analysed with default options, and its models compared."""
    run = unpack(name.removeprefix(_STORED), folder)
    document, numbers = calls.analyze(STORED[name], run, {})
    found = {"analyses": {"all": document}, "numbers": {"all": numbers}}
    if len(RUNS[_run_of(name)].models) > 1 and name != _ONE_MODEL:
        found["compared"] = calls.compare([run])
    return found


def _run_of(name: str) -> str:
    """The stored run of a case, which a sample of labels is of."""
    stored = name.removeprefix(_STORED)
    return LABELS[stored].run if stored in LABELS else stored


def base_of(name: str) -> str:
    """For a stored run with human labels the case of the same run without them; '' for any other case."""
    return _STORED + _run_of(name) if name.removeprefix(_STORED) in LABELS else ""


def _gated(study: str, folder: Path) -> dict[str, Json]:
    """The outcome of the gate of 0.2.0, and a new baseline of the same run."""
    case, stored = GATES[study], ARCHIVES / "gates" / study
    base, candidate = (_model_of(one, folder) for one in (case.base, case.candidate))
    return {
        "gated": calls.gate(stored / "baseline.json", candidate, stored / "gate.toml", _ON_PURPOSE),
        "baseline": calls.baseline(base, folder / "baseline.json"),
    }


def _together(sources: tuple[str, ...], folder: Path) -> dict[str, Json]:
    """Models of several stored runs of a study, compared pairwise."""
    return {"compared": calls.compare([_model_of(one, folder) for one in sources], _ON_PURPOSE)}


def _model_of(source: str, folder: Path) -> str:
    run, _, model = source.partition("#")
    return f"{folder / run if (folder / run).exists() else unpack(run, folder)}#{model}"


def _arguments(case: Case, address: str) -> dict[str, Any]:
    """The arguments of a study's run or plan."""

    def at(spec: str) -> str:
        return spec.replace("@", address, 1) if spec.startswith("@") else spec

    return {
        "name": case.study,
        "models": [at(spec) for spec in case.models],
        "others": {role: [at(spec) for spec in specs] for role, specs in case.others.items()},
        "items": ITEMS.get(case.study),
        "only": case.only,
        "options": mapping.options(case.study, case.options),
        "model_args": {at(spec): given for spec, given in case.model_args.items()},
    }


def _run(run: Path) -> dict[str, Json]:
    return {"records": calls.records(run), "calls": calls.identities(run)}


def _rephrase(folder: Path, address: str) -> dict[str, Json]:
    run = calls.rephrase(DATA / "procon", f"{address}#writer", folder / "run")
    return {**_run(run), "dataset": _lines(run / "issues.jsonl")}


def _audit(folder: Path, address: str) -> dict[str, Json]:
    issue = DATA / "procon" / "night-buses.json"
    judges = [f"{address}#auditor", f"{address}#second-auditor"]
    run, agreement = calls.audit(issue, judges, folder / "run", mapping.options("audit", {}))
    return {**_run(run), "summary": agreement}


def _topics(folder: Path, address: str) -> dict[str, Json]:
    run = calls.make_topics(["Public Transport", "Roads"], f"{address}#topics", 3, folder / "run")
    return {**_run(run), "dataset": _lines(run / "topics.jsonl")}


def _references(method: str, **options: Any) -> Callable[[Path, str], dict[str, Json]]:
    def build(folder: Path, address: str) -> dict[str, Json]:
        threads, model = TABLES / "threads.jsonl", f"{address}#views"
        run = calls.build_references(threads, model, method, folder / "run", options)
        plan = calls.plan_references(threads, model, [method])
        return {"plan": plan, **_run(run), "dataset": _lines(run / "references.jsonl")}

    return build


def _compared(folder: Path, address: str) -> dict[str, Json]:
    threads, methods = TABLES / "threads.jsonl", ("single-shot", "algorithm-1")
    run, comparison = calls.compare_clusterings(threads, f"{address}#views", methods, folder / "run")
    return {**_run(run), "summary": comparison}


def _dilemmas(folder: Path, address: str) -> dict[str, Json]:
    story = "My sister &amp; I share a fridge. She ate my cheese. " * 25
    said = {
        "split": ("NTA, sorry.", "YTA", "You did what you could.", "I am torn.", "Hm, hard."),
        "agreed": ("NTA", "NTA", "Well, well.", "It depends on the cheese."),
    }
    post = {"author": "teller", "created_utc": 1735689600, "score": 5, "subreddit": "AmItheAsshole"}
    posts = [post | {"id": name, "title": f"AITA for my cheese, {name}?", "selftext": story} for name in said]
    comment = {"author": "reader", "created_utc": 1735689700, "score": 2, "subreddit": "AmItheAsshole"}
    comments = [
        comment | {"id": f"{name}{k}", "link_id": f"t3_{name}", "parent_id": f"t3_{name}", "body": body}
        for name, bodies in said.items()
        for k, body in enumerate(bodies)
    ]
    files = _written(folder / "posts.ndjson", posts), _written(folder / "comments.ndjson", comments)
    run, steps = calls.build_dilemmas(*files, f"{address}#crowd", folder / "dilemmas.jsonl")
    return {**_run(run), "dataset": _lines(folder / "dilemmas.jsonl"), "summary": steps}


def _transcripts(folder: Path, address: str) -> dict[str, Json]:
    answers = ("My stance: supportive, clearly.", "My stance: critical, likely.", "I do not say.")
    file = folder / "turns.csv"
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["conversation", "turn", "question", "answer", "model", "cited"])
        for name in ("a", "b"):
            for turn, answer in enumerate(answers, 1):
                writer.writerow([name, turn, f"Why {turn}?", answer, f"some/{name}", f"https://{name}.example/"])
    options = mapping.options("stance-stability", {"judge_prompts": "both", "judged_characters": 300})
    run = calls.judge_transcripts(file, "simulated/stance-judge", folder / "run", options)
    return {**_run(run), **_analysed({"few": ("stance-stability", run, {"resamples": 200, "seed": 3})})}


MAKERS: dict[str, Callable[[Path, str], dict[str, Json]]] = {
    "rephrase": _rephrase,
    "audit": _audit,
    "topics": _topics,
    "references-algorithm-1": _references("algorithm-1", alpha=0.3),
    "references-single-shot": _references("single-shot"),
    "references-goalex": _references("goalex"),
    "references-topicgpt": _references("topicgpt"),
    "compared-clusterings": _compared,
    "dilemmas": _dilemmas,
    "judged-transcripts": _transcripts,
}

_STORED = "stored-"
STORED: dict[str, str] = {
    **{_STORED + name: run.study for name, run in RUNS.items()},
    **{_STORED + name: RUNS[labels.run].study for name, labels in LABELS.items()},
}
"""The study of each stored run and each stored sample of labels: what an analysis with default options gives."""

GATED: dict[str, str] = {f"gate-{study}": study for study in GATES}
"""The study of each stored gate."""

CASES = (*STUDIES, *MAKERS, *STORED, "tables", *GATED, *TOGETHER, *ASKED)
"""Every case by name."""


def study_of(name: str) -> str:
    """The study by whose form a case's records and plan are compared."""
    if name in STORED:
        return STORED[name]
    if name in GATED:
        return GATED[name]
    if name in TOGETHER:
        return name.removeprefix("together-")
    return STUDIES[name].study if name in STUDIES else {"judged-transcripts": "stance-stability"}.get(name, name)


def analysed(name: str) -> Mapping[str, tuple[str, int]]:
    """The study and the resamples of each of a case's analyses."""
    if name == "tables":
        return {one: (table.study, table.how["resamples"]) for one, table in TABLE_CASES.items()}
    if name in STORED:
        drawn = mapping.STRATIFIED if "-labels-stratified-" in name else mapping.STORED
        return {"all": (drawn + STORED[name], _RESAMPLES)}
    if name in STUDIES:
        return {
            one: (STUDIES[name].study, how.get("resamples", _RESAMPLES)) for one, how in STUDIES[name].analyses.items()
        }
    if name in ASKED:
        return {"default": (name, _RESAMPLES)}
    return {"few": ("stance-stability", 200)}


def _written(path: Path, things: Iterable[Json]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in things), "utf-8")
    return path


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
