"""Array arguments whose size is not declared: as large as the region uses them.

``double *a``, ``double a[]`` and ``double (*a)[m]`` say nothing of the first size, ``double **a``
nothing of two. What the caller hands over must hold whatever the function touches, so that the
largest subscripts say what there is at least::

    void f(int n, double *a, double **b) {          as if it were double a[n + 1], double b[n][3]
      for (int i = 0; i < n; i++)
        a[i] = a[i + 1] + b[i][2];

So is a local pointer that gets its memory from ``malloc`` or ``calloc`` where it is declared, and
never another value. The declarations in the tree are changed. A pointer that is only used as ``*x``
or ``x[0]`` stays one. The rows of ``double **b`` are taken to be arrays of their own.

Sizes that are given beside the file (:mod:`polygym.frontend.c.source.region_selection`) stand for
those.

Sizes of arrays that nothing declares: one more than the largest subscript of each.

The largest value of a subscript is a piecewise function of the parameters. Where one of its
formulas is the largest for all parameters that are at least 1, that is the size; otherwise a chain
of ``?:`` picks the largest of them::

    for (i = 0; i < n; i++) A[i] = A[i + 1];                   double A[n + 1]
    for (i = 0; i < n; i++) x[i] = 0;
    for (i = 0; i < m; i++) x[i] = 1;                          double x[n >= m ? n : m]

A subscript that is computed from data says nothing, and is checked when the program runs. One of
parameters and counters alone has values that nobody knows the largest of, so the size is unknown::

    A[i] = A[i * m + j]                                        refused: other rows may be larger

Nor do subscripts without a sign that have wrapped around: no array is so large. The size is that of
parameters for which nothing does, and whatever else the program needs, the bounds check finds::

    unsigned i, n;   for (i = 0; i < n - 2; i++) A[i + 2] = 0;     double A[n], and n >= 2
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import islpy as isl
from pycparser import c_ast
from pycparser.c_parser import CParser

from polygym.errors import InputError
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.accesses import SourceAccess, without_iterators
from polygym.frontend.c.sema.integer_arithmetic import LARGE_VALUE, at_most, wrapped_domain
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.region_selection import ArraySizes
from polygym.poly.isl_values import isl_c_text

_MAX_FORMULAS = 4


def inferred_sizes(
    accesses: Sequence[SourceAccess], array: str, rank: int, translation: Translation
) -> tuple[str | None, ...]:
    """Return the size of every dimension of an array as C; None where it cannot be told.

    ``translation`` is that of the region with the accesses.
    """
    bindings = translation.bindings
    parameters = {bindings.name(symbol): symbol.name for symbol in bindings.parameters}
    mine = [touch for touch in accesses if touch.symbol.name == array]
    try:
        positive = isl.Set.universe(isl.Space.params_alloc(translation.context, 0))
        for name in parameters:
            text = f"[{name}] -> {{ : {name} >= 1 }}"
            positive = positive.intersect(isl.Set.read_from_str(translation.context, text))
        result = [
            None
            if any(_is_product(touch, dimension, bindings.names) for touch in mine)
            else _size(mine, dimension, positive)
            for dimension in range(rank)
        ]
    except isl.Error:
        return (None,) * rank  # the translation of the region meets the limit, too

    def in_c(text: str) -> str:
        """Return a size with C's names."""
        return re.sub(r"[A-Za-z_]\w*", lambda name: parameters.get(name[0], name[0]), text)

    return tuple(None if size is None else in_c(size) for size in result)


def _is_product(touch: SourceAccess, dimension: int, names: ResolvedNames) -> bool:
    """Whether a computed subscript is of counters and values that stay, as ``i * m``."""
    if touch.subscripts[dimension] is not None:
        return False
    _, subscripts = syntax.base_and_subscripts(touch.node)
    if dimension >= len(subscripts) or not syntax.multiplies(subscripts[dimension]):
        return False

    def stays(node: Any) -> bool:
        """Whether a name has one value in each iteration, that no array gives."""
        symbol = names.symbol_of(node)
        if symbol is None or symbol in touch.environment.iterators:
            return symbol is not None
        changes = names.assignments(symbol)
        is_changed = any(names.begin < use.position < names.end for use in changes)
        return symbol.scope is not DeclarationScope.REGION and not is_changed

    parts = syntax.walk(subscripts[dimension], c_ast.ID, c_ast.ArrayRef, c_ast.UnaryOp)
    return all(
        stays(part) if isinstance(part, c_ast.ID) else getattr(part, "op", "") in ("+", "-")
        for part in parts
    )


def _size(accesses: Sequence[SourceAccess], dimension: int, positive_parameters: Any) -> str | None:
    """Return one size."""
    formulas: list[Any] = []
    for touch in accesses:
        subscript = touch.subscripts[dimension]
        if subscript is None:
            continue
        values = isl.Map.from_pw_aff(subscript).intersect_domain(touch.domain).range()
        values = without_iterators(values, touch.iterators)
        values = _without_wraparound(values, positive_parameters)
        if values.is_empty():
            continue
        if not values.dim_has_any_upper_bound(isl.dim_type.set, 0):
            return None
        pieces = values.dim_max(0).coalesce().get_pieces()
        formulas += [isl.PwAff.from_aff(formula.add_constant_val(1)) for _, formula in pieces]
    kept = _undominated(formulas, positive_parameters)
    return _text(kept, positive_parameters) if kept else None


