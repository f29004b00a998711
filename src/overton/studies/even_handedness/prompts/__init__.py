"""All texts that a model reads in this study, as data with their source."""

from overton.studies.prompts import Prompts

__all__ = ["PROMPTS", "fill", "load", "texts"]

PROMPTS = Prompts(__name__, marks={"grading": ["{name}"]})  # the published prompts keep their own marks
fill, load, texts = PROMPTS.fill, PROMPTS.load, PROMPTS.texts
