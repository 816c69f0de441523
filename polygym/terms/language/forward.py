"""Forward-mode differentiation: from a program the program of its result's tangent.

With x' the tangent of a parameter x, the result's tangent is the derivative in the direction of all
of them: J · x', J being the Jacobian. A term is gone through from its leaves on. Each part has a
tangent of its own type, None where it depends on nothing that is differentiated by. Operators on
Floats take theirs from the table that the reverse mode reads
(:mod:`polygym.terms.language.chain_rules`), since what y contributes to the adjoint of an operand
from 1 is ∂y/∂operand:

======================  ===========================================================================
``x``                   ``d$x``
``(let (x a) b)``       b', in which x' is a'
``(if p a b)``          ``(if p a' b')``
``(tuple a b)``         ``(tuple a' b')``
``(index i v)``         ``(index i v')``
``(build n f)``         ``(build n (lam i f'))``; ``sumbuild`` and ``deltaVec`` likewise
``(mul a b)``           ``(add (mul a' b) (mul b' a))``
======================  ===========================================================================

    >>> from polygym.terms.language.printer import text_of
    >>> from polygym.terms.language.parser import parse_program
    >>> text_of(tangent(parse_program("(mul x (exp y))")).body)
    '(let (t1 (exp y)) (let (t2 (mul d$y t1)) (add (mul d$x t1) (mul t2 x))))'
"""

from __future__ import annotations

from typing import Any

from polygym.rewrite.term import Term, term
from polygym.terms.language.adjoints import (
    Adjoint,
    add_adjoints,
    complete_adjoint,
    has_floats,
    infer_sizes,
    leafwise,
    size_term,
    split_adjoint,
)
from polygym.terms.language.blocks import (
    BindingBlock,
    FreshNames,
    is_component,
    needed_value,
)
from polygym.terms.language.chain_rules import CHAIN_RULES, REQUIRED_OPERANDS
from polygym.terms.language.inlining import inline_calls
from polygym.terms.language.nodes import free_variables, name_of, term_facts, variable
from polygym.terms.language.program import TermProgram
from polygym.terms.language.reverse import differentiable_parameters
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import FLOAT, INTEGER, Type, VectorSize


def tangent(program: TermProgram) -> TermProgram:
    """Return the program that computes the derivative of a program's result in a direction.

    It takes the program's parameters, then ``d$x`` for every parameter x with Floats: the
    direction. Its result has the type of the program's, with 0 for Integers in it.

    Raises:
        InputError: there is nothing to differentiate by, or a choice between functions.
    """
    wanted = differentiable_parameters(program)
    body = inline_calls(program.body, program.name)
    names = FreshNames({*free_variables(body), *(name for name, _ in program.inputs)})
    directions = tuple((names.reserve(f"d${name}"), kind) for name, kind in wanted)
    tangents = {
        name: variable(direction, kind)
        for (name, kind), (direction, _) in zip(wanted, directions, strict=True)
    }
    kinds = dict((*program.parameters, *directions))
    return TermProgram(
        f"fwd${program.name}",
        (*program.parameters, *directions),
        program.result,
        _ForwardPass(names, kinds, tangents).whole(body),
    )


