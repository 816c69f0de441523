"""Tables of rules as text, in the format of :mod:`polygym.rewrite.rule`, with binders.

A line says what becomes what, ``<=>`` both::

    mul-of-sum: (mul ?a (add ?b ?c)) <=> (add (mul ?a ?b) (mul ?a ?c))
    index-of-build: (index ?i (build ?n (lam x ?b))) => (let (x ?i) ?b)
    div-of-div: (div (div ?a ?b) ?c) => (div ?a (mul ?b ?c)) if (float ?a)

``?a`` is a metavariable, other words are operators, constants, or names that the rule binds itself.
Where a rule ends the name of the next one begins; ``;`` begins a comment. Three lines are known as
a whole, since patterns cannot say them; only their names are free::

    bind: ?e => (let (x ?e) x)
    lift: (?op (let (x ?e) ?b)) => (let (x ?e) (?op ?b))
    select-of-tuple: (select ?i (tuple ?e ...)) => ?e.i

Sets of rules by name, and rules that users bring.

``binding`` and ``arithmetic`` are the two parts of Table 3 of *Knossos: Compiling AI with AI*,
``simple`` is both; ``vectors`` are the rules of Table 4 for its first phase, ``extended`` is
everything of both tables, with the ``simplification`` of the second phase. ``functions`` are a few
more, ``gradients`` those for sums of vectors that are mostly zero. ``loops`` create, exchange,
split and join loops, ``exponentials`` join exponentials and logarithms; ``all`` has them too.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from polygym.errors import InputError
from polygym.rewrite.s_expressions import is_decimal, is_integer
from polygym.rewrite.term import term
from polygym.terms.language.nodes import FALSE, TRUE
from polygym.terms.language.operators import ALIASES, OPERATORS
from polygym.terms.language.syntax import Syntax, TermSource
from polygym.terms.rules import patterns
from polygym.terms.rules.rule_types import (
    BINDER_CONDITIONS,
    CONDITIONS,
    BindRule,
    LiftRule,
    PatternRule,
    RuleCondition,
    SelectRule,
    TermRule,
)

_META = re.compile(r"\?[A-Za-z_]\w*")
_SCHEMES = {
    str(scheme("")).removeprefix(": "): scheme for scheme in (BindRule, LiftRule, SelectRule)
}
_DEEPEST = 60


def parse_rules(text: str, file: str = "<rules>") -> list[TermRule]:
    """Return the rules of a table.

    Raises:
        SourceError: the text is none; says where, what was expected, what was found.
        InputError: two rules have one name.
    """
    reading = _RuleParser(TermSource(text, file))
    term_rules: dict[str, TermRule] = {}
    while reading.rest:
        for rule in reading.rule():
            if rule.name in term_rules:
                raise InputError(f"{file}: expected one rule named {rule.name}, found two")
            term_rules[rule.name] = rule
    return list(term_rules.values())


def text_of_rules(rules: Iterable[TermRule]) -> str:
    """Return a table that :func:`parse_rules` reads."""
    return "".join(f"{rule}\n" for rule in rules)


class _RuleParser:
    def __init__(self, source: TermSource) -> None:
        self._source = source
        self.rest = list(reversed(source.top))

    def rule(self) -> list[TermRule]:
        start = self._take("the name of a rule and ':'")
        if not start.word.endswith(":") or start.word == ":":
            raise self._source.error(start, f"expected the name of a rule and ':', found {start}")
        name = start.word[:-1]
        left = self._take("a pattern")
        arrow = self._take("'=>' or '<=>'")
        if arrow.word not in ("=>", "<=>"):
            raise self._source.error(arrow, f"expected '=>' or '<=>', found {arrow}")
        right = self._take("a pattern")
        scheme = _SCHEMES.get(f"{left} => {right}")
        if scheme is not None and arrow.word == "=>":
            self._expect_end(name)
            return [scheme(name)]
        given = self._conditions()
        self._expect_end(name)
        made = [self._made(name, left, right, given)]
        if arrow.word == "<=>":
            made.append(self._made(f"{name}-back", right, left, given))
        return [*made]

    def _take(self, expected: str) -> Syntax:
        if not self.rest:
            raise self._source.error(None, f"expected {expected}, found the end")
        return self.rest.pop()

    def _expect_end(self, name: str) -> None:
        if self.rest and not self.rest[-1].word.endswith(":"):
            raise self._source.error(
                self.rest[-1],
                f"expected the end of rule {name} or the name of one, found {self.rest[-1]}",
            )

    def _conditions(self) -> list[Syntax]:
        if not self.rest or self.rest[-1].word != "if":
            return []
        self.rest.pop()
        syntaxes = [self._take("a condition")]
        while self.rest and self.rest[-1].word == "&":
            self.rest.pop()
            syntaxes.append(self._take("a condition"))
        return syntaxes

    def _made(self, name: str, left: Syntax, right: Syntax, given: list[Syntax]) -> PatternRule:
        source = self._pattern(left, (), is_source=True)
        if isinstance(source, patterns.Metavariable | patterns.LiteralPattern):
            raise self._source.error(left, f"expected an operator in a source, found {left}")
        scopes: dict[str, set[str]] = {}
        for meta in patterns.metavariables(source):
            scopes.setdefault(meta.name, set(meta.scope)).intersection_update(meta.scope)
        target = self._pattern(right, (), is_source=False, scopes=scopes)
        for meta in patterns.metavariables(target):
            if meta.name not in scopes:
                raise self._source.error(
                    right, f"expected {meta.name} in the source, found it nowhere"
                )
        binding = patterns.LetPattern | patterns.LambdaPattern
        parts = patterns.subpatterns(source)
        binders = {part.name for part in parts if isinstance(part, binding)}
        conditions = tuple(self._condition(syntax, scopes, binders) for syntax in given)
        return PatternRule(name, source, target, conditions)

    def _condition(
        self, syntax: Syntax, scopes: dict[str, set[str]], binders: set[str]
    ) -> RuleCondition:
        words = [part.word for part in syntax.parts or ()]
        known = "; ".join(CONDITIONS.values())
        if not words or words[0] not in CONDITIONS or "" in words:
            raise self._source.error(
                syntax, f"expected a condition, one of {known}; found {syntax}"
            )
        names = words[1:]
        if len(names) != (2 if words[0] in BINDER_CONDITIONS else 1):
            raise self._source.error(syntax, f"expected {CONDITIONS[words[0]]}; found {syntax}")
        if names[-1] not in scopes:
            raise self._source.error(
                syntax, f"expected {names[-1]} in the source, found it nowhere"
            )
        if len(names) == 2 and names[0] not in binders:
            raise self._source.error(
                syntax, f"expected the source to bind {names[0]}, found it free"
            )
        return RuleCondition(words[0], names[-1], names[0] if len(names) == 2 else "")

    def _pattern(
        self,
        syntax: Syntax,
        scope: patterns.BinderNames,
        *,
        is_source: bool,
        scopes: dict[str, set[str]] | None = None,
        depth: int = 0,
    ) -> patterns.Pattern:
        if depth > _DEEPEST:
            raise self._source.error(syntax, f"expected a pattern at most {_DEEPEST} deep")

        def inner(part: Syntax, names: patterns.BinderNames) -> patterns.Pattern:
            return self._pattern(part, names, is_source=is_source, scopes=scopes, depth=depth + 1)

        if syntax.parts is None:
            return self._leaf(syntax, scope)
        head, parts = ALIASES.get(syntax.first, syntax.first), (syntax.parts or ())[1:]
        if head == "let":
            pair = parts[0].parts if len(parts) == 2 else None
            if not pair or len(pair) != 2:
                raise self._source.error(syntax, f"expected (let (x a) b), found {syntax}")
            name = self._binder(pair[0], scope)
            return patterns.LetPattern(name, inner(pair[1], scope), inner(parts[1], (*scope, name)))
        if head == "lam":
            if len(parts) != 2:
                raise self._source.error(syntax, f"expected (lam x b), found {syntax}")
            name = self._binder(parts[0], scope)
            return patterns.LambdaPattern(name, inner(parts[1], (*scope, name)))
        if head == "subst":
            if is_source or len(parts) != 3 or not _META.fullmatch(parts[2].word):
                raise self._source.error(
                    syntax, f"expected (subst x a ?b) in a target, found {syntax}"
                )
            assert scopes is not None
            if parts[0].word not in scopes.get(parts[2].word, set()):
                raise self._source.error(
                    parts[0], f"expected {parts[2].word} under {parts[0]} in the source"
                )
            return patterns.SubstitutionPattern(
                parts[0].word, inner(parts[1], scope), parts[2].word, scope
            )
        operator = OPERATORS.get(head)
        if operator is None:
            raise self._source.error(syntax, f"expected an operator, found {syntax}")
        if operator.arity is not None and len(parts) != operator.arity:
            raise self._source.error(syntax, f"expected {operator.usage}, found {syntax}")
        return patterns.OperatorPattern(head, tuple(inner(part, scope) for part in parts))

    def _leaf(self, syntax: Syntax, scope: patterns.BinderNames) -> patterns.Pattern:
        word = syntax.word
        if _META.fullmatch(word):
            return patterns.Metavariable(word, scope)
        if is_integer(word):
            return patterns.LiteralPattern(term(int(word)))
        if is_decimal(word):
            return patterns.LiteralPattern(term(float(word)))
        if word in ("True", "False"):
            return patterns.LiteralPattern(TRUE if word == "True" else FALSE)
        if word in scope:
            return patterns.BoundPattern(word, scope)
        raise self._source.error(
            syntax,
            f"expected a metavariable such as ?a, a constant, or a name that is bound, "
            f"found {word}",
        )

    def _binder(self, syntax: Syntax, scope: patterns.BinderNames) -> str:
        if not re.fullmatch(r"[A-Za-z_]\w*", syntax.word):
            raise self._source.error(syntax, f"expected a name to bind, found {syntax}")
        if syntax.word in scope:
            raise self._source.error(syntax, f"expected another name, found {syntax} bound already")
        return syntax.word


_TABLES = {
    "binding": ("binding",),
    "arithmetic": ("arithmetic",),
    "simple": ("arithmetic", "binding"),
    "vectors": ("vectors",),
    "extended": ("arithmetic", "binding", "vectors", "simplification"),
    "simplification": ("simplification",),
    "functions": ("functions",),
    "gradients": ("gradients",),
    "loops": ("loops",),
    "exponentials": ("exponentials",),
    "all": (
        *("arithmetic", "binding", "vectors", "simplification", "functions", "gradients"),
        *("loops", "exponentials"),
    ),
}
RULE_SETS = tuple(_TABLES)


@cache
def rules_named(name: str) -> tuple[TermRule, ...]:
    """Return a set of rules.

    >>> [len(rules_named(name)) for name in ("arithmetic", "binding", "vectors", "extended")]
    [28, 5, 11, 51]

    Raises:
        InputError: there is no such set.
    """
    if name not in _TABLES:
        raise InputError(f"a set of rules: expected one of {', '.join(RULE_SETS)}, found {name!r}")
    return tuple(rule for table in _TABLES[name] for rule in _table(table))


@cache
def _table(name: str) -> tuple[TermRule, ...]:
    text = files(__package__).joinpath(f"{name}.rules").read_text()
    return tuple(parse_rules(text, f"{name}.rules"))


def merge_rules(sets: Iterable[Iterable[TermRule]]) -> tuple[TermRule, ...]:
    """Return the rules of several sets together.

    Raises:
        InputError: two different ones have one name.
    """
    term_rules: dict[str, TermRule] = {}
    for rules in sets:
        for rule in rules:
            if term_rules.setdefault(rule.name, rule) != rule:
                raise InputError(f"rules: expected one rule named {rule.name}, found two")
    return tuple(term_rules.values())
