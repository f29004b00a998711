"""Chameleon's experiment: what `--as-published` stands for in stance stability."""

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
    # The paper searched Google, whose own interface takes no new customers: Serper returns its results.
    roles={"search": ("serper",)},
    how={"labels": "premise", "no_change": "zero", "no_documents": "left out", "unclear": "carry"},
    tables=(
        PaperTable("Chameleon score, source re-use, confidence and stance changes"),
        PaperTable("Topics and questions"),
    ),
    ours=(
        "The paper does not print its requests for queries and answers, or its limits on the characters shown: they are"
        " the project's own. So is the question for the certainty of an answer."
    ),
)