class _ForwardPass:
    def __init__(self, names: FreshNames, kinds: dict[str, Type], tangents: dict[str, Any]) -> None:
        self._names, self._kinds = names, kinds
        self._tangents: dict[str, Adjoint] = tangents

    def whole(self, body: Term) -> Term:
        """Return the tangent of a term as a term."""
        block = BindingBlock(self._names)
        found = run_trampoline(self._of(body, block))
        return block.wrap(self._complete(found, body))

    def _of(self, node: Term, block: BindingBlock) -> Trampolined[Any]:
        """Return the tangent of a part: a term, a tuple of tangents, or None."""
        kind, head, children = term_facts(node).type, node.head, node.children
        if not has_floats(kind):
            return None
        if not children:
            return split_adjoint(self._tangents.get(name_of(node)), kind, block.bind)
        if head == "let":
            return (yield self._binding(children[0], children[1], block))
        if head == "if":
            inner = [block.inner(), block.inner()]
            return (yield self._scoped(node, (children[1], children[2]), inner))
        if head in ("build", "sumbuild"):
            return (yield self._loop(node, block))
        if head == "tuple":
            parts = []
            for child in children:
                parts.append((yield self._of(child, block)))
            return tuple(parts) if any(part is not None for part in parts) else None
        if head in CHAIN_RULES:
            return (yield self._operator(node, block))
        inner_tangent = yield self._of(children[-1], block)
        if inner_tangent is None or head == "to_float":
            return None
        if head == "select":
            whole = split_adjoint(inner_tangent, term_facts(children[1]).type, block.bind)
            assert isinstance(whole, tuple)
            return whole[int(children[0].head)]
        operand = self._complete(inner_tangent, children[-1])
        made = term(str(head), *children[:-1], operand)
        return split_adjoint(made, kind, block.bind)

    def _binding(self, value: Term, body: Term, block: BindingBlock) -> Trampolined[Any]:
        if is_component(value) or term_facts(body).free & 1 == 0:
            return (yield self._of(open_binder(body, value), block))
        its = yield self._of(value, block)
        own = yield needed_value(value, block)
        self._kinds[name_of(own)] = infer_sizes(value, self._kinds)
        self._tangents[name_of(own)] = leafwise(block.bind, its)
        return (yield self._of(open_binder(body, own), block))

    def _scoped(
        self, node: Term, arms: tuple[Term, Term], blocks: list[BindingBlock]
    ) -> Trampolined[Any]:
        found = []
        for arm, block in zip(arms, blocks, strict=True):
            found.append((yield self._of(arm, block)))
        if found == [None, None]:
            return None
        made = [
            block.wrap(self._complete(its, arm))
            for its, arm, block in zip(found, arms, blocks, strict=True)
        ]
        return term("if", node.children[0], *made)

    def _loop(self, node: Term, block: BindingBlock) -> Trampolined[Any]:
        counter = self._names.fresh(INTEGER)
        body = open_binder(node.children[1].children[0], counter)
        inner = block.inner()
        its = yield self._of(body, inner)
        if its is None:
            return None
        function = inner.function(counter, self._complete(its, body))
        made = term(str(node.head), node.children[0], function)
        return split_adjoint(made, term_facts(node).type, block.bind)

    def _operator(self, node: Term, block: BindingBlock) -> Trampolined[Any]:
        head, children = str(node.head), node.children
        tangents = []
        for child in children:
            tangents.append((yield self._of(child, block)))
        if all(its is None for its in tangents):
            return None
        if term_facts(node).type == FLOAT:
            return (yield self._number(node, tangents, block))
        if head == "add":
            return add_adjoints(*tangents)
        complete = [
            self._complete(its, child) for its, child in zip(tangents, children, strict=True)
        ]
        if head != "mul":
            return split_adjoint(term(head, *complete), term_facts(node).type, block.bind)
        result: Adjoint = None
        for at, its in enumerate(tangents):
            if its is not None:
                other = yield needed_value(children[1 - at], block)
                made = term("mul", complete[at], other)
                result = add_adjoints(
                    result, split_adjoint(made, term_facts(node).type, block.bind)
                )
        return result

    def _number(
        self, node: Term, tangents: list[Term | None], block: BindingBlock
    ) -> Trampolined[Any]:
        """Return the sum of what the operands' tangents contribute to a number's."""
        head, values = str(node.head), list(node.children)
        needs = REQUIRED_OPERANDS[head]
        if needs:
            for at, child in enumerate(node.children):
                values[at] = yield needed_value(child, block)
        value = block.bind(term(head, *values)) if "value" in needs else node
        result: Adjoint = None
        for at, its in enumerate(tangents):
            if its is not None:
                contributions = CHAIN_RULES[head](block.bind(its), *values, value)
                result = add_adjoints(result, contributions[at])
        return result

    def _complete(self, its: Adjoint, value: Term) -> Term:
        kind = infer_sizes(value, self._kinds)
        return complete_adjoint(its, kind, value, self._size)

    def _size(self, vector: Term, size: VectorSize) -> Term:
        return size_term(vector, size, self._kinds)
