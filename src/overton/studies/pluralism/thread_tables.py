"""Threads from tables that were made outside Overton. If a table has viewpoints, its threads have them too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from overton.studies.forum import is_gone
from overton.studies.item_mappings import MappedField, MappedObject, MappedPart, MappingNotes

_ABOUT = ("id", "community", "title", "text")
_COMMENT = ("id", "text", "votes")

FIELDS = (
    MappedField("id", "id"),
    MappedField("title", needed=True),
    MappedField("text"),
    MappedField("community", needed=True),
    MappedField("method"),
)
"""The fields of a mapping that are about the thread itself."""

PARTS = (
    MappedPart(
        "comments",
        (
            MappedField("id", "id"),
            MappedField("text", needed=True),
            MappedField("votes", "whole", needed=True),
            MappedField("parent", "id"),
            MappedField("viewpoint", "id"),
        ),
        plain="text",
    ),
    MappedPart(
        "viewpoints",
        (
            MappedField("id", "id"),
            MappedField("summary", needed=True),
            MappedField("votes", "sum"),
            MappedField("comments", "ids"),
            MappedField("opinions", "count"),
        ),
        plain="summary",
    ),
    MappedPart(
        "opinions",
        (
            MappedField("text", needed=True),
            MappedField("comments", "ids"),
            MappedField("viewpoint", "id", needed=True),
        ),
        plain="text",
    ),
)
"""The fields of a mapping that are about the thread's comments, viewpoints and opinions."""


def make_thread(read: MappedObject, notes: MappingNotes) -> MappedObject | None:
    """A thread with its comments in Overton's format; None if it has no comments. Threads without comments are counted
    in `notes`."""
    comments = [comment.only(*_COMMENT) for comment in _comments(read, notes)]
    if not comments:
        notes.odd["threads left out because they have no comments"] += 1
        return None
    return read.only(*_ABOUT, text=read.get("text", ""), comments=comments)


def make_reference(read: MappedObject, notes: MappingNotes) -> MappedObject | None:
    """A thread with its viewpoints in Overton's format; None if it has no viewpoints. Threads without viewpoints are
    counted in `notes`.

    The viewpoints are taken from the table's list of viewpoints. Without such a list, they are the viewpoints to which
    opinions or comments are assigned.

    Missing data about a viewpoint are derived from other data. Its comments are the comments that are assigned to it or
    state one of its opinions. Its votes are the sum of its comments' votes. Its number of opinions is the number of
    opinions and comments that the table assigns to it. If the table assigns none, its comments are counted instead.
    """
    comments = _comments(read, notes)
    opinions: Sequence[MappedObject] = read.get("opinions", ())
    links = _links(comments, opinions)
    if not {"viewpoints", "opinions"} & {*read} and not any(
        "viewpoint" in said.columns for said in read.get("comments", ())
    ):
        return read.only(*_ABOUT, "comments")  # the reader of references reports the missing viewpoints
    named = read.get("viewpoints") or [link.only(summary=link["viewpoint"]) for link in links]
    views = _merged(named, notes)
    if not views:
        notes.odd["threads left out because they have no viewpoints"] += 1
        return None
    ids = {key: view.get("id", f"v{number}") for number, (key, view) in enumerate(views.items(), 1)}
    ids = {view["summary"]: ids[key] for key, view in views.items()} | ids
    made = [
        _view(view, ids[key], [link for link in links if ids.get(link["viewpoint"]) == ids[key]], comments, notes)
        for key, view in views.items()
    ]
    more: dict[str, Any] = {"opinions": [*_placed(opinions, ids)]} if opinions else {}
    found = {name for view in made for name in view["comments"]}
    if found and (lost := [comment.only(*_COMMENT) for comment in comments if comment["id"] not in found]):
        more["lost"] = lost
    return read.only(*_ABOUT, text=read.get("text", ""), method=read.get("method", "table"), viewpoints=made, **more)


