"""polygym: explore the legal schedules of a loop program, compile them, and measure the speedup.

Importing it registers the Gymnasium environments ``polygym/Construct-v0``, ``polygym/Explore-v0``,
``polygym/Schedule-v0`` and ``polygym/Optimize-v0``, of tensor graphs ``polygym/Saturate-v0`` and
``polygym/Substitute-v0``, and of terms ``polygym/Rewrite-v0``.

The way of the data, room by room: in ``compiler``, a text becomes a program (``frontend``, ``ir``),
a program has legal schedules (``poly``), and a schedule becomes machine code (``codegen``);
``programs`` knows programs by name, and ``pictures`` draws them. ``measure`` runs machine code in a
process of its own and makes a measured speedup of a schedule, whatever happens; ``cost`` has
features of schedules and models that learn from such measurements. ``episodes`` builds schedules
one decision at a time, ``envs`` shows that to Gymnasium, and ``search`` explores, tunes, sweeps and
collects. ``tc`` lets users define, call and tune tensor comprehensions. ``rewrite`` knows terms,
rules and e-graphs, of whatever language; ``graphs`` rewrites and runs whole models by them, and
``terms`` programs of a small functional language; ``cli`` is what the ``polygym`` command calls.
Each room imports from those before it, never the other way.

Below all rooms stand a few modules: ``errors`` is the tree of exceptions, ``files`` and
``sqlite_files`` have files whole or not at all, ``closing`` is what a block closes, ``lru`` is a
dictionary that forgets, ``lazy`` has packages import names when they are asked for, ``version``
says which polygym this is, ``sources`` has a fingerprint of its text, ``pickles`` refuses values of
another one, ``kept_hash`` works hashes out once, and ``native`` calls functions of C. ``discovery``
registers the environments without importing Gymnasium.
"""

from importlib import import_module
from typing import Any

from polygym.discovery import register_environments
from polygym.version import __version__

__all__ = [
    "__version__",
    "cli",
    "compiler",
    "cost",
    "envs",
    "episodes",
    "errors",
    "graphs",
    "measure",
    "pictures",
    "programs",
    "rewrite",
    "search",
    "tc",
    "terms",
]

register_environments()


def __getattr__(name: str) -> Any:
    """Import ``polygym.tc`` and ``polygym.graphs`` when they are asked for; they take longest."""
    if name == "tc":
        return import_module("polygym.tc")
    if name == "graphs":
        return import_module("polygym.graphs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
