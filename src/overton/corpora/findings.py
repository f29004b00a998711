"""How a value of the input is shown in a message."""

from overton.errors import quoted

__all__ = ["quoted"]
