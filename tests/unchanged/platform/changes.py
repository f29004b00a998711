"""Changes on purpose to what the pins recorded: for each pin, the path and its value today.

`GONE` removes a path and everything below it. Any other value replaces both, and may be new. `RENAMED` has paths whose
recorded values are under another path today. Say the reason in a comment. The recorded files stay as they are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["CHANGED", "GONE", "RENAMED"]


class _Gone:
    """The value of a path that no longer exists."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = _Gone()

_PLANNED = (
    *("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness"),
    *("rephrase", "audit", "topics", "references", "audit-references", "judge-stance-stability"),
)

# The command 'judge table', its plan, its options and its Python call are new, and the commands 'verify' and 'show':
# all their values, by pin and path.
_TABLE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("table.json").read_text("utf-8"))

# Each paper's own run, data and numbers brought new options, commands, files and keys of manifests: all paths that are
# new, gone or have another value since then, by pin. The list of paths was reviewed; values are what the code gives.
_PAPERS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("papers.json").read_text("utf-8"))

# Better runs: system prompts, configuration files, ways to read replies, the check of first replies, headlines in
# plans, figures for a paper's column, reports of tables, trials behind a finding. All paths that are new, gone or
# have another value since then, by pin. The list of paths was reviewed; values are what the code gives.
_RUNS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("runs.json").read_text("utf-8"))

_OPTION: dict[str, Any] = {
    **{"argument": False, "required": False, "type": "str", "choices": [], "least": None, "most": None},
    **{"repeatable": False, "default": None, "off": [], "flag": False, "hidden": False},
}
"""An option of a command that takes a text."""

CHANGED: dict[str, dict[str, Any]] = {
    # A trial names its own condition, which was a field of its study, and may say which others make the same calls. A
    # run can be verified, and its trials shown. A `Model` can be a search engine or a source of pages, which keeps what
    # it finds.
    "python-names": {
        **_TABLE["python-names"],
        "overton.calls > Trial > members > condition_name": "property",
        "overton.calls > Trial > members > plan_key": "property",
        "overton.models > Model > class > keep_in": ["Callable[[str], None] | None", "= None"],
        "overton.models > Model > members": {"retrieves": "property"},
        "overton > verify > call > path": ["positional or keyword", "str | Path", "none"],
        # A run is made of its folder's path alone, and what takes a run's path takes a run.
        "overton > Run > class > path": ["positional or keyword", "str | Path", "none"],
        "overton > Run > class > manifest": ["positional or keyword", "~ | None", "= None"],
        "overton > Run > class > study": ["keyword-only", "~ | None", "= None"],
        "overton > Run > class > experiment": ["keyword-only", "~ | None", "= None"],
        **{f"overton > Run > members > {name}": "property" for name in ("journal_file", "lane_names", "records_file")},
        **{
            f"overton > {name} > call > path": ["positional or keyword", "str | Path | ~", "none"]
            for name in ("batches", "extend", "open_run", "resume")
        },
        # The results that the labels of a task will correct, by 'judge sample' as well.
        "overton.judge > use_of_labels": {
            "call": {
                "run": ["positional or keyword", "str | Path", "none"],
                "task": ["positional or keyword", "str | Path", "none"],
            }
        },
        # Records and estimates of a run for other programs, by the command 'export' as well.
        "overton > export_tables": {
            "call": {
                "run": ["positional or keyword", "str | Path | ~", "none"],
                "to": ["keyword-only", "str", "none"],
                "out": ["keyword-only", "str | Path", "= 'tables'"],
                "how": ["variadic keyword", "Any", "none"],
            }
        },
        # The terminal's tables as Markdown or LaTeX, by 'analyze --tables' as well.
        "overton > summary_tables": {
            "call": {
                "study": ["positional or keyword", "str", "none"],
                "source": ["positional or keyword", "~", "none"],
                "form": ["keyword-only", "str", "none"],
                "how": ["variadic keyword", "Any", "none"],
            }
        },
    },
    # A plan times no calls: a run's progress says how long it will take.
    # Shell completion is Click's own, which needs no options.
    "commands": {
        **_TABLE["commands"],
        **{f"plan {name} > --time": GONE for name in _PLANNED},
        **{f"overton > --{word}-completion": GONE for word in ("install", "show")},
        # Tables of a run: each kind of export has a folder of its own by default, and estimates are computed as chosen.
        "export > --to > choices": ["inspect", "csv", "parquet"],
        "export > --out > default": None,
        **{
            f"analyze {name} > --tables": _OPTION | {"choices": ["markdown", "latex"], "names": ["--tables"]}
            for name in _PLANNED[:5]
        },
        "export > --with": _OPTION | {"names": ["--with"], "repeatable": True},
    },
    # New runs cannot match by shared words: that measured nothing. Stored runs still have it.
    "study-options": {**_TABLE["study-options"], "pluralism > run > matching > known": ["together", "pairs"]},
    # The key of a sheet is a label task, as pages have it, so that its labels correct numbers. Keys of 0.2.0 are read.
    "folder-labelled": {
        "sheet > keys > rows.key.json": {
            **dict.fromkeys(("name", "study", "what", "judge", "question", "design"), "str"),
            **dict.fromkeys(("seed", "groups"), "int"),
            "labels": {"KEY": "str"},
            "population": {"KEY": "int"},
            "rows": [{"id": "str", "judged": "str", "group": "str", "chance": "float"}],
            "people": [["int"]],
        }
    },
}

