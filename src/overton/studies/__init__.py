"""The science: what each study asks and what the answers mean. No engine, no network and no file paths in here.

A study in another package is built from what is exported here; see docs/your-own-study.md.
"""

from overton.studies import retesting
from overton.studies.analysed import Analysed
from overton.studies.command import Command, Done
from overton.studies.degenerate import degenerate
from overton.studies.exhibits import Callout, Chart, Column, Exhibits, Method, Prose, Section, Table
from overton.studies.items import Items
from overton.studies.measuring import Comparing, Correcting, Headline, How, Measuring
from overton.studies.noting import Notes
from overton.studies.nulls import Null
from overton.studies.options import NoOptions, Option, option_place
from overton.studies.parsing import Parsed, Text, json_lines
from overton.studies.prompts import Prompts
from overton.studies.readable import Unreadable, Wanted, ask_all_until_read, ask_until_read, unless_refused
from overton.studies.registry import Listed, listed, study_named
from overton.studies.respondent import respondent
from overton.studies.results import Results
from overton.studies.sheet import JudgedAgain, JudgedOnce, JudgedRows, JudgedUnits, Sheet, definitions_in
from overton.studies.study import INTERFACE, Dataset, Demo, Role, Study
from overton.studies.table import RawTable, means

__all__ = [
    "INTERFACE",
    "Analysed",
    "Callout",
    "Chart",
    "Column",
    "Command",
    "Comparing",
    "Correcting",
    "Dataset",
    "Demo",
    "Done",
    "Exhibits",
    "Headline",
    "How",
    "Items",
    "JudgedAgain",
    "JudgedOnce",
    "JudgedRows",
    "JudgedUnits",
    "Listed",
    "Measuring",
    "Method",
    "NoOptions",
    "Notes",
    "Null",
    "Option",
    "Parsed",
    "Prompts",
    "Prose",
    "RawTable",
    "Results",
    "Role",
    "Section",
    "Sheet",
    "Study",
    "Table",
    "Text",
    "Unreadable",
    "Wanted",
    "ask_all_until_read",
    "ask_until_read",
    "definitions_in",
    "degenerate",
    "json_lines",
    "listed",
    "means",
    "option_place",
    "respondent",
    "retesting",
    "study_named",
    "unless_refused",
]
