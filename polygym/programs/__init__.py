"""Programs by name: what a user names on a command line or in ``gym.make`` becomes a Program.

``initial_data`` writes the function that fills arrays where the source has none; ``program`` finds
a kernel of the suite or a C file, its sizes and its observable arrays.
"""

from polygym.programs.program import (
    Output,
    Program,
    load_program,
    load_scop,
    output_summary,
)

__all__ = ["Output", "Program", "load_program", "load_scop", "output_summary"]
