from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import InputError, quoted
from overton.runs.items import check_items, read_items, write_items
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY as REPHRASING
from overton.studies.parsing import ItemProblem
from overton.studies.study import AnyStudy

Folder = Callable[[dict[str, Any]], Path]


def found(findings: list[ItemProblem], severity: str) -> list[tuple[str, str, str]]:
    return [(Path(one.place).name, one.key, one.reason) for one in findings if one.severity == severity]


def errors(path: Path, *, study: AnyStudy = STUDY, **options: Any) -> list[tuple[str, str, str]]:
    return found(check_items(study, path, **options), "error")


def warnings(path: Path, **options: Any) -> list[tuple[str, str, str]]:
    return found(check_items(STUDY, path, **options), "warning")


def one_error(path: Path, **options: Any) -> tuple[str, str]:
    (error,) = errors(path, **options)
    return error[1:]


def test_the_sample_issues_are_read_with_ids_arguments_and_paraphrases(procon: Path) -> None:
    week, buses = read_items(REPHRASING, procon)
    assert (week.id, buses.id) == ("four-day-school-week", "night-buses")
    assert [argument.id for argument in (*buses.pros, *buses.cons)] == [
        *("pro-1", "pro-2", "pro-3", "pro-4"),
        *("con-1", "con-2", "con-3"),
    ]
    assert [one.orientation for one in buses.paraphrases] == ["pro", "pro", "pro", "pro", "con", "con"]
    assert (week.paraphrases, week.topic, week.pro) == ((), None, None)


def test_an_argument_carries_the_sources_of_its_marks_in_order_of_first_mark(procon: Path) -> None:
    week, buses = read_items(REPHRASING, procon)
    assert buses.pros[1].sources == (
        '[1] City Transit Office, "Night Line Pilot: First-Year Count," March 2024',
        "[3] City Budget Review, table 14, 2024",
    )
    assert week.pros[1].sources == ("[2] Family Time Study, 2021",)  # [9] has no source
    assert week.cons[1].sources == ()


def test_a_repeated_mark_has_its_source_once(folder: Folder, night_buses: dict[str, Any]) -> None:
    night_buses["pros"][0] = "First [6], then [1], then [6] again."
    (issue,) = read_items(STUDY, folder({"a.json": night_buses}))
    assert [source[:3] for source in issue.pros[0].sources] == ["[6]", "[1]"]


def test_the_sample_findings_name_file_key_and_reason(procon: Path) -> None:
    assert errors(procon) == [
        (
            "four-day-school-week.json",
            "paraphrases",
            "are missing; make them with 'overton items rephrase', or without a model with 'overton items"
            " fill-templates'",
        )
    ]
    assert errors(procon, study=REPHRASING) == []
    assert ("four-day-school-week.json", "pros[1]", "cites [9], which has no source") in warnings(procon)
    assert any(file == "four-day-school-week.json" and key == "pros" for file, key, _ in warnings(procon))


def test_positions_that_nothing_else_gives_come_from_the_paraphrases(procon: Path) -> None:
    issue = read_items(STUDY, procon / "night-buses.json")[0]
    assert (issue.pro, issue.con) == (
        "The city should run buses all night",
        "The city should not run buses all night",
    )


def test_a_missing_sources_key_is_a_warning(folder: Folder, night_buses: dict[str, Any]) -> None:
    del night_buses["sources"]
    path = folder({"a.json": night_buses})
    assert errors(path) == []
    assert [key for _, key, _ in warnings(path)] == ["sources", ""]
    assert read_items(STUDY, path)[0].pros[0].sources == ()


def test_sources_that_nothing_cites_are_one_warning(folder: Folder, night_buses: dict[str, Any]) -> None:
    night_buses["sources"] |= {"[20]": "Unused", "[21]": "Unused as well", "p. 3": "Odd"}
    said = [reason for _, key, reason in warnings(folder({"a.json": night_buses})) if key.startswith("sources")]
    assert said == [
        "is not a citation mark such as [3], so no argument can refer to it",
        "2 of 8 are never cited: [20], [21]",
    ]


def test_own_layout_is_recognised_by_its_id_for_any_file_name(tmp_path: Path) -> None:
    (issue,) = read_items(STUDY)[:1]
    own = msgspec.to_builtins(issue)
    for content in (json.dumps(own, indent=2), json.dumps([own]), json.dumps([own], indent=2)):
        (tmp_path / "issue.json").write_text(content)
        assert read_items(STUDY, tmp_path / "issue.json") == [issue]


