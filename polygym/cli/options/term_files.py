"""Files of terms as programs: every command that takes a C file takes what they are in C.

The C file stands in a temporary folder while the command runs; sizes are arguments of its
functions, so that ``-p`` sets them, and ``--function`` chooses a definition.
"""

from __future__ import annotations

from pathlib import Path

import click

from polygym.files import temporary_folder

SUFFIX = ".ks"
_META = "polygym-terms"


def is_term_file(target: str) -> bool:
    """Whether a target is the path of a file of terms."""
    return target.endswith(SUFFIX)


def open_term_file(context: click.Context, target: str) -> str:
    """Return the path of the C file of a file of terms, which lasts as long as the command."""
    from polygym.cli.options.values import read_small_file
    from polygym.terms.code.c_file import c_file
    from polygym.terms.language.parser import parse_programs

    text = c_file(parse_programs(read_small_file(target, "terms"), target))
    folder = context.with_resource(temporary_folder(prefix="polygym-terms-"))
    made = folder / f"{Path(target).stem}.c"
    made.write_text(text, encoding="utf-8")
    context.meta[_META] = target
    return str(made)


def term_file_of_command() -> str | None:
    """Return the file of terms that the command was given, None if it was given none."""
    found: str | None = click.get_current_context().meta.get(_META)
    return found
