"""Programs by name: what a user names on a command line or in ``gym.make`` becomes a Program.

``selection`` expands names, globs and categories; ``program`` finds a kernel of the suite, a C file
or a comprehension (``comprehensions``), its sizes (``sizes``) and its observable arrays;
``pieces`` cuts a program's statements and ``stored`` gives its arrays other homes; ``generate``
makes random programs; ``initial_data`` writes the function that fills arrays where the source has
none, ``outputs`` has their types in NumPy, and ``wording`` shortens isl text for people.
"""

from polygym.programs.program import (
    Output,
    Program,
    is_path,
    load_program,
    load_scop,
)

__all__ = ["Output", "Program", "is_path", "load_program", "load_scop"]