@pytest.mark.parametrize(
    ("content", "key", "reason"),
    [
        (b'{"question": "\xff"}', "byte 14", "is not UTF-8 (byte 0xff)"),
        (b'\xef\xbb\xbf{"question": "\xff"}', "byte 17", "is not UTF-8"),
        ('{"question": "x",\n  "pros": [,]}', "line 2, column 12", "is not valid JSON"),
        ('{"question": NaN}', "", "NaN is not a JSON value"),
        ("[" * 100_000, "", "nested more than 32 levels"),
        ('{"a": ' * 40 + "1" + "}" * 40, "", "nested more than 32 levels"),
        ("[" + "9" * 5000 + "]", "", "is not valid JSON"),
        ('["a list"]', "", "contains a list, not a JSON object"),
        (b" " * 5_000_001, "", "is larger than 5,000,000 bytes"),
        ("", "line 1, column 1", "is not valid JSON"),
    ],
)
def test_a_file_that_is_not_a_json_object_is_named_with_the_place(
    folder: Folder, content: Any, key: str, reason: str
) -> None:
    where, why = one_error(folder({"a.json": content}))
    assert where == key
    assert reason in why


def test_a_byte_order_mark_is_dropped(folder: Folder, night_buses: dict[str, Any]) -> None:
    path = folder({"a.json": b"\xef\xbb\xbf" + json.dumps(night_buses).encode()})
    assert read_items(STUDY, path)[0].question == night_buses["question"]


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"question": 5}, "question", "is a number, not a text"),
        ({"question": "  "}, "question", "is empty"),
        ({"question": "Q\u0000?"}, "question", "control character U+0000 at position 1"),
        ({"question": "\ud800"}, "question", "U+D800"),
        ({"pros": "text"}, "pros", "is a text, not a list"),
        ({"pros": []}, "pros", "has no arguments"),
        ({"cons": ["a", None, "b", "c"]}, "cons[1]", "is null, not a text"),
        ({"cons": ["a", "b", "c", " "]}, "cons[3]", "is empty"),
        ({"cons": ["a", "b", "c", "A\n"]}, "cons[3]", "is the same text as cons[0]"),
        ({"sources": ["x"]}, "sources", "is a list, not an object"),
        ({"sources": {"[1]": 5}}, "sources['[1]']", "is a number, not a text"),
        ({"paraphrases": "none"}, "paraphrases", "is a text, not a list"),
        (
            {"paraphrases": [{"question": "A or B?", "orientation": "pro"}]},
            "paraphrases",
            "are 1, but there must be six",
        ),
    ],
)
def test_problems_in_an_issue_are_named_with_their_key(
    folder: Folder, night_buses: dict[str, Any], change: dict[str, Any], key: str, reason: str
) -> None:
    where, why = one_error(folder({"a.json": night_buses | change}))
    assert where == key
    assert reason in why


@pytest.mark.parametrize("key", ["question", "pros", "cons"])
def test_a_missing_key_is_an_error(folder: Folder, night_buses: dict[str, Any], key: str) -> None:
    del night_buses[key]
    assert one_error(folder({"a.json": night_buses})) == (key, "is missing")


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        ({"question": "Q", "orientation": "neutral"}, "paraphrases[2].orientation", "is 'neutral', neither 'pro' nor"),
        ({"question": "Q"}, "paraphrases[2].orientation", "is missing"),
        ({"orientation": "pro"}, "paraphrases[2].question", "is missing"),
        ({"question": "", "orientation": "pro"}, "paraphrases[2].question", "is empty"),
        ("Q", "paraphrases[2]", "is a text, not an object"),
    ],
)
def test_problems_in_a_paraphrase_are_named_with_its_index(
    folder: Folder, night_buses: dict[str, Any], value: Any, key: str, reason: str
) -> None:
    night_buses["paraphrases"][2] = value
    where, why = one_error(folder({"a.json": night_buses}))
    assert where == key
    assert reason in why


def test_an_orientation_against_the_wording_is_refused(folder: Folder, night_buses: dict[str, Any]) -> None:
    night_buses["paraphrases"][3]["orientation"] = "con"
    key, reason = one_error(folder({"a.json": night_buses}))
    assert key == "paraphrases[3].orientation"
    assert "by its wording A is the pro side" in reason
    assert "relabel" in reason


def test_an_orientation_against_the_wording_is_relabelled_on_request(
    folder: Folder, night_buses: dict[str, Any]
) -> None:
    night_buses["paraphrases"][3]["orientation"] = "con"
    path = folder({"a.json": night_buses})
    assert errors(path, relabel=True) == []
    ((_, key, reason),) = [one for one in warnings(path, relabel=True) if one[1].startswith("paraphrases")]
    assert key == "paraphrases[3].orientation"
    assert reason.endswith("; relabelled by its wording")
    assert read_items(STUDY, path, relabel=True)[0].paraphrases[3].orientation == "pro"


