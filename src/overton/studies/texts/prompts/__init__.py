"""The words that Overton adds to a user's own question."""

from overton.studies.prompts import Prompts

__all__ = ["PROMPTS", "fill", "texts"]

PROMPTS = Prompts(__name__)
fill, texts = PROMPTS.fill, PROMPTS.texts
