"""The tree of a mapping, of a small program under isl's schedule."""

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.codegen.mapped_programs import scop_of


def mapped(name: str, mapping: str, size: int) -> tuple[LegalSchedule, Tree, dict[str, int]]:
    """Return a schedule, its tree under a mapping with all sizes the same, and these."""
    scop = scop_of(name)
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {parameter.name: size for parameter in scop.parameters}
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine(), sizes)
    return legal, tree, sizes
