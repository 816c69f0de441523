"""Schedules as values: for every statement, an affine function to time vectors.

A schedule with k dimensions maps instance i of statement S, under parameters p, to the vector

    Θ_S(i, p) = (a₁·i + b₁·p + c₁, …, a_k·i + b_k·p + c_k)

of integers; instances run in the lexicographic order of their vectors, and instances with equal
vectors in any order. One line of it is a :class:`ScheduleRow`. The text form is isl's::

    [n] -> { S[i] -> [i, 0]; T[i, j] -> [i + j, 1 + i] }

A shorter vector is read as padded with zeros. Only affine rows with integer coefficients are
schedules here: no floor, no modulo, no pieces; loop tiling belongs to the mapping, not to the
schedule.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polygym.cached_hash import CachedHash, cache_hash
from polygym.errors import InputError
from polygym.ir.scop import Scop, Statement
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import maps_of
from polygym.poly.isl_budget import bounded_operations, is_exhausted
from polygym.poly.isl_values import coefficient, coefficients, constant_term

MAX_DIMENSIONS = 64
MAX_COEFFICIENT = 2**31

_LONGEST_TEXT = 1_000_000
_DEEPEST_NESTING = 50
_CHAIN = re.compile(r"(?:-\s*){50}|(?:\bnot\s*){50}")


@cache_hash
@dataclass(frozen=True, slots=True)
class ScheduleRow(CachedHash):
    """One affine form over a statement's iterators, the program's parameters, and 1."""

    iterators: tuple[int, ...]
    parameters: tuple[int, ...]
    constant: int

    @property
    def is_constant(self) -> bool:
        """Whether the value depends on neither iterators nor parameters."""
        return not any(self.iterators) and not any(self.parameters)

    def text(self, iterators: Sequence[str], parameters: Sequence[str]) -> str:
        """Return the form as isl reads it.

        >>> ScheduleRow((1, -2), (1,), -1).text(["i", "j"], ["n"])
        'i - 2j + n - 1'
        """
        terms = [
            (factor, name)
            for factor, name in zip(
                self.iterators + self.parameters, [*iterators, *parameters], strict=True
            )
            if factor
        ]
        if self.constant or not terms:
            terms.append((self.constant, ""))
        pieces = []
        for index, (factor, name) in enumerate(terms):
            size = "" if name and abs(factor) == 1 else str(abs(factor))
            if index == 0:
                sign = "-" if factor < 0 else ""
            else:
                sign = " - " if factor < 0 else " + "
            pieces.append(f"{sign}{size}{name}")
        return "".join(pieces)


def combine_rows(
    row: ScheduleRow, other: ScheduleRow, factor: int = 1, other_factor: int = 1
) -> ScheduleRow:
    """Return a combination of two rows of one statement: by default their sum.

    >>> combine_rows(ScheduleRow((1, 0), (), 2), ScheduleRow((0, 1), (), 1), 2, -1)
    ScheduleRow(iterators=(2, -1), parameters=(), constant=3)
    """

    def combined(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(factor * a + other_factor * b for a, b in zip(first, second, strict=True))

    return ScheduleRow(
        combined(row.iterators, other.iterators),
        combined(row.parameters, other.parameters),
        factor * row.constant + other_factor * other.constant,
    )


@dataclass(frozen=True, slots=True)
class StatementSchedule:
    """The rows of one statement."""

    statement: str
    iterators: tuple[str, ...]
    rows: tuple[ScheduleRow, ...]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Schedule:
    """A multidimensional affine schedule of every statement of a program."""

    parameters: tuple[str, ...]
    statements: tuple[StatementSchedule, ...]

    @property
    def dimensions(self) -> int:
        """The length of the time vectors, the same for every statement."""
        return len(self.statements[0].rows)

    def rows(self, statement: str) -> tuple[ScheduleRow, ...]:
        """Return the rows of one statement."""
        for part in self.statements:
            if part.statement == statement:
                return part.rows
        raise KeyError(statement)

    def __str__(self) -> str:
        """Return the isl text; :func:`parse_schedule` reads it back to an equal value."""
        parts = [
            f"{part.statement}[{', '.join(part.iterators)}] -> "
            f"[{', '.join(row.text(part.iterators, self.parameters) for row in part.rows)}]"
            for part in self.statements
        ]
        return f"[{', '.join(self.parameters)}] -> {{ {'; '.join(parts)} }}"


def parse_schedule(text: str, scop: Scop) -> Schedule:
    """Read isl text, ``[n] -> { S[i] -> [i]; ... }``, as a schedule of the program.

    The iterators may have any names; the parameters must have the program's. ``[n] ->`` may be left
    out when no row uses a parameter. Every statement must be given exactly once.
    """
    _check_text(text)
    with bounded_operations("reading the schedule"):
        try:
            relation = isl.UnionMap(text)
        except isl.Error:
            if is_exhausted():
                raise
            raise InputError(
                f"a schedule: expected isl text such as {_example(scop)}, found {_shorten(text)!r}"
                "; parameters stand in front, [n] ->, and rows are affine: no product of names"
            ) from None
        parts: dict[str, tuple[ScheduleRow, ...]] = {}
        for part in maps_of(relation):
            name = part.get_tuple_name(isl.dim_type.in_) or ""
            statement = _statement(scop, name, part.dim(isl.dim_type.in_))
            parts[name] = _rows(part, statement, scop)
    return _assemble(scop, parts)


def parameter_names(scop: Scop) -> tuple[str, ...]:
    """Return the names of the program's parameters in order."""
    return tuple(parameter.name for parameter in scop.parameters)


