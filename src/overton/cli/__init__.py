"""The command line: each command parses, calls, prints; it adds nothing that Python lacks."""

from overton.cli.main import main

__all__ = ["main"]
