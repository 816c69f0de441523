"""Options that commands of ``polygym graph`` share: shapes, threads, rules, costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.options.values import count_option, file_option
from polygym.cli.output.console import shorten, write_text

if TYPE_CHECKING:
    from polygym.graphs.optimization import AnyCosts
    from polygym.rewrite.rule import Rule


def _parsed_shapes(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    result: dict[str, tuple[int, ...]] = {}
    for value in values:
        name, equals, text = value.rpartition("=")
        try:
            extents = tuple(int(part) for part in text.split(","))
        except ValueError:
            extents = ()
        if not equals or not name or not extents or min(extents) < 1:
            raise click.BadParameter(
                f"expected NAME=EXTENT,EXTENT such as x=1,3,224,224, found {shorten(value)!r}"
            )
        result[name] = extents
    return result


def shape_option(function: Any) -> Any:
    """Add ``--shape``."""
    return click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME=EXTENT,...",
        callback=_parsed_shapes,
        help="The shape of an input that an ONNX file leaves open; may be repeated.",
    )(function)


def threads_option(function: Any) -> Any:
    """Add ``--threads``."""
    return count_option("--threads", most=1024, default=1, help="Threads of every operator.")(
        function
    )


def rules_option(function: Any) -> Any:
    """Add ``--rules``."""
    return file_option(
        "--rules",
        "rule_files",
        multiple=True,
        help="More rules, beside those of polygym: each is checked before it is used. May be "
        "repeated.",
    )(function)


def teller(as_json: bool) -> Callable[[str], None]:
    """Return what says how far a command is, beside its answer."""
    return (lambda _: None) if as_json else (lambda text: write_text(text, err=True))


def load_rules(files: Sequence[Path]) -> list[Rule]:
    """Return polygym's rules and those of files, each of which is checked."""
    from polygym.graphs import rules

    result = rules.standard_rules()
    for path in files:
        result += rules.load_rule_file(path)
    return result


def make_costs(kind: str, threads: int) -> AnyCosts:
    """Return the costs that were asked for by a word."""
    from polygym.graphs.costs import RooflineCosts
    from polygym.graphs.measured_costs import PlanCosts

    return RooflineCosts() if kind == "static" else PlanCosts.of_user(threads)
