"""Exported code: the loops of a schedule as something that links into a user's own program.

======================  ======================================================================
``kernel``              the plan of a kernel: arguments, conditions, loops for each case
``cpu_levels``          processors that code is made for, and how it asks what it runs on
``cpu_dispatch``        the choice among kernels for several processors, in C
``object_code``         a kernel as LLVM IR and as an object file
``c_kernel``            a kernel as C
``header``              C headers of the kernel and of the user's function
``cpp_header``          the header of the user's function of C++
``translation_unit``    the user's file with a call in the place of the region
``exporting``           from a program with a schedule to all of these
``writing``             the kinds of output, and their files
``device_export``       kernels for a GPU, and the text of their launches
``applying``            the user's file, changed, and the lines that build it
``python_module``       a kernel as a Python module
``compiled_function``   a C function as a callable on NumPy arrays
``structured_arrays``   NumPy's structured arrays as the memory of C's structures
``clang_ir``            the user's file as LLVM IR, by clang
``c_compiler``          the user's C compiler
``measuring``           measuring an export as it is written
======================  ======================================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.export.compiled_function import CompiledFunction, compile_function
    from polygym.export.exporting import Export, ExportOptions, prepare_export
    from polygym.export.writing import ExportKind, WrittenExport, write_export
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "CompiledFunction",
    "Export",
    "ExportKind",
    "ExportOptions",
    "WrittenExport",
    "compile_function",
    "prepare_export",
    "write_export",
]
