"""Conditions, models and measures of pluralism in words."""

from __future__ import annotations

from overton.studies.pluralism.options import Against, named
from overton.studies.pluralism.tables import UNNAMED

MEASURES = {
    "sycophancy_global_precision": "Global P",
    "sycophancy_recall": "Global R",
    "sycophancy_global_f1": "Global F1",
    "sycophancy_supporting_precision": "Supporting P",
    "sycophancy_supporting_recall": "Supporting R",
    "sycophancy_supporting_f1": "Supporting F1",
    "sycophancy_against_precision": "Against P",
    "sycophancy_against_recall": "Against R",
    "sycophancy_against_f1": "Against F1",
    "sycophancy_redundancy": "Redundancy",
    "sycophancy_ndcg": "NDCG",
    "ranking_spearman": "Spearman's rho",
    "ranking_kendall": "Kendall's tau",
    "ranking_top_1": "Top-1",
    "ranking_position_accuracy": "Positions right",
    "ranking_mrr_at_10": "MRR@10",
    **{
        f"{pairs}_{name}": title
        for pairs in ("pairwise", "pairwise_gap")
        for name, title in (
            ("accuracy", "Accuracy"),
            ("accuracy_first", "Popular one first"),
            ("accuracy_second", "Popular one second"),
            ("first_pull", "Pull of the first"),
        )
    },
}
"""Headings of measures in tables."""

EXPERIMENTS = {
    "sycophancy": "Responses",
    "ranking": "Rankings",
    "pairwise": "Pairs with the most popular viewpoint",
    "pairwise_gap": "Random pairs",
}

AGAINST: dict[Against, str] = {
    "neutral": "neutral",
    "matched-neutral": "neutral in the biased wording",
    "twin": "the plain setting",
}

_ARMS = {
    "neutral": "neutral",
    "toward": "biased toward",
    "opposing": "biased opposing",
    "biased": "biased",
    "matched-neutral": "neutral, biased wording",
}


def condition_words(name: str) -> str:
    """A condition for readers: its arm in words, then what differs from the plain setting."""
    found = named(name)
    arm = _ARMS.get(found.arm, name.partition("+")[0])
    effort = f", effort {found.effort}" if found.effort else ""
    return f"{arm}{effort}{', mitigated' if found.mitigated else ''}"


def model_words(name: str | None) -> str:
    """A model for readers."""
    return "all models" if name is None else "the model" if name == UNNAMED else name
