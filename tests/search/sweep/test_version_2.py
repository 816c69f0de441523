"""A store as polygym 0.1.0 left it, table by table: it is read, drawn and gone on with."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from polybench import Dataset
from polygym.mapping.mapping import parse_mapping
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.sweep import reader
from polygym.search.sweep.report.page import write_report
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import STORE_FILE

TIMING = """status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    samples TEXT NOT NULL, baseline_samples TEXT NOT NULL, detail TEXT NOT NULL"""
TABLES = f"""
CREATE TABLE setting (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
CREATE TABLE kernels (name TEXT PRIMARY KEY, digest TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE outcomes (number INTEGER PRIMARY KEY, kernel TEXT NOT NULL, schedule TEXT NOT NULL,
    {TIMING}, UNIQUE (kernel, schedule));
CREATE TABLE episodes (kernel TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL,
    outcome INTEGER REFERENCES outcomes (number), reason TEXT NOT NULL,
    PRIMARY KEY (kernel, policy, number)) WITHOUT ROWID;
CREATE TABLE baselines (kernel TEXT NOT NULL, dataset TEXT NOT NULL, moment REAL NOT NULL,
    samples TEXT NOT NULL);
CREATE TABLE confirmations (outcome INTEGER NOT NULL REFERENCES outcomes (number),
    kernel TEXT NOT NULL, dataset TEXT NOT NULL, {TIMING}, PRIMARY KEY (outcome, dataset));
CREATE TABLE reference_times (kernel TEXT NOT NULL, dataset TEXT NOT NULL, name TEXT NOT NULL,
    {TIMING}, PRIMARY KEY (kernel, dataset, name));
CREATE TABLE runs (moment REAL NOT NULL, version TEXT NOT NULL, processor TEXT NOT NULL,
    cores INTEGER NOT NULL, system TEXT NOT NULL, compilers TEXT NOT NULL);
"""
ROWS = """
INSERT INTO setting VALUES (1, '{"format": "polygym sweep", "version": 2, "seed": 0,
    "search_dataset": "mini", "dataset": "small", "threads": 2, "timeout_factor": 5.0,
    "compile_seconds": 2.5, "seeds": ["original", "isl"],
    "mapping": "tile=8x8 outer_tile=2 vector_copies=1 unroll_jam=2 threads=2", "max_coefficient": 2,
    "max_dimensions": 4, "max_rays": 64, "max_vertices": 8}');
INSERT INTO kernels VALUES ('mvt', 'abc', '', 12.5);
INSERT INTO outcomes VALUES (1, 'mvt', 'one', 'ok', 0.5, 1.0, '[0.5, 0.6]', '[1.0]', '');
INSERT INTO outcomes VALUES (2, 'mvt', 'two', 'timeout', 0.0, 1.0, '[]', '[1.0]', 'too slow');
INSERT INTO episodes VALUES ('mvt', 'uniform', 0, 1, '');
INSERT INTO episodes VALUES ('mvt', 'uniform', 1, 2, '');
INSERT INTO episodes VALUES ('mvt', 'uniform', 2, NULL, 'too large');
INSERT INTO baselines VALUES ('mvt', 'mini', 1.0, '[1.0]');
INSERT INTO confirmations VALUES (1, 'mvt', 'small', 'ok', 0.4, 1.2, '[0.4]', '[1.2]', '');
INSERT INTO reference_times VALUES ('mvt', 'small', 'isl', 'ok', 0.6, 1.2, '[0.6]', '[1.2]', '');
INSERT INTO runs VALUES (1.0, '0.1.0', 'A processor', 2, 'Linux', '[["gcc", "gcc 12"]]');
"""
MAPPING = "tile=8x8 outer_tile=2 vector_copies=1 unroll_jam=2"
SETTING = SweepSetting(
    search_dataset=Dataset.MINI,
    dataset=Dataset.SMALL,
    initial_schedules=("original", "isl"),
    evaluation=EvaluationOptions(
        threads=2, timeout_factor=5.0, compile_seconds=2.5, mapping=parse_mapping(MAPPING)
    ),
)


@pytest.fixture
def former(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / STORE_FILE)) as connection:
        connection.executescript(f"PRAGMA journal_mode = WAL; {TABLES} {ROWS}")
    return tmp_path


def test_it_is_read_and_drawn(former: Path) -> None:
    contents = reader.read_sweep(former)
    assert contents.setting == SETTING
    assert [outcome.timing.speedup for outcome in contents.outcomes] == [2.0, None]
    assert [sweep_run.version for sweep_run in contents.runs] == ["0.1.0"]
    assert contents.background_loads == ()
    files, (summary,) = write_report(contents, former / "report.html")
    assert all(path.stat().st_size > 0 for path in files)
    assert (summary.best, summary.explored, summary.background_load) == (pytest.approx(3.0), 3, 0.0)
