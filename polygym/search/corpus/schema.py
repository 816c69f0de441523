"""Tables of a corpus.

=============  ===================================================================================
table          one row for
=============  ===================================================================================
``corpus``     the corpus: its format, its version, the polygym that created it
``machines``   a kind of machine: its key, its fingerprint, and the vectors, registers and caches
               for which loops are planned there
``programs``   a program: its name and, of a user's file, its source text; the name of a changed
               program has two more lines: its index-set splits and its storage plan
``cases``      a program at sizes
``visits``     one measurement session of a case on a machine; ``is_finished`` once all its rows
               are there; ``position`` is below 0 if the visit comes from another corpus
``texts``      a schedule or a mapping, which many rows share
``rows``       a measured candidate; the same one on the same kind of machine once
``clocks``     the time of one fixed program now and then; drift shows in it
=============  ===================================================================================

``checksum`` covers everything that a line means (:mod:`polygym.search.corpus.checksums`): that of a
visit covers its case and its program, that of a row its texts and the case of its visit.
"""

FORMAT = "polygym corpus"
VERSION = 4

TABLES = """
CREATE TABLE corpus (only INTEGER PRIMARY KEY CHECK (only = 1), format TEXT NOT NULL,
    version INTEGER NOT NULL, polygym TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE machines (key TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE programs (number INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (name, text));
CREATE TABLE cases (number INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES programs,
    parameters TEXT NOT NULL, UNIQUE (program, parameters));
CREATE TABLE visits (number INTEGER PRIMARY KEY, case_number INTEGER NOT NULL REFERENCES cases,
    position INTEGER NOT NULL, seed INTEGER NOT NULL, threads INTEGER NOT NULL,
    machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL, background_load REAL NOT NULL,
    is_finished INTEGER NOT NULL DEFAULT 0, checksum INTEGER NOT NULL DEFAULT -1,
    UNIQUE (machine, threads, seed, position));
CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE rows (visit INTEGER NOT NULL REFERENCES visits, position INTEGER NOT NULL,
    case_number INTEGER NOT NULL REFERENCES cases, machine TEXT NOT NULL,
    threads INTEGER NOT NULL, schedule INTEGER NOT NULL REFERENCES texts,
    mapping INTEGER NOT NULL REFERENCES texts, achieved INTEGER NOT NULL REFERENCES texts,
    status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    detail TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (visit, position),
    UNIQUE (case_number, machine, threads, schedule, mapping)) WITHOUT ROWID;
CREATE TABLE clocks (machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL,
    seconds REAL NOT NULL, checksum INTEGER NOT NULL);
"""
