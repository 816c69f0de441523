"""Check of a whole C program: the fast loops print what gcc's code prints, or there is a refusal.

The region is read, and gcc builds the program as it is. Then schedules are drawn, each with a
mapping, and the program is built again with the exported loops in its place, as C or as an object.
Both print the same, or the loops are wrong: unless sanitizers stop the program as it is, or other
flags let it print something else. Some of the exported C runs under a sanitizer, too.

==========  ======================================================================
stage       what is known after it
==========  ======================================================================
read        the program of the region
reference   the output of gcc's code
export      the outcome of one schedule: a :class:`~whole_program_study.results.Verdict`
==========  ======================================================================
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from coverage_study.whole_program import with_probe

from polybench import Dataset
from polygym.autoschedule.storage_choice import starting_program
from polygym.errors import InternalError, PolygymError, SourceError
from polygym.export.applying import ApplyKind, apply_export
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import Program, load_program
from tests.codegen.mapped_programs import random_mapping
from tests.oracles.random_schedules import random_legal_schedule
from tests.oracles.threads import every_loop_shared
from whole_program_study.results import Stage, Verdict

_PLAIN = ("gcc", "-std=gnu11", "-w", "-ffp-contract=off")
_SANITIZERS = (
    "-O0",  # above, what is read and not used is not read
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
_OTHER_BUILDS = (
    ("-O3",),
    ("-O1", "-ftrivial-auto-var-init=pattern"),
    ("-O1", "-ftrivial-auto-var-init=zero"),
)
_ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0:symbolize=0", "OMP_WAIT_POLICY": "passive"}
_BUILD_SECONDS, _RUN_SECONDS = 120.0, 10.0
_PROBE = """
#include <unistd.h>
int coverage_ran(int status) {
  static int runs;
  if (runs++ == 0 && status == 0) write(2, "kernel runs\\n", 12);
  return status;
}
"""


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program: its files by name, the first with the region, the region's line, and its flags.

    A line of 0 stands for the region between pragmas. ``units`` are other files that are compiled.
    """

    files: tuple[tuple[str, str], ...]
    line: int
    folders: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of gcc."""
        return (
            *(f"-I{folder}" for folder in self.folders),
            *(f"-D{macro}" for macro in self.macros),
        )


class BuildError(Exception):
    """The program does not compile, or does not run to its end."""


def check(program: CheckedProgram, seed: tuple[int, ...], exports: int = 2) -> Iterator[Stage]:
    """Yield the stages of a program; the last is the reason where it goes no further."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in program.files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        source = folder / program.files[0][0]
        try:
            read = _load(program, source)
        except InternalError as error:
            yield Stage("read", Verdict.INTERNAL, str(error))
            return
        except PolygymError as error:
            reason = error.message if isinstance(error, SourceError) else str(error)
            yield Stage("read", Verdict.REFUSED, reason.splitlines()[0])
            return
        if not read.scop.statements:
            yield Stage("read", Verdict.EMPTY)
            return
        yield Stage("read", Verdict.OK)
        try:
            expected = _output(program, folder, ("-O0",))
        except BuildError as error:
            yield Stage("reference", Verdict.INVALID, str(error))
            return
        yield Stage("reference", Verdict.OK)
        for number in range(exports):
            rng = np.random.default_rng([*seed, number])
            yield _exported(program, read, rng, expected, folder / f"export{number}")


def _load(program: CheckedProgram, source: Path) -> Program:
    target = f"{source}:{program.line}" if program.line else str(source)
    return load_program(
        target,
        dataset=Dataset.MINI,
        include_directories=program.folders,
        macros=program.macros,
    )


def _exported(
    program: CheckedProgram, read: Program, rng: np.random.Generator, expected: str, folder: Path
) -> Stage:
    """Return the outcome of one schedule, drawn."""
    kind = (ApplyKind.C, ApplyKind.OBJECT)[int(rng.integers(2))]
    text = kind.value
    try:
        used, schedule, mapping, word = _drawn(read, rng)
        text = f"{word} schedule, {kind.value}, {mapping}, {schedule}"
        sizes = (used.parameters,) if rng.random() < 0.5 else ()
        with every_loop_shared():
            export = prepare_export(used, schedule, mapping, ExportOptions(sizes=sizes))
        found, told = _run(
            _with_fast_loops(program, export, kind, folder, rng.random() < 0.3), program
        )
    except BuildError as error:
        found = f"the program {error}"
    except InternalError as error:
        return Stage("export", Verdict.INTERNAL, f"{text}: {error}")
    except PolygymError as error:
        return Stage("export", Verdict.REFUSED, str(error).splitlines()[0])
    if found == expected:
        return Stage("export", Verdict.OK if "kernel runs" in told else Verdict.SOURCE, text)
    if reason := _without_meaning(program, folder.parent, expected):
        return Stage("export", Verdict.INVALID, reason)
    if re.search(r"stopped: .* an array, in a .*computed", found, re.DOTALL):
        return Stage("export", Verdict.STOPPED, f"{text}: {found[:300]}")
    if found.endswith("s longer"):
        return Stage("export", Verdict.SLOW, f"{text}: {found}")
    verdict = Verdict.CRASH if found.startswith("the program ") else Verdict.WRONG
    return Stage("export", verdict, f"{text}: {found[:300]!r} for {expected[:300]!r}")