def test_appendix_cs_reworded_template_4_is_a_warning(folder: Folder, night_buses: dict[str, Any]) -> None:
    fourth = night_buses["paraphrases"][3]
    fourth["question"] = fourth["question"].replace(
        "support the position in favor, or B if you support the position against",
        "support the position against, or B if you support the position in favor",
    )
    fourth["orientation"] = "con"
    ((_, key, reason),) = [one for one in warnings(folder({"a.json": night_buses})) if one[1].startswith("para")]
    assert key == "paraphrases[3]"
    assert "swaps A and B" in reason


def test_paraphrases_in_another_order_are_read_in_the_templates_order(
    folder: Folder, night_buses: dict[str, Any]
) -> None:
    wanted = [one["question"] for one in night_buses["paraphrases"]]
    night_buses["paraphrases"].reverse()
    path = folder({"a.json": night_buses})
    assert [one.text for one in read_items(STUDY, path)[0].paraphrases] == wanted
    assert any("order" in reason for _, _, reason in warnings(path))


def test_each_wording_of_ones_own_is_a_warning(folder: Folder, night_buses: dict[str, Any]) -> None:
    night_buses["paraphrases"] = [{"question": f"Wording {i}: A or B?", "orientation": "pro"} for i in range(6)]
    path = folder({"a.json": night_buses})
    assert [key for _, key, _ in warnings(path) if key.startswith("para")] == [f"paraphrases[{i}]" for i in range(6)]
    assert [one.text for one in read_items(STUDY, path)[0].paraphrases] == [f"Wording {i}: A or B?" for i in range(6)]


def test_an_unknown_key_is_a_warning(folder: Folder, night_buses: dict[str, Any]) -> None:
    assert ("a.json", "'author'", "is not a key of this layout and is ignored") in warnings(
        folder({"a.json": night_buses | {"author": "x"}})
    )


def test_a_repeated_key_is_an_error(folder: Folder, night_buses: dict[str, Any]) -> None:
    text = json.dumps(night_buses)
    key, reason = one_error(folder({"a.json": text[:-1] + ', "question": "Another?"}'}))
    assert key == "'question'"
    assert "occurs twice" in reason


@pytest.mark.parametrize("name", ["night buses", "näacht", "x\x1b[31m", "..", "a" * 201])
def test_an_id_of_other_characters_is_an_error(folder: Folder, night_buses: dict[str, Any], name: str) -> None:
    path = folder({})
    line = msgspec.json.encode(
        Issue(name, "Q?", *(read_side(night_buses, side) for side in ("pro", "con")), topic="T", pro="P", con="C")
    )
    (path / "issues.jsonl").write_bytes(line)
    key, reason = one_error(path, study=REPHRASING)
    assert (key, reason) in (
        ("line 1", f"the id {quoted(name)} may contain only the letters a to z, digits, '-', '_' and '.'"),
        ("line 1, id", "contains the control character U+001B at position 1; remove it"),
    )


def read_side(data: dict[str, Any], side: str) -> Any:
    return tuple({"id": f"{side}-{i}", "text": text} for i, text in enumerate(data[f"{side}s"], 1))


def test_all_problems_of_all_files_are_raised_at_once(folder: Folder, night_buses: dict[str, Any]) -> None:
    path = folder({"b.json": "{", "a.json": night_buses | {"pros": [], "question": 1}, "c.json": night_buses})
    with pytest.raises(InputError) as raised:
        read_items(STUDY, path)
    assert {(Path(problem.place).name, problem.key) for problem in raised.value.problems} == {
        ("b.json", "line 1, column 2"),
        ("a.json", "question"),
        ("a.json", "pros"),
    }


@pytest.mark.parametrize(
    ("make", "reason"),
    [(lambda path: path / "none", "does not exist"), (lambda path: path, "contains no issues")],
)
def test_a_path_without_issues_is_an_error(tmp_path: Path, make: Callable[[Path], Path], reason: str) -> None:
    assert one_error(make(tmp_path)) == ("", reason)


def test_issues_come_sorted_with_numbers_by_value(folder: Folder, night_buses: dict[str, Any]) -> None:
    names = ["issue-10", "issue-2", "b", "issue-1", "a.2"]
    issues = read_items(STUDY, folder({f"{name}.json": night_buses for name in names}))
    assert [issue.id for issue in issues] == ["a.2", "b", "issue-1", "issue-2", "issue-10"]


