"""The type of a pass of code generation, and the request that all passes serve.

A module that transforms trees or loops exports its row of the table as ``PASS``;
:mod:`polygym.codegen.passes` imports the rows in their order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from polygym.codegen.loopir.ir import LoopProgram
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.legality import LegalSchedule

PassInput = TypeVar("PassInput")
PassOutput = TypeVar("PassOutput")


@dataclass(frozen=True, slots=True)
class CodegenRequest:
    """A legal schedule under a mapping, for all sizes or for given ones.

    With ``keeps_loops_whole`` isl splits no loop where its body changes. With
    ``keeps_order_in_tiles`` the terms of reductions stay in their tiles, which have no strips.
    """

    legal: LegalSchedule
    mapping: Mapping
    sizes: Sizes | None = None
    keeps_loops_whole: bool = False
    keeps_order_in_tiles: bool = False


class Representation(Enum):
    """The form that a pass produces."""

    TREE = "tree"
    LOOPS = "loops"
    LLVM = "llvm"


@dataclass(frozen=True, slots=True)
class Pass(Generic[PassInput, PassOutput]):
    """A row of the table of passes: a name, a one-line ``summary`` and a pure function.

    Mappings for which ``is_enabled`` is false skip the pass.
    """

    name: str
    produces: Representation
    summary: str
    run: Callable[[PassInput, CodegenRequest], PassOutput]
    is_enabled: Callable[[Mapping], bool] = lambda _: True


def loop_pass(
    name: str,
    summary: str,
    run: Callable[[LoopProgram], LoopProgram],
    is_enabled: Callable[[Mapping], bool] = lambda _: True,
) -> Pass[LoopProgram, LoopProgram]:
    """Return a pass over loops, which needs the program alone: it carries its mapping."""
    return Pass(name, Representation.LOOPS, summary, lambda program, _: run(program), is_enabled)


def max_instances(scop: Scop) -> int:
    """Return the most instances that the code of a mapping may have."""
    return TUNING.base_instances + TUNING.instances_per_statement * len(scop.statements)
