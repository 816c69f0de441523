"""Golden files: the trees and the C of a few schedules, to be read by people."""

from collections.abc import Callable, Iterator

import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS, kernel_scop
from tests.codegen.mapped_programs import scop_of

WAVEFRONT = "[n] -> { S[i] -> [i, 0]; T[i, j] -> [i + j, i + 1] }"


def tree_lines(tree: Tree, scop: Scop, schedule: Schedule, depth: int = 0) -> Iterator[str]:
    """Yield a tree as indented text."""
    indent = "  " * depth
    match tree:
        case Leaf():
            yield f"{indent}leaf"
        case SequenceNode(branches):
            yield f"{indent}sequence"
            for branch in branches:
                yield f"{indent}- {', '.join(branch.statements)}"
                yield from tree_lines(branch.child, scop, schedule, depth + 1)
        case Band(statements, members, child):
            yield f"{indent}band"
            for member in members:
                rows = "; ".join(
                    f"{name}: {row.text(scop.statement(name).iterators, schedule.parameters)}"
                    for name, row in zip(statements, member.rows, strict=True)
                )
                yield f"{indent}| {rows}{'   (coincident)' if member.coincident else ''}"
            yield from tree_lines(child, scop, schedule, depth + 1)


def cases() -> Iterator[tuple[str, Scop, Schedule]]:
    y_ax = parse_text(SMALL_PROGRAMS["y_ax"])
    yield "y_ax-wavefront", y_ax, parse_schedule(WAVEFRONT, y_ax)
    for name in ("gemm", "atax", "trisolv", "jacobi-1d", "nussinov"):
        scop = kernel_scop(name)
        yield f"{name}-original", scop, original_schedule(scop)
        yield f"{name}-isl", scop, isl_schedule(scop)
    for name in ("downward", "strided", "triangular_guarded"):
        scop = parse_text(SMALL_PROGRAMS[name])
        yield f"{name}-original", scop, original_schedule(scop)


# Everything that depends on the machine is given.
MAPPED = [
    ("product", "tile=16x24x8 unroll_jam=2 vector_bits=256 vector_copies=2 threads=2"),
    ("columns", "tile=off unroll_jam=1 vector_bits=256 vector_copies=1"),
    ("columns", "tile=off unroll_jam=1 vector_bits=256 vector_copies=1 pack=off"),
    ("triangular_product", "tile=off unroll_jam=3 vector_bits=128 vector_copies=1"),
    ("contraction", "tile=8x16 unroll_jam=1 vector_bits=256 vector_copies=1"),
    ("product", "tile=16x24x8 unroll_jam=2 vector_bits=256 vector_copies=1 order=1x2"),
    ("jacobi", "tile=4x32 threads=2 vector_bits=256 vector_copies=1 unroll_jam=1 diamond=off"),
]


@pytest.mark.parametrize(("name", "text"), MAPPED)
def test_mapped_c(name: str, text: str, golden: Callable[[str, str], None]) -> None:
    """Jam, lanes and their masked rest, packing, wavefronts, as C."""
    scop = scop_of(name)
    legal = LegalSchedule(scop, isl_schedule(scop))
    words = text.replace("=", "").replace(" ", "-")
    golden(f"mapped_c/{name}-{words}.c", print_c(lower(legal, parse_mapping(text)), text))


@pytest.mark.parametrize(
    ("name", "scop", "schedule"), [pytest.param(*case, id=case[0]) for case in cases()]
)
def test_tree_and_c(
    name: str, scop: Scop, schedule: Schedule, golden: Callable[[str, str], None]
) -> None:
    legal = LegalSchedule(scop, schedule)
    golden(f"trees/{name}.txt", "\n".join(tree_lines(build_tree(legal), scop, schedule)) + "\n")
    golden(f"c/{name}.c", print_c(lower(legal), str(schedule)))