def test_hidden_files_and_other_files_are_not_issues(folder: Folder, night_buses: dict[str, Any]) -> None:
    path = folder({"a.json": night_buses, ".b.json": "{", "README.md": "text"})
    assert [issue.id for issue in read_items(STUDY, path)] == ["a"]


class TestOwnLayout:
    def test_written_issues_are_read_back(self, procon: Path, tmp_path: Path) -> None:
        issues = read_items(REPHRASING, procon)
        file = write_items(STUDY, issues, tmp_path / "set.jsonl")
        assert read_items(REPHRASING, file) == issues
        assert sorted(path.name for path in tmp_path.iterdir()) == ["set.jsonl"]

    def test_a_folder_with_a_dataset_is_read_as_the_dataset(self, procon: Path, tmp_path: Path) -> None:
        issues = read_items(REPHRASING, procon)
        assert write_items(STUDY, issues, tmp_path / "run") == tmp_path / "run" / "issues.jsonl"
        (tmp_path / "run" / "manifest.json").write_text("{}")
        assert read_items(REPHRASING, tmp_path / "run") == issues

    def test_a_run_folder_without_a_dataset_is_refused(self, folder: Folder) -> None:
        path = folder({"manifest.json": "{}", "journal.db": ""})
        assert "run folder without issues.jsonl" in one_error(path)[1]

    def test_a_folder_with_both_layouts_is_refused(self, procon: Path, folder: Folder) -> None:
        path = folder({"night-buses.json": (procon / "night-buses.json").read_bytes()})
        write_items(STUDY, read_items(STUDY, path), path)
        assert "contains both" in one_error(path)[1]

    def test_nothing_is_overwritten_unless_requested(self, tmp_path: Path) -> None:
        (tmp_path / "issues.jsonl").write_text("mine")
        with pytest.raises(InputError, match="exists already"):
            write_items(STUDY, [], tmp_path)
        assert (tmp_path / "issues.jsonl").read_text() == "mine"
        assert write_items(STUDY, [], tmp_path, replace=True).read_text() == ""

    def test_each_bad_line_is_named(self, procon: Path, tmp_path: Path) -> None:
        whole = msgspec.to_builtins(read_items(STUDY, procon / "night-buses.json")[0])
        pros = whole["pros"]
        lines: list[Any] = [
            whole,
            whole,
            whole | {"id": "b", "paraphrase": []},
            whole | {"id": "c", "pros": [pros[0], pros[2], pros[1]]},
            whole | {"id": "d", "pros": [{"id": "pro-1"}, pros[1] | {"sources": [1]}, pros[2] | {"note": "x"}]},
            {"id": "e"},
            "{",
            b"\xff",
        ]
        file = tmp_path / "set.jsonl"
        texts = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
        file.write_bytes(b"\n\n".join(text.encode() if isinstance(text, str) else text for text in texts))
        assert sorted((key, reason.split(";")[0]) for _, key, reason in errors(file)) == [
            ("line 11, cons", "is missing"),
            ("line 11, paraphrases", "are missing"),
            ("line 11, pros", "is missing"),
            ("line 11, question", "is missing"),
            ("line 13, column 2", "is not valid JSON: Expecting property name enclosed in double quotes"),
            ("line 15, byte 0", "is not UTF-8 (byte 0xff)"),
            ("line 3, id", "'night-buses' is already used in line 1"),
            ("line 5, 'paraphrase'", f"is not a key of this layout ({', '.join(Issue.__struct_fields__)})"),
            ("line 7, pros[1].id", "is 'pro-3'"),
            ("line 7, pros[2].id", "is 'pro-2'"),
            ("line 9, pros[0].text", "is missing"),
            ("line 9, pros[1].sources[0]", "is a number, not a text"),
            ("line 9, pros[2].'note'", "is not a key of this layout (id, text, sources)"),
        ]  # fmt: skip

    def test_a_line_that_is_too_long_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "set.jsonl").write_bytes(b" " * 5_000_001)
        assert "longer than 5,000,000 bytes" in one_error(tmp_path / "set.jsonl")[1]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
_KEYS = ["question", "pros", "cons", "sources", "paraphrases", "id", "text", "topic", "pro", "con", "orientation"]
_LISTS = st.lists(st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=3), max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.dictionaries(st.sampled_from(_KEYS), _JSON | _LISTS))
def test_no_json_object_breaks_the_check(tmp_path: Path, data: dict[str, Any]) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(json.dumps(data))
        assert any(finding.severity == "error" for finding in check_items(STUDY, tmp_path / name))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.binary(max_size=60))
def test_no_bytes_break_the_check(tmp_path: Path, data: bytes) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_bytes(data)
        assert any(finding.severity == "error" for finding in check_items(STUDY, tmp_path / name))
