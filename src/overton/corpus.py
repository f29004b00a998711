"""Collections of pages for local search: `overton corpus NAME` is a function here."""

from overton.api.collections import Collection, index, search

__all__ = ["Collection", "index", "search"]
