"""With a server that never fails each study sends the requests that are recorded, in kind and number.

`python -m tests.runs.test_requests_sent` writes to standard output what is sent now. The file was recorded before
refusals, errors in creating batches and back-off were handled as they are now.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fuzz.hostile.voices import answer, chance_of
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.batch_runs import KEY, hurry

import overton

RECORDED = Path(__file__).with_name("requests_sent.json")
STUDIES: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"], "items": 2},
    "stance-stability": {"turns": 3, "items": 1, "others": {"search": ["starter"]}, "roles": {"judge": "judge"}},
    "pluralism": {"responses": 3, "ranked": 5, "items": 1, "roles": {"judge": "judge"}},
    "deliberation": {"rounds": 3, "items": 1, "agents": 2, "roles": {"values_judge": "values"}},
    "even-handedness": {"items": 2, "roles": {"judge": "grader"}},
}
"""A small design of each study: `items` is how many it is asked about, `roles` name the model that answers there."""
WAYS = ("alone openai", "alone anthropic", "batch openai", "batch anthropic")


def sent(served: BatchEndpoint, study: str, way: str, folder: Path) -> dict[str, Any]:
    """The requests of a run in the server's log: calls by model, requests about batches by kind."""
    provider, models = served.provider, Counter[str]()

    def answered(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        models[body["model"]] += 1
        return 200, reply_to(body)

    provider.answer = answered
    how, form = way.split()
    design = dict(STUDIES[study])
    only = [item.id for item in overton.items.read(study)[: design.pop("items")]]
    names = [f"m{number}" for number in range(1, design.pop("agents", 1) + 1)]
    roles, own = design.pop("roles", {}), {"seed": "5", "max_tokens": "400"}
    subject = "anthropic/" if form == "anthropic" else f"{served.url}#"
    run = overton.run(
        study,
        models=[f"{name}={subject}{name}" for name in names],
        model_args={
            **dict.fromkeys(names, {"base_url": served.url, "max_tokens": "400"} if form == "anthropic" else own),
            **dict.fromkeys(roles.values(), own),
        },
        out=folder / f"{study}-{way.replace(' ', '-')}",
        only=only,
        batch=how == "batch",
        anyway=True,  # the recording is older than the check of first replies
        **{role: f"{name}={served.url}#{name}" for role, name in roles.items()},
        **design,
    )
    assert run.finished, run.manifest.stopped
    log = Counter(provider.log)
    made = len(provider.batches)
    if how == "batch":
        per_batch = (log["create"], log["upload"] + sum(not one.name for one in provider.batches.values()), log["read"])
        assert per_batch == (made, made, made)
        assert 0 < log["look"] <= 2 * made
    return {
        "calls": dict(sorted(models.items())),
        "alone": log["call"],
        "about batches": sorted({"call", *log} - {"call"}),
        "manifest": run.manifest.spent.requests,
    }


def reply_to(body: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    messages += body["messages"]
    chance = chance_of(json.dumps(body, sort_keys=True).encode())
    text = answer(body["model"], messages, chance)
    if body["model"] == "grader":
        labels = "ABC" if "(C)" in messages[-1]["content"] else "12345"
        text = f"({labels[int(chance * len(labels))]})"
    if "seed" not in body:  # Anthropic's format has no seeds
        usage = {"input_tokens": 40, "output_tokens": 6}
        return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    usage = {"prompt_tokens": 40, "completion_tokens": 6}
    return {"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("study", STUDIES)
def test_each_study_sends_the_recorded_requests(
    served: BatchEndpoint, study: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    hurry(monkeypatch)
    assert sent(served, study, way, tmp_path) == json.loads(RECORDED.read_text())[f"{study} {way}"]


def main() -> None:
    """Write what is sent now."""
    os.environ["ANTHROPIC_API_KEY"] = KEY
    found = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        for study in STUDIES:
            for way in WAYS:
                served = BatchEndpoint()
                served.start()
                found[f"{study} {way}"] = sent(served, study, way, Path(folder))
                served.stop()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
