"""Texts in the place of a study's own, from a folder in the project's form or from other files that a mapping names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.runs.prompt_folder import read_prompts
from overton.studies.registry import study_named
from overton.studies.text_replacement import with_texts

STUDY = study_named("deliberation")
TALK = """<setting>
You are arbiter {{ number }} in a council with one other arbiter.
</setting>

<form>
Speak in turn; you are {% if number == 1 %}first.{% else %}second.{% endif %}
There are at most 4 rounds.
</form>

Here is the case:
"""
LIST = "Which values?\n- Thrift\n- Valour\n- Wit\nName them."
MAPPING = """
folder = "theirs/prompts"

[texts."system.published.overview"]
file = "talk.txt"
part = "setting"
places = { agent = "number" }
replace = [["one other arbiter", "{{ others }}"]]

[texts.described.two]
round-robin = { file = "talk.txt", part = "form", places = { agent = "number" }, replace = [
    ["4 rounds", "{{ rounds }}"],
    ["you are {% if number == 1 %}first.{% else %}second.{% endif %}", "Agent {{ agent }}, you are {{ turn }}."],
] }

[texts."values.system"]
file = "list.txt"
replace = [[["- Thrift", "- Wit"], "{{ values }}"]]

[texts."system.closing"]
file = "talk.txt"
part = ["Here is", ":"]

[texts."messages.request"]
text = "Round <which>:"
marks = "<name>"
places = { round = "which" }
"""
OVERVIEW = "<setting>\nYou are arbiter {{ agent }} in a council with {{ others }}.\n</setting>"
FOUND = {
    "described.two.round-robin": "<form>\nSpeak in turn; Agent {{ agent }}, you are {{ turn }}.\n"
    "There are at most {{ rounds }}.\n</form>",
    "messages.request": "Round {{ round }}:",
    "system.closing": "Here is the case:",
    "system.published.overview": OVERVIEW,
    "values.system": "Which values?\n{{ values }}\nName them.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a clone of somebody's repository is in, with a mapping next to it."""
    prompts = tmp_path / "theirs" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "talk.txt").write_text(TALK)
    (prompts / "list.txt").write_text(f"\n{LIST}\n".replace("\n", "\r\n"))
    (prompts.parent / "pyproject.toml").write_text("[project]\nname = 'theirs'\n")
    (tmp_path / "prompts.toml").write_text(MAPPING)
    return tmp_path


def own_form(folder: Path, **files: str) -> Path:
    place = folder / "own"
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.toml").write_text(text)
    return place


def problem_of(folder: Path, study: str = "deliberation") -> tuple[str, str, str]:
    with pytest.raises(InputError) as refused:
        read_prompts(study_named(study), folder)
    (problem,) = refused.value.problems
    return Path(problem.place).name, problem.key, problem.reason


def test_files_with_the_projects_names_and_keys_are_read(tmp_path: Path) -> None:
    place = own_form(
        tmp_path,
        system=f'closing = "So:"\n[published]\noverview = """{OVERVIEW}"""\n'
        '[ours.more]\nothers = "{{ count }} others"',
        messages='unread = "none that could be read"',  # the study's own
    )
    assert read_prompts(STUDY, place) == {
        "system.closing": "So:",
        "system.published.overview": OVERVIEW,
        "system.ours.more.others": "{{ count }} others",
    }


def test_a_whole_copy_of_a_studys_files_replaces_changed_texts(tmp_path: Path) -> None:
    from importlib.resources import files

    own = files("overton.studies.open_mindedness.prompts")
    texts = {path.name.removesuffix(".toml"): path.read_text() for path in own.iterdir() if path.name.endswith(".toml")}
    assert {"templates", "nulls"} <= {*texts}  # texts that a run does not send, and lists
    texts["evidence"] = texts["evidence"].replace("Here are arguments on an issue", "Read these arguments")
    place = own_form(tmp_path, **texts)
    found = read_prompts(study_named("open-mindedness"), place)
    assert found == {"evidence.wording.1.opening": "Read these arguments, each with its sources."}
    (place / "templates.toml").write_text(texts["templates"].replace("Consider", "Ponder"))
    with pytest.raises(InputError) as refused:
        read_prompts(study_named("open-mindedness"), place)
    assert {problem.key for problem in refused.value.problems} == {"template.1", "template.4"}
    (place / "templates.toml").write_text(texts["templates"])
    (place / "nulls.toml").write_text(texts["nulls"].replace("sources = [", 'sources = [\n"Mine",'))
    assert problem_of(place, "open-mindedness")[:2] == ("nulls.toml", "sources")


