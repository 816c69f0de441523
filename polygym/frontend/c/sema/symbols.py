"""Names: which declaration every identifier of a function means, and what happens to it.

One walk over the function that holds the region, with C's scopes. Everything later asks a
:class:`ResolvedNames` about a node instead of looking a spelling up, so shadowing (``int i`` inside
``i``) needs no further thought. Each mention of a symbol is recorded with its position in the walk,
which tells whether it stands before, in or after the region.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.declarations import array_rank
from polygym.frontend.c.sema.function_effects import FunctionEffects
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import ScopRegion


class DeclarationScope(Enum):
    """Where a symbol is declared."""

    FILE = "file scope"
    ARGUMENT = "argument"
    FUNCTION = "function, outside the region"
    REGION = "region"


class UseKind(Enum):
    """What a mention of a symbol does to it."""

    READ = "read"
    WRITE = "write"
    ITERATE = "iterate"  # the header of a for loop assigns it
    ADDRESS = "address"  # what it points to may change from now on, by other names
    CALL = "call"  # a call around the region may change it


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A declared name; compared by identity. ``declaration`` is a Decl, Enumerator or FuncDef."""

    name: str
    scope: DeclarationScope
    declaration: Any

    @property
    def initializer(self) -> Any:
        """The expression after ``=`` in the declaration, or None."""
        return getattr(self.declaration, "init", None)


@dataclass(frozen=True, slots=True)
class Use:
    """A mention: its position in the walk, its kind and its node."""

    position: int
    kind: UseKind
    node: Any


@dataclass(slots=True)
class ResolvedNames:
    """The result of the walk; ``symbols`` and ``uses`` are keyed by node identity and symbol.

    ``replaced`` holds the symbols whose own value may change, with the first node that does it:
    ``p = A``, ``p++`` and ``&p`` are about the pointer ``p``, ``*p = 1`` about what it points to.
    ``iterated`` has where loops count with a symbol: of its ``uses`` those that every mention asks
    for. ``visible`` are the symbols in scope where the region begins. ``redeclared`` are
    declarations of a name that its scope has already, which C forbids. ``unnamed_changes`` are
    calls around the region, which set what ``effects`` says, and stores there through pointers,
    which set variables whose addresses are ``kept``. ``freed`` are the names, by node, whose memory
    a call of ``free`` gives back.
    """

    symbols: dict[int, Symbol] = field(default_factory=dict)
    uses: dict[Symbol, list[Use]] = field(default_factory=dict)
    iterated: dict[Symbol, list[int]] = field(default_factory=dict)
    typedefs: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    prototypes: dict[str, Any] = field(default_factory=dict)
    file_scope: dict[str, Symbol] = field(default_factory=dict)
    visible: dict[str, Symbol] = field(default_factory=dict)
    begin: int = 0
    end: int = 0
    in_loop: bool = False
    replaced: dict[Symbol, Any] = field(default_factory=dict)
    redeclared: list[Any] = field(default_factory=list)
    unnamed_changes: list[Use] = field(default_factory=list)
    kept: set[Symbol] = field(default_factory=set)
    freed: set[int] = field(default_factory=set)
    effects: FunctionEffects | None = None

    def symbol_of(self, node: Any) -> Symbol | None:
        """Return the symbol that an ID or a declaration node means."""
        return self.symbols.get(id(node))

    def assignments(self, symbol: Symbol) -> list[Use]:
        """Return every mention and call that may change a symbol, its initialiser apart."""
        uses = [use for use in self.uses.get(symbol, ()) if use.kind is not UseKind.READ]
        return [*uses, *(use for use in self.unnamed_changes if self._may_change(use, symbol))]

    def _may_change(self, use: Use, symbol: Symbol) -> bool:
        """Whether a call, or a store through a pointer, may change a symbol."""
        declaration = symbol.declaration
        if not isinstance(declaration, c_ast.Decl) or "const" in declaration.quals:
            return False
        if use.kind is not UseKind.CALL or self.effects is None:
            return symbol in self.kept
        name = getattr(use.node.name, "name", "")
        if symbol in self.kept and self.effects.may_store(name):
            return True
        if symbol.scope is not DeclarationScope.FILE:
            return False
        effects = self.effects.of(name)
        return effects.is_unknown or symbol.name in effects.variables

    def may_differ(self, symbol: Symbol, node: Any) -> bool:
        """Whether a symbol may change unseen after a mention: by its address, or in a call."""
        return any(use.kind is UseKind.ADDRESS for use in self.uses.get(symbol, ())) or any(
            use.kind is UseKind.CALL for use in self.changes_between(symbol, node)
        )

    def changes_between(self, symbol: Symbol, node: Any) -> list[Use]:
        """Return what may change a symbol between a mention of it and the end of the region.

        Where the mention stands in the region, all of the region counts. One that is no mention of
        the function's own (it stands in another function) sees every change.
        """
        place = next((u.position for u in self.uses.get(symbol, ()) if u.node is node), None)
        changes = self.assignments(symbol)
        if place is None:
            return changes
        begin = min(place, self.begin)
        again = self.in_loop and place < self.begin
        return [
            use
            for use in changes
            if begin <= use.position < self.end or (again and use.position > self.end)
        ]

    def is_changed_before(self, symbol: Symbol) -> bool:
        """Whether code around the region may change a symbol before the region runs."""
        return any(
            use.position < self.begin or (self.in_loop and use.position > self.end)
            for use in self.assignments(symbol)
        )

    def is_used_after(self, symbol: Symbol) -> bool:
        """Whether code after the region may see a symbol: by its name, or by its address."""
        return any(
            use.position > self.end
            or (use.position < self.begin and (self.in_loop or use.kind is UseKind.ADDRESS))
            for use in self.uses.get(symbol, ())
        )

    def is_read_after(self, symbol: Symbol) -> bool:
        """Whether code after the region may see the values of a symbol.

        Memory that is given back, and that the code around has no other use for, is seen by nobody.
        Where its pointer is declared it is then an array, as all memory from ``malloc``.
        """
        uses = self.uses.get(symbol, ())
        around = [use for use in uses if not self.begin < use.position < self.end]
        is_given_back = not self.in_loop and all(id(use.node) in self.freed for use in around)
        is_own = isinstance(getattr(symbol.declaration, "type", None), c_ast.ArrayDecl)
        return self.is_used_after(symbol) and not (is_own and is_given_back)

    def is_used_around(self, symbol: Symbol) -> bool:
        """Whether code around the region mentions a symbol, its declaration apart."""
        return any(not self.begin < use.position < self.end for use in self.uses.get(symbol, ()))

    def is_static(self, symbol: Symbol) -> bool:
        """Whether a variable of the function lives longer than a call: ``static``."""
        storage = getattr(symbol.declaration, "storage", ())
        return symbol.scope is DeclarationScope.FUNCTION and "static" in storage

    def precedes_region(self, symbol: Symbol, node: Any) -> bool:
        """Whether a mention of a symbol stands before the region."""
        uses = self.uses.get(symbol, ())
        return any(use.node is node and use.position < self.begin for use in uses)

    def iterates_in_region(self, symbol: Symbol) -> bool:
        """Whether a loop of the region counts with a symbol."""
        return any(self.begin < position < self.end for position in self.iterated.get(symbol, ()))


