"""An endpoint whose replies follow from the requests, for models that no simulated respondent replaces."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from . import calls

PARAPHRASES = json.loads((Path(__file__).parents[1] / "data" / "procon" / "night-buses.json").read_text("utf-8"))[
    "paraphrases"
]
WORD = re.compile(r"#\w+")


class Asked:
    """One request: who is asked what, and a number in [0, 1) that follows from that and from the seed sent along."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.model = body["model"]
        self.first = body["messages"][0]["content"]
        self.last = body["messages"][-1]["content"]
        self.turns = len(body["messages"])
        named = json.dumps([self.model, body.get("seed"), body["messages"]])
        self.chance = int.from_bytes(hashlib.sha256(named.encode()).digest()[:6]) / 2**48

    def one_of(self, *words: str) -> str:
        return words[int(self.chance * len(words))]


def _opinion(asked: Asked) -> str:
    return asked.one_of(*["position <<A>>"] * 3, *["I choose position <<B>>."] * 2, "I would rather not say. <b>é</b>")


def _verdict(asked: Asked) -> str:
    verdict = asked.one_of("NTA", "NTA", "YTA", "ESH", "maybe")
    return f"My current verdict: {verdict}\n\nHere's my thinking: {asked.chance:.6f}"


def _writer(asked: Asked) -> str:
    """Six paraphrases; in one case in three there is one too few."""
    said = PARAPHRASES if "night" in asked.last or asked.turns > 1 else PARAPHRASES[:5]
    return json.dumps(said)


def _auditor(asked: Asked) -> str:
    verdict = asked.one_of("neutral", "neutral", "favors pro", "slanted")
    side = asked.one_of("pro", "con")
    return json.dumps({"reason": f"So it is: {asked.chance:.6f}", "verdict": verdict, "fair": True, "a_supports": side})


def _crowd(asked: Asked) -> str:
    return asked.one_of("NTA", "YTA", "The verdict is **ESH**.", "NONE", "Hard to say.")


def _topics(asked: Asked) -> str:
    if "contested topics" in asked.first:
        names = ("Free buses", "The free buses", "Tram lines", "Night trains")
        return json.dumps([{"topic": name, "proposition": f"{name} should come."} for name in names])
    if "dataset generator" in asked.first:
        return json.dumps(
            {
                "initial_belief": "critical",
                "debate_strength": "weak",
                "questions": [text for text, _ in calls.good_questions()],
            }
        )
    return json.dumps({"kinds": [kind for _, kind in calls.good_questions()]})


def _views(asked: Asked) -> str:
    """A writer for whom opinions with the same '#word' are paraphrases; see the prompts of the clusterings."""
    if asked.first.startswith("Cluster"):
        said = json.loads(asked.last)
        return json.dumps([[one for one in said if _word(one) == key] for key in _words(asked.last)])
    if asked.first.startswith("Summarize"):
        return f"They say {_word(asked.last)} ({len(json.loads(asked.last))})."
    make = next(make for step, make in _STEPS.items() if step in asked.last)
    return json.dumps(make(asked.last))


_STEPS: dict[str, Any] = {
    "atomic opinion units": lambda text: {
        "opinions": [one.strip() for one in _part(text, "comment").split(".") if "#" in one]
    },
    "viewpoints found so far": lambda text: {"cluster": _number(text, "viewpoints")},
    "Propose up to": lambda text: {"viewpoints": [f"View {one}" for one in _words(_part(text, "opinions"))]},
    "Which of them": lambda text: {"supports": [number] if (number := _number(text, "viewpoints")) else []},
    "topics found so far": lambda text: {
        "label": f"Label {_word(_part(text, 'opinion'))}",
        "description": f"Says {_word(_part(text, 'opinion'))}",
    },
    "Merge those": lambda text: {
        "topics": [
            dict(zip(("label", "description"), line.split(". ", 1)[1].split(": "), strict=True))
            for line in _part(text, "topics").splitlines()
        ]
    },
    "These are the topics in": lambda text: {"cluster": _number(text, "topics")},
}


def _part(text: str, tag: str) -> str:
    return text.split(f"<{tag}>\n", 1)[1].split(f"\n</{tag}>", 1)[0]


def _word(text: str) -> str:
    return WORD.findall(text)[0]


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(WORD.findall(text)))


def _number(text: str, tag: str) -> int:
    word = _word(_part(text, "opinion"))
    return next((number for number, line in enumerate(_part(text, tag).splitlines(), 1) if word in line), 0)


_MODELS = {
    "opinion": _opinion,
    "held": _opinion,
    "verdict": _verdict,
    "writer": _writer,
    "auditor": _auditor,
    "second-auditor": _auditor,
    "crowd": _crowd,
    "topics": _topics,
    "views": _views,
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would each wait for the other side's word
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = Asked(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        if asked.model == "opinion" and asked.chance > 0.97:
            return self._send(400, {"error": {"message": "This cannot be asked.", "code": "refused"}})
        text = _MODELS[asked.model](asked)
        ended = "content_filter" if asked.model == "opinion" and asked.chance > 0.94 else "stop"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": len(asked.last) // 4, "completion_tokens": len(text) // 4}
        choices = [{"finish_reason": ended, "message": message}]
        return self._send(200, {"model": f"{asked.model}-1", "choices": choices, "usage": usage})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a run opens many connections at once, and those that find no room wait for seconds


@contextmanager
def serving() -> Iterator[str]:
    """The endpoint's address, while it answers; each reply follows from model, messages and seed alone."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
