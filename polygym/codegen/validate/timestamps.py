"""When an instance runs, as the tree says: its values along the way down.

They are those of the members of bands, tiles included, and the number of its branch at every
sequence: (⌊i/32⌋, 1, i, j).
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from polygym.codegen.tree.ir import Band, FlooredRow, Leaf, SequenceNode, Tree
from polygym.poly.legality import LegalSchedule


def timestamps_along(
    tree: Tree, legal: LegalSchedule, statement: str, *, branches: bool = True
) -> Callable[..., tuple[int, ...]]:
    """Return the function from an instance and the sizes to its values along the tree.

    Without ``branches`` they are those of members alone.
    """
    names = legal.schedule.parameters
    own = [f"i{place}" for place in range(legal.scop.statement(statement).depth)]
    sizes = {name: f"p{place}" for place, name in enumerate(names)}

    def value(part: FlooredRow, place: int) -> str:
        row = part.rows[place]
        terms = [f"{a}*{name}" for a, name in zip(row.iterators, own, strict=True) if a]
        terms += [f"{a}*{sizes[name]}" for a, name in zip(row.parameters, names, strict=True) if a]
        total = " + ".join([*terms, str(row.constant)])
        return f"({total})" if part.size == 1 else f"({total})//{part.size}"

    def entries(tree: Tree) -> str:
        """Return the values along a tree, as what stands in a tuple, each with a comma behind."""
        match tree:
            case Leaf():
                return ""
            case Band(statements, members, child):
                place = statements.index(statement)
                found = (
                    " + ".join(value(part, place) for part in band_member.terms)
                    for band_member in members
                )
                return f"{''.join(f'{one}, ' for one in found)}{entries(child)}"
            case SequenceNode(parts):
                text, others = "", ""
                for number, branch in enumerate(parts):
                    if statement not in branch.statements:
                        continue
                    below = f"{f'{number}, ' * branches}{entries(branch.child)}"
                    if branch.predicate is None or branch.predicate.is_complement:
                        others = below
                        continue
                    number_text = partial(value, place=branch.statements.index(statement))
                    text += f"({below}) if {branch.predicate.text(number_text)} else "
                return f"*({text}({others})), " if text else others
            case _:
                assert_never(tree)

    scop_names = [parameter.name for parameter in legal.scop.parameters]
    arguments = [*own, *(sizes.get(name, f"_{name}") for name in scop_names)]
    text = f"lambda {', '.join(arguments)}: ({entries(tree)})"
    result: Callable[..., tuple[int, ...]] = eval(text, {})
    return result
