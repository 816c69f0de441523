"""Many machines: sweeps, collections, tunings and episodes' ends on a cluster, carried by Ray.

``address`` says which cluster; ``transport`` is the protocol of what carries messages,
``ray_transport`` is Ray. A node is of one of the ``kinds`` of machines, keeps the ``calibration``
of its clock, holds the ``slot`` of its host while it measures, and has programs by their ``texts``,
which come in ``bundles``; ``node`` is what it does when asked, which knows nothing of Ray.
``fleet`` keeps its ``members`` busy with ``jobs``.

Of a sweep, ``sweep_tasks`` are done on nodes and send ``sweep_rows``; ``sweep_supply`` has the jobs
(``runs`` are what is left), ``sweep_book`` writes down what comes, ``sweeping`` is all of it; of a
collection, a node makes a ``visit_task``, ``visit_supply`` has them, ``collecting`` is all of it;
for a tuner, ``bench_tasks`` measure the batches of ``bench_supply``, of which ``bench_data`` is the
JSON, and ``benches`` are all of it. ``endings`` of episodes are measured while agents go on.
``status`` says how a cluster is, without disturbing it.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.runner.ray.collection.driver import RayCollection
    from polygym.search.runner.ray.fleet.address import ClusterAddress, parse_address
    from polygym.search.runner.ray.fleet.fleet import Fleet, FleetTimeouts
    from polygym.search.runner.ray.ray_transport import RayTransport
    from polygym.search.runner.ray.sweeps.driver import RaySweep
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "ClusterAddress",
    "Fleet",
    "FleetTimeouts",
    "RayCollection",
    "RaySweep",
    "RayTransport",
    "parse_address",
]
