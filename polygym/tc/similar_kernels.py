"""Similar kernels of the cache, whose best choices are tried first.

Most alike is the same comprehension for other sizes, the closer the better; then comprehensions
that differ in the types of elements alone. Sizes are as far apart as their logarithms are: for a
matrix product of 100 × 100 × 100, one of 200 × 100 × 100 is closer than one of 100 × 10 × 100.

Entries come from a file that anything may have written: what makes no sense is passed over.

A definition with its names erased: two that differ in names alone have one text.

Tensors are numbered as they come, parameters first, then outputs, then temporaries; sizes and
indices too::

    def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
    (float(N0, N1) T0, float(N1, N2) T1) -> (T2) { T2(i0, i1) +=! T0(i0, i2) * T1(i2, i1) }
"""

import re
from collections.abc import Iterable
from math import inf, log

from polygym.errors import InputError
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import statement_text
from polygym.frontend.tc.syntax.tree import ElementType, rename_statement
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.strategy import ISL, ScheduleStrategy, is_strategy, parse_strategy
from polygym.search import Candidate
from polygym.tc.cache import KernelOrigin


def canonical_text(definition: tree.TcDefinition) -> str:
    """Return the text of a definition without its names."""
    shared = {name: f"N{place}" for place, name in enumerate(size_locations(definition))}
    tensors = [parameter.name for parameter in definition.parameters]
    tensors += [output.name for output in definition.outputs]
    tensors += [statement.tensor for statement in definition.statements]
    shared |= {name: f"T{place}" for place, name in enumerate(dict.fromkeys(tensors))}
    parameters = ", ".join(
        _declaration_text(parameter, shared) for parameter in definition.parameters
    )
    outputs = ", ".join(_declaration_text(output, shared) for output in definition.outputs)
    body = " ".join(
        statement_text(_renamed(statement, shared)) for statement in definition.statements
    )
    return f"({parameters}) -> ({outputs}) {{ {body} }}"


def _declaration_text(declaration: tree.TcParameter | tree.TcOutput, names: dict[str, str]) -> str:
    sizes = declaration.sizes or ()
    texts = [names[size.name] if isinstance(size, tree.NameUse) else size.text for size in sizes]
    kind = "" if declaration.type is None else declaration.type.value
    shape = f"({', '.join(texts)})" if texts else ""
    return f"{kind}{shape} {names[declaration.name]}".strip()


def _renamed(statement: tree.TcStatement, shared: dict[str, str]) -> tree.TcStatement:
    """Return a statement with its indices and the names of its values numbered as they come."""
    names = dict(shared)
    for name in statement.local_names:
        names.setdefault(name, f"i{len(names) - len(shared)}")
    return rename_statement(statement, names)


_MOST_CANDIDATES = 5
_TYPES = re.compile(rf"\b(?:{'|'.join(element_type.value for element_type in ElementType)})\b")


def similar_candidates(
    entries: Iterable[tuple[str, str, float]], comprehension: str, sizes: tuple[int, ...]
) -> list[Candidate]:
    """Return the choices of a few entries, the most similar first, each once.

    An entry is the text of an origin, a mapping, and the time that was measured. Of several for
    the same comprehension and sizes the fastest counts first.
    """
    result = []
    for origin, mapping, seconds in entries:
        try:
            there = KernelOrigin.parse(origin)
            candidate = Candidate(_strategy(there.strategy), parse_mapping(mapping))
            distance = _distance(there, comprehension, sizes)
            rank = (*distance, float(seconds))
        except (InputError, ValueError, TypeError, AttributeError):
            continue
        if distance[0] < inf:
            result.append((rank, str(candidate), candidate))
    result.sort(key=lambda ranked: ranked[:2])
    return list(dict.fromkeys(candidate for _, _, candidate in result))[:_MOST_CANDIDATES]


def _strategy(text: str) -> ScheduleStrategy:
    """Return a strategy; where a policy found the schedule, its mapping alone counts."""
    return parse_strategy(text) if is_strategy(text) else ISL


def _distance(
    there: KernelOrigin, comprehension: str, sizes: tuple[int, ...]
) -> tuple[float, float]:
    """Return how far away a comprehension and its sizes are; infinitely, if it is another one."""
    if len(there.sizes) != len(sizes):
        return inf, inf
    pairs = zip(there.sizes, sizes, strict=True)
    apart = sum(abs(log(max(one, 1)) - log(max(other, 1))) for one, other in pairs)
    if there.comprehension == comprehension:
        return 0.0, apart
    is_untyped = _untyped(there.comprehension) == _untyped(comprehension)
    return 1.0 if is_untyped else inf, apart


def _untyped(comprehension: str) -> str:
    """Return a comprehension without the types of its elements.

    >>> _untyped("(float(N0) T0) -> (T1) { T1(i0) = T0(i0) }")
    '(?(N0) T0) -> (T1) { T1(i0) = T0(i0) }'
    """
    return _TYPES.sub("?", comprehension)
