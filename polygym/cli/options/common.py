"""Arguments and options of several commands: programs, sizes, mappings.

Imports that few commands need stand in functions, so that other commands start faster.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from polybench import Dataset
from polygym.cli.options.term_files import is_term_file, open_term_file
from polygym.cli.options.values import (
    BoundedNumber,
    F,
    bytes_option,
    combined,
    count_option,
    factor_option,
    parsed_by,
)
from polygym.cli.output.console import shorten, write_text
from polygym.errors import InputError
from polygym.gpu.mapping.device_mapping import (
    DeviceMapping,
    is_device_mapping,
    parse_device_mapping,
)
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.programs import is_path, split_line
from polygym.programs.sizes import parse_sizes
from polygym.runtime.evaluation.evaluation import MEMORY_VARIABLE, MIN_MEMORY

if TYPE_CHECKING:
    from polygym.frontend.c.discovery.choice import ChosenRegion
    from polygym.frontend.c.source.compile_flags import CompileFlags

PROGRAM_HELP = """PROGRAM is a kernel's name (see `polygym kernels`), the path of a C file with a
`#pragma scop` … `#pragma endscop` region, or without one (the best region that `polygym scan`
finds, or FILE:LINE for the one at a line), the path of a `.tc` file with a tensor comprehension or
of a `.ks` file with terms, or `tc:NAME` for one of the library's, such as tc:matmul."""

EXCLUSION_HELP = """PROGRAM may also be a category or a glob. ! before it excludes what it names,
anywhere in the list: 'all,!gemm,!stencils'. Put ! in single quotes, since shells interpret it."""

RESULT_SUFFIX = ".json"
"""The end of the names of results."""

_TARGET, _LINE = "polygym-target", "polygym-line"


def _split_target(context: click.Context, _: click.Parameter, target: str) -> str:
    """Return the path of ``FILE:LINE``; the line is kept for ``--function``."""
    path, line = split_line(target)
    if is_term_file(path) and not context.resilient_parsing:
        path = open_term_file(context, path)
    context.meta.update({_TARGET: path, _LINE: line})
    return path


program_argument = click.argument(
    "target", metavar="PROGRAM", is_eager=True, callback=_split_target
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the results; created if it does not exist.",
)

moved_file_option = click.option(
    "--file",
    "c_file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="NEW.c",
    help="Where the C file of the result is now. (Default: where it was from the result's folder, "
    "or its full path.)",
)
"""``--file`` of commands that read a result."""

resume_option = click.option(
    "--resume", "resumed", is_flag=True, help="Continue the search in --out DIR."
)


def absolute_target(target: str) -> str:
    """Return a name that still means the same file in another working directory."""
    return str(Path(target).absolute()) if is_path(target) else target


