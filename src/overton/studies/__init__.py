"""The science: what each study asks and what the answers mean. No engine, no network, no file paths in here.

A study of another package is made of what stands here; see docs/your-own-study.md.
"""

from overton.studies.command import Command, Done
from overton.studies.exhibits import Callout, Chart, Column, Exhibits, Method, Prose, Section, Table
from overton.studies.items import Items
from overton.studies.measuring import Headline, How, Measuring, Results
from overton.studies.options import NoOptions, Option
from overton.studies.prompts import Prompts
from overton.studies.readable import ask_until_read
from overton.studies.registry import Listed, listed, study_named
from overton.studies.study import INTERFACE, Dataset, Role, Study

__all__ = [
    "INTERFACE",
    "Callout",
    "Chart",
    "Column",
    "Command",
    "Dataset",
    "Done",
    "Exhibits",
    "Headline",
    "How",
    "Items",
    "Listed",
    "Measuring",
    "Method",
    "NoOptions",
    "Option",
    "Prompts",
    "Prose",
    "Results",
    "Role",
    "Section",
    "Study",
    "Table",
    "ask_until_read",
    "listed",
    "study_named",
]
