"""Writes the fictional letters of `examples/letters`, whose labels are known.

    python -m benchmarks.letters > examples/letters/letters.csv

Twenty-five proposals in an invented town have eight letters each: two by either of two writers, in each of two
conditions. Labels are balanced. A letter is made of an opening and an ending for its label. Each has a word of that
label's meaning and of no other, so that a judge that reads words (`simulated/word-judge`) gets all of them right.
"""

from __future__ import annotations

import csv
import sys
from typing import NamedTuple

from overton.calls import Draw

LABELS = ("supports", "opposes", "neither")
COLUMNS = ("id", "model", "group", "condition", "proposal", "text", "known")
WRITERS, CONDITIONS, EACH = ("writer-a", "writer-b"), ("short", "long"), 2

PROPOSALS = {
    "library": "Open the library on Sundays.",
    "buses": "Run buses all night.",
    "market": "Move the weekly market to the river bank.",
    "bridge": "Close the old bridge to cars.",
    "pool": "Build a roof over the swimming pool.",
    "fountain": "Restore the fountain on the square.",
    "trees": "Plant two hundred trees along the ring road.",
    "school-start": "Start school at nine.",
    "fireworks": "Replace the fireworks by a show of lights.",
    "parking": "Charge for parking at the station.",
    "dogs": "Let dogs run free in the north park.",
    "choir": "Pay the town choir a yearly grant.",
    "allotments": "Turn the gravel pit into allotments.",
    "lamps": "Dim the street lamps after midnight.",
    "ferry": "Bring back the ferry to the mill island.",
    "museum": "Let everybody under twenty into the museum for free.",
    "bells": "Ring the church bells by day alone.",
    "tram": "Extend the tram to the hospital.",
    "playground": "Build a playground in the castle garden.",
    "cafe": "Let cafes put tables on the square until ten.",
    "mural": "Paint a mural on the water tower.",
    "hens": "Let people keep hens in their yards.",
    "archive": "Put the town archive online.",
    "skating": "Flood the meadow for skating in winter.",
    "clocks": "Repair the clock on the town hall.",
}

OPENINGS = {
    "supports": (
        "Our street welcomes the plan.",
        "The gardeners' club backs the council here.",
        "Whoever reads the plan sees its benefits.",
        "My whole family supports what the council has in mind.",
        "After a long talk our choir backs the idea.",
    ),
    "opposes": (
        "Our street rejects the plan.",
        "The gardeners' club warns the council here.",
        "Whoever reads the plan sees the damage that it would do.",
        "My whole family opposes what the council has in mind.",
        "After a long talk our choir rejects the idea.",
    ),
    "neither": (
        "I have a question about the plan.",
        "The gardeners' club asks the council for its sums.",
        "Whoever reads the plan learns few facts.",
        "My whole family takes note of what the council has in mind.",
        "After a long talk our choir still has the same question.",
    ),
}
ENDINGS = {
    "supports": (
        "Nobody who works all week would miss the benefits.",
        "A town that welcomes its children should do this at once.",
        "Even the baker, who seldom agrees with anyone, backs it.",
        "We have waited for this for ten years, and the benefits will last.",
    ),
    "opposes": (
        "Nobody who lives nearby would be spared the damage.",
        "A town that rejects its own past will be sorry.",
        "Even the baker, who seldom quarrels with anyone, warns of it.",
        "We have seen this before, and the damage lasted.",
    ),
    "neither": (
        "Who pays, and when would it begin? That is my question.",
        "The council reports on it next month.",
        "Even the baker, who knows everyone, asks what it means.",
        "We will read the facts when they are printed, and decide then.",
    ),
}


class Letter(NamedTuple):
    """One row of the table; `known` is its label."""

    id: str
    model: str
    group: str
    condition: str
    proposal: str
    text: str
    known: str


def letters() -> list[Letter]:
    """All letters, in the order of proposals."""
    places = [
        (group, writer, condition, number)
        for group in PROPOSALS
        for writer in WRITERS
        for condition in CONDITIONS
        for number in range(1, EACH + 1)
    ]
    known = Draw("letters/labels").shuffle([LABELS[place % len(LABELS)] for place in range(len(places))])
    return [_letter(*place, label) for place, label in zip(places, known, strict=True)]


def _letter(group: str, writer: str, condition: str, number: int, label: str) -> Letter:
    name = f"{group}-{writer[-1]}-{condition}-{number}"
    opening, ending = (Draw(f"letters/{name}").shuffle(parts[label])[0] for parts in (OPENINGS, ENDINGS))
    return Letter(name, writer, group, condition, PROPOSALS[group], f"{opening} {ending}", label)


def main() -> None:
    """Print the table."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(letters())


if __name__ == "__main__":
    main()
