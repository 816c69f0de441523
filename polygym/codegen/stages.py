"""Output of each pass of code generation, for people: trees, loops as C, LLVM IR.

The passes are those of :mod:`polygym.codegen.passes`, on the way that a program really
takes: where the mapping is out of isl's reach, all of them are shown as they were under the simpler
one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from polygym.codegen.c import print_c
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.loopir.pass_types import CodegenRequest, Pass, Representation
from polygym.codegen.passes import BUILD, EMIT, GENERATE, LOOP_PASSES, OPTIMIZE, PASSES, PLAN
from polygym.codegen.pipeline import LoweringTrace, lowering_trace, request_for
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.printer import print_tree
from polygym.errors import InputError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import Sizes
from polygym.poly.legality import LegalSchedule

_MAX_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Stage:
    """What there is after a pass; ``changed`` says whether the pass has made it another.

    ``request`` has the mapping under which it was made, which may be less than was
    ``requested_mapping`` for.
    """

    after: Pass[Any, Any]
    requested_mapping: Mapping
    request: CodegenRequest
    value: Tree | LoopProgram | str
    changed: bool = True

    @property
    def text(self) -> str:
        """The tree, the loops as C with what each has been given to do, or the LLVM IR."""
        legal = self.request.legal
        match self.value:
            case str():
                return f"; {self._heading}\n{self.value}"
            case LoopProgram():
                return print_c(self.value, self._heading, annotated=True)
            case _:
                return f"{self._heading}\n\n{print_tree(self.value, legal.scop, legal.schedule)}"

    @property
    def _heading(self) -> str:
        notes = [f"{self.request.legal.scop.name} after {self.after.name}: {self.after.summary}"]
        notes += [] if self.changed else ["no change"]
        notes += (
            [simpler]
            if (simpler := self.requested_mapping.simplification_note(self.request.mapping))
            else []
        )
        return "; ".join(notes)


def pass_named(name: str, earlier: Sequence[tuple[str, str]] = ()) -> Pass[Any, Any]:
    """Return the pass of a name; the error lists ``earlier`` passes of a front end, too.

    Raises:
        InputError: there is none.
    """
    result = next((stage for stage in PASSES if stage.name == name), None)
    if result is None:
        raise InputError(
            f"--after: expected a pass, found {name[:_MAX_NAME_LENGTH]!r}; passes in order:\n"
            f"{pass_list_text(earlier)}"
        )
    return result


def stage_after(
    shown_pass: Pass[Any, Any],
    legal: LegalSchedule,
    mapping: Mapping = SEQUENTIAL_MAPPING,
    sizes: Sizes | None = None,
) -> Stage:
    """Return what a pass leaves of a schedule under a mapping, for all sizes or for given ones."""
    if shown_pass is BUILD:
        goal = request_for(legal, mapping, sizes)
        return Stage(shown_pass, mapping, goal, BUILD.run(goal.legal, goal))
    way = lowering_trace(legal, mapping, sizes)
    value, changed = _output_of(shown_pass, way)
    return Stage(shown_pass, mapping, way.request, value, changed)


def pass_list_text(earlier: Sequence[tuple[str, str]] = ()) -> str:
    """Return the passes in their order, a line each; those of a front end are ``earlier``."""
    rows = [*earlier, *((row.name, row.summary) for row in PASSES)]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}  {summary}" for name, summary in rows)


def _output_of(
    shown_pass: Pass[Any, Any], trace: LoweringTrace
) -> tuple[Tree | LoopProgram | str, bool]:
    """Return what a pass leaves on a way to loops, and whether it has changed anything."""
    match shown_pass.produces:
        case Representation.TREE:
            assert shown_pass is PLAN
            return trace.tree, trace.tree != BUILD.run(trace.request.legal, trace.request)
        case Representation.LOOPS:
            if shown_pass is GENERATE:
                return trace.loops[0], True
            before, after = trace.loops[LOOP_PASSES.index(shown_pass) :][:2]
            return after, after != before
        case Representation.LLVM:
            emitted = EMIT.run(trace.program, trace.request)
            return emitted if shown_pass is EMIT else OPTIMIZE.run(emitted, trace.request), True
        case _:
            assert_never(shown_pass.produces)
