"""Code of terms: C of a program, machine code of it, calls and times.

``c_values`` represents values and arguments in C, ``shapes`` infers their sizes. ``emitter`` writes
a function through ``function_writer``, with expressions of ``scalars``. ``kernel_build`` compiles
it, ``compiled_term`` is the callable, with ``arguments`` checked. ``timing`` runs programs in the
measuring worker, and has that time as a cost; ``timing_record`` compares code with the interpreter
and stores both.
"""
