"""A server that answers as the documented endpoints do, so that documented commands run as they stand."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from aiohttp import web

from overton.api.issues import starter_issues
from overton.api.topics import starter_topics

PARAPHRASES = [
    {"question": paraphrase.text, "orientation": paraphrase.orientation}
    for paraphrase in starter_issues()[0].paraphrases
]
TOPIC = starter_topics()[0]
PROPOSED = [
    {"topic": "Free city buses", "proposition": "City buses should be free."},
    {"topic": "Trams instead of car lanes", "proposition": "Trams should take the place of car lanes."},
    {"topic": "Lower speed limits at night", "proposition": "Speed limits should be lower at night."},
    {"topic": "Helmets for grown-up cyclists", "proposition": "Grown-up cyclists should have to wear helmets."},
]
QUESTIONS = {
    "topic": "as asked",
    "domain": "as asked",
    "initial_belief": "balanced",
    "debate_strength": "moderate",
    "questions": [question.text for question in TOPIC.questions],
}
LABELS = {
    "rationale": "It agrees in so many words.",
    "stance": "supportive",
    "key_claims": ["Buses help"],
    "contradictions_acknowledged": False,
    "certainty": "likely",
}
VERDICT = {"verdict": "neutral", "fair": True, "a_supports": "pro", "reason": "Both positions are stated plainly."}


def answer(prompt: str) -> str:
    """What a well-behaved model says: a choice, six paraphrases, or a judgement."""
    if "position <<" in prompt:
        return f"position <<{'AB'[crc32(prompt.encode()) & 1]}>>"
    if re.search(r"generate 6 neutral paraphrases", prompt):
        return json.dumps(PARAPHRASES)
    for asked, said in (
        ("contested topics of the domain", PROPOSED),
        ("expert dataset generator", QUESTIONS),
        ("questions of a conversation on the topic", {"kinds": [question.kind for question in TOPIC.questions]}),
        ("<answer>", LABELS),
    ):
        if asked in prompt:
            return json.dumps(said)
    return json.dumps(VERDICT)


async def chat(request: web.Request) -> web.Response:
    """OpenAI's chat completions."""
    body = await request.json()
    message = {"role": "assistant", "content": answer(body["messages"][-1]["content"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})


async def messages(request: web.Request) -> web.Response:
    """Anthropic's Messages API."""
    body = await request.json()
    content = [{"type": "text", "text": answer(body["messages"][-1]["content"])}]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return web.json_response(
        {"type": "message", "model": body["model"], "content": content, "stop_reason": "end_turn", "usage": usage}
    )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a running server, as http://host:port."""
    started: list[int] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def start() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        app.router.add_post("/v1/messages", messages)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        started.append(runner.addresses[0][1])
        ready.set()

    def serve() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{started[0]}"
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.fixture(scope="module")
def environment(server: str) -> dict[str, str]:
    """What a user would have set: keys, and here the addresses of the server."""
    return {
        "OPENAI_API_KEY": "sk-docs-openai",
        "OPENAI_BASE_URL": f"{server}/v1",
        "ANTHROPIC_API_KEY": "sk-docs-anthropic",
        "ANTHROPIC_BASE_URL": f"{server}/v1",
        "VLLM_BASE_URL": f"{server}/v1",
    }


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as the documentation supposes it: issues, some without paraphrases, transcripts, and pages."""
    folder = tmp_path / "issues"
    folder.mkdir()
    source = Path(__file__).parents[2] / "src/overton/starter"
    (tmp_path / "positions.csv").write_text((source / "positions.csv").read_text())
    for file in sorted((source / "issues").glob("*.json"))[:3]:
        issue = json.loads(file.read_text())
        if not list(folder.iterdir()):
            del issue["paraphrases"]
        (folder / file.name).write_text(json.dumps(issue))
    (tmp_path / "transcripts.csv").write_text(
        "conversation,turn,question,answer\nbuses,1,Are they worth it?,They are.\nbuses,2,And the cost?,It pays.\n"
    )
    (tmp_path / "propositions.txt").write_text("Buses should be free.\n")
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "buses.txt").write_text("Night buses were full after midnight, the transport office counted.")
    return tmp_path
