"""Limit of a program's speed on a machine: a bound that no schedule, storage or mapping passes.

``flows`` says which values a program certainly reads and needs; on it stand three counts, each of
which may be too low and never too high. ``operators`` says which operators any code carries out,
``values`` and ``forms`` when two instances compute the same, ``counting`` how many operations
remain, with ``points`` for sets that are large; ``traffic`` how many bytes move; ``paths`` what a
value waits for in a statement, ``arcs`` where it goes from there, and ``chain`` how far. All of it
is the ``demand`` of a program, and ``bound`` divides it by the peaks of a machine.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.cost.limit.bound import Bottleneck, Limit, compute_limit
    from polygym.cost.limit.demand import Demand, program_demand
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Bottleneck", "Demand", "Limit", "compute_limit", "program_demand"]
