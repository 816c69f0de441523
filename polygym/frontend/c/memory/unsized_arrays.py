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
from polygym.frontend.c.source.syntax_tree import (
    arguments_of,
    base_and_subscripts,
    is_zero,
    modified_name,
    multiplies,
    walk,
)

# Larger than whatever a subscript can be: arrays are declared so while their subscripts are read.
UNBOUNDED_SIZE = f"{2**40}L"


def with_inferred_sizes(
    region: ScopRegion, translate: Callable[[], Translation], given_sizes: ArraySizes
) -> None:
    """Give the arguments of a region's function the sizes that are given or that the region uses.

    ``translate`` reads the region anew.

    Raises:
        InputError: a size is given for what is no array without one.
    """
    arguments, ranks = _with_unbounded_arrays(region, given_sizes)
    if not ranks:
        return
    translation = translate()
    accesses = translation.accesses()
    for name, rank in ranks.items():
        sizes = inferred_sizes(accesses, name, rank, translation)
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
    for node in walk(region.items):
        base, subscripts = base_and_subscripts(node)
        if isinstance(base, c_ast.ID) and base.name == name and multiplies(subscripts):
            return "; of rows, A[i * m + j], state what makes j less than m, as assert(m >= k) does"
    return ""


def region_accesses(
    region: ScopRegion, given_sizes: ArraySizes, translate: Callable[[], Translation]
) -> tuple[Translation, Sequence[SourceAccess]]:
    """Return the accesses of a region whose arrays may lack their sizes, and who has read it."""
    before = [(decl, decl.type, decl.init) for decl in _candidates(region)]
    try:
        _with_unbounded_arrays(region, given_sizes)
        translation = translate()
        return translation, translation.accesses()
    finally:
        for decl, kind, init in before:
            decl.type, decl.init = kind, init


def _candidates(region: ScopRegion) -> list[Any]:
    """Return the declarations of arrays that may lack their sizes."""
    return [*arguments_of(region.function), *_allocated(region)]


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
        _declare(arguments[name], [c_ast.Constant("long int", UNBOUNDED_SIZE, None)] * rank)
    return arguments, result


def _declare_given(arguments: Mapping[str, Any], given: ArraySizes, region: ScopRegion) -> None:
    """Declare the arrays whose sizes are given."""
    name = region.function.decl.name
    for array, sizes in given.items():
        ranks = {decl.name: _missing_sizes(decl.type) for decl in arguments.values()}
        bare = {argument: rank for argument, rank in ranks.items() if rank}
        if array not in bare:
            raise InputError(
                f"the sizes of {array} are given: expected an array of {name} that is declared "
                f"without them, as {', '.join(bare) or '(none)'} is"
            )
        check_rank(array, sizes, bare[array])
        argument = arguments[array]
        argument.init = None
        _declare(argument, [parse_expression(size, argument) for size in sizes])


def check_rank(array: str, sizes: Sequence[str], rank: int) -> None:
    """Refuse sizes that are too many or too few for an array."""
    if len(sizes) != rank:
        raise InputError(f"the sizes of {array} are given: expected {rank}, found {len(sizes)}")


def unsized_arguments(region: ScopRegion) -> frozenset[str]:
    """Return the arguments of a region's function that are arrays without sizes."""
    arguments = arguments_of(region.function)
    return frozenset(decl.name for decl in arguments if _missing_sizes(decl.type))


def _missing_sizes(kind: Any) -> int:
    """Return how many of its first sizes a type does not have."""
    rank = 0
    while isinstance(kind, c_ast.PtrDecl) or (isinstance(kind, c_ast.ArrayDecl) and not kind.dim):
        rank, kind = rank + 1, kind.type
    return 0 if isinstance(kind, c_ast.FuncDecl) else rank


def _allocated(region: ScopRegion) -> list[Any]:
    """Return the declarations of pointers to memory of their own, which never change."""
    body = region.function.body
    declared = list(walk(body, c_ast.Decl))
    names = [decl.name for decl in declared]
    changed = set(map(modified_name, walk(body)))
    return [
        decl
        for decl in declared
        if isinstance(decl.type, c_ast.PtrDecl)
        and _is_allocation(decl.init)
        and names.count(decl.name) == 1
        and decl.name not in changed
        and decl not in region.items
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
    for node in walk(region.items):
        base, subscripts = base_and_subscripts(node)
        if not isinstance(base, c_ast.ID) or base.name != argument.name or not subscripts:
            continue
        is_first = len(subscripts) == 1 and is_zero(subscripts[0])
        if not is_first or isinstance(kind, c_ast.ArrayDecl):
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
