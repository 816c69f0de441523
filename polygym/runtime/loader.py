"""Loader of object code: relocatable ELF bytes become a function.

This is the last step of ``codegen`` and the only one that happens outside the process that
compiles: the runner of :mod:`polygym.runtime.worker` calls it, so that generated code never runs in
the parent. LLVM's ORC linker resolves what the object needs (``malloc``, ``exp``,
``clock_gettime``, ...) among the symbols of the process itself.

What an object exports, and what its function returns, says
:mod:`polygym.codegen.llvm.core.binary_interface`. The function by which parallel code asks for its
threads is provided here: it is OpenMP's ``GOMP_parallel``, of libgomp or libomp, whichever is found
first; where there is neither, it calls the task once, and the code runs in one thread.
"""

import re
from functools import cache
from itertools import count

import llvmlite.binding as llvm

from polygym.codegen.llvm.core import binary_interface
from polygym.errors import ForeignCallError, PolygymError
from polygym.foreign import calls, openmp

_ELF_MAGIC = b"\x7fELF"
_LIBRARY = re.compile(rf"{binary_interface.LIBRARY_PREFIX}:([0-9a-f]{{64}}):([^\0]+)\0".encode())
_FOREIGN = re.compile(rf"{binary_interface.FOREIGN_PREFIX}_([0-9a-f]{{16}})_(\w+)\0".encode())
_program_numbers = count()


class LoadError(PolygymError):
    """The bytes are no object code, or name a symbol that the process does not have."""


class LoadedProgram:
    """A linked program; its code stays in memory until :meth:`close`.

    ``call`` runs it once; it takes the argument block, as addresses, and a place for the time.
    """

    def __init__(self, tracker: llvm.orcjit.ResourceTracker) -> None:
        """Take over the linker's handle and make the entry point callable."""
        self._tracker = tracker
        self.call: calls.EntryPoint = calls.entry_point(tracker[binary_interface.ENTRY_POINT])

    def close(self) -> None:
        """Give the code's memory back; the program cannot be called any more."""
        self._tracker.close()


def has_threads() -> bool:
    """Whether code that asks for threads gets them here."""
    return openmp.openmp_library() is not None


def may_use_threads(object_code: bytes) -> bool:
    """Whether code may ask for threads."""
    return binary_interface.FORK_FUNCTION.encode() in object_code


def _foreign_addresses(object_code: bytes) -> dict[str, int]:
    """Return the addresses of the functions of users' libraries that code calls, by their symbols.

    Raises:
        LoadError: a library is not the one that it was, or lacks a function.
    """
    result: dict[str, int] = {}
    for digest, path in set(_LIBRARY.findall(object_code)):
        where = path.decode()
        try:
            library = calls.open_library(where, digest.decode())
        except (OSError, ForeignCallError) as error:
            raise LoadError(f"the library {where}: {error}") from error
        for part, name in set(_FOREIGN.findall(object_code)):
            if not digest.startswith(part):
                continue
            address = calls.function_at(library, name.decode())
            if address is None:
                raise LoadError(f"the library {where} has no function {name.decode()}")
            result[binary_interface.foreign_symbol(digest.decode(), name.decode())] = address
    return result


@cache
def _fork_address() -> int:
    return openmp.fork_address() or calls.serial_fork_address()


@cache
def create_linker() -> llvm.orcjit.LLJIT:
    """Create this process's linker, once; at the latest on the first load."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # LLVM may sum up a loop's bounds in 128 bits, whose division is a function of this library.
    calls.load_library("libgcc_s.so.1")
    return llvm.create_lljit_compiler(suppress_errors=True)


def load_object(object_code: bytes) -> LoadedProgram:
    """Link a relocatable object into this process.

    Raises:
        LoadError: the bytes are not an ELF object, or the linker refuses them.
    """
    if not object_code.startswith(_ELF_MAGIC):
        raise LoadError(
            f"object code: expected ELF bytes beginning with {_ELF_MAGIC!r}, "
            f"found {len(object_code)} bytes beginning with {object_code[:4]!r}"
        )
    library = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
    if b"__kmpc_" in object_code:
        openmp.use_llvm_library()
    if b"GOMP_" in object_code:
        openmp.openmp_library()  # another compiler's parallel code looks for it in the process
    for name, address in _foreign_addresses(object_code).items():
        library = library.import_symbol(name, address)
    if may_use_threads(object_code):  # else OpenMP need not be loaded
        library = library.import_symbol(binary_interface.FORK_FUNCTION, _fork_address())
    try:
        # The linker never takes the same library name twice, not even after it was unloaded.
        tracker = library.export_symbol(binary_interface.ENTRY_POINT).link(
            create_linker(), f"program{next(_program_numbers)}"
        )
    except RuntimeError as error:
        raise LoadError(f"object code: the linker says: {error}") from error
    return LoadedProgram(tracker)
