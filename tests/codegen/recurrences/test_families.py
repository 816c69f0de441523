"""Each family of recurrences fires on the programs that its package names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest

from polygym.codegen import recurrences
from polygym.codegen.common.loop_annotation import DiagonalLoop, LaneRows
from polygym.codegen.pipeline import LoweringTrace, lowering_trace
from polygym.codegen.tree.ir import Band, SequenceNode, subtrees
from polygym.codegen.tree.ir import TilePredicate as Predicate
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program


def annotations(trace: LoweringTrace) -> set[type]:
    """Return the types of the annotations in the planned tree."""
    bands = (node for node in subtrees(trace.tree) if isinstance(node, Band))
    return {type(member.annotation) for band in bands for member in band.members}


def predicates(trace: LoweringTrace) -> Iterator[Predicate]:
    """Yield the predicates of branches in the planned tree."""
    for node in subtrees(trace.tree):
        for branch in node.branches if isinstance(node, SequenceNode) else ():
            if branch.predicate is not None:
                yield branch.predicate


FIRES: dict[str, Callable[[LoweringTrace], bool]] = {
    "recurrence_lanes": lambda trace: LaneRows in annotations(trace),
    "skewed_copies": lambda trace: DiagonalLoop in annotations(trace),
    "streams": lambda trace: bool(trace.program.nontemporal_stores or trace.program.prefetches),
    "early_reduction_terms": lambda trace: any(branch.reductions for branch in predicates(trace)),
    "independent_tiles": lambda trace: any(not branch.reductions for branch in predicates(trace)),
}


def named_programs(family: str) -> list[str]:
    """Return the programs in the line ``fires on:`` of a package."""
    doc = import_module(f"{recurrences.__name__}.{family}").__doc__ or ""
    (line,) = re.findall(r"^fires on: (.+)$", doc, re.MULTILINE)
    return [name.strip() for name in line.split(",")]


def test_every_family_is_checked() -> None:
    assert {module.name for module in iter_modules(recurrences.__path__)} == set(FIRES)
    assert all(named_programs(family) for family in FIRES)


@pytest.mark.always
@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in FIRES for name in named_programs(family)]
)
def test_a_family_fires_on_the_programs_that_it_names(family: str, name: str) -> None:
    program = load_program(name)
    legal = LegalSchedule(program.scop, isl_schedule(program.scop))
    sizes = scop_sizes(program.scop, dict(program.parameters))
    assert FIRES[family](lowering_trace(legal, replace(DEFAULT_MAPPING, threads=2), sizes))
