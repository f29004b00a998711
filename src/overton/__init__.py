"""Overton measures where a language model's opinions stand and what moves them."""

__version__ = "0.1.0"