def resolve_names(tree: Any, region: ScopRegion) -> ResolvedNames:
    """Resolve the names of a region's function."""
    walker = _NameResolver(region)
    walker.file_scope(tree)
    walker.names.effects = FunctionEffects(tree)
    walker.function(region.function)
    return walker.names


def resolve_function(names: ResolvedNames, function: Any) -> dict[str, Symbol]:
    """Resolve a function that is to be inlined; return its arguments' symbols by name."""
    walker = _NameResolver(None)
    walker.names = names
    walker.scopes = [names.file_scope, {}]
    for argument in syntax.arguments_of(function):
        walker.declare(argument, DeclarationScope.ARGUMENT)
    walker.visit(function.body)
    return walker.scopes[-1]


def _is_array(argument: Any) -> bool:
    return isinstance(argument.type, c_ast.ArrayDecl)


class _NameResolver:
    """The walk itself: a stack of scopes and a counter of positions."""

    def __init__(self, region: ScopRegion | None) -> None:
        """Start outside everything."""
        self.region = region
        self.names = ResolvedNames()
        self.scopes: list[dict[str, Symbol]] = [self.names.file_scope]
        self.position = 0
        self.loops = 0
        # Names in sizes that passes have found out: they have their values where the region begins.
        self.unresolved: list[Any] = []
        self.passed: set[int] = set()  # nodes whose addresses go to functions of the C library

    def file_scope(self, tree: Any) -> None:
        """Declare what stands at file scope."""
        for node in tree.ext:
            if isinstance(node, c_ast.Typedef):
                # `typedef T T;` after `typedef int T;` says the same again.
                self.names.typedefs.setdefault(node.name, node.type)
                self.enumerators(node)
            elif isinstance(node, c_ast.FuncDef):
                self.names.functions[node.decl.name] = node
            elif isinstance(node, c_ast.Decl):
                if node.name and not isinstance(node.type, c_ast.FuncDecl):
                    self.declare(node, DeclarationScope.FILE)
                else:
                    self.enumerators(node)
                    if node.name:
                        self.names.prototypes[node.name] = node

    def function(self, function: Any) -> None:
        """Walk the region's function."""
        self.scopes.append({})
        # Sizes may be arguments that follow: what is no array comes first.
        for argument in sorted(syntax.arguments_of(function), key=_is_array):
            self.declare(argument, DeclarationScope.ARGUMENT)
        self.visit(function.body)
        self.names.in_loop |= self._jumps_outside_region(function)

    def _jumps_outside_region(self, function: Any) -> bool:
        """Whether a ``goto`` around the region may lead to it again."""
        if self.region is None or not self.names.begin:
            return False
        inside = {id(node) for item in self.region.items for node in syntax.walk(item, c_ast.Goto)}
        return any(id(jump) not in inside for jump in syntax.walk(function.body, c_ast.Goto))

    def declare(self, declaration: Any, scope: DeclarationScope) -> None:
        """Enter a declaration: its sizes first, then its initialiser, then its name."""
        self.enumerators(declaration)
        self.visit(declaration.type)
        if not self.names.begin and isinstance(declaration.type, c_ast.ArrayDecl):
            names = syntax.walk(declaration.type, c_ast.ID)
            self.unresolved += [node for node in names if self.names.symbol_of(node) is None]
        if declaration.init is not None:
            self.visit(declaration.init)
        known = self.scopes[-1].get(declaration.name)
        if scope is DeclarationScope.FILE and known is not None and declaration.init is None:
            # `extern int n;` after `int n = 5;` declares the same object again.
            self.names.symbols[id(declaration)] = known
            return
        if known is not None and scope is not DeclarationScope.FILE:
            self.names.redeclared.append(declaration)
        symbol = Symbol(declaration.name, scope, declaration)
        self.names.symbols[id(declaration)] = symbol
        self.scopes[-1][declaration.name] = symbol

    def enumerators(self, node: Any) -> None:
        """Declare the constants of an enumeration that a declaration introduces."""
        kind = node.type
        while isinstance(kind, (c_ast.TypeDecl, c_ast.ArrayDecl, c_ast.PtrDecl)):
            kind = kind.type
        if not isinstance(kind, c_ast.Enum) or kind.values is None:
            return
        previous = None
        for enumerator in kind.values.enumerators:
            if not isinstance(enumerator, c_ast.Enumerator):
                continue
            if enumerator.value is not None:
                self.visit(enumerator.value)
            symbol = Symbol(enumerator.name, DeclarationScope.FILE, (enumerator, previous))
            self.scopes[-1][enumerator.name] = symbol
            previous = symbol

    def lookup(self, name: str) -> Symbol | None:
        """Return the innermost declaration of a name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def record_use(self, node: Any, kind: UseKind) -> None:
        """Record a mention of an identifier."""
        self.position += 1
        if (symbol := self.lookup(node.name)) is not None:
            self.names.symbols[id(node)] = symbol
            self.names.uses.setdefault(symbol, []).append(Use(self.position, kind, node))
            if kind is UseKind.ITERATE:
                self.names.iterated.setdefault(symbol, []).append(self.position)

    def visit(self, node: Any) -> None:
        """Walk a node of any kind."""
        match node:
            case None:
                return
            case c_ast.ID() if self.is_of_region(node):
                self.unresolved.append(node)
            case c_ast.ID() | c_ast.ArrayRef():
                self.read(node)
            case c_ast.UnaryOp(op="sizeof"):
                return  # its operand is not evaluated
            case c_ast.Pragma():
                self.position += 1
                if self.region is not None and node is self.region.begin:
                    self.names.begin = self.position
                    self.names.in_loop = self.loops > 0
                    for scope in self.scopes:
                        self.names.visible |= scope
                    for name in self.unresolved:
                        self.record_use(name, UseKind.READ)
                elif self.region is not None and node is self.region.end:
                    self.names.end = self.position
            case c_ast.Struct() | c_ast.Union():
                for member in node.decls or ():  # whose names are no names of the scope
                    if isinstance(member, c_ast.Decl):
                        self.enumerators(member)
            case c_ast.Compound():
                self.scopes.append({})
                for item in node.block_items or ():
                    self.visit(item)
                self.scopes.pop()
            case c_ast.For():
                self.in_for(node)
            case c_ast.While() | c_ast.DoWhile():
                self.loops += 1
                for _, child in node.children():
                    self.visit(child)
                self.loops -= 1
            case c_ast.Decl():
                self.local(node)
            case c_ast.FuncCall():
                self.call(node)
                for _, child in node.children():
                    self.visit(child)
            case c_ast.Typedef():
                self.enumerators(node)
                self.names.typedefs.setdefault(node.name, node.type)
            case _ if syntax.is_modification(node):
                self.visit(getattr(node, "rvalue", None))  # n = 2 * n reads n before it changes
                self.change(syntax.target_of(node), UseKind.WRITE)
            case c_ast.UnaryOp(op="&"):
                self.change(node.expr, UseKind.ADDRESS)
            case c_ast.StructRef():
                self.visit(node.name)
            case c_ast.NamedInitializer():
                self.visit(node.expr)
            case _:
                for _, child in node.children():
                    self.visit(child)

    def is_of_region(self, node: Any) -> bool:
        """Whether a name in a size, which stands before the region, is at the region's place."""
        begin = self.region and self.region.begin.coord
        return begin is not None and not self.names.begin and node.coord is begin

    def call(self, node: Any) -> None:
        """Record a call: what it may set, and addresses that it may keep."""
        self.unnamed_change(node, UseKind.CALL)
        effects, name = self.names.effects, getattr(node.name, "name", "")
        if name == "free":
            self.names.freed.update(map(id, map(syntax.without_casts, syntax.operands_of(node))))
        if effects is None or not effects.is_library(name):
            return
        for operand in syntax.operands_of(node):
            # The C library does not keep the addresses that it is given.
            match syntax.without_casts(operand):
                case c_ast.UnaryOp(op="&", expr=c_ast.ID() as variable):
                    self.passed.add(id(variable))

    def unnamed_change(self, node: Any, kind: UseKind) -> None:
        """Record what changes variables without their names, around the region."""
        self.position += 1
        if not self.is_inside:
            self.names.unnamed_changes.append(Use(self.position, kind, node))

    @property
    def is_inside(self) -> bool:
        """Whether the walk is in the region."""
        return self.names.begin > 0 and self.names.end == 0

    def in_for(self, node: Any) -> None:
        """Walk a ``for``; what its header assigns is being iterated."""
        self.scopes.append({})
        self.loops += 1
        if isinstance(node.init, c_ast.Assignment):
            self.visit(node.init.rvalue)
            self.change(node.init.lvalue, UseKind.ITERATE)
        else:
            self.visit(node.init)
        self.visit(node.cond)
        if syntax.is_modification(node.next):
            self.visit(getattr(node.next, "rvalue", None))
            self.change(syntax.target_of(node.next), UseKind.ITERATE)
        else:
            self.visit(node.next)
        self.visit(node.stmt)
        self.loops -= 1
        self.scopes.pop()

    def local(self, node: Any) -> None:
        """Declare a name of a block."""
        if node.name is None or isinstance(node.type, c_ast.FuncDecl):
            self.enumerators(node)
            return
        scope = DeclarationScope.REGION if self.is_inside else DeclarationScope.FUNCTION
        self.declare(node, scope)

    def read(self, node: Any) -> None:
        """Walk ``name[e]…[e]``; an array with too few subscripts stands for its address."""
        base, subscripts = syntax.base_and_subscripts(node)
        if isinstance(base, c_ast.ID):
            symbol = self.lookup(base.name)
            kind = getattr(symbol and symbol.declaration, "type", None)
            partial = array_rank(kind, self.names.typedefs) > len(subscripts)
            self.record_use(base, UseKind.ADDRESS if partial else UseKind.READ)
        else:
            self.visit(base)
        for subscript in subscripts:
            self.visit(subscript)

    def change(self, target: Any, kind: UseKind, *, is_whole: bool = True) -> None:
        """Walk what is assigned to: the name at its root changes, subscripts are read.

        ``is_whole`` says that the name itself is the target, not an element that it leads to.
        """
        match target:
            case c_ast.ID():
                self.record_use(target, kind)
                if (symbol := self.names.symbol_of(target)) is None:
                    return
                if kind is UseKind.ADDRESS and id(target) not in self.passed:
                    self.names.kept.add(symbol)
                if is_whole:
                    self.names.replaced.setdefault(symbol, target)
            case c_ast.ArrayRef():
                self.store(target.name, kind)
                self.change(target.name, kind, is_whole=False)
                self.visit(target.subscript)
            case c_ast.UnaryOp(op="*"):
                self.store(target.expr, kind)
                self.change(target.expr, kind, is_whole=False)
            case c_ast.StructRef():
                if target.type == "->":
                    self.store(target.name, kind)
                self.change(target.name, kind)
            case _:
                self.visit(target)

    def store(self, pointer: Any, kind: UseKind) -> None:
        """Record a store through a pointer."""
        if kind is not UseKind.ADDRESS:
            self.unnamed_change(pointer, UseKind.ADDRESS)
