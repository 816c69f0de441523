"""Machine code of nests: equal ones are compiled once, and kept in the user's cache."""

from dataclasses import dataclass, replace

from polygym.frontend.tc import parse_definitions
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.kernel import CompiledKernel

_CACHED_KERNELS = 1024


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The text of a comprehension, and how it is mapped to the machine.

    ``mapping_options`` are those of a mapping (``separate=on``) that are not as usual.
    """

    text: str
    threads: int = 1
    reassociate: bool = False
    mapping_options: str = ""

    @property
    def mapping(self) -> Mapping:
        """What is done for the machine's sake."""
        chosen = parse_mapping(self.mapping_options) if self.mapping_options else DEFAULT_MAPPING
        return replace(chosen, threads=self.threads, reassociate=self.reassociate)


_KERNEL_CACHE: LruCache[KernelSource, CompiledKernel] = LruCache(_CACHED_KERNELS)


def kernel_builder(recipe: KernelSource) -> KernelBuilder:
    """Return what compiles a recipe; there are no sizes left to choose."""
    (definition,) = parse_definitions(recipe.text)
    return KernelBuilder(definition, BuildOptions(mapping=recipe.mapping))


def compiled_kernel(recipe: KernelSource) -> CompiledKernel:
    """Return the machine code of a recipe, compiled where it is new."""
    return _KERNEL_CACHE.get(recipe, lambda: kernel_builder(recipe).kernel({}))
