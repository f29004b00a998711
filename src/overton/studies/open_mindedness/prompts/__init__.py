"""All texts of this study that models read, stored as data with their sources."""

from overton.studies.prompts import Prompts

__all__ = ["PROMPTS", "fill", "load", "texts"]

PROMPTS = Prompts(
    __name__,
    # The paper's texts are kept as printed. Overton's own texts use the same marks for placeholders.
    marks={
        "audit": ["{name}"],
        "evidence": ["{name}"],
        "nulls": ["{name}"],
        "rephrase": ["{name}"],
        "templates": ["<name>", "{name}"],
    },
)
fill, load, texts = PROMPTS.fill, PROMPTS.load, PROMPTS.texts
