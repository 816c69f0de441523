"""Programs that are files, as data: a text crosses the network once per node, then its digest.

A name that is no path (a kernel of the suite, ``tc:matmul``, ``random:17``) means the same on every
node. A file's text is written on the node, with those of the files that it includes
(:mod:`polygym.search.runner.ray.fleet.program_bundles`), into a folder that only this user may
enter, under the digest of all of them, where the next one finds it. What a node could not read as
it is read here is not sent; the reason is, so that the program fails there as it would have failed
here.
"""

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from polygym.errors import InputError, InternalError, PolygymError
from polygym.lru_cache import LruCache
from polygym.programs import is_path
from polygym.search.runner.ray.fleet.program_bundles import (
    bundle_from_json,
    bundle_program,
    unpack_bundle,
)

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
    home = Path(tempfile.gettempdir()) / f"polygym-programs-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InputError(f"{home}: expected a folder of this user alone, found something else")
    return home


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
