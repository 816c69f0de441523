"""Code of terms: C of a program, machine code of it, calls and times.

``c_values`` represents values and arguments in C, ``shapes`` infers their sizes, which ``sizes``
compares. ``emitter`` makes expressions, of ``scalars``, and ``place_writer`` statements of them,
through ``function_writer``; ``additive_uses`` finds vectors that need no array. ``c_file`` is the
file of a term, whose sizes are arguments of the function. ``kernel_build`` compiles
it, ``compiled_term`` is the callable, with ``arguments`` checked. ``timing`` runs programs in the
measuring worker, and has that time as a cost; ``timing_record`` compares code with the interpreter
and stores both.
"""
