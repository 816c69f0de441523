"""polygym: explore the legal schedules of a loop program, compile them, and measure the speedup.

Importing it registers the Gymnasium environments ``polygym/Construct-v0``, ``polygym/Explore-v0``,
``polygym/Schedule-v0`` and ``polygym/Optimize-v0``, of tensor graphs ``polygym/Saturate-v0`` and
``polygym/Substitute-v0``, and of terms ``polygym/Rewrite-v0``.

Packages, in the order of the data: ``frontend`` turns text into a program (``ir``), ``poly`` knows
its legal schedules, and ``codegen`` turns a schedule under a ``mapping`` into machine code.
``programs`` knows programs by name, and ``pictures`` draws them. ``runtime`` runs machine code in a
process of its own and measures the speedup of a schedule, whatever happens; ``cost`` has features
of schedules and models that learn from such measurements. ``autoschedule`` makes the default
decisions. ``mdp`` builds schedules one decision at a time, ``envs`` are its Gymnasium environments,
and ``search`` explores, tunes, sweeps and collects. ``tc`` lets users define, call and tune tensor
comprehensions. ``rewrite`` knows terms, rules and e-graphs of any language; ``graphs`` rewrites and
runs whole models, and ``terms`` programs of a small functional language. ``cli`` is the command
``polygym``. Each package imports from those before it, never the other way.

A few modules serve all packages: ``errors`` is the tree of exceptions, ``files`` and
``sqlite_files`` write files whole or not at all, ``closeable`` is a base of context managers,
``lru_cache`` is a bounded dictionary, ``lazy_imports`` imports exported names on first use,
``version`` holds the version, ``source_fingerprint`` identifies the sources, ``pickling`` refuses
values of another version, ``cached_hash`` computes hashes once, and ``foreign`` calls functions of
C. ``discovery`` registers the environments without importing Gymnasium.
"""

from importlib import import_module
from typing import Any

from polygym.discovery import register_environments
from polygym.version import __version__

__all__ = [
    "__version__",
    "cli",
    "codegen",
    "cost",
    "envs",
    "errors",
    "graphs",
    "mdp",
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
