"""Reference page of JSON documents: files that polygym writes, and the output of ``--json``.

Members, types and meanings derive from the functions that write the documents
(:mod:`docs.site.documents`); tables of a sweep's store come from its rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from docs.site.docstrings import as_markdown, inline
from docs.site.documents.facts import dataclass_value, return_hint
from docs.site.documents.functions import returned_value
from docs.site.documents.rows import MemberRow, SharedPart, member_rows, shared_part
from docs.site.documents.values import Value
from docs.site.markdown import PageOpening, code, heading, page, sentence, slug, table
from docs.site.reference.commands import CommandHelp, all_commands
from docs.site.reference.member_meanings import table_meaning
from polygym.graphs.envs import records as graph_records
from polygym.mdp.records import episode_record
from polygym.runtime.evaluation.evaluation import Evaluation
from polygym.runtime.worker.timing import describe_host
from polygym.search.folder import SearchFolder
from polygym.search.sweep import rows as sweep_rows

_OPENING = PageOpening(
    (
        "`--json` makes a command print one document. Searches, sweeps and episodes write files.",
        "`a.b` is a member of the object `a`, `a[]` an element of the array `a`, `a.NAME` a value "
        "under any key.",
        "*Optional* members are in some documents only. `null` stands for numbers that JSON lacks.",
    ),
    """\
```console
$ polygym kernels gemm --json
    "name": "gemm",
    "category": "linear-algebra/blas",
    "statements": 2,
```
""",
)

_INTRODUCTION = """\
Members derive from the functions that write a document.
"""

_STORE = """\
The store of a sweep is an SQLite file. Its tables have these columns. Lists are JSON.
"""


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document: its title, where it stands, the function that returns it."""

    title: str
    about: str
    function: Callable[..., Any]

    @property
    def value(self) -> Value:
        """What the function returns."""
        return returned_value(self.function)


_RECORD = DocumentEntry(
    "Episode record",
    "`export()` of an environment writes it, and `polygym replay` plays it.",
    episode_record._document,
)

SHARED = (
    DocumentEntry(
        "Evaluation", "A measured candidate, part of other documents.", Evaluation.to_json
    ),
    DocumentEntry("Machine", "The description of a machine.", describe_host),
    _RECORD,
    DocumentEntry(
        "Search setting",
        "The setting of a search, the first line of a journal.",
        SearchFolder._header,
    ),
)

FILES = (
    DocumentEntry(
        "Record of an episode",
        "`export()` of an environment that decides storage also has its decisions.",
        episode_record.record_of,
    ),
    DocumentEntry(
        "best.json",
        "The fastest candidate of a search: an episode record, or that of a schedule, in which "
        "`phase` is `given` and `actions` is empty.",
        episode_record.record_of_schedule,
    ),
    DocumentEntry(
        "journal.jsonl",
        "The first line is a search setting; each further line is a proposal.",
        SearchFolder._line,
    ),
    DocumentEntry(
        "summary.json",
        "The summary of a search. The members behind `convergence` come when it is over.",
        SearchFolder.document,
    ),
    DocumentEntry(
        "Record of a graph episode",
        "`export()` of the environments of tensor graphs writes it.",
        graph_records.episode_record,
    ),
)


def json_commands() -> list[CommandHelp]:
    """Return the commands with the option ``--json``."""
    return [
        one
        for one in all_commands()
        if any("--json" in getattr(option, "opts", ()) for option in one.command.params)
    ]


@cache
def command_document(callback: Callable[..., Any]) -> Value | None:
    """Return the document of a command, None where its source does not say it."""
    return returned_value(callback).document


def schemas_page() -> str:
    """Return the page."""
    parts: list[str] = [heading(2, "Shared parts")]
    for entry in SHARED:
        parts += _section(entry, _value_of(entry))
    parts.append(heading(2, "Files"))
    for entry in FILES:
        parts += _section(entry, entry.value)
    parts += [heading(2, "Store of a sweep", "sweep-store"), _STORE, *_store_tables()]
    parts.append(heading(2, "Output of commands", "commands"))
    known: dict[Any, str] = {}
    for command in json_commands():
        anchor = slug(f"command {command.name}")
        first = known.setdefault(command.command.callback, command.name)
        if first != command.name:
            text = f"The document of [{code(first)}](#{slug(f'command {first}')})."
            parts += [heading(3, code(f"{command.name} --json"), anchor), text]
            continue
        document = command_document(command.command.callback)
        parts += [
            heading(3, code(f"{command.name} --json"), anchor),
            _members(document, command.name),
        ]
    return page("JSON documents", _OPENING, _INTRODUCTION, *parts)


@cache
def _shared_parts() -> tuple[SharedPart, ...]:
    return tuple(SharedPart(entry.title, tuple(_value_of(entry).members or ())) for entry in SHARED)


def _value_of(entry: DocumentEntry) -> Value:
    """Return the document of a shared part; of a dataclass what ``asdict`` makes of it."""
    value = entry.value
    return value if value.members else dataclass_value(return_hint(entry.function))


def _section(entry: DocumentEntry, value: Value) -> Iterator[str]:
    yield heading(3, entry.title, slug(entry.title))
    yield entry.about
    yield _members(value, entry.title)


def _members(document: Value | None, title: str = "") -> str:
    if document is None:
        return "No document."
    parts = [part for part in _shared_parts() if part.title != title]
    rows = [
        (code(row.path), row.kind, _meaning(row, title)) for row in member_rows(document, parts)
    ]
    part = shared_part(document, parts)
    first = "" if part is None else f"The members of: {_link(part)}.\n\n"
    if not any(meaning for *_, meaning in rows):
        return first + (table(("Member", "Type"), [row[:2] for row in rows]) if rows else "")
    return first + table(("Member", "Type", "Meaning"), rows)


def _link(part: SharedPart) -> str:
    return f"[{part.title[:1].lower()}{part.title[1:]}](#{slug(part.title)})"


def _meaning(row: MemberRow, title: str) -> str:
    meaning = row.meaning or table_meaning(title, row.path)
    text = sentence(inline(meaning)).replace("|", "&#124;")
    text = f"{text}." if text and text[-1] not in ".:;" else text
    if row.shared is not None:
        text = f"{text} The members of: {_link(row.shared)}."
    return (f"*Optional.* {text}" if row.is_optional else text).strip()


def _store_tables() -> Iterator[str]:
    """Yield the tables of a sweep's store, as SQLite has them."""
    yield as_markdown((sweep_rows.__doc__ or "").partition("\n\n")[2])
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(sweep_rows.TABLES + ";".join(sweep_rows.ADDED_TABLES))
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            listed = ", ".join(f"{code(column[1])} {column[2]}" for column in columns)
            yield f"`{name}`: {listed}."
