"""Names of programs that clients of a server may load.

A kernel, a comprehension of the library and a random program are no files. Everything else is a
path below the root of the server: links are resolved first, so neither ``..`` nor a link leads out.
A region is chosen by its name alone, since the texts that choose regions can also name folders of
headers and libraries.
"""

from __future__ import annotations

import os
import re
import stat

import polybench
from polygym.errors import InputError
from polygym.frontend.c.source.readable_files import is_below
from polygym.programs.comprehensions import is_comprehension
from polygym.programs.generate import is_generated
from polygym.text_interface.server.limits import ServerLimits

_LONGEST = 1000
_SHOWN = 120
_REGION = re.compile(r"[A-Za-z_]\w{0,99}(:[0-9]{1,4})?", re.ASCII)
_SUFFIXES = (".c", ".tc")
_KERNELS = frozenset(kernel.name for kernel in polybench.KERNELS)


def program_target(name: str, limits: ServerLimits) -> str:
    """Return the target that loads a program by its name.

    Raises:
        InputError: it is none that a client may load.
    """
    if len(name) > _LONGEST or "\0" in name:
        raise InputError(f"program: expected at most {_LONGEST} characters, found {len(name)}")
    if name in _KERNELS:
        return name
    is_file = name.endswith(_SUFFIXES)
    if not is_file and (is_comprehension(name) or is_generated(name)):
        return name
    if limits.root is None:
        raise InputError(
            f"program: expected a kernel, tc:NAME or random:N, found {name[:_SHOWN]!r}; "
            "files need a server with --root DIR"
        )
    return _file(name, limits)


def _file(name: str, limits: ServerLimits) -> str:
    assert limits.root is not None
    root = os.path.realpath(limits.root)
    try:
        path = os.path.realpath(os.path.join(root, name))
        status = os.stat(path) if is_below(path, root) else None
    except (OSError, ValueError):
        status = None
    if status is None or not path.endswith(_SUFFIXES) or not stat.S_ISREG(status.st_mode):
        # One sentence for all: a client cannot find out what there is outside.
        raise InputError(
            f"program: expected a kernel, tc:NAME, random:N, or a file {' or '.join(_SUFFIXES)} "
            f"below the root of the server, found {name[:_SHOWN]!r}"
        )
    if status.st_size > limits.file_bytes:
        raise InputError(
            f"program: expected a file of at most {limits.file_bytes:,} bytes, found "
            f"{status.st_size:,}"
        )
    return path


def region_name(name: str | None) -> str | None:
    """Return the name of a region, if there is one.

    Raises:
        InputError: it is more than a name.
    """
    if name is None or _REGION.fullmatch(name):
        return name
    raise InputError(f"function: expected a name, or NAME:NUMBER, found {name[:_SHOWN]!r}")
