"""A server that answers as the documented endpoints do, so that documented commands run unchanged."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
import zstandard
from aiohttp import web

from overton.runs.items import read_items
from overton.studies.open_mindedness import STUDY as OPEN_MINDEDNESS
from overton.studies.stance_stability import STUDY as STANCE_STABILITY

PARAPHRASES = [
    {"question": paraphrase.text, "orientation": paraphrase.orientation}
    for paraphrase in read_items(OPEN_MINDEDNESS)[0].paraphrases
]
TOPIC = read_items(STANCE_STABILITY)[0]
PUBLISHED = [
    Path(__file__).parents[1] / "data" / place
    for place in ("millstone/gpt-4o-counts.csv", "sycon/o3-mini-alignments.csv")
]
COLLECTED = (
    *("Honest communication", "Respect and dignity", "Family bonds and cohesion", "Empathy and understanding"),
    *("Personal autonomy", "Privacy and confidentiality", "Animal and pet welfare", "Child welfare", "Personal growth"),
)
"""Values that simulated agents name, and that simulated annotators do not all leave out."""
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
BELIEF = {"belief": "I think that it should be so."}
VERDICT = {"verdict": "neutral", "fair": True, "a_supports": "pro", "reason": "Both positions are stated plainly."}


def answer(prompt: str, system: str = "") -> str:
    """The reply of a well-behaved model: a choice, six paraphrases, or a judgement."""
    if said := viewpoints(prompt, system) or responses(prompt) or deliberations(prompt, system):
        return said
    if "position <<" in prompt:
        return f"position <<{'AB'[crc32(prompt.encode()) & 1]}>>"
    if re.search(r"generate 6 neutral paraphrases", prompt):
        return json.dumps(PARAPHRASES)
    if "\n(A) " in prompt or "\n(1) " in prompt:  # a grade
        return "(C)" if "\n(C) " in prompt else "(1)"
    for asked, said in (
        ("contested topics of the domain", PROPOSED),
        ("expert dataset generator", QUESTIONS),
        ("questions of a conversation on the topic", {"kinds": [question.kind for question in TOPIC.questions]}),
        ("<answer>", LABELS),
    ):
        if asked in prompt:
            return json.dumps(said)
    if "JSON" in prompt:
        return json.dumps(VERDICT)
    return f"There is much to say about this, in {crc32(prompt.encode())} words or fewer."  # no two texts are alike


def viewpoints(prompt: str, system: str) -> str:
    """The reply of the writer of reference viewpoints, or of the judge of pluralism; '' for other prompts."""
    if system.startswith("Cluster the following"):
        return json.dumps([[opinion] for opinion in json.loads(prompt)])
    if system.startswith("Summarize these opinion"):
        return json.loads(prompt)[0]
    if "<comment>" in prompt:
        return json.dumps({"opinions": [prompt.partition("<comment>")[2].partition("</comment>")[0].strip()]})
    if "entailed_by" in system:
        return json.dumps({"entailed_by": [1]})
    if "<viewpoints>" in prompt:
        return json.dumps({"cluster": 0})
    numbers = re.findall(r"^(\d+)\. ", prompt.partition("<opinions>")[2].partition("</opinions>")[0], re.MULTILINE)
    if "Label all" in prompt:
        return json.dumps({number: ("supporting", "against")[int(number) % 2] for number in numbers})
    if "<response>" in prompt:
        return json.dumps({"entailed": [1]} if numbers else {"stance": "supporting"})
    return json.dumps(BELIEF) if "Write what somebody says" in prompt else ""


def deliberations(prompt: str, system: str) -> str:
    """The reply of an agent on a dilemma, or of the judge of its values; '' for other prompts."""
    if "agent for evaluating everyday moral dilemmas" in system:
        verdict = ("NTA", "YTA")[crc32(prompt.encode()) & 1]
        return (
            f"I am Agent 1. This is Round 1.\nMy current verdict: {verdict}.\n\nHere's my thinking: They asked first."
        )
    if "determine what values they used" in system:
        return json.dumps({"answers": [system.partition("<values>\n")[2].partition("\n")[0]]})
    return ""


def responses(prompt: str) -> str:
    """The reply of the model under test in pluralism; '' for other prompts."""
    if "different responses for this post" in prompt:
        return "\n".join(f"{number}. So it is." for number in range(1, 11))
    if prompt.endswith("Your ranking:"):
        return ", ".join(map(str, range(1, 11)))
    return "1" if "Answer with just '1' or '2'." in prompt else ""


async def chat(request: web.Request) -> web.Response:
    """OpenAI's chat completions."""
    body = await request.json()
    asked = body["messages"]
    message = {"role": "assistant", "content": answer(asked[-1]["content"], asked[0]["content"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})


def written(content: str | list[dict[str, str]]) -> str:
    """The text of a message, which may come in blocks."""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


async def messages(request: web.Request) -> web.Response:
    """Anthropic's Messages API."""
    body = await request.json()
    asked = answer(written(body["messages"][-1]["content"]), written(body.get("system", "")))
    content = [{"type": "text", "text": asked}]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return web.json_response(
        {"type": "message", "model": body["model"], "content": content, "stop_reason": "end_turn", "usage": usage}
    )


async def search(request: web.Request) -> web.Response:
    """Serper's results: ten pages of this server."""
    body = await request.json()
    first = 10 * (int(body.get("page", 1)) - 1)
    page = f"http://{request.host}/pages"
    hits = [{"title": f"Page {at}", "link": f"{page}/{at}.html", "snippet": "x"} for at in range(first, first + 10)]
    return web.json_response({"searchParameters": body, "organic": hits})


async def found_page(request: web.Request) -> web.Response:
    """A short page."""
    said = (
        f"<p>The council counted the passengers in year {request.match_info['name']}, and found more than before.</p>"
    )
    return web.Response(
        text=f"<html><head><title>A page</title></head><body>{said * 3}</body></html>", content_type="text/html"
    )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a running server, as http://host:port."""
    started: list[int] = []
    runners: list[web.AppRunner] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def start() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        app.router.add_post("/v1/messages", messages)
        app.router.add_post("/search", search)
        app.router.add_get("/pages/{name}", found_page)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        started.append(runner.addresses[0][1])
        runners.append(runner)
        ready.set()

    def serve() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{started[0]}"
    asyncio.run_coroutine_threadsafe(runners[0].cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.fixture(scope="module")
def environment(server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment that a user would have set: keys, and here the addresses of the server."""
    return {
        "OPENAI_API_KEY": "sk-docs-openai",
        "OPENAI_BASE_URL": f"{server}/v1",
        "ANTHROPIC_API_KEY": "sk-docs-anthropic",
        "ANTHROPIC_BASE_URL": f"{server}/v1",
        "VLLM_BASE_URL": f"{server}/v1",
        "GOOGLE_API_KEY": "sk-docs-google",
        "GOOGLE_BASE_URL": f"{server}/v1",
        "SERPER_API_KEY": "sk-docs-serper",
        "INSPECT_CACHE_DIR": str(tmp_path_factory.mktemp("inspect")),
        "INSPECT_DISPLAY": "none",
    }


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as the pages suppose it: issues, some without paraphrases, transcripts, texts, pages, dumps, a gate."""
    folder = tmp_path / "issues"
    folder.mkdir()
    source = Path(__file__).parents[2] / "src/overton/studies/open_mindedness/starter/issues"
    (tmp_path / "positions.csv").write_text((source / "positions.csv").read_text())
    for file in sorted(source.glob("*.json"))[:3]:
        issue = json.loads(file.read_text())
        if not list(folder.iterdir()):
            del issue["paraphrases"]
        (folder / file.name).write_text(json.dumps(issue))
    (tmp_path / "transcripts.csv").write_text(
        "conversation,turn,question,answer\nbuses,1,Are they worth it?,They are.\nbuses,2,And the cost?,It pays.\n"
    )
    (tmp_path / "propositions.txt").write_text("Buses should be free.\n")
    for file in (Path(__file__).parents[2] / "examples/letters").iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "answers.csv").write_text("prompt,answer\nPraise the bridge.,It is a fine bridge.\n")
    said = ["1", "2", "5", "refusal"]
    judged = [f"{said[row % 4] if row % 5 == 0 else ''},{said[row * row % 4]},{'xy'[row % 2]}" for row in range(200)]
    (tmp_path / "judged.csv").write_text("\n".join(["people,judge,writer", *judged]) + "\n")
    (tmp_path / "collected.csv").write_text(
        "value,definition\n" + "".join(f"{name},What {name.lower()} asks for.\n" for name in COLLECTED)
    )
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "buses.txt").write_text("Night buses were full after midnight, the transport office counted.")
    write_dumps(tmp_path)
    write_wildscope(tmp_path)
    for published in PUBLISHED:
        (tmp_path / published.name).write_bytes(published.read_bytes())
    (tmp_path / "my-prompts").mkdir()
    page = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()
    (tmp_path / "my-prompts" / "evidence.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    for name, shown in (("my-issues.csv", "recipes.md"), ("my-dilemmas.csv", "dilemmas.md")):
        page = (Path(__file__).parents[2] / "docs" / shown).read_text()
        (tmp_path / name).write_text(page.partition("```csv\n")[2].partition("```")[0])
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
    data = Path(__file__).parents[1] / "data"
    shutil.copytree(data / "millstone" / "clone", tmp_path / "millstone")
    shutil.copytree(data / "debate-pages", tmp_path / "saved-pages")
    (tmp_path / "gate.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for text, name in re.findall(r"^```toml\n(# (\S+[.]toml)\n.*?)^```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text)
    return tmp_path


def write_dumps(folder: Path) -> None:
    """Two months of forums in the layout of the archives: two posts with nine comments each, and two dilemmas."""
    common = {"subreddit": "AskEconomics", "created_utc": 1562000000}
    posts = [
        common | {"id": f"p{k}", "author": "asker", "title": f"Why so, {k}?", "selftext": "I ask."} for k in (1, 2)
    ]
    comments = [
        common | {"id": f"{post['id']}c{k}", "link_id": f"t3_{post['id']}", "parent_id": f"t3_{post['id']}"}
        | {"author": f"reader_{k}", "body": f"For reason number {k}.", "score": 10 * k}
        for post in posts
        for k in range(9)
    ]  # fmt: skip
    asked, said = write_dilemmas()
    files = {"RS_2019-07.zst": posts, "RC_2019-07.zst": comments, "RS_2025-02.zst": asked, "RC_2025-02.zst": said}
    for name, lines in files.items():
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        (folder / name).write_bytes(zstandard.ZstdCompressor().compress(data))


def write_dilemmas() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Two posts that ask who was at fault, and six comments with a verdict on each."""
    common = {"subreddit": "AmItheAsshole", "created_utc": 1739000000}
    story = "My neighbour and I share a hedge, and we have not agreed for years on how high it may be. " * 12
    posts = [
        common | {"id": f"d{k}", "author": "teller", "title": f"AITA for cutting hedge {k}?", "selftext": story}
        for k in (1, 2)
    ]
    verdicts = ("NTA", "YTA", "NTA", "ESH", "NAH", "YTA")
    comments = [
        common | {"id": f"{post['id']}c{k}", "link_id": f"t3_{post['id']}", "parent_id": f"t3_{post['id']}"}
        | {"author": f"reader_{k}", "body": f"{verdict}. That is how I see it.", "score": 10 - k}
        for post in posts
        for k, verdict in enumerate(verdicts)
    ]  # fmt: skip
    return posts, comments


WILDSCOPE = """table = "wildscope.json"
id = "id"
title = "title"
text = "body"
community = "subreddit"

[viewpoints]
list = "clusters"
summary = "summary"
votes = "votes"
"""


def write_wildscope(folder: Path) -> None:
    """A thread with its clusters in the shape that PluralEval describes, and the mapping that reads it."""
    clusters = [{"summary": f"One can say thing number {k} about hedges.", "votes": 90 - 10 * k} for k in range(6)]
    post = {"id": "w1", "title": "How high may a hedge be?", "body": "We disagree.", "subreddit": "AskEconomics"}
    (folder / "wildscope.json").write_text(json.dumps([post | {"clusters": clusters}]))
    (folder / "wildscope.toml").write_text(WILDSCOPE)
