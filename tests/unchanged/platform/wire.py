"""The bytes of requests in each wire format, as a server on the loopback reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.unchanged.platform import internals
from tests.unchanged.platform.listening import Listener, Received, listening

import overton
from overton.errors import AnswerError

__all__ = ["CASES", "KEY", "RUNS", "STUDIES", "keys", "run_at", "sending"]

KEY = "sk-test-0123456789abcdefghij"
_VARIABLES = ("OPENAI", "ANTHROPIC", "MISTRAL", "XAI", "GROQ", "OPENROUTER", "SERPER", "BRAVE", "OVERTON")
_MOST = 4
"""Requests of a run that are kept in full; the others by a digest of their bodies."""

_GENERATION = {"temperature": "0.5", "top_p": "0.9", "max_tokens": "64", "seed": "7", "extra.user": '"é"'}
_CLAUDE = {"temperature": "0.5", "top_p": "0.9", "max_tokens": "64", "extra.top_k": "3"}
_SINGLE: dict[str, tuple[str, Mapping[str, str]]] = {
    "openai": ("openai/gpt-4o", {}),
    "openai, with settings": ("openai/gpt-4o", _GENERATION),
    "openai, reasoning": ("openai/o3-mini", {"max_tokens": "64", "reasoning_effort": "low"}),
    "openrouter": ("openrouter/some/model", _GENERATION),
    "mistral": ("mistral/mistral-small-2503", _GENERATION),
    "vllm without a key": ("vllm/some-model", _GENERATION),
    "a server by its address": ("@/v1#some/model", _GENERATION),
    "anthropic": ("anthropic/claude-sonnet-4-5", {}),
    "anthropic, with settings": ("anthropic/claude-sonnet-4-5", _CLAUDE),
    "anthropic, a budget to think": ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "medium"}),
    "anthropic, an effort in a word": ("anthropic/claude-opus-5", {"reasoning_effort": "high"}),
    "anthropic, no thinking": ("anthropic/claude-opus-5", {"reasoning_effort": "none"}),
}
"""One question to a model: the spec and its arguments."""

_TALK = {"items": 1, "turns": 2, "temperatures": [0.5]}
RUNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "study": "open-mindedness",
        "trials": 1,
        "templates": [1, 2],
        "conditions": ["baseline", "balanced"],
    },
    "open-mindedness-held": {
        **{"study": "open-mindedness", "trials": 1, "templates": [1, 2], "conditions": ["baseline", "balanced"]},
        "subject": {"hold": "true", "seed": "7"},
    },
    "open-mindedness-probabilities": {
        **{"study": "open-mindedness", "trials": 1, "templates": [1, 2], "conditions": ["baseline", "balanced"]},
        **{"shares": "probabilities", "calibrate": 0},
    },
    "stance-stability": {"study": "stance-stability", **_TALK, "search": "starter"},
    "pluralism": {"study": "pluralism", "responses": 2, "ranked": 4, "pairs": 1},
    "deliberation": {"study": "deliberation", "rounds": 2},
    "even-handedness": {"study": "even-handedness", "trials": 1},
    "open-mindedness-named-choices": {
        **{"study": "open-mindedness", "trials": 1, "templates": [1, 2], "conditions": ["baseline", "balanced"]},
        **{"subject": {"hold": "true", "seed": "7"}, "form": "vllm"},
    },
    "stance-stability-held": {"study": "stance-stability", **_TALK, "search": "starter", "judge": {"hold": "true"}},
    "stance-stability-uncached": {
        **{"study": "stance-stability", **_TALK, "search": "starter"},
        **{"subject": {"cache": "false"}, "form": "anthropic"},
    },
    "pluralism-held": {"study": "pluralism", "responses": 2, "ranked": 4, "pairs": 1, "judge": {"hold": "true"}},
    "even-handedness-held": {"study": "even-handedness", "trials": 1, "judge": {"hold": "true"}},
    "even-handedness-probabilities": {
        **{"study": "even-handedness", "trials": 1, "shares": "probabilities", "calibrate": 0},
    },
}
STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")
_SEARCHED = {"study": "stance-stability", **_TALK, "pages": "starter"}


@contextmanager
def keys() -> Any:
    """A test's keys in the environment, and no waiting for batches."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _VARIABLES:
            patch.setenv(f"{name}_API_KEY", KEY)
        internals.hurry(patch)
        yield patch


def sending(name: str) -> Callable[[Path], Any]:
    """The function that sends the requests of a case and returns them."""

    def send(scratch: Path) -> Any:
        with keys(), listening() as listener:
            return CASES[name](listener, scratch)

    return send


def _singles(listener: Listener, scratch: Path) -> Any:
    found = {}
    for name, (spec, arguments) in _SINGLE.items():
        listener.received.clear()
        at = {} if spec.startswith("@") else {"base_url": f"{listener.url}/v1"}
        overton.models.check(spec.replace("@", listener.url), {**arguments, **at})
        found[name] = [_shown(one) for one in listener.received]
    return found


def _failures(listener: Listener, scratch: Path) -> Any:
    """The class of error and its kind for each status that a server may reply with."""
    found: dict[str, Any] = {}
    for spec in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5"):
        for status in (400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 501, 502, 503, 504, 529):
            listener.status = status
            with pytest.raises(AnswerError) as raised:
                overton.models.check(spec, {"base_url": f"{listener.url}/v1"})
            error = raised.value
            found[f"{spec} {status}"] = [type(error).__name__, error.kind, error.maybe_billed]
    return found


