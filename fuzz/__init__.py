"""What attacks Overton's readers of bytes: `make fuzz`, or `python -m fuzz --help`.

Each reader is a target, a small function that takes bytes. It may return, or raise the errors that its readers
document; whatever else leaves it is a crash, and so is taking too long or too much memory. Cases are made of valid
documents, which Overton's own writers make, by mutations that know some structure. What crashed once and was mended
stands in `corpus/`, a file each, and the suite tries all of it.
"""
