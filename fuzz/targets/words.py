"""Words: how models and their arguments are written, and what models answer, through the protocols of all studies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from fuzz.room import ended
from fuzz.trying import Target
from overton.calls import Form, Hit, Hits, Message, Page, Question, Reply, Settings
from overton.engine.records import columns_of, record_type_columns
from overton.errors import OvertonError
from overton.judging import parse_json, read_choice
from overton.key_values import by_key, pairs_of
from overton.models import open_model
from overton.models.spec import name_and_spec, parse_spec
from overton.retrieval import open_pages, open_search
from overton.runs.items import read_items
from overton.studies.deliberation.verdicts import read_comment, read_verdict
from overton.studies.registry import study_named

__all__ = ["TARGETS"]

_BETWEEN = b"\x1e"
"""Separates the replies of one case."""


def _text(data: bytes) -> str:
    """Text as it may come in JSON, including halves of surrogate pairs."""
    return data.decode("utf-8", "surrogateescape")


def _spec(data: bytes) -> None:
    name, spec = name_and_spec(_text(data))
    parse_spec(spec)
    if not spec.startswith(("embedded/", "gguf:", "inspect/", "wordllama/", "sentence-transformers/")):
        open_model(spec, (), name=name, simulated=lambda *_: _NOBODY, need_key=False)


_NOBODY: Any = object()
_SPECS = (
    b"openai/gpt-4o", b"careful=anthropic/claude-haiku-4-5", b"http://127.0.0.1:8000/v1#m", b"gguf:/tmp/m.gguf",
    b"simulated/open-minded", b"inspect/google/gemini", b"http://h/v1?api_key=K#m", b"https://u:p@h/v1#m",
    b"embedded/smollm2-135m",
)  # fmt: skip


def _model_argument(data: bytes) -> None:
    open_model("openai/gpt-4o", pairs_of(by_key(_text(data).split("\n"), "--model-arg")), need_key=False)


_ARGUMENTS = (
    b"temperature=0.5\nmax_tokens=100\nseed=3", b"base_url=http://127.0.0.1:1/v1\nconnections=4\ntimeout=3",
    b'extra.stop=["a"]\nextra.x={"a": 1}', b"key_env=OPENAI_API_KEY\nhold=true\nreasoning_effort=low", b"top_p=0.9",
)  # fmt: skip


def _source_argument(data: bytes) -> None:
    spec, *rest = _text(data).split("\n")
    pairs = pairs_of(by_key(rest, "--search-arg"))
    with suppress(OvertonError):
        open_search(spec, pairs, need_key=False)
    with suppress(OvertonError):
        open_pages(spec, pairs)


_SOURCES = (
    b"web\nallow=127.0.0.1\ndelay=0\nagent=Bot/1.0 (+https://e.org)", b"searxng/http://127.0.0.1:1\ntop=3",
    b"starter\ntop=3", b"searxng/http://\\",
    b"serper\nbase_url=http://127.0.0.1:1\ntimeout=3", b"archive/nowhere", b"index/nowhere", b"brave\nconnections=2",
)  # fmt: skip


class _Labels(msgspec.Struct):
    stance: str
    certainty: str = ""
    claims: list[str] = []
    number: int | None = None


def _json_text(data: bytes) -> None:
    for kind in (_Labels, list[int], dict[str, Any], Any):
        found = parse_json(_text(data), kind)
        if found.how != "invalid":
            msgspec.json.encode(found.value)


def _choice(data: bytes) -> None:
    read_choice(_text(data), ("fair", "not fair", "YTA"))


def _verdict(data: bytes) -> None:
    read_comment(_text(data))
    verdict, why = read_verdict(_text(data))
    assert verdict is None or isinstance(why, str)


_JSONS = (
    b'{"stance": "for", "certainty": "clearly", "claims": ["a"], "number": 3}',
    b'Sure:\n```json\n{"stance": "for",}\n```',
    b"{'stance': 'for', 'number': None}", b"[1, 2, 3]", b'x {"a": [1, {"b": true}]} y', b'{"stance": "a\nb"}',
)  # fmt: skip
_WORDS = (
    b"position <<A>>", b"I choose position <<B>>.", b"YTA: since it was late.", b"**NTA** because",
    b"Verdict: ESH - both", b"not fair",
    b"3, 1, 2", b"1. First.\n\n2. Second [1].\n\n3. Third.", b"supporting", b'{"stance": "against"}',
    b'{"entailed": [1, 2]}',
    b'{"stance": "critical", "certainty": "likely", "rationale": "r", "key_claims": ["k"], '
    b'"contradictions_acknowledged": false}',
    b'{"1": "supporting", "2": "against"}', b'{"belief": "I think so."}', b'{"ranking": [2, 1, 3]}',
    b'{"answers": ["Empathy", "Honesty"]}',
    b"2", b"yes", b'{"queries": ["trams"]}', b"[[0.1, 0.9], [0.5, 0.5]]", b'["a", "b"]',
    b'{"verdict": "neutral", "score": 1}',
    b'{"pro": "For.", "con": "Against.", "paraphrases": ["a", "b", "c", "d", "e", "f"]}',
    b'{"topic": "T", "proposition": "P.", "initial_belief": "balanced", "debate_strength": "weak"}',
    b'{"opinions": ["a", "b"], "clusters": [{"summary": "s", "members": [1, 2]}]}',
)  # fmt: skip


class _Told:
    """An `Ask` that gives one reply after another, and then starts again from the first."""

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = replies
        self._count = 0

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
    ) -> Reply:
        """The next reply; a search and a page are as they should be."""
        if role in _FOUND:
            return Reply(_FOUND[role])
        self._count += 1
        await asyncio.sleep(0)
        return Reply(self._replies[(self._count - 1) % len(self._replies)])

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """One after the other."""
        return [await self(q.role, q.messages, speaker=q.speaker) for q in questions]


_FOUND = {
    "search": msgspec.json.encode(Hits((Hit("https://e.org/1", "Trams", "quiet"),))).decode(),
    "pages": msgspec.json.encode(Page("https://e.org/1", "Trams", "2024-01-02", "Trams are quiet.", "0" * 64)).decode(),
}
_MODELS = {"agent": ("a", "b"), "subject": ("m",), "values": ("v",)}
_OPTIONS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"conditions": ("balanced",), "templates": (1,)},
    "stance-stability": {"turns": 3, "judge_prompts": "both"},
    "topics": {"per_domain": 2},
    "rephrase": {"again": True},
}
_ITEMS: dict[str, Callable[[], Sequence[Any]]] = {
    "rephrase": lambda: read_items("open-mindedness"),
    "audit": lambda: read_items("open-mindedness"),
    "crowd-verdicts": lambda: [_unclear()],
}
_TRIALS = {"pluralism": 8}


def _unclear() -> Any:
    kind = study_named("crowd-verdicts").items.kind
    return msgspec.convert({name: _sample(kind, name) for name in kind.__struct_fields__}, kind, strict=False)


def _sample(kind: Any, name: str) -> Any:
    hints = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return 1 if hints[name] in (int, float) else "words"


@cache
def _trials(name: str) -> tuple[Any, list[Any]]:
    from overton.studies.pluralism.items import starter_threads

    study = study_named(name)
    if name == "references":
        # Each comment is asked about up to three times, and one long reply to all of it is read each time. So three of
        # the thread's comments are enough to reach every reader of replies.
        items: Sequence[Any] = [
            msgspec.structs.replace(thread, comments=thread.comments[:3])
            for thread in read_items(study, starter_threads())
        ]
    else:
        items = _ITEMS[name]() if name in _ITEMS else read_items(study)
    options = msgspec.convert(
        study.options.complete(dict(_OPTIONS.get(name, {})), _MODELS), study.options, strict=False
    )
    found = list(islice(study.trials(items[:1], options, 1), 40))
    return study, found[:: max(len(found) // _TRIALS.get(name, 2), 1)]


def _answered(name: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        study, trials = _trials(name)
        trial = trials[len(data) % len(trials)]
        told = _Told([part.decode("utf-8", "replace") for part in data.split(_BETWEEN)])
        records = ended(study.conduct(trial, told))
        columns_of(records, record_type_columns(study.record))
        for record in records:
            msgspec.json.encode(record)

    return read


def _answers() -> list[bytes]:
    """Words of all studies, alone and one after the other."""
    return [*_WORDS, _BETWEEN.join(_WORDS[:9]), _BETWEEN.join(_WORDS[8:]), _BETWEEN.join((_WORDS[7], _WORDS[9]))]


TARGETS = {
    target.name: target
    for target in (
        Target("spec", _spec, lambda: list(_SPECS)),
        Target("model-argument", _model_argument, lambda: list(_ARGUMENTS)),
        Target("source-argument", _source_argument, lambda: list(_SOURCES)),
        Target("json-text", _json_text, lambda: list(_JSONS), documented=()),
        Target("choice", _choice, lambda: list(_WORDS), documented=()),
        Target("verdict", _verdict, lambda: list(_WORDS), documented=()),
        *(
            Target(f"{name}-answers", _answered(name), _answers, documented=(), tokens=(_BETWEEN, *_WORDS))
            for name in (
                "open-mindedness", "stance-stability", "pluralism", "deliberation", "rephrase", "audit", "topics",
                "references", "crowd-verdicts",
            )
        ),
    )
}  # fmt: skip
