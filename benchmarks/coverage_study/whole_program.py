"""The program around a nest, built with the fast loops in its place, and run.

gcc builds the program as it is and with the changed file of ``polygym apply``; both print the same,
or the loops are wrong: layouts of structures, arrays that overlap, and sizes are those of the
program. Products are rounded before they are added, on both sides. The kernel reports whether it
ran or left the work to the loops of the source::

    if (f_kernel(n, x) != 0) {  →  if (coverage_ran(f_kernel(n, x)) != 0) {
"""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polygym.export.applying import ApplyKind, apply_export
from polygym.export.exporting import Export

_GCC = ("gcc", "-std=gnu11", "-O1", "-w", "-ffp-contract=off", "-fopenmp")
_SECONDS = 600.0
_PROBE = """#include <stdio.h>
#include <stdlib.h>
static int calls, runs;
static void tell(void) { fprintf(stderr, "kernel calls %d runs %d\\n", calls, runs); }
int coverage_ran(int status) {
  if (calls++ == 0) atexit(tell);
  runs += status == 0;
  return status;
}
"""


class BuildError(Exception):
    """The program does not compile, or does not run."""


@dataclass(frozen=True, slots=True)
class ProgramUnits:
    """The files of a program, the flags of its compiler, its arguments."""

    paths: tuple[Path, ...]
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """The outputs of both programs, and how often the fast loops were called and ran."""

    expected: str
    found: str
    calls: int
    runs: int

    @property
    def verdict(self) -> str:
        """Return "program", or what is wrong, or "" where the fast loops never ran."""
        if self.expected != self.found:
            return f"wrong: the program prints {self.found[:80]!r} for {self.expected[:80]!r}"
        return "program" if self.runs else ""


def compare_programs(export: Export, units: ProgramUnits) -> ProgramComparison:
    """Build and run a program with the loops of the source, and with the fast ones.

    Raises:
        BuildError: one of both does not compile, crashes, or takes too long.
        InputError: the fast loops cannot be called from the file.
    """
    assert export.embedding is not None
    source = Path(export.embedding.scop.file).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected, _ = _run(_build(units.paths, units.flags, folder / "plain"), units.arguments)
        apply_export(export, ApplyKind.C, folder)
        changed = folder / source.name
        changed.write_text(with_probe(changed.read_text(), export.plan.name))
        (folder / "coverage_probe.c").write_text(_PROBE)
        others = [path for path in units.paths if path.resolve() != source]
        kernel = [folder / f"{export.plan.name}.c"] if not export.is_source else []
        files = (changed, *kernel, folder / "coverage_probe.c", *others)
        flags = (*units.flags, f"-I{source.parent}")
        found, told = _run(_build(files, flags, folder / "fast"), units.arguments)
    counts = re.search(r"kernel calls (\d+) runs (\d+)", told)
    calls, runs = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    return ProgramComparison(expected, found, calls, runs)


def with_probe(text: str, kernel: str) -> str:
    """Return a changed file in which the kernel's status passes through the probe.

    >>> print(with_probe("if (!p || f_kernel(n, (int *)x) != 0) {", "f_kernel"))
    int coverage_ran(int);
    if (!p || coverage_ran(f_kernel(n, (int *)x)) != 0) {
    """
    parts, done = ["int coverage_ran(int);\n"], 0
    for match in re.finditer(rf"\b{re.escape(kernel)}\(", text):
        end = _closing_parenthesis(text, match.end() - 1) + 1
        if text[end:].startswith(" != 0"):
            parts += [text[done : match.start()], f"coverage_ran({text[match.start() : end]})"]
            done = end
    return "".join([*parts, text[done:]])


def _closing_parenthesis(text: str, opening: int) -> int:
    """Return where a parenthesis is closed."""
    depth = 0
    for index in range(opening, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    return len(text)


def _build(files: Sequence[Path], flags: Sequence[str], target: Path) -> Path:
    command = [*_GCC, *flags, *map(str, files), "-o", str(target), "-lm", "-lpthread"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{target.name}: {type(error).__name__}") from None
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line), "no message")
        raise BuildError(f"{target.name} does not compile: {first[:200]}")
    return target


def _run(program: Path, arguments: Sequence[str]) -> tuple[str, str]:
    """Return what a program prints to its output and to its errors."""
    try:
        done = subprocess.run(
            [str(program), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{program.name} runs longer than {_SECONDS:g} s") from None
    if done.returncode:
        raise BuildError(f"{program.name} ends with {done.returncode}: {done.stderr[-100:]}")
    return done.stdout, done.stderr