def _comments(read: MappedObject, notes: MappingNotes) -> list[MappedObject]:
    """A thread's comments, except deleted ones. If the table names parents, comments that answer other comments are
    also left out."""
    kept: list[MappedObject] = []
    for number, comment in enumerate(read.get("comments", ()), 1):
        if not comment.get("text", "").strip() or is_gone(comment["text"]):
            notes.odd["comments left out because they are empty, deleted or removed"] += 1
        elif "parent" in comment and _answers_comment(comment["parent"], read):
            notes.odd["comments left out because they answer other comments ('parent' in the mapping)"] += 1
        else:
            if "votes" not in comment:
                notes.odd["comments without votes, counted as 0"] += 1
            kept.append(comment.only(*comment, id=comment.get("id", f"c{number}"), votes=comment.get("votes", 0)))
    return kept


def _answers_comment(parent: str, thread: MappedObject) -> bool:
    """Whether the parent of a comment is another comment. In the forum's data, the id of a parent starts with 't3_' if
    the parent is a post, and with 't1_' if it is a comment.

    If threads have ids, a parent whose id differs from the thread's id is a comment. Without ids of threads, a parent
    is a comment if its id starts with 't1_' or is the id of a comment of the thread.
    """
    if "id" in thread.columns:
        return bool(parent.removeprefix("t3_") != thread["id"].removeprefix("t3_"))
    return parent.startswith("t1_") or any(parent == comment.get("id") for comment in thread["comments"])


def _links(comments: Iterable[MappedObject], opinions: Iterable[MappedObject]) -> list[MappedObject]:
    """Links from comments to viewpoints. There is a link for each opinion with a viewpoint, and for each comment with a
    viewpoint."""
    stated = [opinion.only("viewpoint", comments=opinion.get("comments", [])) for opinion in opinions]
    own = [comment.only("viewpoint", comments=[comment["id"]]) for comment in comments]
    return [link for link in (*stated, *own) if "viewpoint" in link]


def _merged(named: Iterable[MappedObject], notes: MappingNotes) -> dict[str, MappedObject]:
    """Viewpoints by their ids, or by their summaries if they have no ids. Rows about the same viewpoint are merged."""
    views: dict[str, MappedObject] = {}
    for view in named:
        key = view.get("id") or view.get("summary", "")
        if not key.strip():
            continue
        first = views.setdefault(key, view)
        if first is view:
            continue
        for name in ("summary", "votes", "opinions"):
            if view.get(name, first.get(name)) != first.get(name):
                notes.problems.append(view.note(name, f"differs from {first.row} of the same viewpoint"))
        if "comments" in view:
            first["comments"] = [*dict.fromkeys([*first.get("comments", ()), *view["comments"]])]
    return views


def _view(
    view: MappedObject, name: str, links: Sequence[MappedObject], comments: Iterable[MappedObject], notes: MappingNotes
) -> MappedObject:
    """A viewpoint in Overton's format. Data that the table lacks are derived from `links` and `comments`."""
    stated = view.get("comments") or [*dict.fromkeys(comment for link in links for comment in link["comments"])]
    votes = {comment["id"]: comment["votes"] for comment in comments}
    known = [votes[comment] for comment in stated if comment in votes]
    if "votes" not in view and not known:
        notes.problems.append(view.note("votes", "is missing, and the viewpoint has no comments with votes"))
    count = view.get("opinions") or len(links) or len(stated) or 1
    return view.only("summary", id=name, votes=view.get("votes", sum(known)), comments=stated, opinions=count)


def _placed(opinions: Iterable[MappedObject], ids: dict[str, str]) -> Iterator[MappedObject]:
    """Opinions with the ids of their viewpoints."""
    for opinion in opinions:
        if "viewpoint" in opinion:
            home = ids.get(opinion["viewpoint"], opinion["viewpoint"])
            yield opinion.only("text", comments=opinion.get("comments", []), viewpoint=home)
