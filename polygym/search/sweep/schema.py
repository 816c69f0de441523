"""The tables of a sweep's store, and rows as they hold them.

=================  ============================================================================
table              one row for
=================  ============================================================================
``setting``        the setting of the sweep, as JSON
``runs``           a time that the sweep was begun or gone on with, and where
``kernels``        a program, with what was spent on it and why it was left
``outcomes``       a distinct schedule of a program, measured once
``episodes``       an episode of a policy; several may have one outcome
``baselines``      the original order's samples at a moment
``confirmations``  one of the best schedules, measured again at the larger size
``reference_times``  isl's schedule or another compiler's code, at a size
``disturbances``   a while for which a program was measured, and what else the machine did
``homes``          a program that is changed before: where it is cut, where its values are
``kinds``          the kind of node that a cluster measured on, of which there is one
=================  ============================================================================
"""

import json

from polygym.search.sweep.rows import Timing

EXPECTED = "the whole store of a sweep"

_TIMING = """status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    samples TEXT NOT NULL, baseline_samples TEXT NOT NULL, detail TEXT NOT NULL"""

TABLES = f"""
CREATE TABLE setting (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
CREATE TABLE kernels (name TEXT PRIMARY KEY, digest TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE outcomes (number INTEGER PRIMARY KEY, kernel TEXT NOT NULL, schedule TEXT NOT NULL,
    {_TIMING}, UNIQUE (kernel, schedule));
CREATE TABLE episodes (kernel TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL,
    outcome INTEGER REFERENCES outcomes (number), reason TEXT NOT NULL,
    PRIMARY KEY (kernel, policy, number)) WITHOUT ROWID;
CREATE TABLE baselines (kernel TEXT NOT NULL, dataset TEXT NOT NULL, moment REAL NOT NULL,
    samples TEXT NOT NULL);
CREATE TABLE confirmations (outcome INTEGER NOT NULL REFERENCES outcomes (number),
    kernel TEXT NOT NULL, dataset TEXT NOT NULL, {_TIMING}, PRIMARY KEY (outcome, dataset));
CREATE TABLE reference_times (kernel TEXT NOT NULL, dataset TEXT NOT NULL, name TEXT NOT NULL,
    {_TIMING}, PRIMARY KEY (kernel, dataset, name));
"""

# Tables that are not in the first stores of this version; opening a store for writing makes them.
ADDED_TABLES = (
    """CREATE TABLE IF NOT EXISTS runs (moment REAL NOT NULL, version TEXT NOT NULL,
    processor TEXT NOT NULL, cores INTEGER NOT NULL, system TEXT NOT NULL, compilers TEXT NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS disturbances (kernel TEXT NOT NULL, dataset TEXT NOT NULL,
    moment REAL NOT NULL, seconds REAL NOT NULL, others REAL NOT NULL, stolen REAL NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS kinds (only INTEGER PRIMARY KEY CHECK (only = 1),
    key TEXT NOT NULL, document TEXT NOT NULL)
    """,
    """CREATE TABLE IF NOT EXISTS homes (kernel TEXT PRIMARY KEY, splitting TEXT NOT NULL,
    storage TEXT NOT NULL)
    """,
)

TIMING_VALUES = "?, ?, ?, ?, ?, ?"


def timing_values(timing: Timing) -> tuple[object, ...]:
    """Return the values of a timing's columns."""
    return (
        timing.status.value,
        timing.seconds,
        timing.baseline_seconds,
        json.dumps(timing.samples),
        json.dumps(timing.baseline_samples),
        timing.detail,
    )
