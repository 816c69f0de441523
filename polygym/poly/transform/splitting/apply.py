"""A program in pieces: the same instances in the same order.

A statement S becomes one statement for each way in which its instances stand to its cuts, if there
are any such instances for some sizes::

    { S[k, i] : 0 <= i, k < n }    cut at i = k    { S_0[k, i] : … and i < k }
                                                   { S_1[k, i] : … and i = k }
                                                   { S_2[k, i] : … and i > k }

The pieces have the iterators, the accesses and the body of S, and its rows of the original order:
as every instance of S is an instance of exactly one piece, with the same time, the program in
pieces runs the same instances in the same order. Nothing has to be known of what is computed, and
every schedule of the old program is one of the new. What is gained is that the pieces may have
different ones: dependences that go from some instances of S to others are between different
statements then.

Pieces are numbered in the order less, equal, greater (or: holds, holds not) of the first cut, then
of the second, and so on; there is no number for one without instances. A statement of which only
one piece has any stays as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polygym.errors import InputError, InternalError
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import isl_text
from polygym.poly.schedule import Schedule, StatementSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.splitting.conditions import SplitCondition, SplitRelation, Splitting

_MOST_PIECES = 64
_SIDES = {SplitRelation.EQUAL: ("< 0", "= 0", "> 0"), SplitRelation.BELOW: ("< 0", ">= 0")}


def apply_splitting(scop: Scop, splitting: Splitting) -> Scop:
    """Return the program in pieces.

    Raises:
        InputError: a cut speaks of what the program does not have, or there would be too many
            pieces.
        LimitError: it would take too long.
    """
    if not splitting.statements:
        return scop
    pieces = pieces_by_statement(scop, splitting)
    whole = original_schedule(scop)
    schedule = Schedule(
        whole.parameters,
        tuple(
            StatementSchedule(piece.name, part.iterators, part.rows)
            for part in whole.statements
            for piece in pieces[part.statement]
        ),
    )
    statements = tuple(piece for statement in scop.statements for piece in pieces[statement.name])
    return verify(replace(scop, statements=statements, schedule=str(schedule)))


def pieces_by_statement(scop: Scop, splitting: Splitting) -> dict[str, tuple[Statement, ...]]:
    """Return the pieces of each statement by name; raises as :func:`apply_splitting` does."""
    _check_names(scop, splitting)
    with bounded_operations("splitting statements"):
        pieces = {
            statement.name: _pieces(statement, splitting, scop) for statement in scop.statements
        }
    count = sum(map(len, pieces.values()))
    if count > max(_MOST_PIECES, len(scop.statements)):
        raise InputError(f"a splitting: expected at most {_MOST_PIECES} statements, found {count}")
    return pieces


def _sides(
    statement: Statement, cut: SplitCondition, parameters: tuple[str, ...]
) -> tuple[isl.Set, ...]:
    """Return all points on each side of a cut, as sets in the space of a statement's instances."""
    start = f"[{', '.join(parameters)}] -> {{ {statement.name}[{', '.join(statement.iterators)}]"
    return tuple(
        isl.Set(f"{start} : {cut.form()} {comparison} }}") for comparison in _SIDES[cut.relation]
    )


def _check_names(scop: Scop, splitting: Splitting) -> None:
    """Refuse cuts of statements, iterators and parameters that the program does not have."""
    statements = {statement.name: statement for statement in scop.statements}
    parameters = [parameter.name for parameter in scop.parameters]
    for name, cuts in splitting.statements:
        if name not in statements:
            raise InputError(
                f"a splitting: the statements of {scop.name} are {', '.join(statements)}; "
                f"found {name[:100]}"
            )
        known = [*statements[name].iterators, *parameters]
        for condition in cuts:
            for unknown in (word for word in condition.variables if word not in known):
                raise InputError(
                    f"a splitting: statement {name} has the iterators and parameters "
                    f"{', '.join(known) or '(none)'}; found {unknown}"
                )


def _pieces(statement: Statement, splitting: Splitting, scop: Scop) -> tuple[Statement, ...]:
    """Return the pieces of a statement, itself if it stays whole."""
    parameters = tuple(parameter.name for parameter in scop.parameters)
    context = isl.Set(scop.context)
    domain = isl.Set(statement.domain)
    domains = [domain]
    for cut in splitting.conditions(statement.name):
        cutting = _sides(statement, cut, parameters)
        parts = [domain.intersect(side) for domain in domains for side in cutting]
        domains = [part for part in parts if not part.intersect_params(context).is_empty()]
        if len(domains) > _MOST_PIECES:
            raise InputError(
                f"a splitting: expected at most {_MOST_PIECES} pieces of {statement.name}, found "
                f"{len(domains)} or more"
            )
    if len(domains) <= 1:
        return (statement,)
    _check_pieces(statement, domain.intersect_params(context), domains, context)
    names = _free_names(statement.name, scop)
    return tuple(_piece(statement, next(names), domain) for domain in domains)


def _check_pieces(
    statement: Statement, domain: isl.Set, pieces: list[isl.Set], context: isl.Set
) -> None:
    """Check that every instance is in exactly one piece.

    Pieces are within the domain. So they cover it if their union is no smaller, and are apart if
    each is apart from the union of those before it.
    """
    union = isl.Set.empty(domain.get_space())
    for piece in pieces:
        if not union.is_disjoint(piece):
            raise InternalError(f"two pieces of {statement.name} have an instance in common")
        union = union.union(piece)
    if not union.intersect_params(context).is_equal(domain):
        raise InternalError(f"the pieces of {statement.name} do not make up all of it")


def _free_names(name: str, scop: Scop) -> Iterator[str]:
    """Yield names for the pieces of a statement, with as many underscores as make them new.

    Whether a name is new is decided for all of them alike.
    """
    known = scop.names
    bar = "_"
    while any(f"{name}{bar}{number}" in known for number in range(_MOST_PIECES)):
        bar += "_"
    return (f"{name}{bar}{number}" for number in range(_MOST_PIECES))


def _piece(statement: Statement, name: str, domain: isl.Set) -> Statement:
    """Return a statement of another name with another domain, which does the same."""
    old = re.compile(rf"\b{re.escape(statement.name)}\[")

    def named(access: Access) -> Access:
        return replace(access, relation=old.sub(f"{name}[", access.relation))

    return replace(
        statement,
        name=name,
        domain=isl_text(domain.set_tuple_name(name)),
        write=named(statement.write),
        body=replace_accesses(statement.body, {read: named(read) for read in statement.reads}),
    )
