"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``setting`` is what fixes the outcomes. An SQLite file has every outcome the moment it is known:
``schema`` are its tables, ``rows`` what they hold as values, ``opening`` makes or opens it,
``store`` writes, ``reading`` reads while a sweep is at work, ``claims`` keeps others out of the
folder. ``searching`` explores one program and ``confirming`` measures its best schedules again,
beside ``references``, each in a process of its own (``process``, asked by ``requests``), on cores
of its own (``cores``) and for its share of the time (``shares``); ``judging`` tells the schedule's
doing from the machine's, ``keeping`` writes down what goes on beside it. ``orders`` says how much
is to be done, ``beginning`` opens the folder, ``campaign`` has it done, ``progress`` says how far
it is. ``statistics`` and ``curves`` are what was found in numbers, ``report`` a page and pictures.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.sweep.driver import LocalSweep
    from polygym.search.sweep.reader import read_sweep
    from polygym.search.sweep.settings import SweepSetting
    from polygym.search.sweep.statistics import KernelSummary, summaries
    from polygym.search.sweep.store import SweepStore
    from polygym.search.sweep.store_file import create_or_open, open_store
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