def _without_wraparound(values: Any, positive_parameters: Any) -> Any:
    """Return subscripts for positive parameters: without those that have wrapped around."""
    index = values.dim(isl.dim_type.set) - 1
    least = isl.Val(str(LARGE_VALUE), values.get_ctx())
    large = values.lower_bound_val(isl.dim_type.set, index, least).params()
    wrong = wrapped_domain(values, large)
    if wrong.is_empty():
        return values.intersect_params(positive_parameters)
    usual = at_most(positive_parameters.align_params(wrong.get_space()), LARGE_VALUE)
    result = values.intersect_params(usual.subtract(wrong))
    # Twice: the first finds the quotients that are zero then.
    return result.gist_params(usual).gist_params(usual).coalesce()


def _undominated(formulas: Sequence[Any], positive_parameters: Any) -> list[Any]:
    """Return the formulas that are not everywhere at most another one."""
    kept: list[Any] = []
    for formula in formulas:
        if any(positive_parameters.is_subset(_params(other.ge_set(formula))) for other in kept):
            continue
        kept = [o for o in kept if not positive_parameters.is_subset(_params(formula.ge_set(o)))]
        kept.append(formula)
    return kept


def _params(values: Any) -> Any:
    return values if values.is_params() else values.params()


def _text(formulas: Sequence[Any], positive_parameters: Any) -> str | None:
    """Return the largest of some formulas as C."""
    if len(formulas) > _MAX_FORMULAS:
        return None
    build = isl.AstBuild.from_context(positive_parameters)
    functions = [formula.project_domain_on_params() for formula in formulas]
    texts = [isl_c_text(build.expr_from_pw_aff(function)) for function in functions]
    result = texts[-1]
    for text in reversed(texts[:-1]):
        result = f"({text}) >= ({result}) ? ({text}) : ({result})"
    return result


# Larger than whatever a subscript can be: arrays are declared so while their subscripts are read.
UNBOUNDED_SIZE = f"{2**40}L"


def with_inferred_sizes(
    region: ScopRegion,
    translate: Callable[[], Translation],
    given_sizes: ArraySizes,
    allocated: Mapping[str, Any],
) -> dict[str, int]:
    """Give the arguments of a region's function the sizes that are given or that the region uses.

    ``translate`` reads the region anew. ``allocated`` are sizes of memory that the function
    allocates, for arrays of which the region does not say it. Return how many sizes of each array
    are those that the region uses.

    Raises:
        InputError: a size is given for what is no array without one.
    """
    arguments, ranks = _with_unbounded_arrays(region, given_sizes)
    if not ranks:
        return {}
    inferred: dict[str, int] = {}
    translation = translate()
    accesses = translation.accesses()
    for name, rank in ranks.items():
        sizes = inferred_sizes(accesses, name, rank, translation)
        if sizes == (None,) and name in allocated:
            _declare(arguments[name], [allocated[name]])
            continue
        if any(size is None for size in sizes):
            rows = _delinearization_hint(name, region)
            raise translation.source.error(
                arguments[name],
                f"how large {name} is cannot be told: its subscripts are computed when the program "
                "runs, or have no bound",
                f"declare it with its size, or give that beside the file: --extent {name}=SIZE; "
                f'from Python, extents=["{name}=SIZE"]{rows}',
            )
        sized = [parse_expression(str(size), region.begin) for size in sizes]
        _declare(arguments[name], sized)
        inferred[name] = rank
    return inferred


def _delinearization_hint(name: str, region: ScopRegion) -> str:
    """Return what else helps where subscripts of an array look like those of rows."""
    for node in syntax.walk(region.items):
        base, subscripts = syntax.base_and_subscripts(node)
        if isinstance(base, c_ast.ID) and base.name == name and syntax.multiplies(subscripts):
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
    return [*syntax.arguments_of(region.function), *_allocated(region)]


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
        _declare(argument, [parse_expression(size, region.begin) for size in sizes])


def declare_new_names(tree: Any, region: ScopRegion, given: ArraySizes) -> None:
    """Declare the names in given sizes that the file does not have: they are new parameters.

    No name of the file has their values, so that an export is refused.
    """
    place = region.begin
    sizes = [parse_expression(size, place) for own in given.values() for size in own]
    used = syntax.names_in(sizes)
    if not used:
        return
    known = syntax.declared_names([*tree.ext, region.function])
    known |= {node.name for node in syntax.walk(tree, c_ast.Enumerator, c_ast.Typedef)}
    for name in sorted(used - known):
        new = syntax.declaration(name, syntax.type_node("int", place), None, place)
        new.storage = ["extern"]
        tree.ext.insert(0, new)


def check_rank(array: str, sizes: Sequence[str], rank: int) -> None:
    """Refuse sizes that are too many or too few for an array."""
    if len(sizes) != rank:
        raise InputError(f"the sizes of {array} are given: expected {rank}, found {len(sizes)}")


def unsized_arguments(region: ScopRegion) -> frozenset[str]:
    """Return the arguments of a region's function that are arrays without sizes."""
    arguments = syntax.arguments_of(region.function)
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
    declared = list(syntax.walk(body, c_ast.Decl))
    names = [decl.name for decl in declared]
    changed = set(map(syntax.modified_name, syntax.walk(body)))
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
    for node in syntax.walk(region.items):
        base, subscripts = syntax.base_and_subscripts(node)
        if not isinstance(base, c_ast.ID) or base.name != argument.name or not subscripts:
            continue
        is_first = len(subscripts) == 1 and syntax.is_zero(subscripts[0])
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
    for node in syntax.walk(expression):
        node.coord = like.coord
    return expression
