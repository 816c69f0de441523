"""Machine code of nests: equal ones are compiled once, and kept in the user's cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping, parse_mapping
from polygym.compiler.frontend.tc import parse
from polygym.lru import Memory
from polygym.tc.builder import Builder, Options
from polygym.tc.kernel import Kernel

__all__ = ["Recipe", "builder_of", "kernel_of"]

_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Recipe:
    """The text of a comprehension, and how it is mapped to the machine.

    ``words`` are those of a mapping (``separate=on``) that are not as usual.
    """

    text: str
    threads: int = 1
    reassociate: bool = False
    words: str = ""

    @property
    def mapping(self) -> Mapping:
        """What is done for the machine's sake."""
        chosen = parse_mapping(self.words) if self.words else DEFAULT
        return replace(chosen, threads=self.threads, reassociate=self.reassociate)


_kernels: Memory[Recipe, Kernel] = Memory(_REMEMBERED)


def builder_of(recipe: Recipe) -> Builder:
    """Return what compiles a recipe; there are no sizes left to choose."""
    (definition,) = parse(recipe.text)
    return Builder(definition, Options(mapping=recipe.mapping))


def kernel_of(recipe: Recipe) -> Kernel:
    """Return the machine code of a recipe, compiled where it is new."""
    return _kernels.get(recipe, lambda: builder_of(recipe).kernel({}))
