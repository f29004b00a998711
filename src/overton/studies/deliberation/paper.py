"""The paper's experiment on deliberation, used by `--as-published`."""

from __future__ import annotations

from overton.studies.paper import Paper, PaperTable

PAPER = Paper(
    citation="Conformity, Inertia, and Value Alignment in Multi-Turn LLM Deliberation",
    options={
        "cells": (
            "synchronous/correctness/2",
            "round-robin/correctness/2",
            "round-robin/correctness/3",
            "synchronous/balanced/2",
        ),
        "orders": "all",
        "rounds": 4,
        "trials": 1,
        "instructions": "paper",
        "values": True,
        "retest": 0.0,
    },
    unless={"cells": ("formats", "goals", "sizes", "named_orders", "cells")},
    how={"estimator": "as_published", "conformity": "shared", "goals": "apart", "intervals": "bootstrap"},
    tables=(
        PaperTable("Parameters of the choice model: AdamW as published*", (), "table 1"),
        PaperTable("*rchetypes*"),
    ),
    ours=(
        "The instructions for agents who speak in turn, and for three agents, are Overton's own, because the paper"
        " prints none."
    ),
)
