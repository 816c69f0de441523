"""Execution of ``sweep``: on this machine, in several jobs, or on a cluster's nodes."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from polygym.cli.options.cluster import open_fleet
from polygym.cli.output.console import write_text
from polygym.search.runner.ray.fleet.transport import ClusterAddress
from polygym.search.sweep.cores import CorePlan, plan_cores, usable_cores
from polygym.search.sweep.driver import LocalSweep
from polygym.search.sweep.session import SweepSession, open_session
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import stored_kind
from polygym.search.sweep.workload import SweepWorkload

if TYPE_CHECKING:
    from polygym.search.runner.ray.sweeps import RaySweep

ActiveSweep: TypeAlias = "tuple[LocalSweep | RaySweep, SweepSession]"
"""What sweeps, and the store that it has begun with."""


def open_sweep(
    out: Path, setting: SweepSetting, orders: SweepWorkload, jobs: int, on: ClusterAddress | None
) -> AbstractContextManager[ActiveSweep]:
    """Return what gives the campaign; ``orders`` are for one job, whose time several share."""
    if on is not None:
        if jobs > 1:
            raise click.UsageError(
                "--jobs: expected no --cluster beside it, whose nodes have one job each"
            )
        return _open_remote(out, setting, orders, on)
    threads = setting.evaluation.threads
    plan = plan_cores(usable_cores(threads), jobs, threads)
    if plan.remark:
        write_text(plan.remark, err=True)
    return _open_local(out, setting, _with_jobs(orders, len(plan.places)), plan)


def _with_jobs(orders: SweepWorkload, jobs: int) -> SweepWorkload:
    """Return orders for several jobs at a time, which share the time of each."""
    seconds = None if orders.time_limit is None else orders.time_limit * jobs
    return replace(orders, time_limit=seconds, jobs=jobs)


@contextmanager
def _open_local(
    out: Path, setting: SweepSetting, orders: SweepWorkload, plan: CorePlan
) -> Iterator[ActiveSweep]:
    """Give the campaign on this machine."""
    with open_session(out, setting, orders) as sweep:
        if stored_kind(out):  # a cluster's, of which this machine has to be a node or like one
            from polygym.search.runner.ray.fleet.node_kinds import this_node_kind

            sweep.store.set_kind(this_node_kind().key, str(this_node_kind()))
        yield LocalSweep(sweep.store, setting, orders, plan, sweep.lock), sweep


@contextmanager
def _open_remote(
    out: Path, setting: SweepSetting, orders: SweepWorkload, on: ClusterAddress
) -> Iterator[ActiveSweep]:
    """Give the campaign on a cluster, whose nodes have been heard of."""
    from polygym.search.runner.ray.fleet.members import most_frequent_kind
    from polygym.search.runner.ray.sweeps import RaySweep, sweep_run_of

    with open_fleet(on) as fleet:
        chosen = most_frequent_kind(fleet.assemble(), stored_kind(out))
        orders = _with_jobs(orders, fleet.workers)
        with open_session(out, setting, orders, sweep_run_of(chosen)) as sweep:
            yield RaySweep(sweep.store, setting, orders, fleet, chosen.kind), sweep
