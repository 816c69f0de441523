"""Loop IR → C: any schedule as a function that a C compiler takes.

The function has the arguments of the source's, in their order, and computes what the machine code
computes: both are printed from the same loop IR. Compile it with the contraction that C compilers
do by default (``-ffp-contract=on``; gcc's ``fast`` may fuse across statements) to get the same
bits. Globals of the source are declared ``extern``.

* ``function``: the function: its arguments and arrays, loops and guards;
* ``statements``: statement instances and their expressions;
* ``data_bounds``: headers of loops between bounds that are read from memory;
* ``prelude``: what stands above it: headers, prototypes, definitions;
* ``size_checks``: checks at entry of a function that was made for given sizes;
* ``index_text``: bounds, conditions and subscripts;
* ``kernel_text``: C that is as fast as the machine code, and what stands before it in a file;
* ``kernel``: its parts.

There are two printers for two readers. ``print_c`` shows what the loops are, in the source's own
arrays and a fraction of the text; ``print_kernel`` prints what the LLVM emitters make of them, with
vectors, registers and threads, from the very instructions that become machine code.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.codegen.c.function import print_c
    from polygym.codegen.c.index_text import macro_definitions, print_index
    from polygym.codegen.c.kernel_text import kernel_prelude, print_kernel
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["kernel_prelude", "macro_definitions", "print_c", "print_index", "print_kernel"]