def _drawn(read: Program, rng: np.random.Generator) -> tuple[Program, Schedule, Mapping, str]:
    """Return a schedule and a mapping, and for the automatic schedule the program's storage."""
    mapping = DEFAULT_MAPPING if rng.random() < 0.3 else random_mapping(rng, read.scop)
    match int(rng.integers(6)):
        case 0:
            return read, original_schedule(read.scop), mapping, "source"
        case 1:
            return read, isl_schedule(read.scop), mapping, "isl's"
        case 2:
            mapping = replace(DEFAULT_MAPPING, threads=int(rng.integers(1, 3)))
            start = starting_program(read, mapping, DEFAULT_MEMORY_LIMIT)
            assert start.choice is not None
            return start.program, start.choice.schedule, mapping, "automatic"
        case _:
            schedule = random_legal_schedule(
                read.scop, rng, rows=int(rng.integers(1, 3)), attempts=12
            )
            return read, schedule, mapping, "random"


def _with_fast_loops(
    program: CheckedProgram, export: Export, kind: ApplyKind, folder: Path, is_watched: bool
) -> Path:
    """Build a program with exported loops; those in C may get the sanitizer of addresses."""
    assert export.embedding is not None
    source = Path(export.embedding.scop.file)
    apply_export(export, kind, folder)
    changed = folder / source.name
    changed.write_text(with_probe(changed.read_text(), export.plan.name), encoding="utf-8")
    with changed.open("a", encoding="utf-8") as file:
        file.write(_PROBE)
    ending = "c" if kind is ApplyKind.C else "o"
    kernel = [] if export.is_source else [folder / f"{export.plan.name}.{ending}"]
    files = [changed, *kernel, *map(Path, program.units)]
    flags = ["-O0", "-march=native", "-fopenmp", f"-I{source.parent}"]
    flags += ["-fsanitize=address"] if kind is ApplyKind.C and is_watched else []
    return _build(files, (*flags, *program.flags), folder)


def _without_meaning(program: CheckedProgram, folder: Path, expected: str) -> str:
    """Return why gcc may make anything of a program: sanitizers, or compilers that disagree."""
    for flags in (_SANITIZERS, *_OTHER_BUILDS):
        try:
            found = _output(program, folder, flags)
        except BuildError as error:
            return str(error)
        if found != expected:
            return f"what it prints depends on the compiler: {' '.join(flags)}"
    return ""


def _output(program: CheckedProgram, folder: Path, flags: Sequence[str]) -> str:
    """Return what gcc's code prints."""
    files = [folder / program.files[0][0], *map(Path, program.units)]
    return _run(_build(files, (*flags, *program.flags), folder), program)[0]


def _build(files: Sequence[Path], flags: Sequence[str], folder: Path) -> Path:
    target = folder / "program"
    command = [*_PLAIN, *flags, *map(str, files), "-o", str(target), "-lm", "-lpthread"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise BuildError(f"gcc takes {_BUILD_SECONDS:g} s longer") from None
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "error" in line or "undefined" in line), "")
        raise BuildError(f"does not compile: {first[:200]}")
    return target


def _run(path: Path, program: CheckedProgram) -> tuple[str, str]:
    """Return what a program prints to its output and to its errors."""
    with subprocess.Popen(
        [str(path), *program.arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **_ENVIRONMENT},
    ) as process:
        try:
            output, told = process.communicate(timeout=_RUN_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            raise BuildError(f"runs {_RUN_SECONDS:g} s longer") from None
    if process.returncode:
        line = next((line for line in told.splitlines() if "rror" in line), told[-200:])
        raise BuildError(f"ends with {process.returncode}: {line[:300]}")
    return output, told
