"""Every word that a model reads in this study, as data with its source."""

from overton.studies.prompts import Prompts

__all__ = ["PROMPTS", "fill", "load", "texts"]

PROMPTS = Prompts(
    __name__,
    # What the paper prints is kept as it prints it, and what stands around it keeps to the same marks.
    marks={
        "audit": ["{name}"],
        "evidence": ["{name}"],
        "nulls": ["{name}"],
        "rephrase": ["{name}"],
        "templates": ["<name>", "{name}"],
    },
)
fill, load, texts = PROMPTS.fill, PROMPTS.load, PROMPTS.texts
