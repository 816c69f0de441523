"""C compilers as contenders: the program's own C file by clang, gcc, or Polly.

What comes out has the convention of polygym's own code (``polygym_run``), so that the worker runs
it on the same buffers, by the same clock, and compares its output. A few lines of C behind the file
do that, and nothing is declared there that the file might declare as well: the clock stands in a
file of its own. OpenMP's threads are started before it.

The function is called as a whole, so it must do nothing but its region. A comprehension, which is
no C, is given to them as C in its original order.

polygym takes the arrays of a function as disjoint. So that the comparison is fair, the file is
compiled as it stands and with ``restrict`` at its array arguments, and the better one counts.

A compiler is found on the PATH, under its name or with a version (``clang-19``), newest first. What
is not there is said, with the Debian package that has it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polygym.codegen.c import print_c
from polygym.codegen.llvm.core.binary_interface import foreign_symbol, library_text
from polygym.codegen.pipeline import lower
from polygym.errors import InputError
from polygym.files import temporary_folder
from polygym.frontend.c import (
    argument_passing,
    completed_file,
    line_outside_region,
)
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.ir.expressions import Call, walk
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.mapping.mapping import TOLERANCE, TOLERANCE_TEXT
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs.comprehensions import ENDING as COMPREHENSION
from polygym.programs.program import Program
from polygym.runtime.evaluation.restricted_arguments import with_restrict
from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.runtime.worker.problem import CompiledProgram

_SECONDS = 300.0
_BLOCK, _SOURCE = "polygym_arguments", "polygym_source.c"
_COMMON_FLAGS = ("-O3", "-march=native")
_POLLY_FLAGS = (
    "-polly",
    "-polly-parallel",
    "-polly-tiling",
    "-polly-default-tile-size=64",
    "-polly-vectorizer=none",
)


@dataclass(frozen=True, slots=True)
class CCompiler:
    """A compiler to compare with: its family of names, what installs it, whether it is Polly."""

    name: str
    family: str
    debian_packages: str
    is_polly: bool = False

    def flags(self, threads: int) -> tuple[str, ...]:
        """Return what it is called with."""
        if not self.is_polly:
            return _COMMON_FLAGS
        # One thread is no parallel code at all: that would not be a fair comparison.
        wanted = [flag for flag in _POLLY_FLAGS if threads > 1 or flag != "-polly-parallel"]
        if threads > 1:
            wanted.append(f"-polly-num-threads={threads}")
        return (*_COMMON_FLAGS, *(part for flag in wanted for part in ("-mllvm", flag)))


C_COMPILERS = {
    ccompiler.name: ccompiler
    for ccompiler in (
        CCompiler("clang", "clang", "clang-19"),
        CCompiler("gcc", "gcc", "gcc"),
        CCompiler("polly", "clang", "clang-19 libpolly-19-dev libgomp1", is_polly=True),
    )
}


@cache
def compiler_path(name: str) -> str | None:
    """Return the compiler's path, or None when it is missing, or has no Polly where that is it."""
    foreign = C_COMPILERS[name]
    for path in _on_the_path(foreign.family):
        if not foreign.is_polly or _accepts_flags(path, foreign.flags(2)):
            return path
    return None


@cache
def compiler_version(name: str) -> str:
    """Return what a compiler that is there calls itself."""
    path = compiler_path(name)
    if path is None:
        raise InputError(missing_compiler_note(name))
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return path
    return next(iter(done.stdout.splitlines()), path)


def tolerance_note(names: Sequence[str]) -> str:
    """Return the sentence about the outputs of other compilers; "" without any."""
    if not names:
        return ""
    return f"outputs of {', '.join(names)}: compared to a relative tolerance of {TOLERANCE_TEXT}"


def missing_compiler_note(name: str) -> str:
    """Return the sentence about a compiler that is not there."""
    foreign = C_COMPILERS[name]
    what = "clang with Polly" if foreign.is_polly else foreign.family
    return f"{name}: no {what} found; on Debian: apt-get install {foreign.debian_packages}"


def compile_fairly(name: str, program: Program, threads: int) -> tuple[CompiledProgram, ...]:
    """Return the program by another compiler as it stands, and with its arrays declared disjoint.

    polygym takes them as disjoint; the better of the two is what to compare with. There is one only
    where the file says so itself, or in a way that is not understood.

    Raises:
        InputError: as :func:`compile_with` does.
    """
    result = [compile_with(name, program, threads)]
    with suppress(InputError):
        result.append(compile_with(name, program, threads, disjoint=True))
    if len(result) == 2 and result[0].object_code == result[1].object_code:
        result.pop()
    return tuple(result)