def test_texts_in_a_folder_below_have_its_name(tmp_path: Path) -> None:
    place = tmp_path / "own" / "reference"
    place.mkdir(parents=True)
    (place / "topicgpt.toml").write_text('no_topics = "(nothing)"')
    assert read_prompts(study_named("references"), place.parent) == {"reference.topicgpt.no_topics": "(nothing)"}


@pytest.mark.parametrize("given", ["", "prompts.toml"], ids=["folder", "file"])
def test_a_mapping_reads_files_of_another_form(folder: Path, given: str) -> None:
    found = read_prompts(STUDY, folder / given)
    assert found == FOUND
    with_texts(STUDY, found)  # all have the places of the texts that they replace


def test_texts_are_given_by_name_in_python() -> None:
    assert read_prompts(STUDY, {"system.closing": "So:", "messages.unread": "none that could be read"}) == {
        "system.closing": "So:"
    }
    assert read_prompts(STUDY, None) == {}
    with pytest.raises(InputError, match=r"prompts: system\.closing: must be a text, given by its name"):
        read_prompts(STUDY, {"system.closing": 3})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("file", "text", "key", "said"),
    [
        ("system", 'closin = "So:"', "closin", "did you mean 'system.closing'?"),
        ("systems", 'closing = "So:"', "closing", "did you mean 'system.closing'?"),
        ("system", "closing = 3", "closing", "is not a text"),
        ("values", 'listed = ["Wit"]', "listed", "is a list and not a text"),
        ("system", "closing = ", "", "is not valid TOML"),
        ("system", f'closing = "{"a" * 2**20}"', "", "is larger than 1,048,576 bytes"),
        ("system", 'published.overview = "Hi, {{ agent }}"', "published.overview", "lacks {{ others }}"),
        ("messages", 'request = "{{ raund }} {{ round }}"', "request", "has {{ raund }}, which nothing fills; did you"),
    ],
)
def test_a_wrong_file_in_the_projects_form_is_refused(
    tmp_path: Path, file: str, text: str, key: str, said: str
) -> None:
    place, found, reason = problem_of(own_form(tmp_path, **{file: text}))
    assert (place, found) == (f"{file}.toml", key)
    assert said in reason


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    place = own_form(tmp_path, system='closing = "{{ x }}"\nother = "b"', nulls='alone = "Alone."')
    with pytest.raises(InputError) as refused:
        read_prompts(STUDY, place)
    places = [(Path(problem.place).name, problem.key) for problem in refused.value.problems]
    assert sorted(places) == [("nulls.toml", "alone"), ("system.toml", "closing"), ("system.toml", "other")]


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('"system.closing"', '"system.closin"', "texts.system.closin", "did you mean 'system.closing'?"),
        ('"system.closing"', '"values.listed"', "texts.values.listed", "is a list"),
        ('file = "list.txt"', 'file = "lists.txt"', "texts.values.system.file", "did you mean 'list.txt'?"),
        ('file = "list.txt"', 'file = "../../secret"', "texts.values.system.file", "is not inside the folder"),
        ('file = "list.txt"', 'file = "/etc/passwd"', "texts.values.system.file", "cannot be read"),
        ('folder = "theirs/prompts"', 'folder = "/etc"', "texts.", "is not inside the folder"),
        ('file = "list.txt"', 'file = "link.txt"', "texts.values.system.file", "is a symbolic link"),
        ('file = "list.txt"', 'file = "large.txt"', "texts.values.system.file", "is larger than 1,048,576 bytes"),
        ('file = "list.txt"', 'file = "latin.txt"', "texts.values.system.file", "is not UTF-8"),
        ('file = "list.txt"', f'file = "{"long" * 999}.txt"', "texts.values.system.file", "cannot be read"),
        ('file = "list.txt"', "", "texts.values.system.file", "name the file with the text as `file`"),
        ('file = "list.txt"', 'fil = "list.txt"', "texts.values.system", "unknown field `fil`"),
        ('part = "setting"', 'part = "settings"', "texts.system.published.overview.part", "did you mean 'setting'?"),
        ('part = ["Here is", ":"]', 'part = ["Here", ";"]', "texts.system.closing.part", "';' is not in talk.txt"),
        ('"one other arbiter"', '"another"', "texts.system.published.overview.replace", "'another' is not in talk.txt"),
        ('["- Thrift", "- Wit"]', '["- Thrift", "- Zest"]', "texts.values.system.replace", "to '- Zest' is not in"),
        ('    ["you are {% if', '    ["We are {% if', "texts.described.two.round-robin.replace", "is not in talk.txt"),
        ('marks = "<name>"', 'marks = "<>"', "texts.messages.request.marks", "does not mark a place"),
        ('{ round = "which" }', '{ round = "when" }', "texts.messages.request.places", "text has <which>, which"),
        ('"Round <which>:"', '"{{ round }} <which>:"', "texts.messages.request", "take for a placeholder"),
    ],
)  # fmt: skip
def test_a_wrong_mapping_is_refused(folder: Path, old: str, new: str, key: str, said: str) -> None:
    prompts = folder / "theirs" / "prompts"
    (folder / "secret").write_text("a key")
    (prompts / "link.txt").symlink_to(folder / "secret")
    (prompts / "large.txt").write_text("a" * 2**20 + "b")
    (prompts / "latin.txt").write_bytes(b"\xe9")
    assert MAPPING.count(old) == 1
    (folder / "prompts.toml").write_text(MAPPING.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_prompts(STUDY, folder)
    problem = refused.value.problems[0]
    assert problem.place == str(folder / "prompts.toml")
    assert problem.key.startswith(key)
    assert said in problem.reason
    assert "a key" not in str(refused.value)


def test_deep_tables_are_refused(folder: Path, tmp_path: Path) -> None:
    deep = ".".join(["a"] * 5_000)
    (folder / "prompts.toml").write_text(f"[texts.{deep}]\nx = 1\n")
    assert "unknown field `a`" in problem_of(folder)[2]
    assert "is not a text that deliberation sends" in problem_of(own_form(tmp_path, system=f"[{deep}]\nx = 1\n"))[2]


def test_statements_of_templates_are_not_sent_as_they_are(folder: Path) -> None:
    start = MAPPING.index('    ["you are')
    (folder / "prompts.toml").write_text(MAPPING[:start] + MAPPING[MAPPING.index("] }", start) :])
    assert "is a template statement" in problem_of(folder)[2]


def test_links_are_not_followed_in_the_projects_form(tmp_path: Path) -> None:
    place = own_form(tmp_path, system='closing = "So:"')
    (place / "messages.toml").symlink_to(place / "system.toml")
    assert problem_of(place)[0] == "messages.toml"
    (place / "messages.toml").unlink()
    (tmp_path / "mine").symlink_to(place)
    assert read_prompts(STUDY, tmp_path / "mine") == {"system.closing": "So:"}  # the user named this one
    (place / "below").symlink_to(tmp_path / "other")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "system.toml").write_text('closing = "So:"')
    assert problem_of(place)[0] == "system.toml"


