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

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.search.sweep.campaign import Campaign
    from polygym.search.sweep.opening import create_or_open, open_store
    from polygym.search.sweep.orders import Orders
    from polygym.search.sweep.reading import read
    from polygym.search.sweep.setting import SweepSetting
    from polygym.search.sweep.statistics import KernelSummary, summaries
    from polygym.search.sweep.store import Store
else:
    __getattr__ = lazily(
        __name__,
        {
            "campaign": ("Campaign",),
            "orders": ("Orders",),
            "reading": ("read",),
            "setting": ("SweepSetting",),
            "statistics": ("KernelSummary", "summaries"),
            "opening": ("create_or_open", "open_store"),
            "store": ("Store",),
        },
    )

__all__ = [
    "Campaign",
    "KernelSummary",
    "Orders",
    "Store",
    "SweepSetting",
    "create_or_open",
    "open_store",
    "read",
    "summaries",
]
