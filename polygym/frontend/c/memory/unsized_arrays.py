"""Array arguments whose size is not declared: as large as the region uses them.

``double *a``, ``double a[]`` and ``double (*a)[m]`` say nothing of the first size, ``double **a``
nothing of two. What the caller hands over must hold whatever the function touches, so that the
largest subscripts say what there is at least (:mod:`polygym.frontend.c.memory.extent_inference`)::

    void f(int n, double *a, double **b) {          as if it were double a[n + 1], double b[n][3]
      for (int i = 0; i < n; i++)
        a[i] = a[i + 1] + b[i][2];

So is a local pointer that gets its memory from ``malloc`` or ``calloc`` where it is declared, and
never another value. The declarations in the tree are changed. A pointer that is only used as ``*x``
or ``x[0]`` stays one. The rows of ``double **b`` are taken to be arrays of their own.

Sizes that are given beside the file (:mod:`polygym.frontend.c.source.region_selection`) stand for
those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser

from polygym.errors import InputError
from polygym.frontend.c.memory.extent_inference import inferred_sizes
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.accesses import SourceAccess
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.region_selection import ArraySizes
from polygym.frontend.c.source.syntax_tree import base_and_subscripts, is_modification, walk

_UNBOUNDED_SIZE = f"{2**40}L"


def with_inferred_sizes(
    region: ScopRegion, translate: Callable[[], Translation], given_sizes: ArraySizes
) -> None:
    """Give the arguments of a region's function the sizes that are given or that the region uses.

    ``translate`` reads the region anew.

    Raises:
        InputError: a size is given for what is no array without one.
    """
    arguments, found = _with_unbounded_arrays(region, given_sizes)
    if not found:
        return
    translation = translate()
    touches: Sequence[SourceAccess] = translation.accesses()
    names = translation.bindings
    parameters = {names.name(symbol): symbol.name for symbol in names.parameters}
    for name, rank in found.items():
        sizes = inferred_sizes(touches, name, rank, parameters, translation.context)
        if any(size is None for size in sizes):
            rows = _delinearization_hint(name, region)
            raise translation.source.error(
                arguments[name],
                f"how large {name} is cannot be told: its subscripts are computed when the program "
                "runs, or have no bound",
                f"declare it with its size, or give that beside the file: --extent {name}=SIZE; "
                f'from Python, extents=["{name}=SIZE"]{rows}',
            )
        sized = [parse_expression(str(size), arguments[name]) for size in sizes]
        _declare(arguments[name], sized)


def _delinearization_hint(name: str, region: ScopRegion) -> str:
    """Return what else helps where subscripts of an array look like those of rows."""
    nodes = (node for item in region.items for node in walk(item))
    for node in nodes:
        base, subscripts = base_and_subscripts(node)
        is_mine = isinstance(base, c_ast.ID) and base.name == name
        if is_mine and any(
            isinstance(binary_op, c_ast.BinaryOp) and binary_op.op == "*"
            for s in subscripts
            for binary_op in walk(s)
        ):
            return "; of rows, A[i * m + j], state what makes j less than m, as assert(m >= k) does"
    return ""


def region_accesses(
    region: ScopRegion, given_sizes: ArraySizes, translate: Callable[[], Translation]
) -> tuple[Translation, Sequence[SourceAccess]]:
    """Return the accesses of a region whose arrays may lack their sizes, and who has read it."""
    before = [(candidate, candidate.type, candidate.init) for candidate in _candidates(region)]
    try:
        _with_unbounded_arrays(region, given_sizes)
        translation = translate()
        return translation, translation.accesses()
    finally:
        for one, kind, init in before:
            one.type, one.init = kind, init


def _candidates(region: ScopRegion) -> list[Any]:
    """Return the declarations of arrays that may lack their sizes."""
    return [*_arguments(region.function), *_allocated(region)]


def _with_unbounded_arrays(
    region: ScopRegion, given: ArraySizes
) -> tuple[dict[str, Any], dict[str, int]]:
    """Declare arrays with the sizes that are given, and those that still lack some as endless.

    Return all declarations that may lack sizes, and how many of them those of the latter do.
    """
    candidates = _candidates(region)
    arguments = {candidate.name: candidate for candidate in candidates}
    _declare_given(arguments, given, region)
    result = {
        candidate.name: rank
        for candidate in candidates
        if candidate.name not in given
        and (rank := _undeclared_sizes(candidate, region)) is not None
    }
    for name, rank in result.items():
        arguments[name].init = None
        _declare(arguments[name], [c_ast.Constant("long int", _UNBOUNDED_SIZE, None)] * rank)
    return arguments, result


def _declare_given(arguments: Mapping[str, Any], given: ArraySizes, region: ScopRegion) -> None:
    """Declare the arrays whose sizes are given."""
    name = region.function.decl.name
    for array, sizes in given.items():
        bare = {
            argument.name: rank
            for argument in arguments.values()
            if (rank := _missing_sizes(argument.type))
        }
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
        _declare(argument, [parse_expression(size, argument) for size in sizes])


def unsized_arguments(region: ScopRegion) -> frozenset[str]:
    """Return the arguments of a region's function that are arrays without sizes."""
    return frozenset(
        argument.name for argument in _arguments(region.function) if _missing_sizes(argument.type)
    )


def _missing_sizes(kind: Any) -> int:
    """Return how many of its first sizes a type does not have."""
    rank = 0
    while isinstance(kind, c_ast.PtrDecl) or (isinstance(kind, c_ast.ArrayDecl) and not kind.dim):
        rank, kind = rank + 1, kind.type
    return 0 if isinstance(kind, c_ast.FuncDecl) else rank


def _arguments(function: Any) -> list[Any]:
    """Return the declarations of a function's arguments."""
    declared = function.decl.type.args
    return [decl for decl in (declared.params if declared else ()) if isinstance(decl, c_ast.Decl)]


def _allocated(region: ScopRegion) -> list[Any]:
    """Return the declarations of pointers to memory of their own, which never change."""
    body = region.function.body
    declared = [decl for decl in walk(body) if isinstance(decl, c_ast.Decl)]
    names = [one.name for one in declared]
    changed = {
        target.name
        for one in walk(body)
        if is_modification(one)
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


def _undeclared_sizes(argument: Any, region: ScopRegion) -> int | None:
    """Return how many sizes of an argument are not declared, None if it needs none."""
    rank, kind = _missing_sizes(argument.type), argument.type
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


def parse_expression(text: str, like: Any) -> Any:
    """Return the syntax tree of an expression, all of it at the place of a node."""
    tree = CParser().parse(f"int polygym = {text};", "")
    expression = tree.ext[0].init
    for node in walk(expression):
        node.coord = like.coord
    return expression
