"""The private plan: every temporary array that stands in the way of a loop, private to threads.

::

    for i …                                        in the way of i: s, written and read in each
      s = 0; for j …: s += a[i][j]; y[i] = s       s=private:i; each thread has one s

The order of the source stays what it is; this plan makes its outer loops parallel. A web
(:mod:`polygym.poly.transform.storage.webs`) qualifies if

* its array stands in the way of a loop by memory, not by the flow of values,
* no value comes from before the region or is read after it,
* its copy for each thread is small (``max_bytes``).

Each is private along all loops around it: one iteration of them begins and ends its life.
"""

from collections.abc import Iterator, Mapping

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.transform.storage.inhibitors import SourceLoop, loop_inhibitors, source_loops
from polygym.poly.transform.storage.memory_cost import thread_copy_bytes
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    ExpansionLoop,
    StorageEntry,
    StoragePlan,
    plan_of,
)
from polygym.poly.transform.storage.variants import enclosing_loops
from polygym.poly.transform.storage.webs import webs_of


def private_plan(scop: Scop, sizes: Mapping[str, int], max_bytes: int) -> StoragePlan:
    """Return the plan; the source's storage if nothing is to be private.

    Whether it is right is proved where it is applied.

    Raises:
        LimitError: isl would take too long.
    """
    loops = source_loops(scop)
    with bounded_operations("what stands in the way of loops"):
        inhibitors = loop_inhibitors(scop, loops)
    blocking = {array for _, memory in inhibitors.loops.values() for array in memory}
    entries: list[StorageEntry] = []
    for array in scop.arrays:
        if array.name in blocking and thread_copy_bytes(array, sizes) <= max_bytes:
            entries += _private_entries(scop, array.name, loops)
    return plan_of(entries) if entries else SOURCE_STORAGE


def _private_entries(
    scop: Scop, array: str, loops: tuple[SourceLoop, ...]
) -> Iterator[StorageEntry]:
    """Yield an entry for each web of an array that is temporary."""
    try:
        with bounded_operations(f"what becomes of {array}"):
            webs = webs_of(scop, array)
    except (InputError, LimitError):  # computed subscripts, or too irregular
        return
    is_observable = scop.array(array).is_observable
    for web in webs:
        names = tuple(loop.name for loop in enclosing_loops(web, loops))
        is_copied = web.is_live_in or (is_observable and not web.live_out.is_empty())
        if names and not is_copied:
            yield StorageEntry(
                array, tuple(map(ExpansionLoop, names)), web.writers[0].name, is_privatized=True
            )
