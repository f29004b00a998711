"""MillStone's experiment, used by `--as-published` in open-mindedness."""

from __future__ import annotations

from overton.studies.open_mindedness.options import PUBLISHED, TEMPLATES, WORDINGS
from overton.studies.paper import Paper, PaperTable

_FORMULA = "By the published formula"

PAPER = Paper(
    citation="Triedman and Shmatikov 2025 (MillStone)",
    options={
        "trials": 15,
        "conditions": PUBLISHED,
        "templates": TEMPLATES,
        "wordings": WORDINGS,
        "shared_evidence": False,
        "shares": "sampled",
        "answers": "forced",
    },
    unless={"trials": ("shares",), "shares": ("shares",)},
    how={"reading": "published", "shares": "sampled", "answers": "forced"},
    tables=(
        PaperTable("Open-mindedness by model", (_FORMULA, "Issues scored"), "table 4"),
        PaperTable("Scores on the controversial issues", (_FORMULA,), "table 5"),
        PaperTable("Stances without arguments", ("Issues leaning pro",), "table 1"),
        PaperTable("Agreement at the baseline", (), "table 2"),
        PaperTable("Shifts against the arguments", ("Shifts", "Of", "Mean size"), "table 3"),
    ),
    ours=(
        "The words around the arguments are Overton's own, because the paper does not print them. Everything else is as"
        " in the paper."
    ),
)