def _check_text(text: str) -> None:
    """Refuse what isl's reader would misread or not survive.

    It is recursive (deep nesting ends the process), and it stops after the closing brace.
    """
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if len(text) > _LONGEST_TEXT or deepest > _DEEPEST_NESTING or _CHAIN.search(text):
        raise InputError(
            f"a schedule: expected at most {_LONGEST_TEXT:,} characters and {_DEEPEST_NESTING} "
            f"brackets inside each other, found {len(text):,} and {deepest}"
        )
    if "}" in text and (rest := text[text.rindex("}") + 1 :].strip()):
        raise InputError(
            f"a schedule: expected nothing behind the last }}, found {_shorten(rest)!r}"
        )
    if text.count("{") > 1:
        raise InputError("a schedule: expected one pair of braces, { ... }, found several")
    if not text.isascii():
        bad = next(character for character in text if not character.isascii())
        raise InputError(f"a schedule: expected plain ASCII text, found {bad!r}")


def _assemble(scop: Scop, parts: dict[str, tuple[ScheduleRow, ...]]) -> Schedule:
    """Check that every statement has rows of the right shape, and pad them to one length.

    A program without loops still gets one dimension.
    """
    for name in parts:
        _statement(scop, name, None)
    if not parts:
        raise InputError(f"a schedule: expected rows such as {_example(scop)}, found none")
    missing = [statement.name for statement in scop.statements if statement.name not in parts]
    if missing:
        raise InputError(
            f"a schedule: expected a row for every statement, found none for {', '.join(missing)}; "
            f"for example {_example(scop)}"
        )
    length = max(1, *(len(rows) for rows in parts.values()))
    if length > MAX_DIMENSIONS:
        raise InputError(f"a schedule: expected at most {MAX_DIMENSIONS} rows, found {length}")
    names = parameter_names(scop)
    assembled = []
    for statement in scop.statements:
        rows = parts[statement.name]
        for row in rows:
            _check_size(row, statement, names)
            if (len(row.iterators), len(row.parameters)) != (statement.depth, len(names)):
                raise InputError(
                    f"a schedule: statement {statement.name} has {statement.depth} iterators and "
                    f"{len(names)} parameters, found a row with {len(row.iterators)} and "
                    f"{len(row.parameters)} coefficients"
                )
        zero = ScheduleRow((0,) * statement.depth, (0,) * len(names), 0)
        padded = rows + (zero,) * (length - len(rows))
        assembled.append(StatementSchedule(statement.name, statement.iterators, padded))
    return Schedule(names, tuple(assembled))


