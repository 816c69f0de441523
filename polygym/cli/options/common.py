"""What several commands share: targets, sizes, mappings.

What few of them need is imported where it is needed: every command would wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from polybench import Dataset
from polygym.cli.output.console import write_text
from polygym.cli.output.text import shorten
from polygym.errors import InputError
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.programs import is_path
from polygym.programs.sizes import parse_sizes
from polygym.runtime.evaluation.evaluation import MEMORY_VARIABLE, MIN_MEMORY

_EXTENTS, _LIBRARY = "polygym.extents", "polygym.library"

F = TypeVar("F", bound=Callable[..., Any])

TARGET_HELP = """TARGET is a kernel's name (see `polygym kernels`), the path of a C file with a
`#pragma scop` … `#pragma endscop` region, the path of a `.tc` file with a tensor comprehension, or
`tc:NAME` for one of the library's, such as tc:matmul, or tc:matmul:double."""

EXCLUSION_HELP = """Where several are named, ! before a name, a glob, a category or a path excludes
what it stands for, wherever in the list: 'all,!gemm,!stencils'. Shells take ! for themselves: put
it in single quotes."""


def target_argument(function: F) -> F:
    """Add the argument TARGET."""
    return click.argument("target", metavar="KERNEL|FILE")(function)


def absolute_target(target: str) -> str:
    """Return a name that still means the same file in another working directory."""
    return str(Path(target).absolute()) if is_path(target) else target


def model_option(purpose: str) -> Callable[[F], F]:
    """Return what adds ``--model``, a file or nothing; the text says for what it is asked."""
    return click.option(
        "--model",
        type=click.Path(dir_okay=False),
        default="",
        metavar="FILE",
        help=f"{purpose}, of `polygym cost train`. (Default: the one that comes with polygym.)",
    )


def function_option(function: F) -> F:
    """Add ``--function`` and ``--extent``, which is put behind what that says."""
    function = click.option(
        "--function",
        "region",
        metavar="NAME",
        callback=_with_extents,
        help="Which function's region, or which comprehension, where a file holds several.",
    )(function)
    function = click.option(
        "--link",
        "library",
        is_eager=True,
        expose_value=False,
        callback=_store_library,
        metavar="LIBRARY.so",
        help="Where the code of functions is that the file only declares, as pure or const.",
    )(function)
    return click.option(
        "--extent",
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=_store_extents,
        metavar="ARRAY=SIZE[xSIZE…]",
        help="The sizes of a pointer that the file does not say, as in x=100x200 or 'x[n][2*m]'; "
        "may be given several times.",
    )(function)


def _store_extents(context: click.Context, _: click.Parameter, texts: Sequence[str]) -> None:
    """Keep the sizes for the option that they are put behind, which is read later."""
    context.meta[_EXTENTS] = texts


def _store_library(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Keep the library for the same option."""
    context.meta[_LIBRARY] = path


def _with_extents(context: click.Context, _: click.Parameter, region: str | None) -> str | None:
    """Return the choice of a region with the sizes that are given beside it."""
    from polygym.frontend.c import with_extents

    try:
        extents, library = context.meta.get(_EXTENTS, ()), context.meta.get(_LIBRARY)
        return with_extents(region, extents, library)
    except InputError as error:
        hint = "'--extent', '--link'"
        raise click.BadParameter(str(error), context, param_hint=hint) from None


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def seed_option(help_text: str) -> Callable[[F], F]:
    """Return what adds ``--seed``; the text says what the dice decide."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        default=0,
        show_default=True,
        metavar="S",
        help=help_text,
    )


