r"""Checks of the sizes for which a C function was made: others would get a wrong result.

::

    if (n != 256 || m != 10) {
      fprintf(stderr, "f: expected n = 256, m = 10, found n = %ld, m = %ld\n", (long)n, (long)m);
      abort();
    }
"""

from collections.abc import Iterator, Mapping

from polygym.ir.scop import Scop

HEADERS = ("#include <stdio.h>", "#include <stdlib.h>")
"""What the check needs."""


def size_check_lines(scop: Scop, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines that end the program where an argument is not the size that it was made for.

    Sizes that are no parameters of the function need none.
    """
    known = [(entry.name, sizes[entry.name]) for entry in scop.parameters if entry.name in sizes]
    if not known:
        return
    differs = " || ".join(f"{name} != {value}" for name, value in known)
    expected = ", ".join(f"{name} = {value}" for name, value in known)
    shown = ", ".join(f"{name} = %ld" for name, _ in known)
    values = "".join(f", (long){name}" for name, _ in known)
    yield f"  if ({differs}) {{"
    yield f'    fprintf(stderr, "{scop.name}: expected {expected}, found {shown}\\n"{values});'
    yield "    abort();"
    yield "  }"