def model_option(purpose: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--model``, a file or nothing; ``purpose`` names its use."""
    return click.option(
        "--model",
        type=click.Path(dir_okay=False),
        default="",
        metavar="MODEL",
        help=f"{purpose}, of `polygym cost train`. (Default: the pretrained one.)",
    )


def seed_option(help_text: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--seed``; the text names the random choices."""
    return count_option("--seed", least=0, default=0, help=help_text)


def _stored_option(name: str, **named: object) -> Callable[[F], F]:
    """Return an option that is read before the others and kept in the context under its name."""

    def store(context: click.Context, _: click.Parameter, value: object) -> None:
        context.meta[f"polygym{name}"] = value

    return click.option(name, is_eager=True, expose_value=False, callback=store, **named)  # type: ignore[arg-type]


def _complete_region(context: click.Context, _: click.Parameter, region: str | None) -> str | None:
    """Return the region with what is given beside it; where it has no pragmas, with its place.

    A sentence names the region that was found.
    """
    from polygym.frontend.c import with_extents
    from polygym.programs import found_region

    meta, target = context.meta, context.meta.get(_TARGET)
    if target is not None and target.endswith(RESULT_SUFFIX):
        return region  # a result says which region it is about
    try:
        extents, library = meta.get("polygym--extent", ()), meta["polygym--link"]
        region = with_extents(
            region,
            extents,
            library,
            given_flags(target),
            meta.get(_LINE),
            meta.get("polygym--alias", ()),
        )
    except InputError as error:
        options = ("--extent", "--alias", "--link", "-I", "-D", "--include", "--compile-commands")
        hint = ", ".join(map(repr, options))
        raise click.BadParameter(str(error), context, param_hint=hint) from None
    if target is None or context.resilient_parsing:
        return region
    chosen = found_region(target, region)
    if chosen is None:
        return region
    _tell_region(chosen, target)
    return str(chosen.selection)


def _tell_region(chosen: "ChosenRegion", target: str) -> None:
    """Print the sentence that names a region that was found."""
    if sentence := chosen.sentence(target):
        write_text(sentence, err=True)


def tell_found_region(program: str, region: str | None) -> None:
    """Print which region is taken of a program of several, if it has no pragmas."""
    from polygym.frontend.c import with_extents
    from polygym.programs import found_region

    target, line = split_line(program)
    flags = given_flags(target if is_path(target) else None)
    chosen = found_region(target, with_extents(region, (), flags=flags, line=line))
    if chosen is not None:
        _tell_region(chosen, target)


def given_flags(target: str | None) -> "CompileFlags":
    """Return the flags of ``-I``, ``-D``, ``--include`` and ``--compile-commands`` for a file."""
    from polygym.frontend.c.source.compilation_database import flags_from_database
    from polygym.frontend.c.source.compile_flags import checked_flags

    meta = click.get_current_context().meta
    flags = checked_flags(
        meta.get("polygym-I", ()), meta.get("polygym-D", ()), meta.get("polygym--include", ())
    )
    database = meta.get("polygym--compile-commands")
    if database is None or target is None:
        return flags
    return flags_from_database(Path(database), target).joined(flags)


def compile_commands() -> Path | None:
    """Return the file of ``--compile-commands``, for commands of several programs."""
    database = click.get_current_context().meta.get("polygym--compile-commands")
    return None if database is None else Path(database)


def refuse_compile_commands() -> None:
    """Refuse ``--compile-commands`` in a command that reads all its files with the same flags.

    Raises:
        InputError: it is given.
    """
    if compile_commands() is not None:
        raise InputError(
            "--compile-commands: expected with one program, found with a command that reads all "
            "its files with the same flags; give -I and -D"
        )


flag_options = combined(
    _stored_option(
        "-I",
        multiple=True,
        metavar="DIR",
        help="Look for headers in DIR; may be repeated.",
    ),
    _stored_option(
        "-D",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Define a macro of the C file; may be repeated.",
    ),
    _stored_option(
        "--include",
        multiple=True,
        metavar="FILE",
        help="Read FILE before the C file, as gcc's -include does; may be repeated.",
    ),
    _stored_option(
        "--compile-commands",
        metavar="FILE",
        help="Take the folders of headers and the macros from a compilation database, "
        "compile_commands.json.",
    ),
)
"""``-I``, ``-D``, ``--include``, ``--compile-commands``: the flags that a C file is read with."""


function_option = combined(
    flag_options,
    _stored_option(
        "--extent",
        multiple=True,
        metavar="ARRAY=SIZE[xSIZE…]",
        help="The sizes of a pointer's array, if the file does not give them: x=100x200 or "
        "'x[n][2*m]'; may be repeated.",
    ),
    _stored_option(
        "--alias",
        multiple=True,
        metavar="POINTER=POINTER",
        help="Two pointers of the C file that are the same, p=q or 'p=g->u': one array. Others are "
        "taken to be disjoint. May be repeated.",
    ),
    _stored_option(
        "--link",
        metavar="FILE",
        help="The shared library of functions that the file only declares, as pure or const.",
    ),
    click.option(
        "--function",
        "region",
        metavar="NAME",
        callback=_complete_region,
        help="The function with the region, or the comprehension, if a file has several; NAME:2 is "
        "the second region of a function.",
    ),
)
"""``--function`` and what is given beside it; the command gets them as one region."""


def _set_compile_memory(_: click.Context, __: click.Parameter, value: int | None) -> None:
    """Limit the memory of code generation, in this process and those that it starts."""
    if value is not None:
        os.environ[MEMORY_VARIABLE] = str(value // 2**20)


timeout_option = combined(
    factor_option(
        "--timeout-factor",
        least=1.0,
        most=1e6,
        default=10.0,
        help="Stop a schedule that takes X times as long as the original order.",
    ),
    bytes_option(
        "--compile-memory-limit",
        least=MIN_MEMORY,
        expose_value=False,
        callback=_set_compile_memory,
        help="Skip a schedule whose code generation takes more memory. (Default: 2GiB, or "
        f"{MEMORY_VARIABLE}.)",
    ),
)
"""``--timeout-factor`` and ``--compile-memory-limit``, for searches."""


def construction_options(function: F) -> F:
    """Add the options of the spaces of constructed schedules."""
    from polygym.mdp.task_options import MOST_COEFFICIENT

    for name, most, default, help_text in (
        ("--max-rays", 100_000, 64, "Rays to choose from in a dimension; see `polygym space`."),
        ("--max-dimensions", 32, 4, "Dimensions that may be constructed."),
        ("--max-coefficient", MOST_COEFFICIENT, 2, "Multiples of vertices and rays are 0 to N."),
    ):
        function = count_option(name, most=most, default=default, help=help_text)(function)
    return function


def mapping_option(default: str, *, devices: bool = False) -> Callable[[F], F]:
    """Return a decorator that adds ``--mapping``; ``default`` describes its default.

    With ``devices`` it may also be a mapping to a GPU, a ``DeviceMapping``.
    """
    return click.option(
        "--mapping",
        metavar="MAPPING",
        callback=parsed_by(_any_mapping if devices else parse_mapping, 400),
        help="The mapping of the loops to the machine: default, sequential, or options such as "
        "'tile=32x64 unroll_jam=4 vector_bits=256'; docs/explanation/mapping.md lists them. "
        f"(Default: {default}.)",
    )


def _any_mapping(text: str) -> Mapping | DeviceMapping:
    """Return a mapping to the CPU, or to a GPU where the text says ``device=cuda``."""
    return parse_device_mapping(text) if is_device_mapping(text) else parse_mapping(text)


def _checked_threads(context: click.Context, _: click.Parameter, value: int | None) -> int:
    """Return the number of threads; click reads given options before the others."""
    from polygym.runtime.loader import has_threads

    mapping = context.params.get("mapping")
    threads = value or (int(mapping.threads) if isinstance(mapping, Mapping) else 1)
    if threads > 1 and not has_threads():
        write_text(
            "no OpenMP library was found (libgomp or libomp; on Debian: apt-get install libgomp1): "
            "everything runs in one thread",
            err=True,
        )
    return threads


threads_option = click.option(
    "--threads",
    type=BoundedNumber(int, 1, 1024),
    metavar="N",
    callback=_checked_threads,
    help="Threads for parallel loops. (Default: those of --mapping, else 1.)",
)

reassociate_option = _stored_option(
    "--reassociate",
    is_flag=True,
    help="Allow another order of floating-point sums; outputs are then compared to a tolerance, "
    "not bit for bit. The same as reassociate=on in a mapping.",
)

_MAPPING_DEFAULT = "default, but sequential for the original order"

mapping_options = combined(mapping_option(_MAPPING_DEFAULT), threads_option, reassociate_option)
"""``--mapping``, ``--threads`` and ``--reassociate``, for programs that are run.

The command gets ``mapping``, None if it is not given, and ``threads``; :func:`resolve_mapping`
combines them.
"""


exported_mapping_options = combined(
    mapping_option(_MAPPING_DEFAULT, devices=True), threads_option, reassociate_option
)
"""The same for code that is written; the mapping may also be one to a GPU."""


def resolve_mapping(mapping: Mapping | None, default: Mapping, threads: int) -> Mapping:
    """Return the mapping of ``--mapping``, else the default, with the values of other options."""
    result = mapping or default
    context = click.get_current_context()
    if mapping is None and context.get_parameter_source("threads") is ParameterSource.DEFAULT:
        threads = default.threads
    reassociate = context.meta.get("polygym--reassociate", False)
    return replace(result, threads=threads, reassociate=result.reassociate or reassociate)


def _sizes(values: Sequence[str]) -> dict[str, int]:
    return parse_sizes(",".join(values)) if values else {}


parameters_option = click.option(
    "-p",
    "--parameters",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE,...",
    callback=parsed_by(_sizes),
    help="Sizes of the program; may be repeated.",
)

size_options = combined(
    click.option(
        "--dataset",
        "-d",
        metavar="SIZE",
        callback=parsed_by(Dataset.parse),
        help="mini, small, medium, large (default) or extralarge. In your own file they set "
        "every parameter to 16, 64, 256, 1024 or 2048, or to the next possible size.",
    ),
    parameters_option,
)
"""``--dataset`` and ``--parameters``."""


def installed_compilers(names: Iterable[str]) -> tuple[str, ...]:
    """Return the installed ones of some compilers; print how to install the others."""
    from polygym.runtime.evaluation import c_compilers

    result = []
    for name in dict.fromkeys(names):
        if name not in c_compilers.C_COMPILERS:
            raise InputError(
                f"--against: expected {', '.join(c_compilers.C_COMPILERS)}, found {shorten(name)!r}"
            )
        if c_compilers.compiler_path(name) is None:
            write_text(c_compilers.missing_compiler_note(name), err=True)
        else:
            result.append(name)
    return tuple(result)
