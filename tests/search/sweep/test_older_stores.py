"""Stores of older versions of polygym are refused in a sentence."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.search.sweep.reader import read_sweep
from polygym.search.sweep.store import STORE_FILE

TABLES = """
CREATE TABLE setting (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
INSERT INTO setting VALUES (1, '{"format": "polygym sweep", "version": 2, "seed": 0}');
"""


def test_a_store_of_version_2_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / STORE_FILE)) as connection:
        connection.executescript(TABLES)
    with pytest.raises(InputError, match=r"expected 'polygym sweep', version 3, found"):
        read_sweep(tmp_path)
