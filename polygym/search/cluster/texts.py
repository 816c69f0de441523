"""Programs that are files, as data: a text crosses the network once per node, then its digest.

A name that is no path (a kernel of the suite, ``tc:matmul``, ``random:17``) means the same on every
node. A file's text is written on the node into a folder that only this user may enter, under the
digest of the text and the file's own name, where the next one finds it. It has to stand by itself:
files that it includes are not sent.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from polygym.errors import InputError, InternalError
from polygym.files import write_atomically
from polygym.lru import Memory
from polygym.programs import is_path

_SHORT = 32
_REMEMBERED = 64


class Texts:
    """The files of a node."""

    def __init__(self) -> None:
        """Make no folder before a file comes."""
        self._paths: dict[str, Path] = {}
        self._told: Memory[object, dict[str, None]] = Memory(_REMEMBERED)

    def told(self, about: object, news: list[str]) -> list[str]:
        """Return all that this node was told about something, with what is new."""
        found = self._told.get(about, dict)
        found.update(dict.fromkeys(news))
        return list(found)

    def place(self, program: dict[str, Any]) -> str:
        """Return the name under which a program is known here, whose text may be new."""
        digest = program.get("digest")
        if not digest:
            return str(program["name"])
        if digest not in self._paths:
            if "text" not in program:
                raise InternalError(f"{program['name']}: expected its text before its digest alone")
            self._write(str(program["name"]), str(digest), str(program["text"]))
        return str(self._paths[digest])

    def _write(self, name: str, digest: str, text: str) -> None:
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise InternalError(f"{name}: expected the text of digest {digest}, found another")
        path = _own_folder() / digest[:_SHORT] / Path(name).name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, text.encode())
        self._paths[digest] = path


def _own_folder() -> Path:
    """Return the folder of this user's programs; one that others may enter is refused."""
    home = Path(tempfile.gettempdir()) / f"polygym-programs-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InputError(f"{home}: expected a folder of this user alone, found something else")
    return home


class Sent:
    """What a driver has sent to whom: a text goes to a worker once."""

    def __init__(self) -> None:
        """Nothing has been sent."""
        self._sent: set[tuple[str, str]] = set()

    def program(self, worker: str, name: str) -> dict[str, Any]:
        """Return a program as data for a worker.

        Raises:
            OSError: the file cannot be read.
        """
        if not is_path(name):
            return {"name": name}
        text = Path(name).read_text()
        digest = hashlib.sha256(text.encode()).hexdigest()
        if (worker, digest) in self._sent:
            return {"name": name, "digest": digest}
        self._sent.add((worker, digest))
        return {"name": name, "digest": digest, "text": text}
