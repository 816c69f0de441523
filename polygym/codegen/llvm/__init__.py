"""Loop IR → LLVM IR → machine code that is loaded and called.

======================  ===========================================================================
module                  what it emits, or does
======================  ===========================================================================
``contract``            what code and its callers agree about: the entry, what it returns
``kinds``               types of values: one, or one for every lane
``declaring``           functions that are defined elsewhere
``heap``                memory that code asks for, in huge pages where it is much
``notes``               what code notes as it runs: subscripts out of range, broken promises
``emit_index``          bounds, conditions, subscripts: arithmetic in 64-bit integers
``emit_exponential``    exp, for one number or for lanes
``emit_half``           numbers of sixteen bits, read and rounded
``emit_special``        functions that the C library has not
``emit_foreign``        functions of the C library or a user's, named for the loader
``math_functions``      calls of math.h
``emit_expression``     what a statement computes
``lane_set``            lanes of a vector, and what an index is in each
``emit_streams``        stores past the caches, the fence after them, loads asked for ahead
``emit_memory``         where elements are; loads and stores of one or of many lanes
``tile_room``           room for tiles on a function's stack
``emit_gather``         loads and stores at computed subscripts, none of them out of range
``emitting``            protocols: what those below need of the emitter of a function
``cells``               elements as instances write them: loaded, stored, which are different
``emit_turn``           a square block of a tile, turned in registers, there or back
``emit_columns``        sums whose vectors run across rows, turned before they are stored
``emit_extreme``        maxima and minima of floats over a loop, as integers first
``emit_carry``          what iterations read of earlier ones, in registers
``emit_chains``         sums and the like in several chains, each of several lanes
``emit_copies``         copies of arrays in which chunks of a parallel loop sum up
``emit_hold``           loops whose elements live in registers
``emit_parallel``       loops that are functions of their own, shared out among threads
``emit_function``       one function: its loops, guards and instances; calls all of the above
``emit_module``         the module: arrays, the entry, the clock around the kernel
``jit``                 LLVM IR → object code for this machine
``loader``              object code → a function that can be called
======================  ===========================================================================

**What is promised to LLVM** can be undefined behaviour where it does not hold, and is argued for
where it is set:

* ``nsw``, of index arithmetic only: :mod:`polygym.codegen.validate.ranges` bounds
  every part of every expression. Divisions are ``exact`` where
  :mod:`polygym.codegen.validate.bounds` proves it, and promise nothing else;
* ``inbounds``, of elements that are accessed: proved by
  :mod:`polygym.codegen.validate.bounds`, or checked before (``emit_memory``);
* ``noalias``, of arguments: a program's arrays are apart, which callers see to; of what the code
  allocates for itself (``emit_module``, ``emit_parallel``, ``emit_copies``);
* alignment: that of one element, and of a cache line on the stack for tiles (``emit_memory``); of a
  vector where the address has been looked at (``emit_streams``);
* ``nounwind`` and ``readnone``, of functions of math.h (``math_functions``), and of others that
  their users declare so (``emit_foreign``);
* ``reassoc``, where the mapping asks for it: another result, never none (``emit_expression``). What
  chains and threads sum up apart is not left to LLVM (``emit_chains``, ``emit_copies``).

Code that is *watched* (``emit_llvm(..., is_watched=True)``) checks the first two, and lanes, as it
runs.
"""

__all__: list[str] = []
