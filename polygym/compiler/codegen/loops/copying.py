"""The statements that copy one element of an array to an array of our own, and back."""

from __future__ import annotations

from collections.abc import Sequence

from polygym.compiler.ir.expr import Access, Load
from polygym.compiler.ir.scop import Array, Statement
from polygym.errors import Place


def copying(array: Array, name: str, iterators: tuple[str, ...], place: Sequence[str]) -> Statement:
    """Return the statement that copies to the array of its own name.

    Its iterators are the array's dimensions, ``place`` are subscripts in terms of them.
    """
    there, here = ", ".join(iterators), ", ".join(place)
    space = f"{name}[{there}]"
    read = Access(array.name, f"{{ {space} -> {array.name}[{there}] }}", array.name)
    return Statement(
        name,
        iterators,
        f"{{ {space} }}",
        Access(name, f"{{ {space} -> {name}[{here}] }}", name),
        Load(read, array.type),
        f"{name} = {array.name}",
        Place("", 1, 1),
    )


def copying_back(
    array: Array, name: str, statement: str, iterators: tuple[str, ...], place: Sequence[str]
) -> Statement:
    """Return the statement that copies from the array ``name``, which is our own, to another one.

    Its iterators are that array's dimensions, ``place`` are subscripts in terms of them.
    """
    there, here = ", ".join(iterators), ", ".join(place)
    space = f"{statement}[{there}]"
    read = Access(name, f"{{ {space} -> {name}[{here}] }}", name)
    return Statement(
        statement,
        iterators,
        f"{{ {space} }}",
        Access(array.name, f"{{ {space} -> {array.name}[{there}] }}", array.name),
        Load(read, array.type),
        f"{array.name} = {name}",
        Place("", 1, 1),
    )
