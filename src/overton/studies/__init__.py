"""The scientific part of Overton: the questions of each study, and how answers become numbers. It contains no engine,
no network access and no file paths.

Other packages can build studies from the names that this package exports; see docs/your-own-study.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from overton.studies import self_agreement
from overton.studies.asking import (
    ReadableRequest,
    UnreadableReply,
    ask_all_until_read,
    ask_and_read,
    ask_until_read,
    unless_refused,
)
from overton.studies.items import Facet, Items
from overton.studies.measurement import Comparing, Correcting, Headline, How, Measuring
from overton.studies.null_conditions import Null
from overton.studies.options import Demands, NoOptions, Option, StudyOptions, option_place
from overton.studies.orders import Order
from overton.studies.paper import Paper, PaperTable
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
    filled_prompts,
    from_columns,
    from_records,
    label_prompts,
)
from overton.studies.registry import StudyEntry, listed, study_named
from overton.studies.results import Results
from overton.studies.sections import Callout, Chart, Column, Exhibits, Method, Prose, Section, Table
from overton.studies.simulated import degenerate, respondent, word_judge
from overton.studies.study import INTERFACE, Command, Dataset, Done, Role, Study
from overton.studies.tables import RawTable, means

if TYPE_CHECKING:
    from overton.studies.claims import OTHER, Claim, Claims, ProfileEntry
    from overton.studies.layouts import ITEM, CountColumn, DotsOf, MeasureColumn, RowsOf, SectionOf, TableOf
    from overton.studies.mean_blocks import blocks_of
    from overton.studies.measures import Grouping, Measure
    from overton.studies.record_units import RecordUnits
    from overton.studies.study_measures import Rows, StudyMeasures
    from overton.studies.study_report import StudyReport

__all__ = [
    "INTERFACE",
    "ITEM",
    "OTHER",
    "Callout",
    "Chart",
    "Claim",
    "Claims",
    "Column",
    "Command",
    "Comparing",
    "Correcting",
    "CountColumn",
    "Dataset",
    "Demands",
    "Done",
    "DotsOf",
    "Exhibits",
    "Facet",
    "Grouping",
    "Headline",
    "How",
    "Items",
    "JudgeAnswer",
    "JudgePrompt",
    "Material",
    "Measure",
    "MeasureColumn",
    "Measuring",
    "Method",
    "NoOptions",
    "Notes",
    "Null",
    "Option",
    "Order",
    "Paper",
    "PaperTable",
    "ParsedItems",
    "ProfileEntry",
    "Prompts",
    "Prose",
    "Question",
    "Questions",
    "RawTable",
    "ReadableRequest",
    "RecordUnits",
    "Results",
    "Role",
    "Rows",
    "RowsOf",
    "Section",
    "SectionOf",
    "Study",
    "StudyEntry",
    "StudyMeasures",
    "StudyOptions",
    "StudyReport",
    "Table",
    "TableOf",
    "Text",
    "UnreadableReply",
    "ask_all_until_read",
    "ask_and_read",
    "ask_until_read",
    "blocks_of",
    "controls_in",
    "definitions_in",
    "degenerate",
    "filled_prompts",
    "from_columns",
    "from_records",
    "json_lines",
    "label_prompts",
    "listed",
    "means",
    "option_place",
    "respondent",
    "self_agreement",
    "study_named",
    "unless_refused",
    "word_judge",
]

_LATE = {
    "ITEM": "layouts",
    "OTHER": "claims",
    "Claim": "claims",
    "Claims": "claims",
    "CountColumn": "layouts",
    "DotsOf": "layouts",
    "Grouping": "measures",
    "Measure": "measures",
    "MeasureColumn": "layouts",
    "ProfileEntry": "claims",
    "RecordUnits": "record_units",
    "Rows": "study_measures",
    "RowsOf": "layouts",
    "SectionOf": "layouts",
    "StudyMeasures": "study_measures",
    "StudyReport": "study_report",
    "TableOf": "layouts",
    "blocks_of": "mean_blocks",
}
"""The module of each name that needs numerical libraries. The module is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
