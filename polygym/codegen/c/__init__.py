"""Loop IR → C: any schedule as a function that a C compiler takes.

The function has the arguments of the source's, in their order, and computes what the machine code
computes: both are printed from the same loop IR. Compile it with the contraction that C compilers
do by default (``-ffp-contract=on``; gcc's ``fast`` may fuse across statements) to get the same
bits. Globals of the source are declared ``extern``.

* ``function``: the function: its arguments and arrays, loops, guards, statements;
* ``prelude``: what stands above it: headers, prototypes, definitions;
* ``size_checks``: checks at entry of a function that was made for given sizes;
* ``kernel``: kernels as C that is as fast as the machine code, for exports;
* ``index_text``: bounds, conditions and subscripts.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.codegen.c.function import print_c
    from polygym.codegen.c.index_text import print_index
    from polygym.codegen.c.kernel.kernel_text import kernel_prelude, print_kernel
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["kernel_prelude", "print_c", "print_index", "print_kernel"]
