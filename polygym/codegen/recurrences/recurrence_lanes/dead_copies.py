"""Tiles that are copied back to arrays that nobody looks at: these loops are left out.

::

    for s by 16:                                          for s by 16:
      …  U[j][i - s] = x[i][j]; Y[…] = U[j][i - s] + …  →    …  the same
      for i, j:  u_1[i][j] = U[j][i - s]                     for i, j:  y[i][j] = Y[…]
      for i, j:  y[i][j] = Y[…]

Side conditions: no instance in the whole text reads the array, whatever condition it is under, and
it ends with the code: it is a plan's, or the function's own, and nobody sees it afterwards. So it
is with a scalar of a recurrence that a plan has expanded, or made private to threads, when all that
reads it has a tile.
"""

from collections.abc import Collection
from dataclasses import replace

from polygym.codegen.loopir.ir import Block, Guard, Instance, Loop, LoopProgram, Node
from polygym.codegen.transforms.vectorization import statements_in


def remove_dead_copies(program: LoopProgram, backs: Collection[str]) -> LoopProgram:
    """Return the program that runs none of the statements ``backs`` that copy for nobody."""
    scop = program.scop
    statements = {statement.name: statement for statement in scop.statements}
    read = {
        access.array for name in statements_in(program.body) for access in statements[name].reads
    }
    dead = {
        name
        for name in backs
        if (array := statements[name].write.array) not in read
        and not scop.array(array).is_observable
    }
    return (
        replace(program, body=_remove_statements(program.body, dead) or Block(()))
        if dead
        else program
    )


def _remove_statements(node: Node, dead: Collection[str]) -> Node | None:
    """Return a node without the instances of some statements; None where nothing else is in it."""
    match node:
        case Instance(statement):
            return None if statement in dead else node
        case Block(children):
            kept = [_remove_statements(child, dead) for child in children]
            nodes = tuple(one for one in kept if one is not None)
            if len(nodes) == len(children):
                return Block(nodes)
            return Block(nodes) if len(nodes) > 1 else next(iter(nodes), None)
        case Loop(body=body):
            inside = _remove_statements(body, dead)
            return None if inside is None else replace(node, body=inside)
        case Guard(condition, then, otherwise):
            first = _remove_statements(then, dead)
            second = None if otherwise is None else _remove_statements(otherwise, dead)
            if first is None and second is None:
                return None
            return Guard(condition, first or Block(()), second)
