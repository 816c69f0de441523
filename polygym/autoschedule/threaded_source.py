"""The source's loops in threads: its order, its temporaries private, its outer loop parallel.

::

    for i …                                    #pragma omp parallel for private(s)
      s = 0; for j …: s += a[i][j]; y[i] = s   for i … the same

LLVM makes of the inner loops what it makes of those of the source, vectors and unrolled filters
too, so the gain is as sure as the share that runs in threads. Models of cost do not rank this
candidate: they have learned from tiles. :mod:`polygym.autoschedule.code_choice` considers it.

A thread gets iterations that follow each other (``static``) if every domain is a box: the work is
even then, and a loop that runs again finds its data with the same processor. Else ``dynamic``.

Example, a filter of five by five in two threads: 5.2 ms of the source, 3.7 ms of this.
"""

from dataclasses import replace

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, subtrees
from polygym.cost.features.candidates.private_arrays import with_private_arrays
from polygym.errors import InputError, LimitError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping, WorkSharing
from polygym.mapping.sizes import scop_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.properties import has_box_domains
from polygym.poly.transform.storage.plan import StoragePlan
from polygym.poly.transform.storage.private_plan import private_plan
from polygym.programs import Program
from polygym.programs.stored_program import with_storage_plan


def private_source(program: Program, memory_limit: int) -> Program | None:
    """Return the program with private temporaries.

    It is None if a temporary would need an element for each iteration.

    Raises:
        LimitError: isl would take too long.
    """
    sizes = scop_sizes(program.scop, dict(program.parameters))
    plan = private_plan(program.scop, sizes, TUNING.max_pooled_bytes)
    return with_private_temporaries(program, plan, memory_limit)


def with_private_temporaries(
    program: Program, plan: StoragePlan, memory_limit: int
) -> Program | None:
    """Return the program under a plan, None if that is not possible."""
    if plan.is_source:
        return program
    try:
        return with_storage_plan(program, plan, memory_limit)
    except (InputError, LimitError):
        return None


def source_in_threads(program: Program, threads: int) -> Mapping | None:
    """Return the mapping of the order of the text in threads.

    It is None if no loop is parallel, or if something would not be private.
    """
    mapping = order_in_threads(program, original_schedule(program.scop), threads)
    return mapping if mapping is not None and mapping.is_parallel else None


def order_in_threads(program: Program, order: Schedule, threads: int) -> Mapping | None:
    """Return the mapping of an order of the source's loops: in one thread if no loop is parallel.

    It is None if something would not be private.
    """
    tree = build_tree(LegalSchedule(program.scop, order))
    if with_private_arrays(program.scop, tree) != program.scop:
        return None
    bands = [band for band in subtrees(tree) if isinstance(band, Band)]
    if threads == 1 or not any(member.coincident for band in bands for member in band.members):
        return SEQUENTIAL_MAPPING
    sharing = WorkSharing.STATIC if has_box_domains(program.scop) else WorkSharing.DYNAMIC
    return replace(SEQUENTIAL_MAPPING, threads=threads, parallel=sharing)
