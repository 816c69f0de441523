"""The tree of a mapping, of a small program under isl's schedule."""

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.codegen.trees.tree import Tree
from polygym.compiler.poly.baselines import isl_schedule
from polygym.compiler.poly.legality import LegalSchedule
from tests.compiler.codegen.mapped import scop_of


def mapped(name: str, mapping: str, size: int) -> tuple[LegalSchedule, Tree, dict[str, int]]:
    """Return a schedule, its tree under a mapping with all sizes the same, and these."""
    scop = scop_of(name)
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {parameter.name: size for parameter in scop.parameters}
    tree = plan(build_tree(legal), legal, parse_mapping(mapping), Machine(), sizes)
    return legal, tree, sizes
