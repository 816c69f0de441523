"""Conversion of a header to the form in which cffi reads declarations at run time.

    python -m polygym.foreign.declarations

writes ``_libc.py`` from ``libc.h``, and so on; a test says where that was forgotten. It is the one
module that needs cffi's parser.
"""

import tempfile
from pathlib import Path

import cffi

FOLDER = Path(__file__).parent
LIBRARIES = ("cuda", "libc", "openmp")


def declaration_module(library: str) -> str:
    """Return the text of the module that declares a library."""
    ffi = cffi.FFI()
    ffi.set_source(f"polygym.foreign._{library}", None)
    ffi.cdef((FOLDER / f"{library}.h").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.py")
        ffi.emit_python_code(str(path))
        text = path.read_text(encoding="utf-8")
    summary = f'"""Declarations of {library}.h, written by polygym.foreign.declarations."""\n\n'
    return summary + text.split("\n", 1)[1]


if __name__ == "__main__":
    for name in LIBRARIES:
        (FOLDER / f"_{name}.py").write_text(declaration_module(name), encoding="utf-8")
