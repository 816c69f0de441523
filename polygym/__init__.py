"""polygym: explore the legal schedules of a loop program, compile them, and measure the speedup.

Importing it registers the Gymnasium environments ``polygym/Construct-v0``, ``polygym/Explore-v0``,
``polygym/Schedule-v0``, ``polygym/Optimize-v0`` and ``polygym/Transform-v0``, of tensor graphs
``polygym/Saturate-v0`` and ``polygym/Substitute-v0``, and of terms ``polygym/Rewrite-v0``.

======================  ===========================================================================
``agents``              agents for the environments: rules, networks, trainers, evaluation
``autoschedule``        default decisions without a search: schedule, storage variant and splitting
``cached_hash``         hashes computed once, for values that are keys again and again
``cli``                 the command ``polygym``
``closeable``           objects that are closed: leaving their block closes them
``codegen``             code generation
``cost``                costs of candidates
``discovery``           registration of the environments by ``import polygym``, without importing …
``durations``           durations with a unit, as options and environment variables have them
``envs``                the Gymnasium environments
``errors``              exceptions of polygym
``export``              exported code: loops that link into a user's own program
``files``               files that are whole or absent, however the process ends
``foreign``             calls of C functions through cffi
``frontend``            texts become programs
``gpu``                 programs for NVIDIA GPUs: kernels of blocks and threads
``graphs``              tensor graphs
``ir``                  the intermediate representation: programs as immutable values
``lazy_imports``        names that a package exports, imported when they are first used
``lru_cache``           A bounded dictionary: the least recently used entry goes when it is full
``mapping``             mappings of schedules to a machine
``mdp``                 markov decision processes
``pickling``            pickles of values that users keep
``pictures``            pictures
``poly``                dependences and schedules: exact integer-set mathematics through isl
``programs``            programs by name
``profiling``           samples of running programs, joined with their regions
``ratios``              speedups as text
``rewrite``             rewriting
``runtime``             compiled code in, measured times out
``scan``                regions of files and projects, found without pragmas
``search``              search: the fastest schedule and mapping of a program of given sizes
``source_fingerprint``  A fingerprint of polygym's own sources
``sqlite_files``        SQLite files
``tc``                  tensor comprehensions: define an operator by its indices, call it on arrays
``terms``               terms
``text_interface``      programs transformed and measured by lines of text, for language models
``transformations``     loop transformations
``version``             the version of polygym, and the folders of its files: below all packages
======================  ===========================================================================
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
    """Import ``tc``, ``graphs`` and ``compile`` when they are asked for; they take longest."""
    if name == "tc":
        return import_module("polygym.tc")
    if name == "compile":
        return import_module("polygym.export").compile_function
    if name == "graphs":
        return import_module("polygym.graphs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
