"""How fast are forum dumps read? Decompressed MB per second on one core, plain and zstandard, bounded in memory.

    python benchmarks/dumps.py [--megabytes 300] [--rounds 3]

Makes a dump of comments in the archives' layout (some sixty fields, 1.5 KB per comment, one in ten thousand lines
malformed) in a temporary folder. It is packed with a long window, as dumps are, and read as typed comments, one by one.
The budget of 200 MB per second is for this reading. For comparison, the same is done with the verdicts read and the
best comments of 4,000 posts kept, and in the plain way, with `json.loads` on every line. Times are processor time, the
best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time

import zstandard

from overton.files.forum import ReadCounts, read_comments
from overton.studies.deliberation.dilemmas.selection import survey
from overton.studies.forum import Post

BUDGET = 200
POSTS = 4_000
WORDS = """
the of and to a in is it you that he was for on are with as I his they be at one have this from or had by hot but some
what there we can out other were all your when up use word how said an each she which do their time if will way about
many then them would write like so these her long make thing see him two has look more day could go come did my sound
no most number who over know water than call first people may down side been now find any new work part take get place
""".split()  # noqa: SIM905


def main() -> None:
    options = argparse.ArgumentParser(description="Decompressed MB per second of forum dumps on one core.")
    options.add_argument("--megabytes", type=int, default=300)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = make(Path(folder), min(chosen.megabytes, 2_000) * 1_000_000)
        size = plain.stat().st_size / 1e6
        print(f"{size:,.0f} MB of comments, {packed.stat().st_size / 1e6:,.0f} MB as zstandard\n")
        rates = {
            "plain": rate(lambda: count(plain), size, chosen.rounds),
            "zstandard": rate(lambda: count(packed), size, chosen.rounds),
        }
        for name, value in rates.items():
            print(f"{name:40} {value:6,.0f} MB/s per core   {'within' if value >= BUDGET else 'BELOW'} the budget")
        surveying = rate(lambda: surveyed(packed), size, chosen.rounds)
        print(f"{'zstandard, verdicts read and ranked':40} {surveying:6,.0f} MB/s per core")
        print(f"{'plain, json.loads on every line':40} {rate(lambda: loads(plain), size, 1):6,.0f} MB/s per core")
        tally = ReadCounts()
        records = sum(1 for _ in read_comments(packed, tally=tally))
        print(f"\n{records:,} comments in {tally.lines:,} lines; {'; '.join(map(str, tally.skipped.values()))}")
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            print(f"memory that reading takes, the window of 128 MiB included: {other.submit(memory, packed).result()}")
    sys.exit(any(value < BUDGET for value in rates.values()))


def make(folder: Path, size: int) -> tuple[Path, Path]:
    """The same dump plain and as zstandard, about `size` bytes unpacked. Made in blocks that differ in all ids."""
    plain, packed = folder / "comments.ndjson", folder / "comments.zst"
    draw = random.Random(1)
    settings = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=settings)
    with plain.open("wb") as out, packed.open("wb") as file, packer.stream_writer(file) as zipped:
        written = number = 0
        while written < size:
            block = b"".join(line(draw, number + k) for k in range(2_000))
            number += 2_000
            out.write(block)
            zipped.write(block)
            written += len(block)
    return plain, packed


def line(draw: random.Random, number: int) -> bytes:
    """One comment as a dump has it; one in ten thousand is cut short."""
    said = draw.choices(("NTA. ", "YTA, ", "ESH ", "NAH. ", "INFO: ", ""), (60, 20, 6, 6, 3, 5))[0]
    words = draw.choices(WORDS, k=min(400, int(draw.expovariate(1 / 55)) + 3))
    post = f"t3_p{min(int(draw.paretovariate(0.6)), POSTS):x}"
    comment = {
        "all_awardings": [],
        "approved_at_utc": None,
        "approved_by": None,
        "archived": False,
        "associated_award": None,
        "author": f"user_{draw.randrange(10**7)}",
        "author_cakeday": None,
        "author_flair_background_color": None,
        "author_flair_css_class": None,
        "author_flair_richtext": [],
        "author_flair_template_id": None,
        "author_flair_text": draw.choice((None, "Partassipant [1]", "Colo-rectal Surgeon [42]")),
        "author_flair_text_color": None,
        "author_flair_type": "text",
        "author_fullname": f"t2_{draw.randrange(10**10):x}",
        "author_premium": False,
        "banned_at_utc": None,
        "body": said + " ".join(words),
        "can_gild": True,
        "collapsed": False,
        "collapsed_reason": None,
        "collapsed_reason_code": None,
        "controversiality": 0,
        "created_utc": 1735689600 + number,
        "distinguished": None,
        "edited": False,
        "gilded": 0,
        "gildings": {},
        "id": f"m{number:x}",
        "is_submitter": False,
        "likes": None,
        "link_id": post,
        "locked": False,
        "name": f"t1_m{number:x}",
        "no_follow": True,
        "parent_id": post if draw.random() < 0.4 else f"t1_m{draw.randrange(number + 1):x}",
        "permalink": f"/r/AmItheAsshole/comments/{post}/aita_for_something_or_other/m{number:x}/",
        "removal_reason": None,
        "replies": "",
        "retrieved_on": 1735776000 + number,
        "score": int(draw.paretovariate(0.8)),
        "score_hidden": False,
        "send_replies": True,
        "stickied": False,
        "subreddit": "AmItheAsshole",
        "subreddit_id": "t5_2xhvq",
        "subreddit_name_prefixed": "r/AmItheAsshole",
        "subreddit_type": "public",
        "top_awarded_type": None,
        "total_awards_received": 0,
        "treatment_tags": [],
        "ups": 1,
        "user_reports": [],
    }
    text = json.dumps(comment, separators=(",", ":")).encode()
    return (text[: len(text) // 2] if number % 10_000 == 9_999 else text) + b"\n"


def count(path: Path) -> int:
    return sum(1 for _ in read_comments(path))


def surveyed(path: Path) -> int:
    """Steps 1 to 4 on posts that are already there, and the verdicts of their comments."""
    posts = [Post(f"p{number:x}", "AITA?", 1735689600, text="x" * 1_000) for number in range(1, POSTS + 1)]
    return len(survey(posts, read_comments(path)).comments)


def loads(path: Path) -> int:
    read = 0
    with path.open("rb") as file:
        for text in file:
            try:
                read += "body" in json.loads(text)
            except ValueError:
                continue
    return read


def rate(work: Callable[[], int], megabytes: float, rounds: int) -> float:
    """Megabytes per second of processor time, the best of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = process_time()
        work()
        best = min(best, process_time() - began)
    return megabytes / best


def memory(path: Path) -> str:
    """How far the most memory that this process has had grows while it reads."""
    before = peak()
    count(path)
    return "not known on this system" if before is None else f"{(peak() or 0) - before:,.0f} MB"


def peak() -> float | None:
    """The most memory that this process has had, in MB; Linux only."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM:")), None)


if __name__ == "__main__":
    main()
