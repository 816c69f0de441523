"""Programs by name: what a user names on a command line or in ``gym.make`` becomes a Program.

``selection`` expands names, globs and categories; ``targets`` tells names from paths and finds the
region of a file without pragmas; ``loading`` finds a kernel of the suite, a C file
or a comprehension (``comprehensions``), its sizes (``sizes``) and its observable arrays, which make
a ``program``; ``stored_program`` cuts a program's statements and gives its arrays other storage
variants; ``generate`` makes random programs; ``initial_data`` writes the function that fills arrays
where the source has none, ``dtypes`` has their types in NumPy, ``isl_text`` shortens isl text for
people, and ``comma_lists`` splits lists whose entries have brackets.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.programs.loading import c_text_after, load_program, load_scop
    from polygym.programs.program import Program, ProgramOutput
    from polygym.programs.targets import found_region, is_path, split_line
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Program",
    "ProgramOutput",
    "c_text_after",
    "found_region",
    "is_path",
    "load_program",
    "load_scop",
    "split_line",
]