def out_option(function: F) -> F:
    """Add ``--out``, the folder that a search writes to."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Where to write; made if it does not exist.",
    )(function)


def resume_option(function: F) -> F:
    """Add ``--resume``, to go on with the search in ``--out``."""
    return click.option(
        "--resume", "resumed", is_flag=True, help="Go on with the search in --out DIR."
    )(function)


def _set_compile_memory(_: click.Context, __: click.Parameter, value: int | None) -> None:
    """Have this process, and those that it starts, generate code in so many megabytes."""
    if value is not None:
        os.environ[MEMORY_VARIABLE] = str(value)


def compile_memory_option(function: F) -> F:
    """Add ``--compile-memory``, for whatever generates code in processes of its own."""
    return click.option(
        "--compile-memory",
        type=click.IntRange(MIN_MEMORY // 2**20, 10**9),
        metavar="MEGABYTES",
        expose_value=False,
        callback=_set_compile_memory,
        help=f"Give up a schedule whose code takes more memory to generate (default: 2048, or "
        f"{MEMORY_VARIABLE}).",
    )(function)


def timeout_option(function: F) -> F:
    """Add ``--timeout-factor`` and ``--compile-memory``, for searches."""
    function = compile_memory_option(function)
    return click.option(
        "--timeout-factor",
        type=click.FloatRange(1.0, 1e6),
        default=10.0,
        show_default=True,
        metavar="X",
        help="Cut off a schedule that takes more than X times as long as the original order.",
    )(function)


def construction_options(function: F) -> F:
    """Add the options of spaces in which schedules are constructed."""
    from polygym.mdp.task_options import MOST_COEFFICIENT

    for name, most, default, help_text in (
        ("--max-rays", 100_000, 64, "Rays to choose from in a dimension; see `polygym space`."),
        ("--max-dimensions", 32, 4, "Dimensions that may be constructed."),
        (
            "--max-coefficient",
            MOST_COEFFICIENT,
            2,
            "Multiples of vertices and rays are 0 to N.",
        ),
    ):
        function = click.option(
            name,
            type=click.IntRange(1, most),
            default=default,
            show_default=True,
            metavar="N",
            help=help_text,
        )(function)
    return function


def mapping_options(function: F) -> F:
    """Add ``--mapping``, ``--reassociate`` and ``--threads``, for programs that are run.

    The command gets the arguments ``mapping``, None where it is not given, and ``threads``;
    :func:`resolve_mapping` makes one of them.
    """
    return mapping_option("default, but sequential for the original order")(
        threads_option(reassociate_option(function))
    )


def reassociate_option(function: F) -> F:
    """Add ``--reassociate``."""
    return click.option(
        "--reassociate",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_store_reassociate,
        help="Sums of floats may be computed in another order; outputs are then compared to a "
        "tolerance, not bit for bit. The same as the word reassociate=on of a mapping.",
    )(function)


def threads_option(function: F) -> F:
    """Add ``--threads``."""
    return click.option(
        "--threads",
        type=click.IntRange(1, 1024),
        metavar="T",
        callback=_checked_threads,
        help="Threads for parallel loops. (Default: those of --mapping, else 1.)",
    )(function)


def mapping_option(default: str) -> Callable[[F], F]:
    """Return what adds ``--mapping``; ``default`` says what it is where it is not given."""
    return click.option(
        "--mapping",
        metavar="TEXT",
        callback=_parse_mapping,
        help="What is done to the loops for the machine's sake: default, sequential, or words such "
        "as 'tile=32x64 unroll_jam=4 vector_bits=256'; docs/mapping.md lists them. "
        f"(Default: {default}.)",
    )


_REASSOCIATE = f"{__name__}.reassociate"


def _store_reassociate(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_REASSOCIATE] = value


def _parse_mapping(_: click.Context, __: click.Parameter, value: str | None) -> Mapping | None:
    if value is None:
        return None
    try:
        return parse_mapping(value)
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 400)) from None


def _checked_threads(context: click.Context, _: click.Parameter, value: int | None) -> int:
    """Return the number of threads; options that are given are read before those that are not."""
    from polygym.runtime.loader import has_threads

    mapping = context.params.get("mapping")
    threads = value or (1 if mapping is None else int(mapping.threads))
    if threads > 1 and not has_threads():
        write_text(
            "no OpenMP library was found (libgomp or libomp; on Debian: apt-get install libgomp1): "
            "everything runs in one thread",
            err=True,
        )
    return threads


def resolve_mapping(mapping: Mapping | None, default: Mapping, threads: int) -> Mapping:
    """Return the mapping that was asked for, or the usual one, with what other options say."""
    result = mapping or default
    context = click.get_current_context()
    if mapping is None and context.get_parameter_source("threads") is ParameterSource.DEFAULT:
        threads = default.threads
    reassociate = context.meta.get(_REASSOCIATE, False)
    return replace(result, threads=threads, reassociate=result.reassociate or reassociate)


def size_options(function: F) -> F:
    """Add ``--dataset`` and ``--parameters``."""
    function = parameters_option(function)
    return click.option(
        "--dataset",
        "-d",
        metavar="SIZE",
        callback=_parse_dataset,
        help="mini, small, medium, large (default) or extralarge. For a file of your own these "
        "set every parameter to 16, 64, 256, 1024 or 2048, or to what is possible below, or else "
        "above.",
    )(function)


def parameters_option(function: F) -> F:
    """Add ``-p``, which environments call by its long name; the third is what it was called."""
    return click.option(
        "-p",
        "--parameters",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE[,NAME=VALUE]",
        callback=_parse_parameters,
        help="Give sizes; may be repeated.",
    )(function)


def _parse_dataset(_: click.Context, __: click.Parameter, value: str | None) -> Dataset | None:
    if value is None:
        return None
    try:
        return Dataset.parse(value)
    except ValueError as error:
        raise click.BadParameter(shorten(str(error), 300)) from None


def _parse_parameters(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    try:
        return parse_sizes(",".join(values)) if values else {}
    except InputError as error:
        raise click.BadParameter(shorten(str(error), 300)) from None


def installed_compilers(names: Iterable[str]) -> tuple[str, ...]:
    """Return the other compilers that are installed; of the rest it is said what installs them."""
    from polygym.runtime.evaluation.c_compilers import (
        C_COMPILERS,
        compiler_path,
        missing_compiler_note,
    )

    result = []
    for name in dict.fromkeys(names):
        if name not in C_COMPILERS:
            raise InputError(
                f"--against: expected {', '.join(C_COMPILERS)}, found {shorten(name)!r}"
            )
        if compiler_path(name) is None:
            write_text(missing_compiler_note(name), err=True)
        else:
            result.append(name)
    return tuple(result)
