"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``settings`` fix the outcomes, ``workload`` says how much is to be done. An SQLite file has every
outcome the moment it is known: ``rows`` are its tables and their rows as values, ``store`` opens
and writes it, ``reader`` reads it while a sweep is at work. A ``session`` keeps others out of the
folder. ``program_search`` explores one program and ``confirmation`` measures its best schedules
again, beside ``references``, each in a ``process`` of its own, on ``cores`` of its own;
``monitoring`` writes down what goes on beside it. ``driver`` has all of it done, ``progress`` says
how far it is. ``statistics`` are what was found in numbers, ``report`` a page and pictures.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.sweep.driver import LocalSweep
    from polygym.search.sweep.reader import read_sweep
    from polygym.search.sweep.settings import SweepSetting
    from polygym.search.sweep.statistics import KernelSummary, summaries
    from polygym.search.sweep.store import SweepStore, create_or_open, open_store
    from polygym.search.sweep.workload import SweepWorkload
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "KernelSummary",
    "LocalSweep",
    "SweepSetting",
    "SweepStore",
    "SweepWorkload",
    "create_or_open",
    "open_store",
    "read_sweep",
    "summaries",
]