def better_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """Return that of the fastest code; where none ran, that of the first."""
    ran = [outcome for outcome in outcomes if isinstance(outcome, Ok)]
    return min(ran, key=lambda outcome: outcome.best) if ran else outcomes[0]


def compile_with(
    name: str,
    program: Program,
    threads: int,
    extra_flags: Sequence[str] = (),
    *,
    disjoint: bool = False,
) -> CompiledProgram:
    """Return the program compiled by another compiler, which may add in another order.

    ``extra_flags`` are flags beside the usual ones; ``disjoint`` declares the array arguments of
    the function as ``restrict``.

    Raises:
        InputError: the compiler is missing, or refuses the file.
    """
    path = compiler_path(name)
    if path is None:
        raise InputError(missing_compiler_note(name))
    scop = program.as_written
    source = Path(scop.file).resolve()
    is_c = source.suffix != COMPREHENSION
    if is_c:
        _check_source(name, scop, source, program.function)
    with temporary_folder() as folder:
        if is_c:
            text = completed_file(source, program.function).text
        else:
            text = print_c(lower(LegalSchedule(scop, original_schedule(scop))))
        if disjoint:
            text = with_restrict(text, scop.name)
        # A name without quotes and the like; its own includes are looked for where it is.
        Path(folder, _SOURCE).write_text(text, encoding="utf-8")
        texts = {"program": _wrapper_code(scop), "clock": _clock_code(threads)}
        objects = []
        for part, text in texts.items():
            where, result = Path(folder, f"{part}.c"), Path(folder, f"{part}.o")
            where.write_text(text, encoding="utf-8")
            flags = [
                *C_COMPILERS[name].flags(threads),
                *extra_flags,
                "-w",
                "-fPIC",
                "-Dmain=polygym_other_main",
            ]
            flags += ["-iquote", str(source.parent), *_rename_flags(scop)]
            flags += parse_selection(program.function).flags.arguments
            _run([path, *flags, "-c", str(where), "-o", str(result)], name)
            objects.append(str(result))
        whole = Path(folder, "whole.o")
        _run([path, "-r", "-nostdlib", *objects, "-o", str(whole)], name)
        code = whole.read_bytes()
    names = [array.name for array in scop.arrays]
    return CompiledProgram(
        code,
        tuple(names.index(array.name) for array in _argument_arrays(scop)),
        tuple(program.value(parameter.name) for parameter in scop.parameters),
        TOLERANCE,  # others may round a sum of products once or twice: C leaves that open
    )


def _check_source(name: str, scop: Scop, source: Path, function: str | None) -> None:
    """Refuse a C file that is not there, or whose function does more than its region."""
    if not source.is_file():
        raise InputError(f"{name}: expected the program's C file at {source}, found none")
    passing = argument_passing(source, scop.name, function)
    if passing.structures:
        raise InputError(
            f"{name}: expected arrays and numbers, found that {scop.name} uses members of "
            f"{passing.structures[0]}, a structure: each is an array of its own here, and lies "
            "at another address than other compilers expect"
        )
    computed = [argument for argument in scop.signature if argument not in passing.arguments]
    if kept := [argument for argument in computed if argument in passing.static_variables]:
        raise InputError(
            f"{name}: expected a function that does the same in every call, found that {scop.name} "
            f"keeps {kept[0]}, which is static, from one call to the next"
        )
    if computed:
        raise InputError(
            f"{name}: expected a function that does nothing but its region, found that "
            f"{scop.name} computes {computed[0]} before it"
        )
    if passing.pointer_arrays:
        raise InputError(
            f"{name}: expected arrays in one piece, found that {scop.name} takes pointers to the "
            f"rows of {passing.pointer_arrays[0]}"
        )
    if line := line_outside_region(source, scop.name, function):
        raise InputError(
            f"{name}: expected a function that does nothing but its region, found that "
            f"{scop.name} does more in line {line}: other compilers would be timed with it"
        )


