"""Corpora: measurements of many candidates of many programs, for models to learn from.

``plan`` says which program at which sizes comes next (``held_out`` which never does),
``candidates`` which of its schedules and mappings, ``collect`` measures them, ``store`` keeps every
row once, by kind of machine (``rows`` are the values, ``schema`` the tables, ``kept_rows`` a row in
them); ``sums`` are check sums of all that is kept, ``damage`` is found by them and taken out,
``salvage`` copies what can be read of a file that SQLite cannot use,
``former`` converts corpora of the version before; ``samples`` are what models learn from;
``statistics`` says what is in a corpus, ``merge`` puts two together, ``export`` writes Parquet,
``packed`` small files to be handed on, three of which come with polygym.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.corpus.collector import Collection, CollectPlan
    from polygym.search.corpus.held_out import TEST_KERNELS
    from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
    from polygym.search.corpus.store import Corpus, open_corpus
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "TEST_KERNELS",
    "CaseVisit",
    "CollectPlan",
    "Collection",
    "Corpus",
    "CorpusCase",
    "CorpusRow",
    "open_corpus",
]