def _run(case: str, form: str, *, batch: bool = False) -> Callable[[Listener, Path], Any]:
    def send(listener: Listener, scratch: Path) -> Any:
        run_at(listener, RUNS[case], form, scratch / "run", batch=batch)
        return _summary(listener.received)

    return send


def _search(spec: str) -> Callable[[Listener, Path], Any]:
    def send(listener: Listener, scratch: Path) -> Any:
        at = f"{listener.url}/find"
        engine = f"{spec}/{at}" if spec == "searxng" else spec
        given = {"source_args": {"search": {} if spec == "searxng" else {"base_url": at}}}
        run_at(listener, _SEARCHED, "openai", scratch / "run", search=engine, **given)
        return _summary([one for one in listener.received if "/find" in one.target])

    return send


def run_at(listener: Listener, case: Mapping[str, Any], form: str, out: Path, **more: Any) -> Any:
    """Run a study whose models the server plays, in a provider's format; judges answer chat completions."""
    design = dict(case)
    study, subject, count = design.pop("study"), design.pop("subject", {}), design.pop("items", 1)
    held, form = design.pop("judge", {}), design.pop("form", form)
    only = design.pop("only", None) or [item.id for item in overton.items.read(study)[:count]]
    several = "ab" if study == "deliberation" else "a"
    spec = {"openai": f"{listener.url}/v1#m", "anthropic": "anthropic/claude-m", "vllm": "vllm/m"}[form]
    own = {"base_url": f"{listener.url}/v1"} if form in ("anthropic", "vllm") else {}
    judges = {"stance-stability": "judge", "pluralism": "judge", "even-handedness": "judge", "deliberation": "values"}
    named = f"{listener.url}/v1#{judges.get(study)}"
    others = {judges[study]: [named]} if study in judges else {}
    return overton.run(
        study,
        models=[f"{letter}={spec}" for letter in several],
        others=others,
        model_args={letter: {"max_tokens": "400", **own, **subject} for letter in several}
        | ({named: held} if held else {}),
        only=only,
        out=out,
        anyway=True,  # the pins are older than the check of first replies
        **design,
        **more,
    )


def _summary(received: Iterable[Received]) -> Any:
    """Requests by method and path: their heads, the first bodies in full, and how many bodies with a digest of all.

    Which calls share a batch depends on the clock, so a batch is taken apart into the lines of its calls.
    """
    groups: dict[str, dict[str, Any]] = {}
    for one in received:
        head, body = _normal(one)
        group = groups.setdefault(f"{one.method} {_plain(one.target.encode())}", {"heads": set(), "bodies": []})
        group["heads"].add(head)
        frame, calls = _apart(body)
        if calls:
            group.setdefault("frames", set()).add(frame)
        group["bodies"] += calls or [body]
    return {path: _group(**group) for path, group in sorted(groups.items())}


def _group(heads: set[str], bodies: list[str], frames: Iterable[str] = ()) -> dict[str, Any]:
    about_batches = not frames and all("_N" in one or not one for one in bodies)
    bodies = sorted({*bodies} if about_batches else bodies)
    return {
        "heads": [head.splitlines() for head in sorted(heads)],
        "frames": sorted(frames),
        "bodies": bodies[:_MOST],
        "count": len(bodies),
        "digest": sha256("\n".join(bodies).encode()).hexdigest(),
    }


_ID = re.compile(r'("custom_id":"[\w-]{54})-[a-z2-7]{8}(?=")')
_CALL = re.compile(r'\{"custom_id":')


def _apart(body: str) -> tuple[str, list[str]]:
    """The text around the calls of a batch, and the calls, which are lines of a file or elements of a list."""
    if not (found := _CALL.search(body)):
        return body, []
    first, ends = found.start(), "]}" if body.startswith('{"requests"') else "\r\n--"
    last = body.rindex(ends)
    between = r"(?<=\}),(?=\{\"custom_id\":)" if ends == "]}" else r"\n"
    calls = [one for one in re.split(between, body[first:last]) if one]
    return f"{body[:first]}CALLS{body[last:]}", calls


def _shown(one: Received) -> dict[str, Any]:
    head, body = _normal(one)
    return {"head": head.splitlines(), "body": body}


def _normal(one: Received) -> tuple[str, str]:
    """Head and body without port, version, length, a batch's name and the server's numbers of files and batches."""
    head, body = _plain(one.head), _plain(one.body)
    body = _ID.sub(r"\1-NAME", re.sub(r'"overton":"[a-z2-7]{8}"', '"overton":"NAME"', body))
    return re.sub(r"(?i)(content-length): \d+", r"\1: N", head), body


def _plain(data: bytes) -> str:
    text = re.sub(r"127\.0\.0\.1:\d{2,}", "127.0.0.1:PORT", data.decode())
    text = re.sub(r"overton/\d[\w.]*", "overton/VERSION", text)
    text = re.sub(r"\boverton-[a-z2-7]{8}\b", "overton-NAME", text)
    return re.sub(r"\bfile-(?:\d+|batch_\d+-out)\b", "file_N", re.sub(r"\bbatch_\d+(?!-out)\b", "batch_N", text))


CASES: dict[str, Callable[[Listener, Path], Any]] = {
    "single": _singles,
    "failures": _failures,
    **{f"{case}-{RUNS[case].get('form', 'openai')}": _run(case, "openai") for case in RUNS},
    **{f"{study}-anthropic": _run(study, "anthropic") for study in STUDIES},
    **{f"batch-{study}-{form}": _run(study, form, batch=True) for study in STUDIES for form in ("openai", "anthropic")},
    **{spec: _search(spec) for spec in ("serper", "brave", "searxng")},
}
