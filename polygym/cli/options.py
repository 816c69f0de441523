"""What several commands share: targets, sizes, schedules as text, file or name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from polybench import Dataset
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.poly.baselines import isl_schedule, original
from polygym.poly.schedule import Schedule, from_json, parse

F = TypeVar("F", bound=Callable[..., Any])

TARGET_HELP = """TARGET is a kernel's name (see `polygym kernels`) or the path of a C file with a
`#pragma scop` … `#pragma endscop` region."""


def target_argument(function: F) -> F:
    """Add the argument TARGET."""
    return click.argument("target", metavar="KERNEL|FILE.c")(function)


def function_option(function: F) -> F:
    """Add ``--function``."""
    return click.option(
        "--function",
        "region",
        metavar="NAME",
        help="Which function's region to take, where the file holds several.",
    )(function)


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def size_options(function: F) -> F:
    """Add ``--dataset`` and ``-p``."""
    function = click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_parse_parameters,
        help="Give one size; may be repeated.",
    )(function)
    return click.option(
        "--dataset",
        "-d",
        metavar="SIZE",
        callback=_parse_dataset,
        help="mini, small, medium, large (default) or extralarge. For a C file of your own these "
        "set every parameter to 16, 64, 256, 1024 or 2048.",
    )(function)


def _parse_dataset(_: click.Context, __: click.Parameter, value: str | None) -> Dataset | None:
    if value is None:
        return None
    try:
        return Dataset.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _parse_parameters(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    result: dict[str, int] = {}
    for text in values:
        name, equals, number = text.partition("=")
        try:
            if not name.strip() or not equals:
                raise ValueError
            result[name.strip()] = int(number, 0)
        except ValueError:
            raise click.BadParameter(f"expected NAME=INTEGER, found {text!r}") from None
    return result


def resolve_schedule(text: str, scop: Scop) -> Schedule:
    """Return the schedule that a word, a file or isl text stands for."""
    match text:
        case "original":
            return original(scop)
        case "isl":
            return isl_schedule(scop)
        case _ if "{" in text:
            return _parse_either(text, scop)
        case _:
            return _parse_either(_read(text), scop)


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"--schedule {name}: expected original, isl, a file, or isl text such as "
            "'{ S[i] -> [i] }'; there is no such file"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--schedule {name}: cannot read it: {error}") from None


def _parse_either(text: str, scop: Scop) -> Schedule:
    """Read isl text or JSON (the schedule itself, or an object with the key ``schedule``)."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return parse(text, scop)
    if isinstance(data, dict) and "schedule" in data:
        data = data["schedule"]
    return parse(data, scop) if isinstance(data, str) else from_json(data, scop)
