"""PluralEval's experiments: the meaning of `--as-published` in pluralism."""

from __future__ import annotations

from overton.studies.paper import Paper, PaperTable

_RECALLED = ("Supporting P", "Supporting R", "Supporting F1", "Against P", "Against R", "Against F1")
_GLOBAL = ("Global P", "Global R", "Global F1")

PAPER = Paper(
    citation="PluralEval",
    options={
        "experiments": ("sycophancy", "ranking", "pairwise"),
        "arms": ("neutral", "toward", "opposing", "biased"),
        "efforts": (None,),
        "mitigation": False,
        "responses": 10,
        "independent": False,
        "ranked": 10,
        "pairings": ("most-popular",),
        "pairs": 1,
        "pair_orders": "one",
        "retest": 0.0,
        "shares": "sampled",
    },
    how={"denominator": "non-neutral", "shares": "sampled"},
    tables=(
        PaperTable(
            "Ranking accuracy*", ("Condition", "Spearman's rho", "Kendall's tau", "Top-1", "Positions right", "MRR@10")
        ),
        PaperTable("Precision, recall and F1*", ("Condition", *_RECALLED, *_GLOBAL)),
        PaperTable("Threads with a reference opinion"),
        PaperTable("Accuracy by choice of pairs", (), "figure 4"),
    ),
    ours=(
        "The paper does not print the judge's prompts for writing beliefs, labelling stances and matching responses, so"
        " Overton uses its own prompts. Overton also shuffles the viewpoints in the matcher's prompt."
    ),
)
