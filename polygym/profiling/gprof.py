"""Samples of a program built with ``gcc -pg -g``: it writes a ``gmon.out`` when it ends."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from polygym.errors import InputError
from polygym.files import temporary_folder
from polygym.profiling.running import run_program
from polygym.profiling.samples import Profile, ProfilingTool, Sample, parse_place

_SECONDS = 600.0
_ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s.*?(\S+) \((.*):(\d+) @ ([0-9a-f]+)\)\s*$")
_PLAIN_ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s+(?:[\d.]+\s+)*(\S.*?)\s*$")
HOW_TO_BUILD = (
    "build the program with gcc -pg -g (compile and link: make clean; make CFLAGS='-O2 -g -pg' "
    "LDFLAGS=-pg), then run this again"
)


def profile_by_gprof(command: Sequence[str], *, output_to_stderr: bool) -> Profile | None:
    """Run a program, and return the samples that it took itself; None if it took none.

    A program that is stopped takes none: it writes them when it ends.

    Raises:
        InputError: The program cannot be started, or gprof is missing.
    """
    with temporary_folder() as folder:
        environment = {**os.environ, "GMON_OUT_PREFIX": f"{folder}/gmon"}
        end = run_program(command, output_to_stderr=output_to_stderr, environment=environment)
        written = sorted(folder.glob("gmon*"))
        if not written and not end.stop_signal:
            return None
        samples = read_gmon(command[0], written[0]) if written else ()
        return Profile(ProfilingTool.GPROF, samples, end)


def read_gmon(program: str, data: Path) -> tuple[Sample, ...]:
    """Return the samples in a ``gmon.out`` of a program, in hundredths of a second.

    Raises:
        InputError: gprof is missing, or does not understand the files.
    """
    if shutil.which("gprof") is None:
        raise InputError("gprof: expected the program, found none; apt-get install binutils")
    path = shutil.which(program) or program
    rows = [row for row in map(_parsed, _gprof(["-l"], path, data)) if row is not None]
    if not rows:
        plain = [row for row in map(_without_line, _gprof([], path, data)) if row is not None]
        return tuple(Sample(count, program, symbol, None, None) for count, symbol in plain)
    lines = _full_lines(path, [address for _, _, _, address in rows])
    samples = []
    for count, symbol, place, address in rows:
        file, line = lines.get(address, parse_place(place))
        samples.append(Sample(count, program, symbol, file, line))
    return tuple(samples)


def _gprof(options: Sequence[str], program: str, data: Path) -> list[str]:
    command = ["gprof", "-b", "-p", *options, program, str(data)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"gprof: {error}") from None
    if done.returncode:
        raise InputError(f"gprof: {done.stderr.strip() or 'no message'}")
    return done.stdout.splitlines()


def _parsed(row: str) -> tuple[float, str, str, str] | None:
    """Return the count, the function, the place and the address of a row of ``gprof -l``.

    >>> _parsed(" 60.10      0.18     0.18                             product (p.c:9 @ 127e)")
    (18.0, 'product', 'p.c:9', '127e')
    """
    match = _ROW.match(row)
    if match is None or float(match[1]) == 0:
        return None
    return round(float(match[1]) * 100, 2), match[2], f"{match[3]}:{match[4]}", match[5]


def _without_line(row: str) -> tuple[float, str] | None:
    match = _PLAIN_ROW.match(row)
    if match is None or float(match[1]) == 0:
        return None
    return round(float(match[1]) * 100, 2), match[2]


def _full_lines(program: str, addresses: Sequence[str]) -> dict[str, tuple[str | None, int | None]]:
    """Return the full paths and lines of addresses, as addr2line knows them."""
    if shutil.which("addr2line") is None:
        return {}
    command = ["addr2line", "-e", program, *addresses]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = done.stdout.splitlines()
    if len(rows) != len(addresses):
        return {}
    places = map(parse_place, rows)
    return {a: p for a, p in zip(addresses, places, strict=True) if p[0] is not None}
