"""How a value of the input is shown in a message."""

from overton.studies.noting import quoted

__all__ = ["quoted"]
