"""The command line. Each command parses its arguments, calls one function and prints the result. Python users call the
same functions."""

from overton.cli.main import main

__all__ = ["main"]
