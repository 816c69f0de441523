"""The statements that copy one element of an array to an array of our own, and back."""

from __future__ import annotations

from collections.abc import Sequence

from polygym.errors import SourceLocation
from polygym.ir.expressions import Access, Load
from polygym.ir.scop import Array, Statement


def copy_in_statement(
    array: Array, name: str, iterators: tuple[str, ...], subscripts: Sequence[str]
) -> Statement:
    """Return the statement that copies to the array of its own name.

    Its iterators are the array's dimensions, ``subscripts`` are subscripts in terms of them.
    """
    there, here = ", ".join(iterators), ", ".join(subscripts)
    space = f"{name}[{there}]"
    read = Access(array.name, f"{{ {space} -> {array.name}[{there}] }}", array.name)
    return Statement(
        name,
        iterators,
        f"{{ {space} }}",
        Access(name, f"{{ {space} -> {name}[{here}] }}", name),
        Load(read, array.type),
        f"{name} = {array.name}",
        SourceLocation("", 1, 1),
    )


def copy_back_statement(
    array: Array, name: str, statement: str, iterators: tuple[str, ...], subscripts: Sequence[str]
) -> Statement:
    """Return the statement that copies from the array ``name``, which is our own, to another one.

    Its iterators are that array's dimensions, ``subscripts`` are subscripts in terms of them.
    """
    there, here = ", ".join(iterators), ", ".join(subscripts)
    space = f"{statement}[{there}]"
    read = Access(name, f"{{ {space} -> {name}[{here}] }}", name)
    return Statement(
        statement,
        iterators,
        f"{{ {space} }}",
        Access(array.name, f"{{ {space} -> {array.name}[{there}] }}", array.name),
        Load(read, array.type),
        f"{array.name} = {name}",
        SourceLocation("", 1, 1),
    )
