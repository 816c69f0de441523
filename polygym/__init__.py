"""polygym: explore the legal schedules of a loop program, compile them, and measure the speedup.

Importing it registers the Gymnasium environments ``polygym/Construct-v0``, ``polygym/Explore-v0``
and ``polygym/Schedule-v0``.

The way of the data, package by package: ``frontend`` (C text) makes an ``ir.Scop``; ``poly`` finds
its dependences and its legal schedules, and ``poly.spaces`` all of them as generators; ``codegen``
turns a schedule into machine code; ``measure`` runs and times it in a process of its own;
``programs`` knows the kernels by name, and ``evaluation`` makes a measured speedup of a schedule,
whatever happens. ``tc.language`` makes an ``ir.Scop`` of a tensor comprehension, which ``tc``
compiles and calls, and ``tune`` makes faster. ``mdp`` builds schedules one decision at a time,
``envs`` shows that to Gymnasium, ``pictures`` draws it, and ``cli`` is what the ``polygym`` command
calls.
"""

from importlib import import_module
from typing import Any

from polygym.discovery import register_environments

__version__ = "0.1.0"

register_environments()


def __getattr__(name: str) -> Any:
    """Import ``polygym.tc`` when it is asked for; it takes longer than all the rest."""
    if name == "tc":
        return import_module("polygym.tc")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
