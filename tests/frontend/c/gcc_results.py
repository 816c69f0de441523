"""Golden bytes of gcc: results of compiled programs, keyed by source, input and compiler version.

A run of gcc with its sanitizers takes a second, and its result changes only with the source, the
input, the options, the compiler or the C library: these are the key. The results are in one file,
``tests/golden/gcc/results.zip``. By default a known key is read there; an unknown one is computed.
``make nightly`` computes all results again and compares; ``--update-golden`` adds unknown ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
import zipfile
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.rotation import NIGHTLY

RESULTS = Path(__file__).parents[2] / "golden" / "gcc" / "results.zip"
UPDATES = "POLYGYM_UPDATE_GOLDEN"  # set by --update-golden
_MADE = (1980, 1, 1, 0, 0, 0)

Result = dict[str, bytes]


def _determined(result: Result) -> Result:
    """Return the parts that each run has; locals without a value differ before the region."""
    return {name: data for name, data in result.items() if name != "before"}


def gcc_result(parts: tuple[str | bytes, ...], compute: Callable[[], Result]) -> Result:
    """Return the golden result of a program, or the one that is computed now."""
    key = _key(parts)
    golden = _golden().get(key)
    if golden is not None and not NIGHTLY:
        return golden
    result = compute()
    if golden is None and os.environ.get(UPDATES):
        _add(key, result)
    is_same = golden is None or _determined(golden) == _determined(result)
    assert is_same, f"gcc computes another result than {RESULTS} holds as {key}"
    return result


def _key(parts: tuple[str | bytes, ...]) -> str:
    digest = sha256(_compiler().encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:32]


@cache
def _compiler() -> str:
    """Return the versions of gcc and of the C library."""
    version = subprocess.run(
        ["gcc", "-dumpfullversion", "-dumpmachine"], capture_output=True, text=True, check=True
    )
    return f"{version.stdout} {platform.libc_ver()}"


@cache
def _golden() -> dict[str, Result]:
    if not RESULTS.exists():
        return {}
    with zipfile.ZipFile(RESULTS) as results:
        return {name: _unpacked(results.read(name)) for name in results.namelist()}


def _unpacked(data: bytes) -> Result:
    head, _, body = data.partition(b"\n")
    result, start = {}, 0
    for name, size in json.loads(head):
        result[name] = body[start : start + size]
        start += size
    return result


def _add(key: str, result: Result) -> None:
    """Add a result to the file; workers of the tests wait for each other."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps([(name, len(data)) for name, data in result.items()]).encode()
    with (RESULTS.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with zipfile.ZipFile(RESULTS, "a", zipfile.ZIP_DEFLATED) as results:
            if key not in results.namelist():
                entry = zipfile.ZipInfo(key, _MADE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                results.writestr(entry, head + b"\n" + b"".join(result.values()))