def _check_size(row: ScheduleRow, statement: Statement, parameters: tuple[str, ...]) -> None:
    """Refuse numbers with which time vectors would not fit 64 bits."""
    if max(map(abs, (*row.iterators, *row.parameters, row.constant)), default=0) > MAX_COEFFICIENT:
        raise InputError(
            f"a schedule: expected numbers up to {MAX_COEFFICIENT:,}, found in the row of "
            "statement "
            f"{statement.name} {_shorten(row.text(statement.iterators, parameters))}"
        )


def _statement(scop: Scop, name: str, depth: int | None) -> Statement:
    """Return the statement that a part of a schedule names, or say what is wrong with it."""
    known = [statement.name for statement in scop.statements]
    if name not in known:
        raise InputError(
            f"a schedule: the statements of {scop.name} are {', '.join(known)}; "
            f"found {name or 'a tuple without a name'}"
        )
    statement = scop.statement(name)
    if depth is not None and depth != statement.depth:
        raise InputError(
            f"a schedule: statement {name} has {statement.depth} iterators "
            f"({', '.join(statement.iterators) or 'none'}), found {depth}"
        )
    return statement


def _rows(relation: isl.Map, statement: Statement, scop: Scop) -> tuple[ScheduleRow, ...]:
    """Read the rows off one statement's map, which must be affine on the whole domain."""
    name = statement.name
    domain = isl.Set(statement.domain)
    relation = relation.align_params(domain.get_space())
    _check_parameters(relation, scop)
    if not relation.is_single_valued():
        raise InputError(
            f"a schedule: statement {name} is given more than one time vector; a name in a row "
            "that is neither an iterator nor a parameter (declared in front, [n] ->) stands for "
            "any number"
        )
    function = isl.PwMultiAff.from_map(relation)
    if function.n_piece() > 1:
        function = function.gist(domain.align_params(relation.get_space()))
    if not domain.is_subset(relation.domain()):
        raise InputError(
            f"a schedule: statement {name} has instances without a time vector; rows hold for all "
            "instances and have integer coefficients"
        )
    pieces: list[isl.MultiAff] = []
    function.foreach_piece(lambda _, affine: pieces.append(affine))
    if len(pieces) != 1:
        raise InputError(
            f"a schedule: the rows of statement {name} must be affine on its whole domain, "
            f"found {len(pieces)} pieces"
        )
    affine = pieces[0]
    return tuple(
        _row(affine.get_aff(index), name, scop) for index in range(affine.dim(isl.dim_type.out))
    )


def _row(affine: isl.Aff, name: str, scop: Scop) -> ScheduleRow:
    """Read one row's coefficients."""
    if affine.dim(isl.dim_type.div) or not affine.get_denominator_val().is_one():
        raise InputError(
            f"a schedule: the rows of statement {name} must be affine with integer coefficients "
            f"(no floor, no mod), found {affine}"
        )

    places = {
        affine.get_dim_name(isl.dim_type.param, position): position
        for position in range(affine.dim(isl.dim_type.param))
    }
    return ScheduleRow(
        coefficients(affine, isl.dim_type.in_),
        tuple(
            coefficient(affine, isl.dim_type.param, places[parameter]) if parameter in places else 0
            for parameter in parameter_names(scop)
        ),
        constant_term(affine),
    )


def _check_parameters(relation: isl.Map, scop: Scop) -> None:
    """Refuse names in a row that are not parameters of the program."""
    known = parameter_names(scop)
    for position in range(relation.dim(isl.dim_type.param)):
        name = relation.get_dim_name(isl.dim_type.param, position)
        if name not in known and relation.involves_dims(isl.dim_type.param, position, 1):
            raise InputError(
                f"a schedule: the parameters of {scop.name} are {', '.join(known) or 'none'}; "
                f"found {name}"
            )


def _example(scop: Scop) -> str:
    """Return a small text that shows the form, with the program's own first statement."""
    statement = scop.statements[0]
    tuple_text = ", ".join(statement.iterators)
    dots = "; ..." if len(scop.statements) > 1 else ""
    return f"{{ {statement.name}[{tuple_text}] -> [{tuple_text or '0'}]{dots} }}"


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
