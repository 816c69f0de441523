"""Variables and members that a call may set, by what the functions of the file assign.

A function of the C library sets nothing but what it is given the address of. One of the file sets
what it assigns, and what the functions that it calls do. Any other may set all that it can reach:
members of structures, and variables at file scope.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.pointer_types import PointerTypes
from polygym.frontend.c.source import syntax

ALLOCATORS = frozenset("malloc calloc realloc aligned_alloc memalign valloc alloca strdup".split())

_LIBRARY = ALLOCATORS | frozenset(
    "printf fprintf sprintf snprintf puts fputs putchar fputc putc scanf fscanf sscanf fgets "
    "getchar fgetc getc fopen fclose fread fwrite fflush fseek ftell rewind feof perror free "
    "posix_memalign exit abort atexit rand srand random srandom drand48 srand48 time clock "
    "gettimeofday clock_gettime getrusage strlen strcmp strncmp strcpy strncpy strcat strncat "
    "strstr strchr strrchr strtol strtoul strtod atoi atol atof getenv memcpy memmove memset "
    "memcmp sleep usleep omp_get_wtime omp_get_thread_num omp_get_num_threads "
    "omp_get_max_threads omp_set_num_threads assert __assert_fail __builtin_assume "
    "__builtin_expect __builtin_unreachable __builtin_assume_aligned __pencil_assume "
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p pow sqrt "
    "cbrt hypot fabs floor ceil round trunc rint fmod fmin fmax fma abs labs erf lgamma tgamma "
    "sinf cosf tanf expf logf powf sqrtf fabsf floorf ceilf fminf fmaxf fmaf fmodf roundf".split()
)

# Those of them that store what their arguments point to.
_STORING = frozenset(
    "sprintf snprintf scanf fscanf sscanf fgets fread posix_memalign gettimeofday clock_gettime "
    "getrusage time strcpy strncpy strcat strncat strtol strtoul strtod "
    "memcpy memmove memset".split()
)


@dataclass(frozen=True, slots=True)
class Effects:
    """Names of members and of variables at file scope that a call may set.

    ``is_unknown`` says that it may set any.
    """

    members: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    is_unknown: bool = False

    def joined(self, other: "Effects") -> "Effects":
        """Return the effects of both."""
        return Effects(
            self.members | other.members,
            self.variables | other.variables,
            self.is_unknown or other.is_unknown,
        )


UNKNOWN = Effects(is_unknown=True)


class FunctionEffects:
    """The effects of the functions of a file, by name."""

    def __init__(self, tree: Any) -> None:
        """Keep the functions that have bodies here."""
        self._tree = tree
        self._functions: Mapping[str, Any] = syntax.functions_of(tree)
        self._at_file_scope = {
            node.name: node.type for node in tree.ext if isinstance(node, c_ast.Decl) and node.name
        }
        self._whole: dict[str, Effects] = {}
        self._known: dict[str, tuple[Effects, frozenset[str]]] = {}

    @cached_property
    def _types(self) -> PointerTypes:
        """The types of what stands at file scope."""
        return PointerTypes(self._tree, lambda node: self._at_file_scope.get(node.name))

    @cached_property
    def _stored(self) -> Effects:
        """What a store through a pointer may set: variables at file scope that have addresses."""
        taken = (node.expr for node in syntax.walk(self._tree, c_ast.UnaryOp) if node.op == "&")
        names = {node.name for node in taken if isinstance(node, c_ast.ID)}
        return Effects(variables=frozenset(names & self._at_file_scope.keys()))

    def is_library(self, name: str) -> bool:
        """Whether a name is that of a function of the C library."""
        return name in _LIBRARY and name not in self._functions

    def may_store(self, name: str) -> bool:
        """Whether a function may store through its arguments, or through pointers that it keeps."""
        return not self.is_library(name) or name in _STORING

    def of(self, name: str) -> Effects:
        """Return the effects of a function, with those of what it calls."""
        if name not in self._whole:
            self._whole[name] = self._reached(name)
        return self._whole[name]

    def _reached(self, name: str) -> Effects:
        result, reached, waiting = Effects(), {name}, [name]
        while waiting:
            own, callees = self._own_effects(waiting.pop())
            result = result.joined(own)
            waiting += callees - reached
            reached |= callees
        return result

    def _own_effects(self, name: str) -> tuple[Effects, frozenset[str]]:
        """Return the effects of a function's own statements, and the functions that it calls."""
        if self.is_library(name):
            return Effects(), frozenset()
        if name not in self._functions:
            return UNKNOWN, frozenset()
        if name not in self._known:
            self._known[name] = self._own(self._functions[name])
        return self._known[name]

    def returns_new_memory(self, name: str) -> bool:
        """Whether a function returns memory that nothing else points to."""
        if name in ALLOCATORS and name not in self._functions:
            return True
        function = self._functions.get(name)
        if function is None:
            return False
        own = syntax.declared_names(function.body)
        values: dict[str, list[Any]] = {}
        for node in syntax.walk(function.body):
            target = node.name if isinstance(node, c_ast.Decl) else syntax.modified_name(node)
            if target in own:
                values.setdefault(target, []).append(syntax.assigned_value(node))
        returned = [node.expr for node in syntax.walk(function.body, c_ast.Return)]
        return bool(returned) and all(self._is_new(node, values, own) for node in returned)

    def _is_new(self, node: Any, values: Mapping[str, list[Any]], own: set[str]) -> bool:
        """Whether an expression is new memory, or no address at all."""
        node = syntax.without_casts(node)
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                return name in ALLOCATORS
            case c_ast.ID(name=name) if name in own:
                return all(
                    value is None or self._is_new(value, {}, set()) for value in values[name]
                )
            case _:
                return node is None or syntax.is_zero(node)

    def _own(self, function: Any) -> tuple[Effects, frozenset[str]]:
        own = syntax.declared_names(function)
        declared = {decl.name: decl.type for decl in syntax.walk(function, c_ast.Decl)}
        types = self._types.with_names(
            lambda node: declared.get(node.name, self._at_file_scope.get(node.name))
        )
        result, callees = Effects(), set()
        for node in syntax.walk(function.body):
            if syntax.is_modification(node):
                target = syntax.target_of(node)
                result = result.joined(_effects_of(target, own, types))
                if not isinstance(target, c_ast.ID):  # it may be a variable that has an address
                    result = result.joined(self._stored)
            elif isinstance(node, c_ast.UnaryOp) and node.op == "&":
                result = result.joined(_effects_of(node.expr, own, types))
            elif isinstance(node, c_ast.FuncCall):
                name = getattr(node.name, "name", None)
                if isinstance(name, str):
                    callees.add(name)
                else:
                    result = UNKNOWN.joined(result)
        return result, frozenset(callees)


def _effects_of(target: Any, own: set[str], types: PointerTypes) -> Effects:
    """Return the effects of an assignment to something in a function with names of its own."""
    match target:
        case c_ast.ID(name=name):
            return Effects() if name in own else Effects(variables=frozenset({name}))
        case c_ast.StructRef():
            return Effects(members=frozenset({target.field.name}))
        case _:
            kind = types.of(target)
            is_plain = isinstance(kind, c_ast.IdentifierType | c_ast.Enum | c_ast.PtrDecl)
            return Effects() if is_plain else UNKNOWN