# The signatures of these commands have their options' helps, which are in plainer words.
_HELPS: dict[str, tuple[str, str, str]] = {
    "compare_clusterings > call > sheet": (
        "str | Path | None",
        "CSV file to write, for a person who compares the blinded clusterings side by side",
        ", ~=True",
    ),
    "compare_references > call > second": (
        "str | Path",
        "The same threads with other viewpoints",
        ", ~=True, ~=True",
    ),
    "dilemmas > call > judge": (
        "str | None",
        "Model that reads comments whose verdict no pattern matches",
        "",
    ),
    "fill_templates > call > positions": (
        "str | Path | None",
        "CSV with issue, topic, pro and con; by default positions.csv in the folder or next to it",
        ", ~=True",
    ),
    "preferences > call > key": (
        "str | Path | None",
        "Key file of the sheets, if it is not in the folder of the first sheet",
        ", ~=True",
    ),
    "threads > call > community": (
        "str | None",
        "Keep posts of this community",
        "",
    ),
    "threads > call > year": (
        "int | None",
        "Keep posts of this year (UTC)",
        "",
    ),
    "threads > call > min_comments": (
        "int | None",
        "Minimum number of usable comments; by default the number in table 2 for the community, or 10",
        "",
    ),
    "threads > call > max_comments": (
        "int | None",
        "Maximum number of usable comments; by default the number in table 2 for the community, or 50",
        "",
    ),
    "threads > call > sample": (
        "int | None",
        "Number of threads to sample per community; by default the number in table 2, or 500",
        "",
    ),
    "procon > call > pages": (
        "str | Path",
        "Saved page (.html), WARC archive (.warc.gz), or a folder with such files",
        ", ~=True, ~=True",
    ),
    "values_sheet > call > source": (
        "str | Path",
        "File of collected values (for the task categories), or a run of overton items values (for other tasks)",
        ", ~=True, ~=True",
    ),
    "values_table > call > sheets": (
        "Sequence[str | Path]",
        "Filled sheets for this run",
        ", ~=True, ~=True",
    ),
    "values_table > call > out": (
        "str | Path",
        "CSV file to write; the list gets the same name, with .jsonl",
        ", ~=True",
    ),
    "values_sheet > call > step": (
        "~ | None",
        "Task for the person; by default categories for a file of collected values, and codes for a run",
        "",
    ),
}

for _name, _found in (*_PAPERS.items(), *_RUNS.items()):
    CHANGED[_name] = {**CHANGED.get(_name, {}), **dict.fromkeys(_found["gone"], GONE), **_found["values"]}
CHANGED["python-names"] |= {
    f"overton.items > {path} > 1": f"~[{kind}, ~({said!r}{more})]" for path, (kind, said, more) in _HELPS.items()
}

RENAMED: dict[str, dict[str, str]] = {
    # Interface 2: names that say what these protocols and reports are.
    "python-names": {
        "overton.calls > Batching": "overton.calls > BatchApi",
        "overton.calls > Looked": "overton.calls > BatchStatus",
        "overton.calls > Serving": "overton.calls > ServerList",
    },
}
