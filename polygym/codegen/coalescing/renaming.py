"""The program with new names of instances and of elements, for loops that become one."""

from dataclasses import replace

import islpy as isl

from polygym.codegen.coalescing.analysis import CoalescedLoops
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Array, Scop, Statement
from polygym.poly.isl_values import isl_text, isl_value
from polygym.poly.transform.storage.copy_statements import named_set, size_c_text


def renamed_program(scop: Scop, chosen: dict[str, CoalescedLoops]) -> Scop | None:
    """Return the program with new names of instances and elements, None where one is not affine."""
    merged = frozenset().union(*(loops.arrays for loops in chosen.values()))
    elements = element_maps(scop, merged)
    statements = [renamed_statement(s, chosen.get(s.name), elements) for s in scop.statements]
    if any(
        access.gathered and access.array in merged
        for statement in scop.statements
        for access in (statement.write, *statement.reads)
    ):
        return None
    arrays = tuple(_merged_array(a) if a.name in merged else a for a in scop.arrays)
    changed = tuple(statement for statement in statements if statement is not None)
    if len(changed) < len(statements):
        return None
    return replace(scop, arrays=arrays, statements=changed)


def element_maps(scop: Scop, merged: frozenset[str]) -> dict[str, isl.Map]:
    """Return the maps from elements of arrays to those of the arrays with merged dimensions."""
    maps = {}
    for array in map(scop.array, merged):
        names = [f"d{place}" for place in range(array.rank)]
        last = f"{array.c_extents[-1]} * {names[-2]} + {names[-1]}"
        old, new = ", ".join(names), ", ".join([*names[:-2], last])
        maps[array.name] = isl.Map(f"{{ {array.name}[{old}] -> {array.name}[{new}] }}")
    return maps


def _merged_array(array: Array) -> Array:
    """Return an array whose last two dimensions are one."""
    factor = int(array.c_extents[-1])
    size = isl.PwAff(array.extents[-2]).scale_val(isl_value(factor))
    return replace(
        array,
        extents=(*array.extents[:-2], isl_text(size)),
        c_extents=(*array.c_extents[:-2], size_c_text(size)),
    )


def renamed_statement(
    statement: Statement, loops: CoalescedLoops | None, elements: dict[str, isl.Map]
) -> Statement | None:
    """Return a statement with new names of its instances and of elements."""
    instances = None if loops is None else _instance_map(statement, loops)
    replacements: dict[Access, Access] = {}
    for access in (statement.write, *statement.reads):
        relation = isl.Map(access.relation)
        if instances is not None:
            relation = relation.apply_domain(instances)
        if access.array in elements:
            relation = relation.apply_range(elements[access.array])
        if loops is not None and not _is_affine(relation):
            return None
        replacements[access] = replace(access, relation=isl_text(relation))
    domain = isl.Set(statement.domain)
    iterators = statement.iterators
    if instances is not None and loops is not None:
        iterators = tuple(n for place, n in enumerate(iterators) if place != loops.inner)
        domain = named_set(domain.apply(instances), statement.name, iterators)
        if any(each.dim(isl.dim_type.div) for each in domain.get_basic_sets()):
            return None
    return replace(
        statement,
        iterators=iterators,
        domain=isl_text(domain),
        write=replacements[statement.write],
        body=replace_accesses(statement.body, replacements),
    )


def _instance_map(statement: Statement, loops: CoalescedLoops) -> isl.Map:
    """Return the map from instances (x, c) to instances t, for c in its range."""
    names = list(statement.iterators)
    x, c = names[loops.outer], names[loops.inner]
    new = list(names)
    new[loops.outer] = f"{loops.pair.length} * {x} + {c} - ({loops.least})"
    del new[loops.inner]
    old, after = ", ".join(names), ", ".join(new)
    last = loops.least + loops.pair.length - 1
    name, within = statement.name, f"{loops.least} <= {c} <= {last}"
    return isl.Map(f"{{ {name}[{old}] -> {name}[{after}] : {within} }}")


def _is_affine(relation: isl.Map) -> bool:
    """Whether a relation is one affine function with integer coefficients."""
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda _, affine: pieces.append(affine))
    return len(pieces) == 1 and all(
        part.dim(isl.dim_type.div) == 0 and part.get_denominator_val().is_one()
        for part in (pieces[0].get_aff(k) for k in range(pieces[0].dim(isl.dim_type.out)))
    )