def _wrapper_code(scop: Scop) -> str:
    """Return C that gives the program the worker's calling convention."""
    arrays = {array.name: array for array in scop.arrays}
    parameters = {parameter.name: parameter for parameter in scop.parameters}
    positions = {array.name: place for place, array in enumerate(_argument_arrays(scop))}
    arguments = []
    for name in scop.signature:
        if name in parameters:
            # Parameters follow the arrays in the argument block.
            place = len(positions) + list(parameters).index(name)
            arguments.append(f"*(long *){_BLOCK}[{place}]")
        elif name in arrays:
            slot = f"{_BLOCK}[{positions[name]}]"
            by_value = arrays[name].storage_class is StorageClass.VALUE
            arguments.append(f"*({arrays[name].type.value} *){slot}" if by_value else slot)
        else:
            arguments.append("0")  # the region does not use it
    before, after = _file_scope_code(scop, positions)
    return f"""#include "{_SOURCE}"
#include <stdint.h>
long polygym_now(void);
void polygym_wake(void);
int polygym_run(void **polygym_arguments, long *polygym_nanoseconds) {{
  polygym_wake();
  {before}
  long polygym_before = polygym_now();
  {scop.name}({", ".join(arguments)});
  *polygym_nanoseconds = polygym_now() - polygym_before;
  {after}
  return 0;
}}
{_libraries(scop)}
"""


def _user_functions(scop: Scop) -> tuple[ForeignFunction, ...]:
    """Return the functions of users' libraries that a program calls."""
    bodies = (statement.body for statement in scop.statements)
    called = (node.function for b in bodies for node in walk(b) if isinstance(node, Call))
    functions = (
        function
        for function in called
        if isinstance(function, ForeignFunction) and function.library
    )
    return tuple(dict.fromkeys(functions))


def _rename_flags(scop: Scop) -> list[str]:
    """Return flags that give these functions the names by which the loader finds them."""
    return [
        f"-D{function.name}={foreign_symbol(function.digest, function.name)}"
        for function in _user_functions(scop)
    ]


def _libraries(scop: Scop) -> str:
    """Return C that names their libraries for the loader."""
    texts = dict.fromkeys(
        library_text(function.digest, function.library) for function in _user_functions(scop)
    )
    return "\n".join(
        f"const unsigned char polygym_library_{place}[] = {{{', '.join(map(str, text))}}};"
        for place, text in enumerate(texts)
    )


def _file_scope_code(scop: Scop, positions: dict[str, int]) -> tuple[str, str]:
    """Return C that gives variables at file scope their values, and C that takes them back.

    The file has variables of its own under these names; what the worker holds is copied.
    """
    before, after = [], []
    for array in scop.arrays:
        if array.storage_class is StorageClass.GLOBAL and array.initial is None:
            slot, name = f"{_BLOCK}[{positions[array.name]}]", array.name
            before.append(f"__builtin_memcpy((void *)&{name}, {slot}, sizeof {name});")
            if array.live_out:  # what is only read may not be written to
                after.append(f"__builtin_memcpy({slot}, (void *)&{name}, sizeof {name});")
    for place, parameter in enumerate(scop.parameters):
        if parameter.name not in scop.signature:
            before.append(f"{parameter.name} = *(long *){_BLOCK}[{len(positions) + place}];")
    return " ".join(before), " ".join(after)


def _clock_code(threads: int) -> str:
    """Return C that reads the clock, and that starts the threads."""
    wake = f"GOMP_parallel(polygym_idle, 0, {threads}, 0);" if threads > 1 else ""
    return f"""#include <time.h>
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static void polygym_idle(void *nothing) {{ (void)nothing; }}
void polygym_wake(void) {{ {wake} }}
long polygym_now(void) {{
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return moment.tv_sec * 1000000000L + moment.tv_nsec;
}}
"""


def _argument_arrays(scop: Scop) -> tuple[Array, ...]:
    """Return the arrays that the function is given: its arguments, and those at file scope."""
    return tuple(
        array
        for array in scop.arrays
        if array.name in scop.signature
        or (array.storage_class is StorageClass.GLOBAL and array.initial is None)
    )


def _on_the_path(family: str) -> list[str]:
    """Return the compilers of a family, the plain name first, then the newest version."""
    versions: dict[int, str] = {}
    for folder in os.get_exec_path():
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        for entry in entries:
            match = re.fullmatch(rf"{family}-(\d+)", entry)
            if match and (path := shutil.which(entry)):
                versions.setdefault(int(match[1]), path)
    plain = shutil.which(family)
    return [*([plain] if plain else []), *(versions[key] for key in sorted(versions)[::-1])]


def _accepts_flags(path: str, flags: tuple[str, ...]) -> bool:
    """Whether a compiler knows the flags: tried on an empty file."""
    command = [path, *flags, "-w", "-x", "c", "-c", os.devnull, "-o", os.devnull]
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(command: list[str], name: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"{name}: compiling took more than {_SECONDS:g} s") from None
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise InputError(f"{name} refuses the program: {first}")
