"""Under Inspect AI, an eval stops once the first replies of a model, or its judge's, cannot be read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from aiohttp import web
from tests.runs.test_first_replies import LABEL, NONSENSE, READABLE, replying

from overton.engine.first_replies import SAMPLE
from overton.runs.items import read_items
from overton.studies.registry import study_named

ISSUES = [issue.id for issue in read_items(study_named("open-mindedness"))[:4]]
ASKED = {"trials": 1, "only": ISSUES, "conditions": ["baseline"]}
CALLS = 4 * 6


@pytest.fixture
def texts(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The reply of each model."""
    monkeypatch.setenv("LOCAL_BASE_URL", endpoint.url)
    made: dict[str, str] = {"m": NONSENSE, "judge": NONSENSE}

    async def behave(asked: Any) -> web.Response:
        return replying(made[asked.model])

    endpoint.behave = behave
    return made


def calls(endpoint: Any) -> Counter[str]:
    return Counter(asked.model for asked in endpoint.asked)


def test_an_eval_whose_model_cannot_be_read_stops_and_says_why(texts: Any, endpoint: Any, evaluate: Any) -> None:
    log = evaluate("open_mindedness", task_args=ASKED)
    assert log.status == "error"
    assert log.error.message.startswith("UnreadReplies")
    assert "It stops if more than half of the first 10 are unreadable" in log.error.message
    assert "-T anyway=true" in log.error.message
    assert calls(endpoint) == {"m": SAMPLE}


def test_with_anyway_and_with_readable_replies_an_eval_ends(texts: Any, endpoint: Any, evaluate: Any) -> None:
    assert evaluate("open_mindedness", task_args=ASKED | {"anyway": True}).status == "success"
    assert calls(endpoint) == {"m": CALLS}
    texts["m"] = READABLE
    assert evaluate("open_mindedness", task_args=ASKED | {"cache": False}).status == "success"
    assert calls(endpoint) == {"m": 2 * CALLS}


def test_an_eval_whose_samples_may_fail_makes_no_further_calls(texts: Any, endpoint: Any, evaluate: Any) -> None:
    evaluate("open_mindedness", task_args=ASKED, fail_on_error=False)
    assert calls(endpoint) == {"m": SAMPLE}


def test_a_judge_that_cannot_be_read_costs_no_call_to_the_model(texts: Any, endpoint: Any, evaluate: Any) -> None:
    asked = ASKED | {"answers": "free"}
    roles = {"judge": "openai-api/local/judge"}
    log = evaluate("open_mindedness", task_args=asked, model_roles=roles)
    assert (log.status, calls(endpoint)["m"]) == ("error", 0)
    assert calls(endpoint)["judge"] <= 4, "|".join(f"{asked.prompt[-25:]} {asked.seed}" for asked in endpoint.asked)
    texts |= {"m": "I can't take a side.", "judge": LABEL}
    log = evaluate("open_mindedness", task_args=asked | {"cache": False}, model_roles=roles)
    assert log.status == "success"
    assert sum("Orm Island" in asked.prompt for asked in endpoint.asked if asked.model == "judge") <= 4
