"""Limit of a program's speed on a machine: a bound that no schedule, storage or mapping passes.

``value_flows`` are the values that a program certainly reads and needs; three counts use them, each
of which may be too low and never too high. ``operation_kinds`` has the operators that any code
carries out and what a value waits for in a statement, ``expression_forms`` tells when two instances
compute the same, ``operation_counts`` how many operations remain, and ``dependence_chains`` how
long a value is on its way. ``demand`` adds the bytes that move, and ``bound`` divides all by the
peaks of a machine.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.cost.limit.bound import Bottleneck, Limit, compute_limit
    from polygym.cost.limit.demand import Demand, program_demand
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Bottleneck", "Demand", "Limit", "compute_limit", "program_demand"]
