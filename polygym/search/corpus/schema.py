"""The tables of a corpus.

=============  ===================================================================================
table          one row for
=============  ===================================================================================
``corpus``     the corpus: its format, its version, the polygym that began it
``machines``   a kind of machine, by its key, with its fingerprint, and for which vectors, registers
               and caches loops are planned there
``programs``   a program, with its source text if that is a user's file; one that is changed before
               has two more lines in its name, where it is cut and where its values are
``cases``      a program at sizes
``visits``     a time that a case was sampled on a machine; ``done`` once all its rows are there;
               ``place`` is its number, below 0 where it comes from another corpus
``texts``      a schedule or a mapping, which many rows have
``rows``       a candidate that was measured; the same one on the same kind of machine once
``clocks``     the time of one and the same program now and then, by which drift is seen
=============  ===================================================================================

``sum`` is a check sum of all that a line means (:mod:`polygym.search.corpus.checksums`): that of a
visit covers its case and its program as well, that of a row its texts and what its visit is of.
"""

FORMAT = "polygym corpus"
VERSION = 3

TABLES = """
CREATE TABLE corpus (only INTEGER PRIMARY KEY CHECK (only = 1), format TEXT NOT NULL,
    version INTEGER NOT NULL, polygym TEXT NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE machines (key TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL,
    sum INTEGER NOT NULL);
CREATE TABLE programs (number INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (name, text));
CREATE TABLE cases (number INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES programs,
    parameters TEXT NOT NULL, UNIQUE (program, parameters));
CREATE TABLE visits (number INTEGER PRIMARY KEY, kase INTEGER NOT NULL REFERENCES cases,
    place INTEGER NOT NULL, seed INTEGER NOT NULL, threads INTEGER NOT NULL,
    machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL, others REAL NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT -1,
    UNIQUE (machine, threads, seed, place));
CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE rows (visit INTEGER NOT NULL REFERENCES visits, place INTEGER NOT NULL,
    kase INTEGER NOT NULL REFERENCES cases, machine TEXT NOT NULL,
    threads INTEGER NOT NULL, schedule INTEGER NOT NULL REFERENCES texts,
    mapping INTEGER NOT NULL REFERENCES texts, done INTEGER NOT NULL REFERENCES texts,
    status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    detail TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (visit, place),
    UNIQUE (kase, machine, threads, schedule, mapping)) WITHOUT ROWID;
CREATE TABLE clocks (machine TEXT NOT NULL REFERENCES machines, moment REAL NOT NULL,
    seconds REAL NOT NULL, sum INTEGER NOT NULL);
"""
