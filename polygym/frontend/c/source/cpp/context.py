"""Contexts of the translation of a C++ file: names of the file, names of one function."""

from dataclasses import dataclass, field

from polygym.frontend.c.source.cpp.names import LIBRARY_TYPES, SCALAR_WORDS
from polygym.frontend.c.source.cpp.tokens import CppProblem, Tokens, words_like
from polygym.frontend.c.source.cpp.types import TypeReader
from polygym.frontend.c.tokens.origins import RawToken


@dataclass(slots=True)
class CppContext:
    """What is known of a file.

    ``reference_arguments`` says of each function which arguments are references, ``overloaded`` are
    functions with several definitions, ``unqualified`` the functions that are called without a
    scope, ``with_effects`` those whose calls may change something. ``reasons`` say of names why
    nothing is known of them.
    """

    tokens: Tokens
    namespaces: frozenset[str]
    uses_std: bool
    scalars: set[str] = field(default_factory=set)
    structures: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    overloaded: set[str] = field(default_factory=set)
    reference_arguments: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    unqualified: set[str] = field(default_factory=set)
    with_effects: frozenset[str] = frozenset()
    problems: list[CppProblem] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def types(self) -> TypeReader:
        """The reader of types."""
        return TypeReader(self.tokens, self.namespaces, self.uses_std, self.is_scalar)

    def is_scalar(self, word: str) -> bool:
        """Whether a word stands for a type of numbers."""
        return word in SCALAR_WORDS or word in LIBRARY_TYPES or word in self.scalars

    def refuse(self, index: int, message: str, hint: str = "") -> None:
        """Note a problem at a token."""
        self.problems.append(CppProblem(self.tokens.origin(index), message, hint))

    def explain(self, name: str, reason: str) -> None:
        """Note why nothing is known of a name."""
        self.reasons.setdefault(name, reason)

    def using(self, first: int, last: int) -> list[RawToken]:
        """Return ``using T = double;`` as a typedef; other declarations with using say nothing."""
        texts = self.tokens.texts[first:last]
        if len(texts) < 5 or texts[2] != "=":
            return []
        token = self.tokens.stream[first]
        kind = self.types.translated(first + 3, last - 1)
        if all(self.is_scalar(word[0]) for word in kind):
            self.scalars.add(texts[1])
        arrays = next((k for k, word in enumerate(kind) if word[0] == "["), len(kind))
        return [
            *words_like("typedef", token),
            *kind[:arrays],
            self.tokens.stream[first + 1],
            *kind[arrays:],
            self.tokens.stream[last - 1],
        ]


@dataclass(slots=True)
class FunctionNames:
    """The names of a function that stand for something else in C.

    ``references`` are pointers in C, ``containers`` vectors and arrays of the library; the numbers
    of elements of ``vectors`` have names of their own, of those in ``sizes`` they are used. Those
    of ``resized`` may change. ``declared`` are all words that the function may declare.
    ``spellings`` are the C++ texts of names in C.
    """

    references: set[str] = field(default_factory=set)
    containers: set[str] = field(default_factory=set)
    vectors: set[str] = field(default_factory=set)
    sizes: set[str] = field(default_factory=set)
    resized: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    knows_sizes: bool = True
    spellings: dict[str, str] = field(default_factory=dict)
    _outer: list[tuple[set[str], set[str]]] = field(default_factory=list)

    def scope(self, *, opens: bool) -> None:
        """Enter or leave a block."""
        if opens:
            self._outer.append((set(self.references), set(self.containers)))
        elif self._outer:
            references, containers = self._outer.pop()
            self.references, self.containers = references, containers

    def declare(self, index: int, context: CppContext) -> None:
        """Refuse the declaration of a name that stands for something else around it."""
        name = context.tokens.text(index)
        if name in self.references or name in self.containers:
            context.refuse(index, f"{name} is declared again")

    def add_vector(self, name: str) -> None:
        """Note a vector, which is a pointer in C."""
        self.containers.add(name)
        self.vectors.add(name)
        self.spellings[name] = f"({name}.data())"

    def size_of(self, name: str) -> str | None:
        """Return the name of a vector's number of elements; None where that may change."""
        if name not in self.vectors or name in self.resized or not self.knows_sizes:
            return None
        self.sizes.add(name)
        self.spellings[f"{name}__size"] = f"({name}.size())"
        return f"{name}__size"
