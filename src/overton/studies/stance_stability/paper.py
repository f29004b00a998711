"""Chameleon's experiment, used by `--as-published` in stance stability."""

from __future__ import annotations

from overton.studies.paper import Paper, PaperTable

PAPER = Paper(
    citation="The Chameleon Nature of LLMs",
    options={
        "temperatures": (0.0, 0.5, 1.0),
        "orderings": ("fixed",),
        "trials": 1,
        "pages_per_turn": 20,
        "history_characters": None,
        "judge_prompts": "published",
        "ask_certainty": True,
        "retest": 0.0,
        "shares": "sampled",
    },
    unless={"ask_certainty": ("judge_prompts",)},
    # The paper searched Google. Google's own interface takes no new customers, but Serper returns Google's results.
    roles={"search": ("serper",)},
    how={"labels": "premise", "no_change": "zero", "no_documents": "left out", "unclear": "carry"},
    tables=(
        PaperTable("Chameleon score, source re-use, confidence and stance changes"),
        PaperTable("Topics and questions"),
    ),
    ours=(
        "The paper does not print its requests for queries and answers, or its limits on the characters shown, so these"
        " are Overton's own. The question for an answer's certainty is Overton's own, too."
    ),
)
