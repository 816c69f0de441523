"""Array arguments whose size is not declared: as large as the region uses them.

``double *a``, ``double a[]`` and ``double (*a)[m]`` say nothing of the first size, ``double **a``
nothing of two. What the caller hands over must hold whatever the function touches, so that the
largest subscripts say what there is at least (:mod:`polygym.compiler.frontend.c.reach`)::

    void f(int n, double *a, double **b) {          as if it were double a[n + 1], double b[n][3]
      for (int i = 0; i < n; i++)
        a[i] = a[i + 1] + b[i][2];

So is a local pointer that gets its memory from ``malloc`` or ``calloc`` where it is declared, and
never another value. The declarations in the tree are changed. A pointer that is only used as ``*x``
or ``x[0]`` stays one. The rows of ``double **b`` are taken to be arrays of their own.

Sizes that are given beside the file (:mod:`polygym.compiler.frontend.c.extents`) stand for those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser

from polygym.compiler.frontend.c.accesses import Touch
from polygym.compiler.frontend.c.extents import Sizes
from polygym.compiler.frontend.c.nodes import base_and_subscripts, is_change, walk
from polygym.compiler.frontend.c.parse import Region
from polygym.compiler.frontend.c.reach import sizes_by_use
from polygym.compiler.frontend.c.translation import Translation
from polygym.errors import InputError

_ENDLESS = f"{2**40}L"


def with_sizes(region: Region, translated: Callable[[], Translation], given: Sizes) -> None:
    """Give the arguments of a region's function the sizes that are given or that the region uses.

    ``translated`` reads the region anew.

    Raises:
        InputError: a size is given for what is no array without one.
    """
    arguments, found = _endless(region, given)
    if not found:
        return
    translation = translated()
    touches: Sequence[Touch] = translation.touched()
    names = translation.bindings
    parameters = {names.name(one): one.name for one in names.parameters}
    for name, rank in found.items():
        sizes = sizes_by_use(touches, name, rank, parameters, translation.context)
        if any(size is None for size in sizes):
            rows = _of_rows(name, region)
            raise translation.source.error(
                arguments[name],
                f"how large {name} is cannot be told: its subscripts are computed when the program "
                "runs, or have no bound",
                f"declare it with its size, or give that beside the file: --extent {name}=SIZE; "
                f'from Python, extents=["{name}=SIZE"]{rows}',
            )
        sized = [expression_of(str(size), arguments[name]) for size in sizes]
        _declare(arguments[name], sized)


def _of_rows(name: str, region: Region) -> str:
    """Return what else helps where subscripts of an array look like those of rows."""
    nodes = (node for item in region.items for node in walk(item))
    for node in nodes:
        base, subscripts = base_and_subscripts(node)
        is_mine = isinstance(base, c_ast.ID) and base.name == name
        if is_mine and any(
            isinstance(one, c_ast.BinaryOp) and one.op == "*" for s in subscripts for one in walk(s)
        ):
            return "; of rows, A[i * m + j], state what makes j less than m, as assert(m >= k) does"
    return ""


def touches_of(
    region: Region, given: Sizes, translated: Callable[[], Translation]
) -> tuple[Translation, Sequence[Touch]]:
    """Return the accesses of a region whose arrays may lack their sizes, and who has read it."""
    before = [(one, one.type, one.init) for one in _candidates(region)]
    try:
        _endless(region, given)
        translation = translated()
        return translation, translation.touched()
    finally:
        for one, kind, init in before:
            one.type, one.init = kind, init


def _candidates(region: Region) -> list[Any]:
    """Return the declarations of arrays that may lack their sizes."""
    return [*_arguments(region.function), *_allocated(region)]


def _endless(region: Region, given: Sizes) -> tuple[dict[str, Any], dict[str, int]]:
    """Declare arrays with the sizes that are given, and those that still lack some as endless.

    Return all declarations that may lack sizes, and how many of them those of the latter do.
    """
    candidates = _candidates(region)
    arguments = {one.name: one for one in candidates}
    _give(arguments, given, region)
    found = {
        one.name: rank
        for one in candidates
        if one.name not in given and (rank := _unsized(one, region)) is not None
    }
    for name, rank in found.items():
        arguments[name].init = None
        _declare(arguments[name], [c_ast.Constant("long int", _ENDLESS, None)] * rank)
    return arguments, found


def _give(arguments: Mapping[str, Any], given: Sizes, region: Region) -> None:
    """Declare the arrays whose sizes are given."""
    name = region.function.decl.name
    for array, sizes in given.items():
        bare = {one.name: rank for one in arguments.values() if (rank := _bare(one.type))}
        if array not in bare:
            raise InputError(
                f"the sizes of {array} are given: expected an array of {name} that is declared "
                f"without them, as {', '.join(bare) or '(none)'} is"
            )
        if len(sizes) != bare[array]:
            raise InputError(
                f"the sizes of {array} are given: expected {bare[array]}, found {len(sizes)}"
            )
        argument = arguments[array]
        argument.init = None
        _declare(argument, [expression_of(size, argument) for size in sizes])


def unsized_arguments(region: Region) -> frozenset[str]:
    """Return the arguments of a region's function that are arrays without sizes."""
    return frozenset(one.name for one in _arguments(region.function) if _bare(one.type))