def test_other_folders_are_refused(tmp_path: Path) -> None:
    assert "is neither a folder" in problem_of(tmp_path / "nowhere")[2]
    assert "has no TOML file; those of deliberation are described.toml" in problem_of(tmp_path)[2]
    (tmp_path / "prompts.toml").write_text("[texts]\n[other]\n")
    assert "unknown field `other`" in problem_of(tmp_path)[2]


def test_a_studys_own_file_may_have_the_name_of_the_mapping(tmp_path: Path, monkeypatch: Any) -> None:
    from dataclasses import replace

    from overton.studies import Prompts

    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "prompts.toml").write_text('ask = "Is it so?"')
    monkeypatch.syspath_prepend(str(tmp_path))
    study = replace(STUDY, prompts=Prompts("their_package").texts)
    (tmp_path / "prompts.toml").write_text('ask = "Is it?"')
    assert read_prompts(study, tmp_path / "their_package") == {}
    place = tmp_path / "mine"
    place.mkdir()
    (place / "prompts.toml").write_text('ask = "Is it?"')
    assert read_prompts(study, place) == {"prompts.ask": "Is it?"}
    (place / "prompts.toml").write_text('[texts."prompts.ask"]\ntext = "Is that so?"')
    assert read_prompts(study, place) == {"prompts.ask": "Is that so?"}
