"""Loop IR → LLVM IR → machine code that is loaded and called.

===============  ======================================================================
``emit_module``  the module: arrays, the entry, the clock around the kernel; the pass
``emit_function``  one function: its loops, guards and instances
``jit``          LLVM IR → optimized LLVM IR, object code for this machine
``core``         types, indices, checks, memory allocation
``access``       loads and stores
``expressions``  values of statements
``loops``        loops in registers, in accumulators, in threads
===============  ======================================================================

**Promises to LLVM** can be undefined behaviour where they do not hold. Each has its
argument where it is set:

* ``nsw``, of index arithmetic only: :mod:`polygym.codegen.validate.ranges` bounds
  every part of every expression. Divisions are ``exact`` where
  :mod:`polygym.codegen.validate.bounds` proves it, and promise nothing else;
* ``inbounds``, of elements that are accessed: proved by
  :mod:`polygym.codegen.validate.bounds`, or checked before (``emit_memory``);
* ``noalias``, of arguments: a program's arrays are apart, which callers see to; of what the code
  allocates for itself (``emit_module``, ``emit_parallel``);
* alignment: that of one element, and of a cache line on the stack for tiles (``emit_memory``); of a
  vector where the address has been looked at (``recurrences/streams/emit``);
* ``nounwind`` and ``readnone``, of functions of math.h (``math_functions``), and of others that
  their users declare so;
* ``reassoc``, where the mapping asks for it: another result, never none (``emit_expression``). LLVM
  does not choose what accumulators and threads sum up (``emit_split_accumulators``,
  ``emit_parallel``).

Instrumented code (``emit_llvm(..., is_instrumented=True)``) checks the first two, and lanes, as it
runs.
"""
