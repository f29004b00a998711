"""Attacks on Overton's readers of bytes: `make fuzz`, or `python -m fuzz --help`.

Each reader is a target, a small function that takes bytes. It may return, or raise the errors that its readers
document; any other exception is a crash, and so is taking too long or too much memory. Cases are made from valid
documents, which Overton's own writers make, by mutations that know some structure. Every input that once crashed and
was fixed is in `corpus/`, one file each, and the suite tries all of them.
"""
