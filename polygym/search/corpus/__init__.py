"""Corpora: measurements of many candidates of many programs, for models to learn from.

``program_choice`` chooses the next program and its sizes, ``sampling`` or ``decision_sampling`` its
candidates, ``collector`` measures them, and ``store`` keeps every row once, by kind of machine.
``rows`` are the values and the tables, ``checksums`` the decoders of their lines, which find those
that were changed. ``samples`` are the training samples of models. ``statistics`` describes a
corpus, ``export`` writes Parquet, ``packing`` writes small files and adds one to another; three of
them come with polygym.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.corpus.collector import Collection, CollectPlan
    from polygym.search.corpus.program_choice import TEST_KERNELS
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
