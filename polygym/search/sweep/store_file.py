"""Opening the file of a store, or making it: for one setting, whole or not at all.

A store is in WAL mode: a caller that reads does not wait for the processes that write, nor they for
each other longer than a commit takes.
"""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from polygym.autoschedule.program_recipes import UNCHANGED
from polygym.errors import InputError
from polygym.search.conditions import differences
from polygym.search.sweep.schema import ADDED_TABLES, EXPECTED, TABLES
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore
from polygym.sqlite_files import create_database, sqlite_errors

STORE_FILE = "sweep.sqlite"

# How long a process waits for another one's commit.
_LOCK_TIMEOUT_SECONDS = 60.0


def create_or_open(folder: Path, setting: SweepSetting) -> SweepStore:
    """Begin a sweep in a folder, or open the one that is there, which must have the same setting.

    Raises:
        InputError: there is one with another setting, or a file that is no store.
    """
    path = folder / STORE_FILE
    if path.exists():
        store = open_store(path)
        before, now = stored_setting(path, store.connection), setting.to_json()
        usual = {"function": None, **UNCHANGED.to_entries()}
        if found := differences(usual | before, usual | now):
            store.close()
            raise InputError(
                f"{path}: expected the sweep that is to be continued, found another one: "
                f"{'; '.join(found)}; --out another folder begins a new one"
            )
        return store

    def fill(connection: sqlite3.Connection) -> None:
        connection.executescript(f"PRAGMA journal_mode = DELETE; BEGIN; {TABLES} COMMIT;")
        connection.execute("INSERT INTO setting VALUES (1, ?)", (json.dumps(setting.to_json()),))

    create_database(path, EXPECTED, fill)
    return open_store(path)


def open_store(path: Path) -> SweepStore:
    """Open a store for writing.

    Raises:
        InputError: there is none, or it is damaged.
    """
    connection = connect(path, writing=True)
    with sqlite_errors(path, EXPECTED):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        for table in ADDED_TABLES:
            connection.execute(table)
    return SweepStore(path, connection)


def stored_kind(folder: Path) -> str:
    """Return the key of the kind of node that a folder's sweep measures on; "" for none yet."""
    path = folder / STORE_FILE
    if not path.exists():
        return ""
    with open_store(path) as store, sqlite_errors(path, EXPECTED):
        row = store.connection.execute("SELECT key FROM kinds").fetchone()
    return "" if row is None else str(row[0])


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """Open the file of a store, and see that it is one.

    Raises:
        InputError: it is missing, damaged, or something else.
    """
    if not path.is_file():
        raise InputError(f"{path}: expected the store of a sweep, found no such file")
    with sqlite_errors(path, EXPECTED):
        mode = "mode=rw" if writing else "mode=ro"
        log = path.with_name(f"{path.name}-wal")
        if not (writing or log.exists() or os.access(path.parent, os.W_OK)):
            mode = "immutable=1"  # a reader of a store in WAL mode writes files beside it, usually
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            timeout=_LOCK_TIMEOUT_SECONDS,
        )
        try:
            connection.execute("SELECT count(*) FROM setting").fetchone()
            stored_setting(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def stored_setting(path: Path, connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the setting of a store, as JSON."""
    with sqlite_errors(path, EXPECTED):
        row = connection.execute("SELECT document FROM setting").fetchone()
    try:
        document = json.loads(row[0]) if row else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected the setting of a sweep in it, found none")
    return document
