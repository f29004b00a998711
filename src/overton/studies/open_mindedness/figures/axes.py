"""Axes of more than one chart of this study."""

from overton.studies.charts import Axis

__all__ = ["SCORE"]

SCORE = Axis("Open-mindedness (0 to 100)", 0, 100, "score")