def _bare(kind: Any) -> int:
    """Return how many of its first sizes a type does not have."""
    rank = 0
    while isinstance(kind, c_ast.PtrDecl) or (isinstance(kind, c_ast.ArrayDecl) and not kind.dim):
        rank, kind = rank + 1, kind.type
    return 0 if isinstance(kind, c_ast.FuncDecl) else rank


def _arguments(function: Any) -> list[Any]:
    """Return the declarations of a function's arguments."""
    declared = function.decl.type.args
    return [one for one in (declared.params if declared else ()) if isinstance(one, c_ast.Decl)]


def _allocated(region: Region) -> list[Any]:
    """Return the declarations of pointers to memory of their own, which never change."""
    body = region.function.body
    declared = [one for one in walk(body) if isinstance(one, c_ast.Decl)]
    names = [one.name for one in declared]
    changed = {
        target.name
        for one in walk(body)
        if is_change(one)
        for target in [one.lvalue if isinstance(one, c_ast.Assignment) else one.expr]
        if isinstance(target, c_ast.ID)
    }
    return [
        one
        for one in declared
        if isinstance(one.type, c_ast.PtrDecl)
        and _is_allocation(one.init)
        and names.count(one.name) == 1
        and one.name not in changed
        and one not in region.items
    ]


def _is_allocation(node: Any) -> bool:
    """Whether an expression is a call that returns new memory."""
    if isinstance(node, c_ast.Cast):
        return _is_allocation(node.expr)
    name = getattr(getattr(node, "name", None), "name", None)
    return isinstance(node, c_ast.FuncCall) and name in ("malloc", "calloc")


def _unsized(argument: Any, region: Region) -> int | None:
    """Return how many sizes of an argument are not declared, None if it needs none."""
    rank, kind = _bare(argument.type), argument.type
    if not rank:
        return None
    for _ in range(rank):
        kind = kind.type
    for item in region.items:
        for node in walk(item):
            base, subscripts = base_and_subscripts(node)
            if not isinstance(base, c_ast.ID) or base.name != argument.name or not subscripts:
                continue
            zero = isinstance(subscripts[0], c_ast.Constant) and subscripts[0].value == "0"
            if len(subscripts) > 1 or not zero or isinstance(kind, c_ast.ArrayDecl):
                return rank
    return None


def _declare(argument: Any, sizes: Sequence[Any]) -> None:
    """Declare an argument as an array of some first sizes."""
    kind = argument.type
    for _ in sizes:
        kind = kind.type
    for size in reversed(sizes):
        kind = c_ast.ArrayDecl(kind, size, [], argument.coord)
    argument.type = kind


def expression_of(text: str, like: Any) -> Any:
    """Return the syntax tree of an expression, all of it at the place of a node."""
    tree = CParser().parse(f"int polygym = {text};", "")
    expression = tree.ext[0].init
    for node in walk(expression):
        node.coord = like.coord
    return expression
