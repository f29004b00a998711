"""Every word that a model reads in this study, as data with its source."""

from overton.studies.prompts import Prompts

__all__ = ["PROMPTS", "fill", "load", "texts"]

PROMPTS = Prompts(
    __name__,
    # The paper's texts are kept as printed, and the texts around them use the same marks.
    marks={
        "audit": ["{name}"],
        "evidence": ["{name}"],
        "nulls": ["{name}"],
        "rephrase": ["{name}"],
        "templates": ["<name>", "{name}"],
    },
)
fill, load, texts = PROMPTS.fill, PROMPTS.load, PROMPTS.texts
