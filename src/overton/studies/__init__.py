"""The science: what each study asks and what the answers mean. No engine, no network and no file paths in here.

A study in another package is built from what is exported here; see docs/your-own-study.md.
"""

from overton.studies import self_agreement
from overton.studies.asking import ReadableRequest, UnreadableReply, ask_all_until_read, ask_until_read, unless_refused
from overton.studies.frame import Analysed
from overton.studies.items import Items
from overton.studies.measurement import Comparing, Correcting, Headline, How, Measuring
from overton.studies.null_conditions import Null
from overton.studies.options import Demands, NoOptions, Option, StudyOptions, option_place
from overton.studies.orders import Order
from overton.studies.parsing import Notes, ParsedItems, Text, json_lines
from overton.studies.prompts import Prompts
from overton.studies.questions import (
    JudgeAnswer,
    JudgePrompt,
    Material,
    Question,
    Questions,
    controls_in,
    definitions_in,
    from_columns,
    label_prompts,
)
from overton.studies.registry import StudyEntry, listed, study_named
from overton.studies.results import Results
from overton.studies.sections import Callout, Chart, Column, Exhibits, Method, Prose, Section, Table
from overton.studies.simulated import degenerate, respondent
from overton.studies.study import INTERFACE, Command, Dataset, Done, Role, Study
from overton.studies.tables import RawTable, means

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
    "Demands",
    "Done",
    "Exhibits",
    "Headline",
    "How",
    "Items",
    "JudgeAnswer",
    "JudgePrompt",
    "Material",
    "Measuring",
    "Method",
    "NoOptions",
    "Notes",
    "Null",
    "Option",
    "Order",
    "ParsedItems",
    "Prompts",
    "Prose",
    "Question",
    "Questions",
    "RawTable",
    "ReadableRequest",
    "Results",
    "Role",
    "Section",
    "Study",
    "StudyEntry",
    "StudyOptions",
    "Table",
    "Text",
    "UnreadableReply",
    "ask_all_until_read",
    "ask_until_read",
    "controls_in",
    "definitions_in",
    "degenerate",
    "from_columns",
    "json_lines",
    "label_prompts",
    "listed",
    "means",
    "option_place",
    "respondent",
    "self_agreement",
    "study_named",
    "unless_refused",
]
