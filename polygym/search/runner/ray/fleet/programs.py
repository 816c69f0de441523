"""A program that is a file as data: its text, and the texts of the files that it includes.

What is included is found by the front end's own preprocessor, so conditions count and an include
of an include is there too. Files go by their paths below the innermost folder that holds all of
them; on a node they stand below a folder of its own, in the same places to each other. A file that
is included by an absolute path would be another one there, and is refused.

Example: ``/home/me/k/my.c`` with ``#include "../lib/size.h"`` is the bundle ::

    main   k/my.c
    files  k/my.c, lib/size.h

of which the digest is that of all names and texts.

A text crosses the network once per node, then its digest.

A name that is no path (a kernel of the suite, ``tc:matmul``, ``random:17``) means the same on every
node. A file's text is written on the node, with those of the files that it includes
(:mod:`polygym.search.runner.ray.fleet.programs`), into a folder that only this user may
enter, under the digest of all of them, where the next one finds it. What a node could not read as
it is read here is not sent; the reason is, so that the program fails there as it would have failed
here.
"""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from polygym.errors import InputError, InternalError, PolygymError
from polygym.files import write_atomically
from polygym.frontend.c.source.preprocessor import included_files
from polygym.lru_cache import LruCache
from polygym.programs import is_path

_MAX_BYTES = 8 << 20
_COMPREHENSION_SUFFIX = ".tc"  # such files include nothing


@dataclass(frozen=True, slots=True)
class ProgramBundle:
    """A file and what it includes; ``main`` is one of ``files``, which are paths and texts."""

    main: str
    files: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """A fingerprint of all paths and texts."""
        text = json.dumps([self.main, *map(list, self.files)])
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; :func:`bundle_from_json` reads it back."""
        return {"main": self.main, "files": [list(file) for file in self.files]}


def bundle_from_json(data: Mapping[str, Any]) -> ProgramBundle:
    """Return the bundle that :meth:`ProgramBundle.to_json` wrote.

    Raises:
        InputError: a path leads out of the folder below which all of them are to stand.
    """
    bundle = ProgramBundle(
        str(data["main"]), tuple((str(path), str(text)) for path, text in data["files"])
    )
    for path in (bundle.main, *(path for path, _ in bundle.files)):
        parts = PurePosixPath(path).parts
        if not parts or os.path.isabs(path) or ".." in parts or "\0" in path:
            raise InputError(f"a program's file: expected a path below a folder, found {path!r}")
    if bundle.main not in dict(bundle.files):
        raise InputError(f"a program's file: expected the text of {bundle.main!r}, found none")
    return bundle


def bundle_program(name: str) -> ProgramBundle:
    """Return a file with all that it includes.

    Raises:
        InputError: one of them cannot be read, or cannot stand elsewhere.
    """
    main = os.path.abspath(name)
    text = _read(main)
    paths = [main]
    if not main.endswith(_COMPREHENSION_SUFFIX):
        paths += [path for path in included_files(text, main) if path != main]
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    texts = [text, *map(_read, paths[1:])]
    if (size := sum(map(len, texts))) > _MAX_BYTES:
        raise InputError(f"{name}: expected {_MAX_BYTES} characters at most, found {size}")
    files = {os.path.relpath(path, root): text for path, text in zip(paths, texts, strict=True)}
    bundle = ProgramBundle(os.path.relpath(main, root), tuple(files.items()))
    if len(paths) > 1:
        with TemporaryDirectory() as folder:
            unpack_bundle(bundle, Path(folder))
    return bundle


def unpack_bundle(bundle: ProgramBundle, folder: Path) -> Path:
    """Write the files below a folder, and return where the program is.

    Raises:
        InputError: there it includes another file than those, as by an absolute path.
    """
    for name, text in bundle.files:
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    main = folder / bundle.main
    if main.suffix != _COMPREHENSION_SUFFIX:
        for file in included_files(dict(bundle.files)[bundle.main], str(main)):
            if not Path(file).is_relative_to(folder):
                raise InputError(
                    f"{main.name}: expected files that are included by relative paths, found "
                    f"{file} "
                    "by an absolute one, which may be another file on a node"
                )
    return main


def _read(path: str) -> str:
    """Return a text as it is in the file, line ends included."""
    try:
        return Path(path).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a text, found: {error}") from None


_SHORT_DIGEST = 32
_MAX_CACHED = 64


class ProgramTexts:
    """The files of a node."""

    def __init__(self) -> None:
        """Make no folder before a file comes."""
        self._paths: dict[str, Path] = {}
        self._told: LruCache[object, dict[str, None]] = LruCache(_MAX_CACHED)

    def known_about(self, about: object, news: list[str]) -> list[str]:
        """Return all that this node was told about something, with what is new."""
        result = self._told.get(about, dict)
        result.update(dict.fromkeys(news))
        return list(result)

    def resolve(self, program: dict[str, Any]) -> str:
        """Return the name under which a program is known here, whose text may be new.

        Raises:
            InputError: the driver could not send it, and said why.
        """
        if reason := program.get("refused"):
            raise InputError(str(reason))
        digest = program.get("digest")
        if not digest:
            return str(program["name"])
        if digest not in self._paths:
            if "files" not in program:
                raise InternalError(f"{program['name']}: expected its text before its digest alone")
            bundle = bundle_from_json(program)
            if bundle.digest != digest:
                raise InternalError(
                    f"{bundle.main}: expected the text of digest {digest}, found another"
                )
            self._paths[digest] = unpack_bundle(bundle, _own_folder() / digest[:_SHORT_DIGEST])
        return str(self._paths[digest])


def _own_folder() -> Path:
    """Return the folder of this user's programs; one that others may enter is refused."""
    folder = Path(tempfile.gettempdir()) / f"polygym-programs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise InputError(f"{folder}: expected a folder of this user alone, found something else")
    return folder


class SentTexts:
    """What a driver has sent to whom: a text goes to a worker once."""

    def __init__(self) -> None:
        """Nothing has been sent."""
        self._sent: set[tuple[str, str]] = set()

    def program(self, worker: str, name: str) -> dict[str, Any]:
        """Return a program as data for a worker; one that cannot be sent is the reason."""
        if not is_path(name):
            return {"name": name}
        try:
            bundle = bundle_program(name)
        except PolygymError as error:
            return {"name": name, "refused": str(error)}
        digest = bundle.digest
        if (worker, digest) in self._sent:
            return {"name": name, "digest": digest}
        self._sent.add((worker, digest))
        return {"name": name, "digest": digest, **bundle.to_json()}
