"""The values that a tensor has one after the other, and which of them a derivative computes anew.

A statement reads the version of each tensor that the statements before it have left, and makes the
next version of the tensor that it assigns. In ``O(n) = B(n)  O(n) += ...  O(n) = max(O(n), 0)`` the
tensor O has the versions 1, 2 and 3; a parameter has version 0. The version v of O is called
``O@v`` until it is known which versions are needed: a name that no text can have.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polygym.errors import SourceError
from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import FLOATS, DefinitionFacts, StatementFacts
from polygym.frontend.tc.derivatives.emission import StatementEmitter
from polygym.frontend.tc.derivatives.partials import PartialDerivatives
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, Expression


def version_name(tensor: str, version: int) -> str:
    """Return the name of a version of a tensor."""
    return f"{tensor}@{version}"


def is_version(name: str) -> bool:
    """Whether a name is that of a version."""
    return "@" in name


def tensor_of(name: str) -> str:
    """Return the tensor of a version."""
    return name.partition("@")[0]


@dataclass(frozen=True, slots=True)
class VersionedStatement:
    """A statement that reads versions; ``before`` and ``after`` are those of what it assigns."""

    facts: StatementFacts
    subscripts: tuple[Expression, ...]
    value: Expression
    conditions: tuple[Expression, ...]
    before: str | None
    after: str

    @property
    def keeps(self) -> bool:
        """Whether the version before it is a part of the version after it."""
        begins = self.facts.begins
        return self.before is not None and not (begins and self.facts.is_whole)

    @property
    def reads(self) -> frozenset[str]:
        """The versions that it reads."""
        names = tree.names_read(*self.subscripts, self.value, *self.conditions)
        own = {self.before} if self.before is not None and self.keeps else set()
        return frozenset(filter(is_version, names)) | own


def versioned(facts: DefinitionFacts) -> tuple[list[VersionedStatement], dict[str, str]]:
    """Return the statements with versions in the place of tensors, and the last versions."""
    current = {p.name: version_name(p.name, 0) for p in facts.definition.parameters}
    result = []
    for number, statement in enumerate(facts.statements, 1):
        after = version_name(statement.tensor, number)
        result.append(
            VersionedStatement(
                statement,
                tuple(tree.renamed(part, current) for part in statement.subscripts),
                tree.renamed(statement.value, current),
                tuple(tree.renamed(part, current) for part in statement.conditions),
                current.get(statement.tensor),
                after,
            )
        )
        current[statement.tensor] = after
    return result, current


def varying_versions(
    facts: DefinitionFacts, statements: Iterable[VersionedStatement], parameters: Iterable[str]
) -> set[str]:
    """Return the versions that depend on parameters, by something that has a derivative."""
    varying = {version_name(name, 0) for name in parameters}
    partials = PartialDerivatives(varying.__contains__, is_version)
    for statement in statements:
        kept = statement.before in varying and statement.keeps
        if facts.tensors[statement.facts.tensor].type in FLOATS and (
            kept or partials.depends(statement.value)
        ):
            varying.add(statement.after)
    return varying


def versions_in(statements: Iterable[tree.TcStatement]) -> frozenset[str]:
    """Return the versions that statements read."""
    names = tree.names_read(*(part for s in statements for part in s.expressions))
    return frozenset(filter(is_version, names))


@dataclass
class Recomputation:
    """Statements that compute versions again, from those that are ``available`` by names."""

    statements: Sequence[VersionedStatement]
    available: Mapping[str, str]
    emitter: StatementEmitter
    names: dict[str, str] = field(default_factory=dict)

    def compute(self, wanted: Iterable[str]) -> None:
        """Emit what computes some versions, and name them."""
        used, needed = set(wanted), set(wanted)
        for statement in reversed(self.statements):
            if statement.after in needed and statement.after not in self.available:
                needed |= statement.reads
        self.names = {name: text for name, text in self.available.items() if name in needed}
        for statement in self.statements:
            if statement.after in needed and statement.after not in self.available:
                self._emit(statement, used)

    def _emit(self, statement: VersionedStatement, used: set[str]) -> None:
        """Emit one statement: in place if the version before it is used no more."""
        facts, before = statement.facts, statement.before
        in_place = before in self.names and before not in used | set(self.available)
        if before is not None and statement.keeps and not in_place:
            name = self._fresh(statement)
            self._copy(statement, name)
        elif before is not None and in_place and statement.keeps:
            name = self.names[before]
        else:
            name = self._fresh(statement)
            if self._is_cut_short(facts):
                self._begin(statement, name)
                self.names[statement.after] = name
                return
        self.names[statement.after] = name
        self._again(statement, name, facts.assign, initializes=facts.initializes)

    def _fresh(self, statement: VersionedStatement) -> str:
        return self.emitter.new_name(statement.facts.tensor)

    def _copy(self, statement: VersionedStatement, name: str) -> None:
        """Emit a copy of the version before a statement, which then goes on with it."""
        facts = statement.facts
        if facts.begins:
            raise SourceError(
                self.emitter.facts.definition.location,
                f"{facts.tensor}: the derivative needs the value of {facts.tensor} before a part "
                "of it is assigned anew",
                "assign to another tensor",
            )
        before = statement.before or ""
        self.emitter.fill(name, facts.tensor, lambda e: arithmetic.element(before, e))

    def _begin(self, statement: VersionedStatement, name: str) -> None:
        """Emit a tensor of the declared size, of which a statement assigns a part."""
        facts = statement.facts
        is_sum = facts.assign in (AssignKind.SET, AssignKind.ADD)
        if not is_sum and not facts.begins_whole:
            raise SourceError(
                self.emitter.facts.definition.location,
                f"{facts.tensor}: the derivative needs a value of {facts.tensor} of which "
                f"{facts.assign.value}! assigns a part",
                "assign to another tensor",
            )
        kind = self.emitter.facts.tensors[facts.tensor].type
        start = tree.ConvertExpression(kind, neutral_element(facts.assign), arithmetic.NOWHERE)
        self.emitter.fill(name, facts.tensor, lambda _: start)
        assign = AssignKind.ADD if is_sum else facts.assign
        self._again(statement, name, assign, initializes=False)

    def _again(
        self, statement: VersionedStatement, name: str, assign: AssignKind, *, initializes: bool
    ) -> None:
        """Emit a statement of the definition under another name for its tensor."""
        facts, value = statement.facts, statement.value
        declared = self._declaration(facts.tensor)
        if declared is not None and declared.type is not None:
            value = tree.ConvertExpression(declared.type, value, arithmetic.NOWHERE)
        self.emitter.add(
            name,
            statement.subscripts,
            assign,
            value,
            facts.ranges,
            statement.conditions,
            initializes=initializes,
        )

    def _declaration(self, tensor: str) -> tree.TcOutput | None:
        outputs = self.emitter.facts.definition.outputs
        return next((output for output in outputs if output.name == tensor), None)

    def _is_cut_short(self, facts: StatementFacts) -> bool:
        """Whether a first statement would make a tensor smaller than it is declared."""
        declared = self._declaration(facts.tensor)
        return declared is not None and declared.sizes is not None and not facts.is_whole


def neutral_element(assign: AssignKind) -> Expression:
    """Return what a reduction begins with; what is set begins with 0."""
    infinity = tree.NumberLiteral(float("inf"), "INFINITY", arithmetic.NOWHERE)
    match assign:
        case AssignKind.SET | AssignKind.ADD:
            return arithmetic.ZERO
        case AssignKind.MULTIPLY:
            return arithmetic.ONE
        case AssignKind.MINIMUM:
            return infinity
        case AssignKind.MAXIMUM:
            return arithmetic.negative(infinity)
